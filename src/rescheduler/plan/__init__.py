"""Snapshot + Configuration -> Plan.

In: an immutable snapshot and the configuration. Out: moves and refusals, each with its reason.
Pure: no I/O, no clock, no logging. What does not belong here: how a pod is moved.
"""

from rescheduler.plan.checking import why_not_there, why_uneven_after
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.fitting import Memory
from rescheduler.plan.planning import foretold, musts, needs, plan, plan_at

__all__ = [
    "Desk",
    "Memory",
    "Search",
    "foretold",
    "musts",
    "needs",
    "plan",
    "plan_at",
    "why_not_there",
    "why_uneven_after",
]
