"""On a real control plane, and with a real Prometheus (`make test-monitoring` installs it)."""

from tests.cluster.conftest import world
from tests.control_plane import instance

__all__ = ["instance", "world"]
