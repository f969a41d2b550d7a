"""The modes, and the section `plans`: what is done with a plan, and how long it stands."""

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.durations import HOUR, SECOND
from rescheduler.documents.kinds import Count, Duration
from rescheduler.documents.settings import setting

DRY_RUN: Final = "DryRun"
APPROVE: Final = "Approve"
AUTO: Final = "Auto"
MODES: Final = (DRY_RUN, APPROVE, AUTO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The ReschedulePlans in the namespace of the Lease."""

    expire_after_seconds: float = setting(
        "expireAfter", Duration(lowest=SECOND, highest=7 * 24 * HOUR), default=3600.0
    )
    """After which a plan that nobody approved is not carried out any more, and pods of one that was
    rejected may be proposed again. Default 1 h.
    """

    review_seconds: float = setting("review", Duration(lowest=0), default=600.0)
    """For how long a plan stands for whoever reads it, although a later pass would plan otherwise;
    then the newer plan takes its place. Default 10 min; 0: the newest plan is the one that counts.
    """

    keep: int = setting("keep", Count(), default=100)
    """So many plans that have ended are kept, the youngest. Default 100."""
