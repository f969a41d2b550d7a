"""Cluster -> Snapshot.

In: the door to the API server, and what is wanted. Out: an immutable `model.snapshot.Snapshot`, as
often as asked for. What does not belong here: thresholds, rules, and anything that writes.
"""

from rescheduler.observe.observer import Observer, observing

__all__ = ["Observer", "observing"]
