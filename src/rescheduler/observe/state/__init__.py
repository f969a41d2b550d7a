"""The live cluster in memory: small, exact, and free to take snapshots of. No I/O, no clock."""

from rescheduler.observe.state.cluster import ClusterState

__all__ = ["ClusterState"]
