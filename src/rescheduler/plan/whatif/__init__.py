"""What would have to change so that a pod which stays may move: found by asking again.

A `Change` is one thing that somebody could do, made in a copy of the cluster; what is named has
been tried. Pure, as all planning.
"""

from rescheduler.plan.whatif.changes import Change, Kind
from rescheduler.plan.whatif.despairing import why_none
from rescheduler.plan.whatif.finding import Remedy, remedies
from rescheduler.plan.whatif.worlds import World

__all__ = ["Change", "Kind", "Remedy", "World", "remedies", "why_none"]
