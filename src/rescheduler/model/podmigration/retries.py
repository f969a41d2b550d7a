"""How often a pod that could not be moved is tried again, and how long it rests before that."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rescheduler.model.objects import Object
from rescheduler.model.podmigration.fields import attempt_of, pod_uid, reason_of
from rescheduler.model.podmigration.reasons import GAVE_WAY

_SPREAD: Final = 0.25
"""What failed together is not to be tried together: some rest longer, by this share at most."""
_DOUBLED_FOR_GIVING_WAY: Final = 3
"""Times at most: a rollout ends, and then it is to be tried soon."""


def gave_way(record: Object) -> bool:
    return reason_of(record) in GAVE_WAY


class Failures(NamedTuple):
    """Of the moves of one pod."""

    uid: str
    times: int
    counted: int
    """Of these, as attempts: those that gave way do not."""

    def rest_seconds(self, first: float) -> float:
        """Before the next one; `first`: after one failure."""
        return _spread(first * float(2**self.doublings), self.uid)

    @property
    def doublings(self) -> int:
        return max(self.counted - 1, min(self.times - 1, _DOUBLED_FOR_GIVING_WAY))


def counted(
    failed: Sequence[Object], times: int, gives_way: Callable[[Object], bool] = gave_way
) -> int:
    """Those that count as attempts, of so many. What is gone was as the oldest that is there."""
    counts = [not gives_way(each) for each in failed]
    return sum(counts) + counts[0] * (times - len(failed))


def failures(
    failed: Sequence[Object],
    *,
    forgiven: int = 0,
    gives_way: Callable[[Object], bool] = gave_way,
) -> Failures:
    """`failed`: records of one pod, in order of their attempts; `forgiven`: up to which attempt
    they are forgotten.
    """
    last = failed[-1]
    # Older records may be gone by now: the last one knows how many there were.
    times = max(len(failed), attempt_of(last) - forgiven)
    return Failures(pod_uid(last), times, counted(failed, times, gives_way))


def _spread(seconds: float, uid: str) -> float:
    """The same for the same pod whoever asks."""
    share = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4]) / 2**32
    return seconds * (1 + _SPREAD * share)
