"""What is left on pods, nodes and in namespaces, and how it is put in order."""
