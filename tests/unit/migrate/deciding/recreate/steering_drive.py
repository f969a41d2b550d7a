"""Drives `steering.next_action` through a toy workload as the worker does through a real one, with
something happening at a chosen moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import get_args

from rescheduler.config import Migration
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateBudget,
    DeleteBudget,
    End,
    Evict,
    GiveUp,
    LabelRecord,
    Outcome,
    PatchPod,
    Probe,
    Rehearse,
    Wait,
    Write,
)
from rescheduler.migrate.deciding.facts import Progress, View
from rescheduler.migrate.deciding.recreate import probing, steering
from rescheduler.model.podmigration import Phase, Reason, Way
from tests.unit.migrate import disturbing
from tests.unit.migrate.toy_objects import (
    BudgetRefused,
    Refused,
    SeveralBudgets,
    is_active,
    is_ready,
)
from tests.unit.migrate.toy_workload import ToyWorkload

SETTINGS = Migration(
    ready_timeout_seconds=30,
    budget_timeout_seconds=6,
    steer_timeout_seconds=5,
    clean_up_timeout_seconds=60,
    eviction_grace_period_seconds=1,
)
MANY_LOOKS = 400
MANY_WITHOUT_WAITING = 12
SECONDS_LATE = 3

Event = disturbing.Event[ToyWorkload]
Moment = disturbing.Moment
Fault = disturbing.Fault
MOMENTS: tuple[Moment, ...] = ("before the look", "before the write", "after the write")
FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass
class Drive:
    cluster: ToyWorkload
    events: Sequence[disturbing.Event[ToyWorkload]] = ()
    actions: list[Action] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    looks: int = 0
    moments: list[tuple[int, Moment]] = field(default_factory=list)
    """All that there were, by look: an undisturbed drive knows when something can happen."""
    late: list[tuple[int, Write, int]] = field(default_factory=list)
    """When it arrives, what, and the version of the record that it was sent for."""
    swept: int = 0
    """Budgets that arrived after all was over."""
    wrongs: list[str] = field(default_factory=list)
    ahead: timedelta = timedelta()
    """By how much our clock is ahead of the API server's."""
    doubled: bool = False
    """At the last look two budgets, one of them ours, were on one pod, and nothing failed since."""

    def to_the_end(self) -> "Drive":
        """This process, and as many after it as it takes."""
        for _ in range(4):
            self._process()
            if self.outcomes:
                break
            self._tick(SECONDS_LATE + 1)
        self._tick(25)
        return self

    @property
    def outcome(self) -> Outcome:
        return self.outcomes[-1]

    def written(self) -> list[Action]:
        return [
            action for action in self.actions if not isinstance(action, Wait | Probe | GiveUp | End)
        ]

    def _process(self) -> None:
        memory = _Memory(started=self._started(), giving_up=self.cluster.status.giving_up)
        without_waiting = 0
        for _ in range(MANY_LOOKS):
            self._happens("before the look")
            view = self.cluster.view()
            progress = memory.progress(view, self.cluster)
            progress = replace(progress, now=progress.now + self.ahead)
            action = steering.next_action(self.cluster.intent, view, progress)
            self.actions.append(action)
            self._judge(action, view)
            fault = self._fault()
            try:
                self._note(action, memory, fault)
                if isinstance(action, End):
                    self.outcomes.append(action.outcome)
                    return
                self._happens("before the write")
                waited = self._act(action, memory, fault)
                self._happens("after the write")
            except Refused as problem:
                waited = memory.learn(problem, self.cluster.time)
                self.doubled = False
                self._tick(1)
            except disturbing.Died:
                self.doubled = False
                return
            finally:
                self.looks += 1
            without_waiting = 0 if waited else without_waiting + 1
            assert without_waiting < MANY_WITHOUT_WAITING, f"runs in circles: {self.actions[-4:]}"
        raise AssertionError(f"comes to no end: {self.actions[-4:]}")

    def _started(self) -> int:
        at = self.cluster.status.started_at
        if at is None:
            return self.cluster.time
        return self.cluster.time - int((self.cluster.now - at).total_seconds())

    def _note(self, action: Action, memory: "_Memory", fault: Fault | None) -> None:
        if fault == "dies unsaid":
            raise disturbing.Died
        cluster, before = self.cluster, self.cluster.status
        outcome = action.outcome if isinstance(action, GiveUp | End) else memory.giving_up
        if isinstance(action, End) and action.outcome.reason is Reason.NOT_FINISHED:
            return
        status = replace(
            before,
            phase=Phase.IN_PROGRESS,
            step=action.step,
            way=Way.RECREATE,
            owner=cluster.intent.owner,
            started_at=before.started_at or cluster.now,
            reason=outcome.reason if outcome else "",
            message=outcome.message if outcome else "",
            **action.note,
        )
        if isinstance(action, End):
            is_moved = action.outcome.moved
            status = replace(status, phase=Phase.COMPLETED if is_moved else Phase.FAILED)
        cluster.write_status(status)

    def _act(self, action: Action, memory: "_Memory", fault: Fault | None) -> bool:
        match action:
            case Wait():
                memory.budget_allows = False
                memory.refused_since = None
                self._tick(1)
                return True
            case GiveUp(outcome):
                memory.giving_up = outcome
                return False
            case Probe(body):
                answer = self.cluster.probe(body)
                memory.steered = probing.is_steered(answer, self.cluster.intent)
                is_refused = self.cluster.refuses_all or (
                    self.cluster.refuses_steered and memory.steered
                )
                memory.steered = memory.steered and not is_refused
                memory.steering_refused = "a policy refuses it" if is_refused else ""
                if memory.steering_since is None:
                    memory.steering_since = self.cluster.time
                self._tick(0 if memory.steered else 1)
                return not memory.steered
            case End() | Rehearse():
                raise AssertionError
        self._write(action, memory, fault)
        return False

    def _write(self, write: Write, memory: "_Memory", fault: Fault | None) -> None:
        version = self.cluster.record["metadata"]["resourceVersion"]
        disturbing.write(
            fault,
            lambda: carry_out(self.cluster, write),
            lambda: self.late.append((self.cluster.time + SECONDS_LATE, write, version)),
        )
        if isinstance(write, Evict):
            memory.budget_allows = write.dry_run
            memory.refused_since = None
        if isinstance(write, LabelRecord):
            memory.steering_since = self.cluster.time

    def _tick(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.tick()
            for late in list(self.late):
                due, write, version = late
                if self.cluster.time >= due:
                    self.late.remove(late)
                    self._arrive(write, version)

    def _arrive(self, write: Write, version: int) -> None:
        is_behind = self.cluster.record["metadata"]["resourceVersion"] != version
        if isinstance(write, LabelRecord) and is_behind:
            return
        try:
            carry_out(self.cluster, write)
        except Refused:
            return
        if isinstance(write, CreateBudget) and self.outcomes:
            # Nobody can know of it any more but whoever goes round and looks for strays.
            self.swept += 1
            self.cluster.delete_budget(self.cluster.temporary[0])

    def _happens(self, moment: Moment) -> None:
        self.moments.append((self.looks, moment))
        for event in self.events:
            if event.look == self.looks and event.moment == moment and event.disturbance:
                event.disturbance(self.cluster)

    def _fault(self) -> Fault | None:
        return next((each.fault for each in self.events if each.look == self.looks), None)

    def _judge(self, action: Action, view: View) -> None:
        cluster, original = self.cluster, self.cluster.original
        doubled = bool(cluster.temporary) and any(
            len(cluster.budgets_on(pod)) > 1 for pod in cluster.pods.values()
        )
        if doubled and self.doubled:
            self.wrongs.append("two budgets on a pod for longer than one look")
        self.doubled = doubled
        if isinstance(action, CreateBudget) and cluster.budgets:
            self.wrongs.append("a second budget")
        if isinstance(action, DeleteBudget) and action.budget not in cluster.temporary:
            self.wrongs.append("deletes a budget that is not ours")
        if isinstance(action, Evict):
            if original is None or action.pod["metadata"]["uid"] != cluster.original_uid:
                self.wrongs.append("evicts another pod")
            elif not action.dry_run and not is_active(original):
                self.wrongs.append("evicts what ends already")
        if isinstance(action, Evict) and not action.dry_run:
            self._judge_eviction(view)

    def _judge_eviction(self, view: View) -> None:
        cluster = self.cluster
        assert view.original
        if len(cluster.budgets_on(dict(view.original))) > 1:
            self.wrongs.append("evicts what nobody can evict")
        if cluster.unready and is_ready(dict(view.original)):
            self.wrongs.append("evicts one that would be missed")
        if cluster.owner_uid not in cluster.workloads:
            self.wrongs.append("evicts though nobody would make it anew")
        if not cluster.target or cluster.target["spec"].get("unschedulable"):
            self.wrongs.append("evicts though its target is not to be had")


@dataclass
class _Memory:
    started: int
    giving_up: Outcome | None
    budget_allows: bool = False
    refused_since: int | None = None
    steered: bool | None = None
    steering_refused: str = ""
    steering_since: int | None = None
    ending_since: int | None = None
    gone_since: int | None = None

    def progress(self, view: View, cluster: ToyWorkload) -> Progress:
        now, status = cluster.time, cluster.status
        if view.original is None or "deletionTimestamp" not in view.original["metadata"]:
            self.ending_since = None
        elif self.ending_since is None:
            self.ending_since = now
        if view.original is not None:
            self.gone_since = None
        elif self.gone_since is None:
            self.gone_since = now
        return Progress(
            now=cluster.now,
            way=status.way,
            running_seconds=now - self.started,
            budget_allows=self.budget_allows,
            budget_refused_seconds=_since(self.refused_since, now),
            giving_up=self.giving_up,
            steered=self.steered,
            steering_refused=self.steering_refused,
            steering_seconds=_since(self.steering_since, now),
            evicted=bool(status.siblings),
            siblings=frozenset(status.siblings),
            unready=status.unready,
            fallback=status.fallback,
            extender_steers=cluster.extender_steers,
            ending_seconds=_since(self.ending_since, now),
            replacement_seconds=_since(self.gone_since, now),
        )

    def learn(self, problem: Refused, now: int) -> bool:
        """True when it waits before it looks again."""
        self.budget_allows = False
        if isinstance(problem, BudgetRefused) and self.refused_since is None:
            self.refused_since = now
        if isinstance(problem, SeveralBudgets):
            self.giving_up = Outcome(moved=False, reason=Reason.SEVERAL_BUDGETS, message="")
        return True


def carry_out(cluster: ToyWorkload, write: Write) -> None:
    match write:
        case PatchPod(_, pod, change):
            cluster.patch(pod["metadata"]["uid"], change)
        case Evict(_, pod, _, dry_run):
            cluster.evict(pod["metadata"]["uid"], dry_run=dry_run)
        case CreateBudget(body):
            cluster.create_budget(body)
        case DeleteBudget(budget):
            cluster.delete_budget(budget)
        case LabelRecord(labels):
            cluster.label_record(labels)
        case _:
            raise AssertionError(write)


def _since(start: int | None, now: int) -> float:
    return 0.0 if start is None else now - start
