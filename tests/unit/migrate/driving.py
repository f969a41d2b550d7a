"""Drives `decide` through a toy cluster as the worker does through a real one: look, decide, write
down, act; with something happening at a chosen moment.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rescheduler.migrate.deciding import actions, marks, records
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateCopy,
    DeleteCopy,
    End,
    Evict,
    GiveUp,
    Outcome,
    PatchPod,
    Rehearse,
    SetReady,
    Wait,
    Write,
)
from rescheduler.migrate.deciding.deciding import decide
from rescheduler.migrate.deciding.facts import Intent, Progress, Rehearsed, View
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model import conditions, names, podmigration
from rescheduler.model.podmigration import Phase, Reason, Step
from tests.unit.migrate import disturbing
from tests.unit.migrate.toy_cluster import BEGINNING, ToyCluster, in_progress
from tests.unit.migrate.toy_objects import (
    BudgetRefused,
    Refused,
    SeveralBudgets,
    controller_of,
    is_active,
    is_ready,
    name_of,
)

MANY_LOOKS = 250
MANY_WITHOUT_WAITING = 14

Event = disturbing.Event[ToyCluster]
Moment = disturbing.Moment
Fault = disturbing.Fault
MOMENTS: tuple[Moment, ...] = ("before the look", "before the write", "after the adoption")
FAULTS: tuple[Fault, ...] = ("dies before", "dies after", "reply lost", "not done", "done late")
SECONDS_LATE = 3


@dataclass
class Drive:
    cluster: ToyCluster
    events: Sequence[disturbing.Event[ToyCluster]] = ()
    ticks_after_a_write: int = 0
    """How fast the controllers are compared with us."""
    which: int = 0
    """Of the migrations that were asked for."""
    is_behind: Callable[[], bool] = lambda: False
    """Whether what watches tell is as of the look before."""
    actions: list[Action] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    looks: int = 0
    moments: list[tuple[int, Moment]] = field(default_factory=list)
    """All that there were, by look: an undisturbed drive knows when something can happen."""
    late: list[tuple[int, Write]] = field(default_factory=list)
    swept: int = 0
    """Stray marks and copies."""
    wrongs: list[str] = field(default_factory=list)
    """Writes that should not have been, by what was to be seen just before."""
    steps: list[Step] = field(default_factory=list)
    """As they were written down."""
    _memory: "_Memory | None" = None
    _view_before: View | None = None

    def to_the_end(self) -> "Drive":
        """This process, and as many after it as it takes until the record is finished."""
        self._process()
        for _ in range(5):
            self.tick(SECONDS_LATE + 1)
            if not self.is_unfinished:
                self._sweep()
                break
            self._process()
        self.cluster.controllers_sleep = False
        self.tick(12)
        return self

    def one_look(self) -> list[Action]:
        self.start()
        self.look()
        return self.actions

    @property
    def outcome(self) -> Outcome:
        return self.outcomes[-1]

    @property
    def intent(self) -> Intent:
        return self.cluster.intents[self.which]

    @property
    def status(self) -> MigrationStatus:
        return records.read_status(self.cluster.records[self.intent.record])

    @property
    def is_unfinished(self) -> bool:
        return podmigration.is_unfinished(self.cluster.records[self.intent.record])

    def _process(self) -> None:
        self.start()
        without_waiting = 0
        for _ in range(MANY_LOOKS):
            done = self.look()
            if done in ("ended", "died"):
                return
            if done == "waited":
                self.tick(1)
            without_waiting = 0 if done == "waited" else without_waiting + 1
            assert without_waiting < MANY_WITHOUT_WAITING, f"runs in circles: {self.actions[-4:]}"
        raise AssertionError(f"comes to no end: {self.actions[-4:]}")

    def start(self) -> None:
        """A process takes the migration up."""
        self._memory = _Memory(self.status, self.cluster.time)
        self._view_before = None

    def look(self) -> Literal["acted", "waited", "ended", "died"]:
        memory = self._memory
        assert memory
        self._happens("before the look")
        view = self._see()
        action = self._decide(view)
        if actions.is_final(action) and not view.is_live:
            view = self.cluster.view(self.intent)
            action = self._decide(view)
        self.actions.append(action)
        self._judge(action)
        self._note(action, view)
        try:
            if isinstance(action, End):
                self.outcomes.append(action.outcome)
                return "ended"
            self._happens("before the write")
            return "waited" if self._act(action, memory) else "acted"
        except Refused as problem:
            memory.learn(problem, self.cluster.time)
            return "waited"
        except disturbing.Died:
            return "died"
        finally:
            self.looks += 1

    def _see(self) -> View:
        now = self.cluster.view(self.intent)
        before, self._view_before = self._view_before, now
        if before is None or not self.is_behind():
            return now
        self._view_before = before
        # Our own record is known as we wrote it.
        return replace(before, records=now.records, is_live=False)

    def _decide(self, view: View) -> Action:
        assert self._memory
        progress = self._memory.progress(self.status, view, self.cluster)
        return decide(self.intent, view, progress)

    def _note(self, action: Action, view: View) -> None:
        """As the worker does: before what is decided is done."""
        assert self._memory
        if isinstance(action, Rehearse):
            return
        before, cluster = self.status, self.cluster
        outcome = action.outcome if isinstance(action, GiveUp | End) else self._memory.giving_up
        if isinstance(action, End) and action.outcome.reason is Reason.NOT_FINISHED:
            return
        status = replace(
            before,
            phase=Phase.IN_PROGRESS,
            step=action.step,
            started_at=before.started_at or cluster.now,
            reason=outcome.reason if outcome else "",
            **action.note,
        )
        if view.copy:
            status = replace(status, new_pod=self.intent.copy, new_uid=view.copy["metadata"]["uid"])
        if isinstance(action, GiveUp):
            self._memory.giving_up = action.outcome
        if isinstance(action, End):
            phase = Phase.COMPLETED if action.outcome.moved else Phase.FAILED
            status = replace(status, phase=phase, step=Step.DONE)
        self._record(status)

    def _record(self, status: MigrationStatus) -> None:
        if status != self.status:
            record = self.cluster.records[self.intent.record]
            record["status"] = records.status_document(record, status, self.cluster.now)
            self.steps.append(status.step)

    def _sweep(self) -> None:
        """With no migration under way, every mark, and every copy in the middle, is a stray one: of
        a write that arrived when nobody waited for it any more.
        """
        for uid, pod in self.cluster.pods.items():
            if is_active(pod) and marks.are_on(pod):
                self.swept += 1
                self.cluster.patch(uid, marks.unmark(pod))
        for pod in in_progress(self.cluster.pods):
            if is_active(pod) and name_of(pod) == self.intent.copy:
                self.swept += 1
                stray = replace(self.status, phase=Phase.IN_PROGRESS, step=Step.TAKE_BACK)
                self._record(replace(stray, reason=Reason.CANCELLED))
                self._process()
                return

    def _act(self, action: Action, memory: "_Memory") -> bool:
        match action:
            case Wait():
                memory.budget_allows = False
                memory.refused_since = None
                if action.seconds is None:
                    memory.left_since = memory.away_since = None
                else:
                    memory.lingering_since = self.cluster.time
                return True
            case GiveUp():
                return False
            case Rehearse(template, as_owner):
                memory.rehearsed = Rehearsed(template=template, answer=as_owner)
                return False
            case CreateCopy() | PatchPod() | SetReady() | Evict() | DeleteCopy():
                self._write(action, memory, self._fault())
                if is_adoption(action):
                    self._happens("after the adoption")
                self.tick(self.ticks_after_a_write)
                return False
        raise AssertionError(action)

    def _write(self, write: Write, memory: "_Memory", fault: Fault | None) -> None:
        disturbing.write(
            fault,
            lambda: carry_out(self.cluster, write),
            lambda: self.late.append((self.cluster.time + SECONDS_LATE, write)),
        )
        if isinstance(write, Evict):
            memory.budget_allows = write.dry_run
            memory.refused_since = None
        if isinstance(write, CreateCopy):
            memory.created = True
        if isinstance(write, SetReady):
            memory.times_left += not write.is_ready
            if write.is_ready:
                memory.left_since = memory.away_since = None

    def tick(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.tick()
            self.arrive()

    def arrive(self) -> None:
        """Writes that were on their way for long."""
        for due, write in list(self.late):
            if self.cluster.time >= due:
                self.late.remove((due, write))
                try:
                    carry_out(self.cluster, write)
                except Refused:
                    continue

    def _happens(self, moment: Moment) -> None:
        self.moments.append((self.looks, moment))
        for event in self.events:
            if event.look == self.looks and event.moment == moment and event.disturbance:
                event.disturbance(self.cluster)

    def _fault(self) -> Fault | None:
        return next((each.fault for each in self.events if each.look == self.looks), None)

    def _judge(self, action: Action) -> None:
        cluster = self.cluster
        if (
            isinstance(action, DeleteCopy)
            and controller_of(dict(action.copy)) in cluster.replica_sets
        ):
            self.wrongs.append("deletes a copy that is a replica by now")
        if is_adoption(action) and cluster.is_changing:
            self.wrongs.append("adopts though the Deployment is changing")
        if isinstance(action, Evict) and action.what == "evicts the original":
            self._judge_eviction(action.pod["metadata"]["uid"])

    def _judge_eviction(self, uid: str) -> None:
        cluster = self.cluster
        owner = self.intent.owner
        replica_set = cluster.replica_sets.get(owner.uid) if owner else None
        if uid != self.intent.uid:
            self.wrongs.append(f"evicts {uid}, which is not the original")
        if cluster.alone:
            if not (cluster.copy and is_ready(cluster.copy)):
                self.wrongs.append("evicts though the copy does not serve")
            return
        if replica_set is None:
            self.wrongs.append("evicts though its ReplicaSet is gone")
            return
        controlled = {pod["metadata"]["uid"] for pod in cluster.view(self.intent).pods}
        serving = {
            each
            for each, pod in cluster.pods.items()
            if is_ready(pod) and each != uid and (each in controlled or is_ours(pod))
        }
        if uid not in controlled:
            self.wrongs.append("evicts though it is no longer a pod of its ReplicaSet")
        wanted = replica_set["spec"]["replicas"]
        if cluster.asked:
            # Those that were not Ready before need not be now.
            before = [each for each in controlled if not is_ours(cluster.pods[each])]
            wanted = min(wanted, sum(is_ready(cluster.pods[each]) for each in before))
        if len(serving) < wanted:
            self.wrongs.append(f"evicts though only {len(serving)} others serve")


class _Memory:
    """What a process knows of a migration: what the record told, and what it has seen itself."""

    def __init__(self, status: MigrationStatus, now: int) -> None:
        self.taken_up = now
        self.created = bool(status.new_uid)
        self.giving_up = status.giving_up
        self.copy_since: int | None = None
        self.ready_since: int | None = None
        self.budget_allows = False
        self.refused_since: int | None = None
        self.rehearsed: Rehearsed | None = None
        self.left_since: int | None = None
        self.away_since: int | None = None
        self.times_left = 0
        self.lingering_since: int | None = None
        self.lingering_seconds = 0

    def progress(self, status: MigrationStatus, view: View, cluster: ToyCluster) -> Progress:
        now = cluster.time
        if view.copy is not None:
            self.created = True
            self.copy_since = now if self.copy_since is None else self.copy_since
        if view.copy is None or not is_ready(dict(view.copy)):
            self.ready_since = None
        elif self.ready_since is None:
            self.ready_since = now
        if view.original is not None and conditions.has_left(view.original):
            self.left_since = now if self.left_since is None else self.left_since
            self.away_since = now if self.away_since is None else self.away_since
        else:
            self.away_since = None
        if self.lingering_since is not None:
            self.lingering_seconds += now - self.lingering_since
            self.lingering_since = None
        began = status.started_at
        before = (began - BEGINNING).total_seconds() if began else self.taken_up
        return Progress(
            now=cluster.now,
            way=status.way,
            created=self.created,
            running_seconds=now - before,
            resumed_seconds=now - self.taken_up,
            copy_seconds=None if self.copy_since is None else now - self.copy_since,
            copy_ready_seconds=0 if self.ready_since is None else now - self.ready_since,
            budget_allows=self.budget_allows,
            budget_refused_seconds=0 if self.refused_since is None else now - self.refused_since,
            giving_up=self.giving_up,
            rehearsed=self.rehearsed,
            left_seconds=0 if self.left_since is None else now - self.left_since,
            away_seconds=0 if self.away_since is None else now - self.away_since,
            times_left=self.times_left,
            lingering_seconds=self.lingering_seconds,
        )

    def learn(self, problem: Refused, now: int) -> None:
        self.budget_allows = False
        if isinstance(problem, BudgetRefused) and self.refused_since is None:
            self.refused_since = now
        if isinstance(problem, SeveralBudgets) and self.giving_up is None:
            self.giving_up = Outcome(moved=False, reason=Reason.SEVERAL_BUDGETS, message="")


def is_ours(pod: Mapping[str, Any]) -> bool:
    """A copy: Ready, it serves whether or not it was adopted."""
    return names.ORIGINAL_POD in pod["metadata"]["annotations"]


def is_adoption(action: Action) -> bool:
    return isinstance(action, PatchPod) and "adopt" in action.what


def carry_out(cluster: ToyCluster, write: Write) -> None:
    match write:
        case CreateCopy(body):
            cluster.create(body)
        case PatchPod(_, pod, change):
            cluster.patch(pod["metadata"]["uid"], change)
        case SetReady(_, pod, told):
            meta = pod["metadata"]
            cluster.set_conditions(meta["uid"], meta["resourceVersion"], told)
        case Evict(_, pod, _, dry_run):
            cluster.evict(pod["metadata"]["uid"], dry_run=dry_run)
        case DeleteCopy(pod):
            cluster.delete(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"])
