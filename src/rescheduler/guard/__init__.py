"""Whether an eviction by somebody else passes, or is held until the pod serves elsewhere. Pure.

In: an `Eviction` as an API server tells of it, and a `GuardTable`, which the controller publishes:
the cluster as it was observed last, and our records. Out: a verdict, `Pass`, `Hold` or `Absent`,
each with its reason; a `Hold` may ask for a move (`Wanted`), by a PodMigration that the planner
gives its target. What does not belong here: HTTP (`serve`), writing records (`controller`), how
pods move.

It never stands in the way for good: what is not known passes, and what is held passes when its
patience ends.
"""

from rescheduler.guard.deciding import Guard
from rescheduler.guard.memory import Moment
from rescheduler.guard.table import GuardTable, Rules
from rescheduler.guard.verdicts import Absent, Eviction, Hold, Pass, Verdict, Wanted, Why

__all__ = [
    "Absent",
    "Eviction",
    "Guard",
    "GuardTable",
    "Hold",
    "Moment",
    "Pass",
    "Rules",
    "Verdict",
    "Wanted",
    "Why",
]
