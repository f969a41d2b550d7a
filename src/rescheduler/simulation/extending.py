"""What the embedded scheduler is answered about new pods, by the product itself, without HTTP."""

from collections.abc import Collection, Sequence

from rescheduler import schedule
from rescheduler.clock import Clock
from rescheduler.config.scheduling import FILTER, SCORE
from rescheduler.controller.scheduling import Offering
from rescheduler.embedded.scheduler import USUAL_WEIGHT, Passed
from rescheduler.kube import Object
from rescheduler.schedule import Answers, Offer
from rescheduler.serve import Board


class OwnExtender:
    """It fails open, as the one that serves: as long as nothing is known, or only what is old."""

    def __init__(
        self, board: Board, offering: Offering, clock: Clock, verbs: Collection[str]
    ) -> None:
        self._board = board
        self._offering = offering
        self._clock = clock
        self._verbs = frozenset(verbs)
        self._answers = Answers()

    @property
    def weight(self) -> int:
        return USUAL_WEIGHT

    def filter(self, pod: Object, names: Sequence[str]) -> Passed:
        offer = self._known(FILTER)
        if offer is None:
            return Passed(names)
        newcomer = schedule.newcomer(pod)
        found = self._answers.filtered(offer, newcomer, names, self._clock.monotonic())
        return Passed(found.passed, found.refused, found.closed)

    def prioritize(self, pod: Object, names: Sequence[str]) -> Sequence[int]:
        offer = self._known(SCORE)
        if offer is None:
            return [0] * len(names)
        newcomer = schedule.newcomer(pod)
        return self._answers.scored(offer, newcomer, names, self._clock.monotonic()).scores

    def _known(self, verb: str) -> Offer | None:
        """None also where a scheduler would not ask at all."""
        if verb not in self._verbs:
            return None
        self._offering.renew()
        offer = self._board.offer
        return None if offer is None or offer.is_stale(self._clock.monotonic()) else offer
