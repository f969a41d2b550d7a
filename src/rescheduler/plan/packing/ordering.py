"""From an assignment to moves in an order in which each fits when its turn comes.

Both pods of a move exist for a while, so a move needs its target's room while its source is still
taken. Any move that fits is done at once; a pod that leaves may let others in. Where moves wait
for each other in a circle, or a rule that the search does not know speaks against one, another
node may do; else the pod stays, and with it whatever depended on its leaving.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from rescheduler.plan.packing.problem import Counts, Mask, Problem, Whole

Ask = Callable[[int, int], bool]
"""Moves a pod to a node if every rule allows it now, and says whether it has."""
Force = Callable[[int, int], None]
"""Moves a pod to a node though it does not fit there, to see what would follow."""

_OTHERS: Final = 6
"""Nodes that are asked about in place of one that cannot take a pod."""
_UNTANGLINGS: Final = 8
_RETRIES: Final = 3
"""How often a move is asked about that fits by numbers and yet was refused."""


class Order:
    """One pass over all moves of an assignment."""

    def __init__(self, problem: Problem, target: Whole, ask: Ask, force: Force) -> None:
        self._problem = problem
        self._ask = ask
        self._force = force
        self._target: list[int] = target.tolist()
        self._place: list[int] = problem.home.tolist()
        self._asks: list[list[int]] = problem.scaled_asks.tolist()
        self._needs: list[list[int]] = problem.scaled_needs.tolist()
        self._kind: list[int] = problem.kind.tolist()
        self._free: list[list[int]] = (
            problem.scaled_capacity - problem.used(problem.home)
        ).tolist()
        self._count = problem.counts(problem.home)
        self._final_free = problem.scaled_capacity - problem.used(target)
        self._final_count = problem.counts(target)
        self._in_use = problem.always_open.copy()
        self._in_use[target] = True
        self._limit: list[int] = problem.limit.tolist()
        self._refused: dict[int, int] = {}
        self._waiting: dict[int, list[int]] = {}
        for pod in np.flatnonzero(target != problem.home).tolist():
            self._waiting.setdefault(self._target[pod], []).append(pod)
        self.moves: list[tuple[int, int]] = []

    def run(self) -> list[int]:
        """Does what can be done. Gives the pods for which there is no way: had they got to their
        places by magic, as they are made to seem here, all others would have found theirs.
        """
        given_up: list[int] = []
        queue = deque(sorted(self._waiting))
        while True:
            self._ready_first(queue)
            if not any(self._waiting.values()):
                return given_up
            freed = self._elsewhere() if not given_up else None
            if freed is None:
                pod = self._most_in_the_way()
                given_up.append(pod)
                target = self._target[pod]
                self._waiting[target].remove(pod)
                self._force(pod, target)
                freed = self._moved(pod, target)
            queue.append(freed)

    def _most_in_the_way(self) -> int:
        """Of those that wait, one whose leaving lets others in; better not one whose node would
        not be emptied then.
        """
        ranked = []
        for node in sorted(self._waiting):
            for pod in self._waiting[node]:
                source, asks = self._place[pod], self._asks[self._kind[pod]]
                free = [has + ask for has, ask in zip(self._free[source], asks, strict=True)]
                lets_in = sum(
                    self._has_room(other, source, free) for other in self._waiting.get(source, ())
                )
                refused = self._refused.get(pod, 0) >= _RETRIES
                ranked.append((not refused, not self._in_use[source], -lets_in, sum(asks), pod))
        return min(ranked)[-1]

    def _ready_first(self, queue: deque[int]) -> None:
        queued = set(queue)
        while queue:
            node = queue.popleft()
            queued.discard(node)
            for pod in list(self._waiting.get(node, ())):
                if self._has_room(pod, node) and self._try(pod, node):
                    self._waiting[node].remove(pod)
                    source = self._moved(pod, node)
                    if source not in queued and self._waiting.get(source):
                        queue.append(source)
                        queued.add(source)

    def _has_room(self, pod: int, node: int, free: list[int] | None = None) -> bool:
        kind = self._kind[pod]
        free = self._free[node] if free is None else free
        fits = all(need <= has for need, has in zip(self._needs[kind], free, strict=True))
        return fits and all(
            self._count[group, node] < self._limit[group] for group in self._problem.groups[kind]
        )

    def _try(self, pod: int, node: int) -> bool:
        if self._refused.get(pod, 0) >= _RETRIES:
            return False
        if self._ask(pod, node):
            return True
        self._refused[pod] = self._refused.get(pod, 0) + 1
        return False

    def _moved(self, pod: int, node: int) -> int:
        source, kind = self._place[pod], self._kind[pod]
        for resource, ask in enumerate(self._asks[kind]):
            self._free[source][resource] += ask
            self._free[node][resource] -= ask
        for group in self._problem.groups[kind]:
            self._count[group, source] -= 1
            self._count[group, node] += 1
        self._place[pod] = node
        self.moves.append((pod, node))
        return source

    def _elsewhere(self) -> int | None:
        """Another node for one that waits; gives the node that it leaves."""
        for node in sorted(self._waiting):
            for pod in self._waiting[node]:
                for other in self._others(pod, node):
                    if self._ask(pod, other):
                        self._waiting[node].remove(pod)
                        self._aim_at(pod, node, other)
                        return self._moved(pod, other)
        return None

    def _others(self, pod: int, target: int) -> list[int]:
        """Nodes that have room for it now and in the end, the fullest first."""
        problem, kind = self._problem, self._kind[pod]
        free = np.minimum(np.array(self._free), self._final_free)
        fine: Mask = (free >= problem.scaled_needs[kind]).all(axis=1) & self._in_use
        fine &= problem.allowed_sets[problem.allowed[kind]]
        for group in problem.groups[kind]:
            most = np.maximum(self._count[group], self._final_count[group])
            fine &= most < problem.limit[group]
        fine[[target, self._place[pod]]] = False
        nodes = np.flatnonzero(fine)
        scale = np.maximum(problem.scaled_capacity.max(axis=0), 1)
        left = (self._final_free[nodes] / scale).sum(axis=1)
        return [int(each) for each in nodes[np.argsort(left, kind="stable")[:_OTHERS]]]

    def _aim_at(self, pod: int, before: int, after: int) -> None:
        kind = self._kind[pod]
        asks = self._problem.scaled_asks[kind]
        self._final_free[before] += asks
        self._final_free[after] -= asks
        for group in self._problem.groups[kind]:
            self._final_count[group, before] -= 1
            self._final_count[group, after] += 1


# ---------------------------------------------------------------------- who stays after all


def settle(problem: Problem, target: Whole, stay: Iterable[int]) -> Whole:
    """The assignment with these pods at home, and with whatever that asks for: a node that was to
    be emptied is not, so all its pods are back, and guests for whom there is no room any more go
    home as well.
    """
    place = target.copy()
    used, count = problem.used(place), problem.counts(place)
    closing = _closing(problem, place)
    of_home = [np.flatnonzero(problem.home == node) for node in range(problem.nodes)]
    crowded: deque[int] = deque()

    def send_home(pod: int) -> None:
        home, away = int(problem.home[pod]), int(place[pod])
        pods = of_home[home].tolist() if closing[home] else [pod]
        closing[home] = False
        for each in pods:
            away = int(place[each])
            if away == home:
                continue
            asks = problem.scaled_asks[problem.kind[each]]
            used[away] -= asks
            used[home] += asks
            for group in problem.groups[problem.kind[each]]:
                count[group, away] -= 1
                count[group, home] += 1
            place[each] = home
        crowded.append(home)

    for pod in stay:
        send_home(pod)
    while crowded:
        node = crowded.popleft()
        guests = np.flatnonzero((place == node) & (problem.home != node)).tolist()
        # Last in the list and first to go: who keeps no node from being emptied, then the small.
        guests.sort(
            key=lambda pod: (
                not closing[problem.home[pod]],
                -problem.scaled_asks[problem.kind[pod]].sum(),
            )
        )
        while guests and _is_over(problem, used, count, node, guests):
            pod = guests.pop()
            if place[pod] == node:
                send_home(pod)
    return place


def _is_over(problem: Problem, used: Whole, count: Counts, node: int, guests: list[int]) -> bool:
    if (used[node] > problem.scaled_capacity[node]).any():
        return True
    groups = {group for pod in guests for group in problem.groups[problem.kind[pod]]}
    return any(count[group, node] > problem.limit[group] for group in sorted(groups))


def _closing(problem: Problem, place: Whole) -> Mask:
    """Nodes that lose their last pod, and may be without any."""
    before = np.bincount(problem.home, minlength=problem.nodes) > 0
    after = np.bincount(place, minlength=problem.nodes) > 0
    return before & ~after & ~problem.always_open


def tidy(problem: Problem, target: Whole) -> Whole:
    """Without moves that nothing depends on: whoever fits at home stays there."""
    place = target.copy()
    free = problem.scaled_capacity - problem.used(place)
    count = problem.counts(place)
    closing = _closing(problem, place)
    for pod in np.flatnonzero(place != problem.home).tolist():
        home, away = int(problem.home[pod]), int(place[pod])
        kind = problem.kind[pod]
        asks = problem.scaled_asks[kind]
        if closing[home] or ((asks > free[home]) & (asks > 0)).any():
            continue
        groups = problem.groups[kind]
        if any(count[group, home] >= problem.limit[group] for group in groups):
            continue
        dearer = sum(
            problem.extra_cost[group] * (int(count[group, home] > 0) - int(count[group, away] > 1))
            for group in groups
        )
        if dearer >= problem.move_cost:
            continue
        free[home] -= asks
        free[away] += asks
        for group in groups:
            count[group, home] += 1
            count[group, away] -= 1
        place[pod] = home
    return place


# ---------------------------------------------------------------------- circles


def untangle(
    problem: Problem, target: Whole, attempt: Callable[[Whole], Order]
) -> tuple[Whole, list[int]]:
    """The assignment, changed so that it can be carried out; and pods that still have no way.

    A pod that waits in a circle exchanges its target with one from a node that is emptied: there
    nobody waits for the room, so that one can wait as well.
    """
    stuck: list[int] = []
    for _ in range(_UNTANGLINGS):
        order = attempt(target)
        stuck = order.run()
        changed = _exchange_targets(problem, target, stuck, order.moves)
        if changed is None:
            break
        target = changed
    return target, stuck


def _exchange_targets(
    problem: Problem, target: Whole, stuck: list[int], moves: list[tuple[int, int]]
) -> Whole | None:
    place = target.copy()
    free = problem.scaled_capacity - problem.used(place)
    count = problem.counts(place)
    closing = _closing(problem, place)
    patient = [pod for pod, node in moves if closing[problem.home[pod]] and place[pod] == node]
    for pod in stuck:
        partner = next(
            (each for each in patient if _can_exchange(problem, place, free, count, (pod, each))),
            None,
        )
        if partner is not None:
            patient.remove(partner)
            for one, other in ((pod, partner), (partner, pod)):
                asks = problem.scaled_asks[problem.kind[one]]
                free[place[one]] += asks
                free[place[other]] -= asks
                for group in problem.groups[problem.kind[one]]:
                    count[group, place[one]] -= 1
                    count[group, place[other]] += 1
            place[[pod, partner]] = place[[partner, pod]]
    return None if (place == target).all() else place


def _can_exchange(
    problem: Problem, place: Whole, free: Whole, count: Counts, pair: tuple[int, int]
) -> bool:
    for one, other in (pair, pair[::-1]):
        node, kind, leaves = place[other], problem.kind[one], problem.kind[other]
        left = free[node] + problem.scaled_asks[leaves] - problem.scaled_asks[kind]
        if (left < 0).any() or node in {place[one], problem.home[one]}:
            return False
        if not problem.allowed_sets[problem.allowed[kind], node]:
            return False
        for group in problem.groups[kind]:
            if count[group, node] - (group in problem.groups[leaves]) >= problem.limit[group]:
                return False
    return True


def untangle_by_numbers(problem: Problem, target: Whole) -> tuple[Whole, list[int]]:
    """By room and limits alone."""
    return untangle(
        problem,
        target,
        lambda place: Order(problem, place, lambda _pod, _node: True, lambda _pod, _node: None),
    )
