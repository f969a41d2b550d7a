"""What a scheduler is answered about a new pod: which nodes not, and which rather. Pure.

In: a `NodeTable`, the cluster as new pods find it, which the controller makes of a snapshot and our
records, and the pod as the scheduler tells of it (`Newcomer`). Out: refusals, each with its reason,
and scores. What does not belong here: HTTP (`serve`), snapshots (`observe`), moves (`plan`).

It decides for the scheduler of the cluster, which knows every hard rule and asks us about nodes
that fit. So nothing here looks at taints, affinity or volumes.
"""

from rescheduler.schedule.answers import Answers, Offer
from rescheduler.schedule.filtering import Filtered, filtered
from rescheduler.schedule.newcomers import Newcomer, newcomer
from rescheduler.schedule.placed import PlacedSince
from rescheduler.schedule.scoring import MOST, Scored, scored
from rescheduler.schedule.table import (
    UNKNOWN,
    Figures,
    NodeTable,
    Numbers,
    Rules,
    Steering,
    by_column,
)

__all__ = [
    "MOST",
    "UNKNOWN",
    "Answers",
    "Figures",
    "Filtered",
    "Newcomer",
    "NodeTable",
    "Numbers",
    "Offer",
    "PlacedSince",
    "Rules",
    "Scored",
    "Steering",
    "by_column",
    "filtered",
    "newcomer",
    "scored",
]
