"""Empties one node, as NodeMaintenance does, and tells how it goes.

Where somebody leads, the moves are only asked for, and the leader makes them; where nobody does,
they are made here, with the lease in hand.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from rescheduler import acting, plan
from rescheduler.acting import AnotherLeads, Connect
from rescheduler.clock import Clock
from rescheduler.config import Configuration, Forced, Scope
from rescheduler.config.suggestions import nearest
from rescheduler.cycle import GRACE_SECONDS, checking, to_an_end
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi
from rescheduler.leading import Leadership, Term
from rescheduler.migrate import Migrator, Outcome, cordoning, migrating, telling
from rescheduler.migrate.deciding import records
from rescheduler.migrate.waves import PlanRun
from rescheduler.model import names, reasons
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Move, Plan
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer, observing
from rescheduler.wire import POD_MIGRATIONS

Say = Callable[[str], None]

STRATEGY: Final = "NodeMaintenance"
_SEEING_SECONDS: Final = 10.0
_LOOK_SOON_SECONDS: Final = 0.05

_DECIDING_SECONDS: Final = 10.0
_CATCHING_UP_SECONDS: Final = 10.0
"""Until the observer has seen what the migrator has."""
_LOOK_AGAIN_SECONDS: Final = 0.1
_TRY_AGAIN_SECONDS: Final = 5.0
"""Between two plans while all that is left waits for something: as kubectl drain asks again."""
_REFUSALS: Final = 3
"""So often the API server may refuse moves of the same pod. Of some there is no record to count."""
_LEAVING: Final = "it is on its way out"


class UnknownNode(ReschedulerError):
    """There is none of this name, or it is not ours to empty."""


class UnknownNamespace(ReschedulerError):
    """What is to be skipped is not there: nothing would be skipped."""


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


class Drain:
    def __init__(self, clock: Clock, configuration: Configuration, node: str, say: Say) -> None:
        """Its `forced` says what is skipped of all that kubectl drain would take."""
        self.progress = Progress()
        self._clock = clock
        self._node = node
        self._say = say
        self._has_begun = False
        self._told = ""
        """On the node, about who is left."""
        self._has_waited = False
        self._waits_for: dict[str, str] = {}
        """By full name of the pod: why, as it was said last."""
        self._may_pass: set[str] = set()
        """Full names of pods whose last move failed of something that passes."""
        self._refused: Counter[str] = Counter()
        """By full name of the pod."""
        self._is_stopping = False
        self._run: PlanRun | None = None
        self._ended: set[str] = set()
        """UIDs of pods whose move we have heard the end of, before the observer may have."""
        # All that is asked for, and nothing else.
        self._configuration = replace(
            configuration,
            enabled_strategies=(STRATEGY,),
            max_reschedule_pods=0,
            forced=configuration.forced or Forced(),
            node_maintenance=replace(
                configuration.node_maintenance, cordoned_nodes=False, removed_nodes=False
            ),
        )

    # ------------------------------------------------------------------ with or without a leader

    async def preview(self, connect: Connect) -> Plan:
        """What it would begin with; changes nothing."""
        async with connect() as kube, self._observing(kube) as observer:
            await observer.settled()
            self._insist_on_namespaces(observer.snapshot())
            self._forgive(observer.snapshot())
            decided = await self._plan(observer.snapshot())
            self.progress.planned = len(decided.moves)
            self._note_who_stays(observer.snapshot(), decided)
            return decided

    async def run(self, connect: Connect) -> None:
        """Until nobody is left who could go; `progress` says what came of it."""
        while True:
            try:
                await self._lead(connect)
            except AnotherLeads as problem:
                self.progress.leader = problem.holder
                self._say(f"{problem.holder} leads, and carries the moves out")
            else:
                return
            async with connect() as kube:
                if await self._follow(kube):
                    return
            # From now on it is among what is seen to be under way.
            self.progress.planned -= self.progress.under_way
            self.progress.under_way = 0

    async def _lead(self, connect: Connect) -> None:
        election = self._configuration.leader_election
        async with acting.acting(connect, self._clock, election) as right:
            if self._has_begun:
                self._say(f"{self.progress.leader} leads no longer: the moves are made here")
            self.progress.leader = ""
            await right.use(self._drain(right.kube, right.leadership))

    async def _follow(self, kube: KubeApi) -> bool:
        """Whether it was done before the lease was free: then nobody carries out what is left."""
        election = self._configuration.leader_election
        draining = asyncio.ensure_future(self._drain(kube))
        ending = asyncio.ensure_future(acting.until_free(kube, self._clock, election))
        try:
            await asyncio.wait([draining, ending], return_when=asyncio.FIRST_COMPLETED)
            if draining.done():
                await draining
                return True
            return False
        finally:
            for task in (draining, ending):
                task.cancel()
            await asyncio.gather(draining, ending, return_exceptions=True)

    async def _drain(self, kube: KubeApi, leadership: Leadership | None = None) -> None:
        """Without leadership the moves are only asked for."""
        term = leadership.term if leadership else Term("", 0)
        async with self._observing(kube) as observer:
            await observer.settled()
            self._insist_on_node(observer.snapshot())
            self._insist_on_namespaces(observer.snapshot())
            if not self._has_begun:
                # Whoever asks again may have mended what they failed of.
                self._forgive(observer.snapshot())
            self._has_begun = True
            async with migrating(
                kube,
                self._clock,
                self._configuration,
                holder=term.holder,
                fence=term.number,
                why_not=checking(observer, self._configuration),
                carry_out=leadership is not None,
                begins=self._is_ours_to_begin,
            ) as migrator:
                await migrator.synced()
                await self._cordon(kube)
                await self._see_cordon(observer)
                await to_an_end(
                    self._empty(kube, observer, migrator),
                    migrator,
                    may_write=leadership.may_write if leadership else lambda: False,
                    stop=self._stop,
                )

    def _is_ours_to_begin(self, record: Object) -> bool:
        """What others ask for on other nodes is for whoever leads when we are done; but another
        drain waits for what it asked for.
        """
        asked = record["spec"]
        return asked.get("source") == self._node or bool(asked.get("forced"))

    def _stop(self) -> None:
        self._is_stopping = True
        if self._run is not None:
            self._run.stop()
        if self.progress.under_way:
            self._say(
                f"stopping: what is nearly done has {GRACE_SECONDS:.0f} s to end; "
                "interrupt again to end at once"
            )

    def _observing(self, kube: KubeApi) -> AbstractAsyncContextManager[Observer]:
        needed = plan.needs([STRATEGY])
        return observing(kube, self._clock, needed, self._configuration.usage)

    # ------------------------------------------------------------------ the node

    def _insist_on_node(self, snapshot: Snapshot) -> Node:
        known = {node.name: node for node in snapshot.nodes}
        if self._node not in known:
            near = nearest(self._node, known)
            meant = f'; did you mean "{near}"?' if near else ""
            raise UnknownNode(f'nodes "{self._node}" not found{meant}')
        node = known[self._node]
        if not self._configuration.scope.node_selector.matches(node.labels):
            raise UnknownNode(
                f'node "{self._node}" is not in scope.nodeSelector of the configuration: '
                "its pods are left alone"
            )
        return node

    def _insist_on_namespaces(self, snapshot: Snapshot) -> None:
        forced = self._configuration.forced
        known = [name for _, name in snapshot.objects.get("namespaces", {})]
        for name in forced.skip_namespaces if forced else ():
            if name not in known:
                near = nearest(name, known)
                meant = f'; did you mean "{near}"?' if near else ""
                raise UnknownNamespace(f'--skip-namespace: namespaces "{name}" not found{meant}')

    def _forgive(self, snapshot: Snapshot, *, only: Container[str] | None = None) -> None:
        """Failures of which nobody rests any more: all so far, or only those of these reasons."""
        forced = self._configuration.forced or Forced()
        known = snapshot.objects.get(POD_MIGRATIONS.plural, {}).values()
        ended = {
            each["metadata"]["uid"]
            for each in known
            if not records.is_unfinished(each)
            and (only is None or (each.get("status") or {}).get("reason") in only)
        }
        forced = replace(forced, forgiven=forced.forgiven | ended)
        self._configuration = replace(self._configuration, forced=forced)

    async def _cordon(self, kube: KubeApi) -> None:
        changed = await cordoning.apply(kube, self._node, cordoning.to_drain)
        if changed or not self.progress.is_cordoned:
            self._say(f"node/{self._node} {'cordoned' if changed else 'already cordoned'}")
        self.progress.is_cordoned = True

    async def _see_cordon(self, observer: Observer) -> None:
        """A move away from a node that takes pods again is not begun: so it has to be seen."""
        end = self._clock.monotonic() + _SEEING_SECONDS
        while self._clock.monotonic() < end:
            snapshot = observer.snapshot()
            number = snapshot.node_numbers.get(self._node)
            if number is None or snapshot.nodes[number].unschedulable:
                return
            await self._clock.sleep(_LOOK_SOON_SECONDS)

    # ------------------------------------------------------------------ its pods

    async def _empty(self, kube: KubeApi, observer: Observer, migrator: Migrator) -> None:
        """Until nobody is left who leaves, or could if one waits."""
        while not self._is_stopping:
            decided = await self._plan(observer.snapshot())
            self._note_who_stays(observer.snapshot(), decided)
            await self._tell_on_node(kube, observer.snapshot())
            if decided.moves:
                if await self._carry_out(observer, migrator, decided.moves):
                    continue
                self._note_who_stays(observer.snapshot(), decided)
                await self._tell_on_node(kube, observer.snapshot())
            if await self._wait_for_others(observer):
                continue
            awaited = self._awaited(observer.snapshot(), decided)
            if not awaited:
                return
            self._say_who_is_awaited(awaited)
            await self._pause(observer)

    async def _carry_out(
        self, observer: Observer, migrator: Migrator, moves: Sequence[Move]
    ) -> int:
        """How many were moved."""
        # What is tried again has been counted.
        self.progress.planned += sum(move.full_name not in self.progress.failed for move in moves)
        self._run = run = PlanRun(
            migrator,
            moves,
            assume=observer.assume,
            forget=observer.forget,
            told=self._tell,
        )
        self.progress.under_way = len(run.left)
        telling_pauses = asyncio.ensure_future(self._tell_pauses(migrator))
        try:
            await run.run()
        finally:
            telling_pauses.cancel()
        self.progress.planned -= len(run.skipped)
        self.progress.under_way = 0
        await self._catch_up(observer, [move for move, end in run.outcomes if end.moved])
        if run.moved:
            # What was in the way of the others may be gone with them: a full quota, for one.
            self._forgive(observer.snapshot(), only=reasons.PASSING)
            self._refused.clear()
        return run.moved

    async def _tell_pauses(self, migrator: Migrator) -> None:
        """Once each, as it begins: nothing else would be heard for minutes."""
        was_paused = False
        while True:
            left = migrator.figures.paused_seconds
            if left and not was_paused:
                self._say(f"no other move begins for {left:.0f} s, as too many failed in a row")
            was_paused = bool(left)
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    def _awaited(self, snapshot: Snapshot, decided: Plan) -> dict[str, str]:
        """By full name of the pod, why: those that are leaving, and those that may before long."""
        passing = {each.full_name: each.passing for each in decided.refusals}
        stay = self.progress.stay
        for pod in should_go(snapshot, self._node, even_if_leaving=True):
            if pod.leaving:
                stay[pod.full_name] = _LEAVING
                passing[pod.full_name] = True
        return {
            name: why for name, why in stay.items() if passing.get(name, name in self._may_pass)
        }

    def _say_who_is_awaited(self, awaited: Mapping[str, str]) -> None:
        """Once for the same pods: figures among the reasons may change every time."""
        if awaited.keys() == self._waits_for.keys():
            return
        self._waits_for = dict(awaited)
        for why, pods in Counter(awaited.values()).items():
            self._say(f"waiting for {pods} {'pod' if pods == 1 else 'pods'}: {why}")

    async def _pause(self, observer: Observer) -> None:
        """Until it is time to plan again, or one of them is gone."""
        end = self._clock.monotonic() + _TRY_AGAIN_SECONDS
        before = self._present(observer)
        while not self._is_stopping and self._clock.monotonic() < end:
            if self._present(observer) != before:
                return
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    def _present(self, observer: Observer) -> frozenset[str]:
        pods = should_go(observer.snapshot(), self._node, even_if_leaving=True)
        return frozenset(pod.uid for pod in pods)

    async def _wait_for_others(self, observer: Observer) -> bool:
        """Until one that somebody else asked for has ended; False: there is none."""
        before = self._others_under_way(observer)
        if before and not self._has_waited:
            self._has_waited = True
            self._say(f"waiting for {len(before)} more that others asked for")
        while before and self._others_under_way(observer) >= before:
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)
        self._count_completed(observer, before - self._others_under_way(observer))
        return bool(before)

    def _count_completed(self, observer: Observer, ended: Iterable[str]) -> None:
        """Those that took a pod off the node: whoever asked for them, it is gone."""
        known = observer.snapshot().objects.get(POD_MIGRATIONS.plural, {})
        for name in ended:
            namespace, _, record_name = name.partition("/")
            record = known.get((namespace, record_name)) or {"spec": {}}
            is_off_here = record["spec"].get("source") == self._node
            if is_off_here and records.phase_of(record) is records.Phase.COMPLETED:
                self.progress.moved += 1
                self.progress.planned += 1

    def _others_under_way(self, observer: Observer) -> frozenset[str]:
        scope = self._configuration.scope
        return under_way(observer.snapshot(), self._node, scope, self._ended)

    async def _plan(self, snapshot: Snapshot) -> Plan:
        self._insist_on_node(snapshot)
        end = self._clock.monotonic() + _DECIDING_SECONDS
        search = plan.Search(stop=lambda: self._clock.monotonic() >= end)
        labelled = in_maintenance(snapshot, self._node)
        decided = await asyncio.to_thread(plan.plan, labelled, self._configuration, search=search)
        return replace(decided, moves=tuple(concerning(decided.moves, self._node)))

    async def _catch_up(self, observer: Observer, moves: Sequence[Move]) -> None:
        """Or the next plan would be about pods that are gone."""
        end = self._clock.monotonic() + _CATCHING_UP_SECONDS
        uids = {move.uid for move in moves}
        while self._clock.monotonic() < end and uids & set(observer.snapshot().pods.uids):
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    def _tell(self, move: Move, outcome: Outcome) -> None:
        progress = self.progress
        progress.under_way -= 1
        self._ended.add(move.uid)
        self._may_pass.discard(move.full_name)
        if outcome.moved:
            progress.moved += 1
            progress.failed.pop(move.full_name, None)
            where = f"{move.source} -> {move.target}"
            if outcome.reason != "Completed":
                where += f" ({outcome.message})"
            self._say(
                f"pod/{move.pod} moved ({progress.moved} of {progress.planned}) "
                f"in namespace {move.namespace}: {where}"
            )
        else:
            self._refused[move.full_name] += outcome.reason == reasons.REFUSED
            is_first = move.full_name not in progress.failed
            is_passing = reasons.is_passing(outcome.reason, other_way=is_first)
            if is_passing and self._refused[move.full_name] < _REFUSALS:
                self._may_pass.add(move.full_name)
            progress.failed[move.full_name] = f"{outcome.reason}: {outcome.message}"
            self._say(
                f"pod/{move.pod} not moved in namespace {move.namespace}: "
                f"{outcome.reason}: {outcome.message}"
            )

    async def _tell_on_node(self, kube: KubeApi, snapshot: Snapshot) -> None:
        left = len(should_go(snapshot, self._node, even_if_leaving=True))
        found = telling.in_words(left, self.progress.stay)
        if found != self._told:
            await telling.tell(kube, self._node, telling.by_drain(found))
            self._told = found

    def _note_who_stays(self, snapshot: Snapshot, decided: Plan) -> None:
        held = {each.full_name: "; ".join(each.reasons) for each in decided.refusals}
        goes = {move.full_name for move in decided.moves}
        failed = self.progress.failed
        self.progress.stay = {
            pod.full_name: failed.get(pod.full_name) or held.get(pod.full_name) or "no reason told"
            for pod in should_go(snapshot, self._node)
            if pod.full_name not in goes or pod.full_name in failed
        }


# ---------------------------------------------------------------------- questions


def in_maintenance(snapshot: Snapshot, name: str) -> Snapshot:
    """The same cluster, as if somebody had labelled the node."""
    slots = [
        replace(node, labels={**node.labels, names.MAINTENANCE: "true"})
        if node is not None and node.name == name
        else node
        for node in snapshot.node_slots
    ]
    return replace(snapshot, node_slots=slots)


def concerning(moves: Iterable[Move], node: str) -> Iterable[Move]:
    """Those off this node, and of the groups of those: another one may be in maintenance, too."""
    found = list(moves)
    groups = {move.group for move in found if move.source == node and move.group}
    return (move for move in found if move.source == node or move.group in groups)


def should_go(snapshot: Snapshot, node: str, *, even_if_leaving: bool = False) -> list[Pod]:
    """Who is on the node and neither leaves it already nor ends with it."""
    return [
        pod
        for pod in snapshot.pods_on(node)
        if (even_if_leaving or not pod.leaving)
        and names.MIRROR_POD not in pod.annotations
        and (pod.owner is None or pod.owner.kind != "DaemonSet")
    ]


def under_way(snapshot: Snapshot, node: str, scope: Scope, ended: Container[str]) -> frozenset[str]:
    """The records, by name, of migrations off this node that have not ended, as far as is known,
    and of those to it that had begun before it was cordoned: what they bring has to go, too. Those
    of other namespaces are not ours to carry out, and may wait for ever.
    """
    return frozenset(
        f"{namespace}/{name}"
        for (namespace, name), record in snapshot.objects.get(POD_MIGRATIONS.plural, {}).items()
        if records.is_unfinished(record)
        and scope.covers(namespace)
        and (record["spec"].get("source") == node or _is_on_its_way_to(node, record))
        and record["spec"]["pod"]["uid"] not in ended
    )


def _is_on_its_way_to(node: str, record: Object) -> bool:
    """One that has not begun will not: no copy is made for a node that is cordoned."""
    is_begun = records.phase_of(record) is not records.Phase.PENDING
    return record["spec"].get("target") == node and is_begun
