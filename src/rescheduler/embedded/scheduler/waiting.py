"""Pods that wait to be scheduled: some for their turn, some for something to change.

Follows kube-scheduler's queue. A pod that failed rests for a while before it gets another turn,
but only while others have theirs: nobody rests while the scheduler has nothing to do.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rescheduler.embedded.scheduler import extending
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules import (
    NEWS,
    exclusive_claims,
    neighbours,
    room,
    spreading,
)
from rescheduler.embedded.scheduler.rules.ruling import News
from rescheduler.embedded.scheduler.state import Node
from rescheduler.embedded.store import Key

_SHORTEST_REST_SECONDS: Final = 1.0
_LONGEST_REST_SECONDS: Final = 10.0
_LOOK_AROUND: Final = frozenset({spreading.NAME, neighbours.NAME, exclusive_claims.NAME})
"""Rules that look at what is on other nodes, too."""


@dataclass(slots=True, eq=False)
class _Waiting:
    pod: Pod
    since: float
    attempts: int = 0
    failed_at: float = 0.0
    rules: frozenset[str] = frozenset()
    """Those that refused it, of all nodes together."""
    names: frozenset[str] | None = None
    """The only nodes that it can be on."""
    turn: int | None = None
    """None: something has to change first."""


_Turn = tuple[tuple[float, float], int, Key]
"""What they are sorted by, and the number of the turn."""


class WaitingPods:
    def __init__(self) -> None:
        self._all: dict[Key, _Waiting] = {}
        self._turns: list[_Turn] = []
        self._resting: list[_Turn] = []
        self._count = 0
        self._numbers = itertools.count()
        self._stuck: dict[Key, _Waiting] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._all

    def stuck(self) -> Iterator[Key]:
        """Those that wait for something to change."""
        return iter(tuple(self._stuck))

    @property
    def has_turns(self) -> bool:
        return self._count > 0

    def add(self, pod: Pod, now: float) -> None:
        """One that is new, or has changed itself: its turn comes."""
        known = self._all.get(pod.key)
        if known is None or known.pod.uid != pod.uid:
            self.remove(pod.key)
            known = self._all[pod.key] = _Waiting(pod, now)
        known.pod = pod
        if known.turn is None:
            self._give_turn(known, now)

    def remove(self, key: Key) -> None:
        known = self._all.pop(key, None)
        self._stuck.pop(key, None)
        if known is not None and known.turn is not None:
            self._count -= 1

    def next(self, now: float) -> Pod | None:
        """Takes out whose turn it is: by priority, then by age; then those that rest."""
        while self._resting and self._resting[0][0][0] <= now:
            _, number, key = heapq.heappop(self._resting)
            known = self._all.get(key)
            if known is not None and known.turn == number:
                heapq.heappush(self._turns, (_rank(known), number, key))
        for heap in (self._turns, self._resting):
            while heap:
                _, number, key = heapq.heappop(heap)
                known = self._all.get(key)
                if known is not None and known.turn == number:
                    self._count -= 1
                    known.turn = None
                    known.attempts += 1
                    return known.pod
        return None

    def failed(
        self, pod: Pod, rules: frozenset[str], names: frozenset[str] | None, now: float
    ) -> None:
        known = self._all.get(pod.key)
        if known is not None and known.pod.uid == pod.uid and known.turn is None:
            known.failed_at, known.rules, known.names = now, rules, names
            self._stuck[pod.key] = known

    def hear(self, news: News, node: Node | None, now: float) -> None:
        """Something happened, on that node or not on one: whoever may profit gets another turn."""
        for known in tuple(self._stuck.values()):
            if _may_help(known, news, node):
                self._give_turn(known, now)

    def retry(self, key: Key, now: float) -> None:
        if key in self._stuck:
            self._give_turn(self._stuck[key], now)

    def since(self, key: Key) -> float:
        """When it last failed."""
        return self._stuck[key].failed_at

    def _give_turn(self, known: _Waiting, now: float) -> None:
        key = known.pod.key
        self._stuck.pop(key, None)
        self._count += 1
        known.turn = number = next(self._numbers)
        rest = _rest_seconds(known.attempts)
        if known.attempts and now < known.failed_at + rest:
            heapq.heappush(self._resting, ((known.failed_at + rest, 0.0), number, key))
        else:
            heapq.heappush(self._turns, (_rank(known), number, key))


def _rest_seconds(attempts: int) -> float:
    seconds = _SHORTEST_REST_SECONDS
    for _ in range(1, attempts):
        seconds *= 2
        if seconds >= _LONGEST_REST_SECONDS:
            return _LONGEST_REST_SECONDS
    return seconds


def _rank(known: _Waiting) -> tuple[float, float]:
    return -known.pod.priority, known.since


def _may_help(known: _Waiting, news: News, node: Node | None) -> bool:
    if extending.NAME in known.rules:
        return True  # nobody knows what it goes by
    concerned = [rule for rule in known.rules if NEWS[rule] & news]
    if not known.rules or any(rule in _LOOK_AROUND for rule in concerned):
        return True
    if not concerned or node is None:
        return bool(concerned)
    if known.names is not None and node.name not in known.names:
        return False
    return _could_take(node, known.pod)


def _could_take(node: Node, pod: Pod) -> bool:
    """By its room, or if others went. Else all pods of a full cluster would get a turn whenever one
    leaves, for the sake of the one node that has more room now.
    """
    return room.has_room(pod, node) or any(
        other.priority < pod.priority for other in node.pods.values()
    )
