"""Drives `surge.next_step` through a toy cluster as `surging` does through a real one, with
something happening at a chosen moment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, get_args

from rescheduler.config import Migration
from rescheduler.migrate.deciding.facts import Progress, View
from rescheduler.migrate.deciding.marks import unmark
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.steps import (
    CreateCopy,
    DeleteCopy,
    End,
    Evict,
    GiveUp,
    PatchPod,
    Step,
    Wait,
    Write,
)
from rescheduler.migrate.deciding.surge import next_step
from tests.unit.migrate.toy_cluster import (
    BudgetRefused,
    Refused,
    SeveralBudgets,
    ToyCluster,
    controller_of,
    in_progress,
    is_active,
    is_marked,
    is_ready,
)

SETTINGS = Migration(
    ready_timeout_seconds=20,
    settle_seconds=0,
    budget_timeout_seconds=6,
    eviction_grace_period_seconds=1,
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANY_LOOKS = 250
MANY_WITHOUT_WAITING = 12

Moment = Literal["before the look", "before the write", "after the adoption"]
Fault = Literal["dies before", "dies after", "reply lost", "not done", "done late"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
FAULTS: tuple[Fault, ...] = get_args(Fault)
SECONDS_LATE = 3


class Died(Exception):
    """The process, at this very moment."""


@dataclass(frozen=True)
class Event:
    """Something that happens at the n-th look of the first process."""

    look: int
    action: Callable[[ToyCluster], None] | None = None
    moment: Moment = "before the look"
    fault: Fault | None = None
    """Of the write that follows that look, if there is one."""


@dataclass
class Drive:
    cluster: ToyCluster
    events: Sequence[Event] = ()
    ticks_after_a_write: int = 0
    """How fast the controllers are compared with us."""
    steps: list[Step] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    looks: int = 0
    late: list[tuple[int, Write]] = field(default_factory=list)
    swept: int = 0
    """Stray marks."""
    wrongs: list[str] = field(default_factory=list)
    """Writes that should not have been, by what was to be seen just before."""

    def to_the_end(self) -> "Drive":
        """This process, and as many after it as there are records of unfinished migrations."""
        self._process()
        for _ in range(5):
            self._tick(SECONDS_LATE + 1)
            if not any(in_progress(self.cluster.pods)):
                self._sweep()
                break
            self._process()
        self.cluster.controllers_sleep = False
        self._tick(12)
        return self

    def one_look(self) -> list[Step]:
        self._process(looks=1)
        return self.steps

    @property
    def outcome(self) -> Outcome:
        return self.outcomes[-1]

    def _process(self, looks: int = MANY_LOOKS) -> None:
        memory = _Memory(started=self.cluster.time)
        without_waiting = 0
        for _ in range(looks):
            self._happens("before the look")
            view = self.cluster.view()
            progress = memory.progress(view, self.cluster.time)
            step = next_step(self.cluster.intent, view, progress, SETTINGS)
            self.steps.append(step)
            self._judge(step)
            self._happens("before the write")
            try:
                if isinstance(step, End):
                    self.outcomes.append(step.outcome)
                    return
                waited = self._act(step, memory)
            except Refused as problem:
                waited = memory.learn(problem, self.cluster.time)
                self._tick(1)
            except Died:
                return
            finally:
                self.looks += 1
            without_waiting = 0 if waited else without_waiting + 1
            assert without_waiting < MANY_WITHOUT_WAITING, f"runs in circles: {self.steps[-4:]}"
        raise AssertionError(f"comes to no end: {self.steps[-4:]}")

    def _sweep(self) -> None:
        """With no migration under way, every mark is a stray one."""
        for uid, pod in self.cluster.pods.items():
            if is_marked(pod) and is_active(pod):
                self.swept += 1
                self.cluster.patch(uid, unmark(pod["metadata"]["annotations"]))

    def _act(self, step: Step, memory: "_Memory") -> bool:
        match step:
            case Wait():
                memory.budget_allows = False
                memory.refused_since = None
                self._tick(1)
                return True
            case GiveUp(outcome):
                memory.giving_up = outcome
                return False
            case CreateCopy() | PatchPod() | Evict() | DeleteCopy():
                self._write(step, memory, self._fault())
                if is_adoption(step):
                    self._happens("after the adoption")
                self._tick(self.ticks_after_a_write)
                return False
        raise AssertionError(step)

    def _write(self, write: Write, memory: "_Memory", fault: Fault | None) -> None:
        if fault == "dies before":
            raise Died
        if fault == "done late":
            self.late.append((self.cluster.time + SECONDS_LATE, write))
        if fault in ("not done", "done late"):
            raise Refused("no answer")
        carry_out(self.cluster, write)
        if fault == "dies after":
            raise Died
        if fault == "reply lost":
            raise Refused("no answer")
        if isinstance(write, Evict):
            memory.budget_allows = write.dry_run
            memory.refused_since = None
        if isinstance(write, CreateCopy):
            memory.created = True

    def _tick(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.tick()
            for due, write in list(self.late):
                if self.cluster.time >= due:
                    self.late.remove((due, write))
                    try:
                        carry_out(self.cluster, write)
                    except Refused:
                        continue

    def _happens(self, moment: Moment) -> None:
        for event in self.events:
            if event.look == self.looks and event.moment == moment and event.action:
                event.action(self.cluster)

    def _fault(self) -> Fault | None:
        return next((each.fault for each in self.events if each.look == self.looks), None)

    def _judge(self, step: Step) -> None:
        cluster = self.cluster
        if isinstance(step, DeleteCopy) and controller_of(dict(step.copy)) in cluster.replica_sets:
            self.wrongs.append("deletes a copy that is a replica by now")
        if is_adoption(step) and cluster.is_changing:
            self.wrongs.append("adopts though the Deployment is changing")
        if isinstance(step, Evict) and step.what == "evicts the original":
            self._judge_eviction(step.pod["metadata"]["uid"])

    def _judge_eviction(self, uid: str) -> None:
        cluster = self.cluster
        replica_set = cluster.replica_sets.get(cluster.intent.replica_set_uid)
        if uid != cluster.original_uid:
            self.wrongs.append(f"evicts {uid}, which is not the original")
        if replica_set is None:
            self.wrongs.append("evicts though its ReplicaSet is gone")
            return
        controlled = {pod["metadata"]["uid"] for pod in cluster.view().pods}
        serving = {
            each
            for each, pod in cluster.pods.items()
            if is_ready(pod) and each != uid and (each in controlled or pod is cluster.copy)
        }
        if uid not in controlled:
            self.wrongs.append("evicts though it is no longer a pod of its ReplicaSet")
        if len(serving) < replica_set["spec"]["replicas"]:
            self.wrongs.append(f"evicts though only {len(serving)} others serve")


@dataclass
class _Memory:
    started: int
    created: bool = False
    ready_since: int | None = None
    budget_allows: bool = False
    refused_since: int | None = None
    giving_up: Outcome | None = None

    def progress(self, view: View, now: int) -> Progress:
        if view.copy is not None:
            self.created = True
        if view.copy is None or not is_ready(dict(view.copy)):
            self.ready_since = None
        elif self.ready_since is None:
            self.ready_since = now
        return Progress(
            now=NOW,
            created=self.created,
            running_seconds=now - self.started,
            copy_ready_seconds=0 if self.ready_since is None else now - self.ready_since,
            budget_allows=self.budget_allows,
            budget_refused_seconds=0 if self.refused_since is None else now - self.refused_since,
            giving_up=self.giving_up,
        )

    def learn(self, problem: Refused, now: int) -> bool:
        """True when it waits before it looks again."""
        self.budget_allows = False
        if isinstance(problem, BudgetRefused) and self.refused_since is None:
            self.refused_since = now
        if isinstance(problem, SeveralBudgets):
            self.giving_up = Outcome(moved=False, reason=Reason.SEVERAL_BUDGETS, message="")
        return True


def is_adoption(step: Step) -> bool:
    return isinstance(step, PatchPod) and "adopt" in step.what


def carry_out(cluster: ToyCluster, write: Write) -> None:
    match write:
        case CreateCopy(body):
            cluster.create(body)
        case PatchPod(_, pod, change):
            cluster.patch(pod["metadata"]["uid"], change)
        case Evict(_, pod, _, dry_run):
            cluster.evict(pod["metadata"]["uid"], dry_run=dry_run)
        case DeleteCopy(pod):
            cluster.delete(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"])
