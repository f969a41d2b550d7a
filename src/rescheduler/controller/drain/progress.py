"""How a drain goes: its figures, readable at any time, and what it says to whoever waits."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rescheduler.controller.shutdown import GRACE_SECONDS
from rescheduler.migrate import Outcome
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model.cluster import Pod
from rescheduler.model.moves import Move, Plan
from rescheduler.model.pausing import Pause
from rescheduler.model.podmigration import reasons

Say = Callable[[str], None]

_REFUSALS: Final = 3
"""So often the API server may refuse moves of the same pod. Of some there is no record to count."""
_SOMEBODY: Final = "another rescheduler"
"""Of whom no more is known, as the lease cannot be read at the moment."""


@dataclass(slots=True)
class Progress:
    """Readable at any time, also when it was cut short."""

    planned: int = 0
    moved: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """By full name of the pod: why it could not be moved."""
    stay: dict[str, str] = field(default_factory=dict)
    """By full name of the pod: why it cannot go, as of the last plan."""
    leader: str = ""
    """Who carries the moves out; empty: we do."""
    under_way: int = 0
    is_cordoned: bool = False
    ended: set[str] = field(default_factory=set)
    """UIDs of pods whose move we have heard the end of, before the observer may have."""
    expected: set[str] = field(default_factory=set)
    """UIDs of pods whose move off the node was seen under way, and not heard the end of: it counts
    whenever it ends, also while one leader follows another, and nobody looks.
    """
    may_pass: set[str] = field(default_factory=set)
    """Full names of pods whose last move failed of something that passes."""
    _refused: Counter[str] = field(default_factory=Counter)
    """By full name of the pod."""

    def begin(self, moves: Sequence[Move]) -> None:
        # What is tried again has been counted.
        self.planned += sum(move.full_name not in self.failed for move in moves)
        self.under_way = len(moves)
        uids = {move.uid for move in moves}
        self.expected |= uids
        # Tried again, it has not ended.
        self.ended -= uids

    def hear(self, move: Move, outcome: Outcome) -> None:
        name = move.full_name
        self.under_way -= 1
        self.ended.add(move.uid)
        self.expected.discard(move.uid)
        self.may_pass.discard(name)
        if outcome.moved:
            self.moved += 1
            self.failed.pop(name, None)
            return
        self._refused[name] += outcome.reason == reasons.Reason.REFUSED
        is_passing = reasons.is_passing(outcome.reason, other_way=name not in self.failed)
        if is_passing and self._refused[name] < _REFUSALS:
            self.may_pass.add(name)
        self.failed[name] = f"{outcome.reason}: {outcome.message}"

    def end(self, run: PlanRun) -> None:
        self.planned -= len(run.skipped)
        self.under_way = 0
        if run.moved:
            self._refused.clear()

    def leave_to_others(self) -> None:
        """From now on it is among what is seen to be under way."""
        self.planned -= self.under_way
        self.under_way = 0

    def expect(self, uids: Collection[str]) -> None:
        """Of pods that others move."""
        self.expected.update(uids)

    def count_completed(self, uids: Collection[str]) -> None:
        """By whomever they were asked for: their pods are gone from the node."""
        moved = self.expected.intersection(uids)
        self.moved += len(moved)
        self.planned += len(moved)
        self.expected -= moved

    def note_who_stays(self, pods: Iterable[Pod], decided: Plan) -> None:
        held = {each.full_name: "; ".join(each.reasons) for each in decided.refusals}
        goes = {move.full_name for move in decided.moves}
        self.stay = {
            name: self.failed.get(name) or held.get(name) or "no reason told"
            for name in (pod.full_name for pod in pods)
            if name not in goes or name in self.failed
        }


class Voice:
    """Says how it goes, and nothing twice."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._has_waited = False
        self._waits_for: frozenset[str] = frozenset()
        """Full names of pods."""

    def leads(self, holder: str) -> None:
        self._say(f"{holder or _SOMEBODY} is the leader, and carries the moves out")

    def leads_no_longer(self, holder: str) -> None:
        self._say(f"{holder or _SOMEBODY} is no longer the leader: the moves are made here")

    def cordoned(self, node: str, *, by_us: bool) -> None:
        self._say(f"node/{node} {'cordoned' if by_us else 'already cordoned'}")

    def stopping(self) -> None:
        self._say(
            f"stopping: what is nearly done has {GRACE_SECONDS:.0f} s to end; "
            "interrupt again to end at once"
        )

    def hear_of_pause(self, pause: Pause | None) -> None:
        if pause is None:
            self._say("resumed")
        else:
            self._say(f"{pause}; waiting for `rescheduler resume`, and what has begun goes on")

    def pauses(self, seconds: float) -> None:
        self._say(f"no other move begins for {seconds:.0f} s, as too many failed in a row")

    def ended(self, move: Move, outcome: Outcome, progress: Progress) -> None:
        if not outcome.moved:
            self._say(
                f"pod/{move.pod} not moved in namespace {move.namespace}: "
                f"{outcome.reason}: {outcome.message}"
            )
            return
        where = f"{move.source} -> {move.target}"
        if outcome.reason != "Completed":
            where += f" ({outcome.message})"
        self._say(
            f"pod/{move.pod} moved ({progress.moved} of {progress.planned}) "
            f"in namespace {move.namespace}: {where}"
        )

    def waits_for_others(self, moves: int) -> None:
        if moves and not self._has_waited:
            self._has_waited = True
            self._say(f"waiting for {moves} more that others asked for")

    def waits_for_pods(self, awaited: Mapping[str, str]) -> None:
        """Once for the same pods: figures among the reasons may change every time."""
        if awaited.keys() == self._waits_for:
            return
        self._waits_for = frozenset(awaited)
        for why, pods in Counter(awaited.values()).items():
            self._say(f"waiting for {pods} {'pod' if pods == 1 else 'pods'}: {why}")
