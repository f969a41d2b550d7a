"""CostOptimization: pods on the fewest and cheapest nodes, and whole nodes emptied, or none."""

from typing import Final

import numpy as np

from rescheduler.model.moves import Report
from rescheduler.model.strategies import COST_OPTIMIZATION
from rescheduler.plan.desk import Desk
from rescheduler.plan.packing.modelling import Model, model
from rescheduler.plan.packing.ordering import Order, settle, untangle, untangle_by_numbers
from rescheduler.plan.packing.problem import Whole
from rescheduler.plan.packing.search import Outcome, search
from rescheduler.plan.packing.sweeping import Moves, is_worthwhile, place_of, sweep
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = COST_OPTIMIZATION


def decide(desk: Desk) -> Report:
    found = model(desk)
    if not found.problem.pods:
        return Report(strategy=NAME, acted=False, summary="no pod may move")
    swept = sweep(desk, found) if is_worthwhile(desk, found) else []
    limits = desk.search
    carrier = _Carrier(desk, found)
    outcome = search(
        found.problem,
        seed=limits.seed,
        steps=max(limits.steps - desk.steps, 0),
        stop=limits.stop,
        check=carrier.check,
        most_moves=desk.left,
        # With something in hand, what cannot be carried out as it is need not be saved.
        is_thorough=not swept,
    )
    desk.steps += outcome.steps
    place = carrier.carry_out(outcome.place, swept)
    _close(desk, found, place)
    _refuse(desk, found)
    return _report(desk, found, outcome, place)


class _Carrier:
    """Carries an assignment out at the desk, where every rule is asked about at every move."""

    def __init__(self, desk: Desk, found: Model) -> None:
        self._desk = desk
        self._found = found
        self._mark = desk.mark()
        self._doubt = True
        """Rules that the search does not know have spoken against a move, or were not asked yet."""
        self._done: tuple[Whole, list[tuple[int, int]]] | None = None
        """The last assignment that every rule allows, and its moves."""

    def check(self, place: Whole, final: bool) -> tuple[Whole, list[int]]:  # noqa: FBT001
        """By numbers alone while nothing else has ever mattered; in the end by all rules."""
        place, stuck = untangle_by_numbers(self._found.problem, place)
        if stuck or not (final or self._doubt):
            return place, stuck
        place, stuck = untangle(self._found.problem, place, self._attempt)
        self._doubt = bool(stuck)
        if not stuck:
            self._done = place, self._order.moves
        self._desk.rewind(self._mark)
        return place, stuck

    def _attempt(self, place: Whole) -> Order:
        self._desk.rewind(self._mark)
        self._order = Order(self._found.problem, place, self._ask, self._force)
        return self._order

    def _ask(self, pod: int, node: int) -> bool:
        desk, row = self._desk, self._found.rows[pod]
        if not desk.placement.fits(row, node, desk.way(row)):
            return False
        desk.move(row, node, "")
        return True

    def _force(self, pod: int, node: int) -> None:
        self._desk.move(self._found.rows[pod], node, "")

    def carry_out(self, place: Whole, swept: Moves) -> Whole:
        """As far as every rule allows, or what was swept if that is better; gives where pods are
        then.
        """
        moves = self._moves(place)
        self._desk.rewind(self._mark)
        if self._rank(swept) < self._rank(moves):
            moves = swept
        place = place_of(self._found, moves)
        reasons = _Reasons(self._desk, self._found, place)
        for pod, node in moves:
            self._desk.move(self._found.rows[pod], node, reasons.of(pod))
        return place

    def _rank(self, moves: Moves) -> tuple[int, float]:
        problem, place = self._found.problem, place_of(self._found, moves)
        return int(np.count_nonzero(problem.broken(place))), problem.cost(place)

    def _moves(self, place: Whole) -> list[tuple[int, int]]:
        if self._done is not None and (self._done[0] == place).all():
            return self._done[1]
        while True:
            order = self._attempt(place)
            stuck = order.run()
            if not stuck:
                return order.moves
            place = settle(self._found.problem, place, stuck)


class _Reasons:
    def __init__(self, desk: Desk, found: Model, place: Whole) -> None:
        problem = found.problem
        self._desk = desk
        self._found = found
        self._broken = problem.broken(problem.home)
        self._left = np.bincount(place, minlength=problem.nodes)
        self._leave = np.bincount(problem.home[place != problem.home], minlength=problem.nodes)
        self._come = np.bincount(place[place != problem.home], minlength=problem.nodes)

    def of(self, pod: int) -> str:
        problem, home = self._found.problem, int(self._found.problem.home[pod])
        name = self._desk.nodes[home].name
        if not self._left[home] and not problem.always_open[home]:
            pods = _counted(int(self._leave[home]), "pod")
            return f"empties {name} (saves {problem.node_cost[home]:g}): {pods} leave it"
        if self._broken[home]:
            return f"repairs {name}, which holds more than it may"
        if self._come[home]:
            pods = _counted(int(self._come[home]), "pod")
            return f"makes room on {name} for {pods} that fit there better"
        return f"leaves room on {name} that others will need"


# ---------------------------------------------------------------------- telling


def _close(desk: Desk, found: Model, place: Whole) -> None:
    """Emptied nodes take no more pods in this plan."""
    desk.closed[_emptied(found, place)] = True


def _emptied(found: Model, place: Whole) -> Whole:
    problem = found.problem
    before = np.bincount(problem.home, minlength=problem.nodes) > 0
    after = np.bincount(place, minlength=problem.nodes) > 0
    return np.flatnonzero(before & ~after & ~problem.always_open)


def _refuse(desk: Desk, found: Model) -> None:
    for row, reasons in found.staying.items():
        desk.refuse(row, reasons)


def _report(desk: Desk, found: Model, outcome: Outcome, place: Whole) -> Report:
    problem = found.problem
    before, after = found.cost_of(problem.home), found.cost_of(place)
    nodes_before, nodes_after = found.in_use(problem.home), found.in_use(place)
    moves = int(np.count_nonzero(place != problem.home))
    broken, still_broken = (
        int(np.count_nonzero(problem.broken(each))) for each in (problem.home, place)
    )
    bound = min(outcome.bound, after)
    left = 100 * (after - bound) / after if after else 0.0
    numbers = f"cost {before:,.6g} -> {after:,.6g}" if moves else f"cost {before:,.6g}"
    nothing = "no move was found that pays" if desk.is_over() else "no move pays"
    parts = [
        f"{numbers}, {_counted(nodes_before, 'node')} in use"
        + (f" -> {nodes_after}, {_counted(moves, 'move')}" if moves else f", {nothing}"),
        f"no plan for these pods gets below {bound:,.6g}, at most {left:.1f} % less",
        f"{_counted(outcome.steps, 'step')} of search",
    ]
    if broken:
        parts.insert(1, f"{broken - still_broken} of {broken} nodes that hold too much repaired")
    figures = {
        "before": before,
        "after": after,
        "bound": bound,
        "nodesBefore": nodes_before,
        "nodesAfter": nodes_after,
        "moves": moves,
        "brokenBefore": broken,
        "brokenAfter": still_broken,
        "steps": outcome.steps,
    }
    return Report(strategy=NAME, acted=moves > 0, summary="; ".join(parts), figures=figures)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number:,} {word}s"


STRATEGY: Final = Strategy(name=NAME, decide=decide)
