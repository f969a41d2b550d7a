"""Moves Kubernetes pods to where they belong, ready on the target before the old one goes."""

__version__ = "0.2.0.dev0"
