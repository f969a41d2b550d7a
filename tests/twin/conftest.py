"""One control plane for all seeds."""

from tests.control_plane import instance

__all__ = ["instance"]
