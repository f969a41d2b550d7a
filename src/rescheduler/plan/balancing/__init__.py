"""Moving load between nodes: what is offered, what it is worth, and which moves are best."""
