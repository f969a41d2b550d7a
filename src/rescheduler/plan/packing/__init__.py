"""Fewest and cheapest nodes: a search over where pods could be, on numbers alone."""
