"""Why migrations failed, as their records say it: what whoever plans has to know of it.

Migrating has more of them, and chooses between them.
"""

NOT_NOW = "NotNow"
"""Put off: nothing was begun, for something was not as it had been planned."""

NO_COPY = frozenset({"CopyRefused", "CopyDiffers"})
"""Admission refuses copies of this workload's pods, or makes them other than their siblings."""

GAVE_WAY = frozenset(
    {
        NOT_NOW,
        "NotMovable",
        "Cancelled",
        "CopyLost",
        *NO_COPY,
        "OriginalGone",
        "TargetLost",
        "WorkloadGone",
        "WorkloadChanged",
        "GroupFailed",
        "NotFinished",
    }
)
"""Somebody had other plans, or the pod could not be moved, or it has not failed yet: no sign that
it would fail another time.
"""

REFUSED = "Refused"
"""By the API server: a quota that is full for a moment, or a rule that is there for good."""

PASSING = frozenset(
    {
        NOT_NOW,
        "BudgetRefused",
        "CopyLost",
        "GroupFailed",
        "NotFinished",
        "OriginalGone",
        REFUSED,
        "SiblingNotReady",
        "TargetLost",
        "WorkloadChanged",
    }
)
"""What stood in its way is likely gone in a moment: whoever empties a node waits, and tries again.
"""


def is_passing(reason: str, *, other_way: bool) -> bool:
    """The same; and where no right copy can be made, there may be another way."""
    return reason in PASSING or (other_way and reason in NO_COPY)


LEFT_SHORT = "ReplacementNotReady"
"""Its workload was left with a pod less."""

BACK_ON_SOURCE = "BackOnSource"
"""The pod was made anew where it had been."""
