"""From where pods are now to fewer and cheaper nodes: repair, exchange, empty, anneal."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.plan.packing.annealing import Annealing
from rescheduler.plan.packing.holes import Holes
from rescheduler.plan.packing.ordering import settle, tidy
from rescheduler.plan.packing.phases import Phases
from rescheduler.plan.packing.prices import Prices, find_prices, lower_bound
from rescheduler.plan.packing.problem import NO_LIMIT, Problem, Whole
from rescheduler.plan.packing.progress import Progress
from rescheduler.plan.packing.state import Start, State

_ROUNDS: Final = 400
"""Of the linear programme at the most; a few dozen are usual."""
_ERA: Final = 1_500
"""Steps until the best assignment is checked for the first time."""
_TAILS: Final = 3
_TAIL: Final = 150
"""Steps after the last one, where the best assignment cannot be carried out as it is."""
_NOTHING: Final = 1e-6
"""Of cost: so near to the bound nothing is left to be found."""
_WEIGHT: Final = 0.9
"""Of what holes are worth: less than one, so that emptying a node gains something at once."""
_LATER_WEIGHT: Final = 0.95
"""The same when most is done: then the right kinds of nodes matter more than fewer of them."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    place: Whole
    """By pod: the node that it shall be on."""
    cost: float
    bound: float
    """No assignment costs less."""
    steps: int


Check = Callable[[Whole, bool], tuple[Whole, list[int]]]
"""Changes an assignment so that it can be carried out, and says which pods still cannot get to
their places, in whatever order. The flag: this is the last word, and has to be right.
"""


def search(  # noqa: PLR0913 - what there is to say of a search
    problem: Problem,
    *,
    seed: int,
    steps: int,
    stop: Callable[[], bool],
    check: Check,
    most_moves: int = NO_LIMIT,
    is_thorough: bool = True,
) -> Outcome:
    """The same seed and number of steps give the same; so does a stop after as many. Thorough: in
    the end something is made of the best assignment even if it cannot be carried out as it is.
    """
    prices = find_prices(problem, min(steps, _ROUNDS), stop)
    progress = Progress(steps - prices.rounds, stop, most_moves)
    found = _Search(problem, prices, seed, progress, check)
    found.run()
    steps = prices.rounds + progress.steps
    found.make_sure(is_thorough=is_thorough)
    return Outcome(
        place=found.best,
        cost=problem.cost(found.best),
        bound=_bound(problem, prices, found.best),
        steps=steps,
    )


class _Search:
    """In eras: after each it is seen whether the best assignment can be carried out. If some pods
    cannot get to their places, they stay, and the next era makes the best of it.
    """

    def __init__(
        self, problem: Problem, prices: Prices, seed: int, progress: Progress, check: Check
    ) -> None:
        self._problem = problem
        self._prices = prices
        self._holes = Holes(problem, prices)
        self._check = check
        self._chance = random.Random(seed)  # noqa: S311
        self._progress = progress
        self._weight = _WEIGHT
        self._pinned = np.zeros(problem.pods, np.bool_)
        self.best = problem.home
        self._rank = self._rank_of(problem.home)

    def run(self) -> None:
        progress = self._progress
        annealing = Annealing(self._first_phases(), self._chance)
        era = _ERA
        while annealing.run(progress.steps + era):
            place, stuck = self._judge(final=False)
            if self._rank <= (0, self._prices.bound + _NOTHING):
                return
            if stuck:
                annealing = Annealing(self._without(place, stuck), self._chance)
            elif annealing.has_cooled_down and self._weight != _LATER_WEIGHT:
                self._weight = _LATER_WEIGHT
                annealing = Annealing(self._phases_from(place), self._chance)
            era += era // 2

    def _first_phases(self) -> Phases:
        phases = self._phases_from(self._problem.home)
        phases.repair()
        self._progress.begin(phases.state)
        if not self._progress.is_limited:
            phases.relocate()
            self._progress.note()
        phases.empty()
        return phases

    def _phases_from(self, place: Whole) -> Phases:
        start = Start(place, self._pinned.copy())
        state = State(self._problem, self._prices, self._holes, self._weight, start)
        self._progress.begin(state)
        return Phases(state, self._progress, self._chance)

    def _judge(self, *, final: bool) -> tuple[Whole, list[int]]:
        """The best assignment of this era, and pods that cannot get to their places in it."""
        place, stuck = self._check(tidy(self._problem, self._progress.best_place()), final)
        rank = self._rank_of(place)
        if not stuck and rank < self._rank:
            self.best, self._rank = place, rank
        return place, stuck

    def _rank_of(self, place: Whole) -> tuple[int, float]:
        return int(np.count_nonzero(self._problem.broken(place))), self._problem.cost(place)

    def _without(self, place: Whole, stuck: list[int]) -> Phases:
        """From this assignment, with these pods at home, where they stay from now on."""
        phases = self._phases_from(place)
        self._pinned[stuck] = True
        failed = [pod for pod in stuck if not phases.bring_back(pod)]
        if failed:
            place = np.array(phases.state.place, np.int64)
            phases = self._phases_from(tidy(self._problem, settle(self._problem, place, failed)))
        phases.repair()
        self._progress.begin(phases.state)
        return phases

    def make_sure(self, *, is_thorough: bool) -> None:
        """Time is up: the best assignment, or what can be saved of it with a little more effort."""
        place, stuck = self._judge(final=True)
        if not is_thorough:
            return
        for _ in range(_TAILS):
            if not stuck:
                return
            phases = self._without(place, stuck)
            self._progress.extend(_TAIL)
            phases.empty()
            Annealing(phases, self._chance).run(self._progress.steps + _TAIL)
            place, stuck = self._judge(final=True)
        while stuck:
            # Each time more pods are at home, so this comes to an end.
            place = settle(self._problem, place, stuck)
            place, stuck = self._check(place, True)  # noqa: FBT003
        if self._rank_of(place) < self._rank:
            self.best = place


def _bound(problem: Problem, prices: Prices, place: Whole) -> float:
    if not problem.broken(place).any():
        return prices.bound
    return lower_bound(problem, prices, may_stay_broken=True)
