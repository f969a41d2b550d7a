"""Where pods may go: the hard rules of the scheduler, and a few of our own.

`Placement` is what planning asks; one file a rule.
"""

from typing import Final

from rescheduler.plan.fitting.memory import Memory
from rescheduler.plan.fitting.nodes import Mask
from rescheduler.plan.fitting.placement import Placement

NEEDS: Final = frozenset(
    {
        "nodes",
        "pods",
        "namespaces",
        "daemonsets",
        "runtimeclasses",
        "persistentvolumeclaims",
        "persistentvolumes",
        "csinodes",
        "volumeattachments",
    }
)
"""What has to be seen to judge where a pod may go."""

__all__ = ["NEEDS", "Mask", "Memory", "Placement"]
