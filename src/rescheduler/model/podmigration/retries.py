"""How often a pod that could not be moved is tried again, and how long it rests before that."""

import hashlib
from collections.abc import Sequence
from typing import Final

from rescheduler.model.objects import Object
from rescheduler.model.podmigration.fields import reason_of
from rescheduler.model.podmigration.reasons import GAVE_WAY

_SPREAD: Final = 0.25
"""What failed together is not to be tried together: some rest longer, by this share at most."""
_DOUBLED_FOR_GIVING_WAY: Final = 3
"""Times at most: a rollout ends, and then it is to be tried soon."""


def counted(failed: Sequence[Object], times: int) -> int:
    """Those that count as attempts, of so many. What is gone was as the oldest that is there."""
    counts = [reason_of(each) not in GAVE_WAY for each in failed]
    return sum(counts) + counts[0] * (times - len(failed))


def doublings(counted: int, times: int) -> int:
    """After so many failures, of which so many counted."""
    return max(counted - 1, min(times - 1, _DOUBLED_FOR_GIVING_WAY))


def back_off_seconds(first: float, doublings: int) -> float:
    return first * float(2**doublings)


def spread(seconds: float, uid: str) -> float:
    """The same for the same pod whoever asks."""
    share = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4]) / 2**32
    return seconds * (1 + _SPREAD * share)
