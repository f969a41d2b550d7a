"""Recreate: the original goes first, and its successor is steered to the target. Pure."""
