"""Cluster -> Snapshot.

In: the door to the API server, and the scope. Out: one immutable `model.cluster.Snapshot`. What
does not belong here: thresholds, rules, and anything that writes.
"""

from rescheduler.observe.listing import observe

__all__ = ["observe"]
