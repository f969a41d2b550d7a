"""What came of plans: a pass sees how loaded nodes are, and of plans that have ended before it that
is held against what they promised.

Nothing is remembered but what waits to be written: the plans and the records of migrations are the
memory, so that whoever leads next goes on.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller.plans.book import Book
from rescheduler.controller.plans.tidings import Tidings
from rescheduler.model import podmigration, reschedule_plan
from rescheduler.model.columns import NONE
from rescheduler.model.moves import Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Failing, Seen
from rescheduler.model.snapshot import Snapshot

_EVERY_SECONDS: Final = 15.0
"""From one count of the pods that moved again to the next."""

RecordsOf = Callable[[str], Sequence[Object]]
"""By the UID of a pod: those of its moves."""


class Observing:
    def __init__(
        self,
        book: Book,
        clock: Clock,
        configuration: Configuration,
        records_of: RecordsOf,
        tidings: Tidings,
    ) -> None:
        self._book = book
        self._clock = clock
        self._configuration = configuration
        self._records_of = records_of
        self._tidings = tidings
        self._found: dict[str, dict[str, Any]] = {}
        """By UID of the plan: what is to be written."""
        self._dropped: set[str] = set()
        """UIDs of plans of which the cluster did not keep what was written."""
        self._refused: set[str] = set()
        """UIDs of plans that could not be written last time: others are first."""
        self._counted_at = -math.inf
        self._failing: Mapping[str, Failing] = {}
        self._log = structlog.get_logger()

    def see(self, snapshot: Snapshot, decided: Plan, waiting: Sequence[Object]) -> None:
        """Of a pass, before it does anything. `waiting`: plans that have ended. Writes nothing: a
        pass does not wait for that.
        """
        if not waiting:
            return
        seen = _seen(snapshot, decided, self._configuration, self._clock.now())
        for plan in waiting:
            if reschedule_plan.uid_of(plan) in self._dropped:
                continue
            strangers = _strangers(snapshot, plan)
            observed = reschedule_plan.look(plan, replace(seen, strangers=strangers))
            if observed is not None:
                self._found.setdefault(reschedule_plan.uid_of(plan), observed)

    async def write(self) -> None:
        """What is known by now, as far as that can be written; what cannot is tried again."""
        await self._write_loads()
        now = self._clock.monotonic()
        if now - self._counted_at >= _EVERY_SECONDS:
            self._counted_at = now
            await self._write_bounces()
        self._judge_strategies()

    async def _write_loads(self) -> None:
        plans = {reschedule_plan.uid_of(each): each for each in self._book.all()}
        for uid in list(self._found):
            plan = plans.get(uid)
            if plan is not None and not reschedule_plan.is_over(plan):
                continue  # its end is about to be written
            # Taken, so that nobody writes it beside us.
            observed = self._found.pop(uid, None)
            if observed is None or plan is None or not reschedule_plan.awaits_loads(plan):
                continue  # it was deleted, or another one was faster
            written = await self._book.observe(plan, observed)
            if written is None:
                self._found.setdefault(uid, observed)  # and so behind the others
                return
            if reschedule_plan.awaits_loads(written):
                self._tell_that_it_was_dropped(uid)
                continue
            self._tidings.observed(plan, observed)
            self._log.info(
                "plan observed",
                plan=reschedule_plan.name_of(plan),
                verdict=observed["verdict"],
                summary=observed.get("message", ""),
            )

    def _tell_that_it_was_dropped(self, uid: str) -> None:
        """An older definition of plans knows no such field, and the server leaves it out."""
        if not self._dropped:
            self._log.warning(
                "what came of plans is not kept: the cluster has an older definition of them",
                to_have_it="apply plan-crd.yaml of this version, and restart",
            )
        self._dropped.add(uid)

    # ------------------------------------------------------------------ that move again

    async def _write_bounces(self) -> None:
        """One that cannot be written does not keep us from the others for ever."""
        plans = self._book.all()
        self._refused &= {*map(reschedule_plan.uid_of, plans)}
        plans.sort(key=lambda each: reschedule_plan.uid_of(each) in self._refused)
        for plan in plans:
            if reschedule_plan.awaits_loads(plan) or not reschedule_plan.awaits_bounces(plan):
                continue
            before = reschedule_plan.bounces_of(plan) or 0
            bounces = sum(map(self._is_bounced(plan), reschedule_plan.successors_of(plan)))
            observed = reschedule_plan.with_bounces(plan, bounces, self._clock.now())
            if observed == reschedule_plan.observed_of(plan):
                continue
            if await self._book.observe(plan, observed) is None:
                self._refused.add(reschedule_plan.uid_of(plan))
                return
            self._refused.discard(reschedule_plan.uid_of(plan))
            if bounces > before:
                self._tidings.bounced(bounces - before)
                self._log.info(
                    "pods moved again within an hour",
                    plan=reschedule_plan.name_of(plan),
                    pods=bounces,
                )

    def _is_bounced(self, plan: Object) -> Callable[[str], bool]:
        def is_bounced(uid: str) -> bool:
            return any(
                podmigration.is_over(each)
                and not podmigration.has_failed(each)
                and not podmigration.is_asked(each)
                and reschedule_plan.is_bounce(plan, podmigration.created_at(each))
                for each in self._records_of(uid)
            )

        return is_bounced

    # ------------------------------------------------------------------ again and again

    def _judge_strategies(self) -> None:
        before, found = self._failing, reschedule_plan.failing(self._book.all())
        self._failing = found
        self._tidings.failing(found)
        for name in found.keys() - before.keys():
            self._log.warning(
                "predictions fail again and again",
                strategy=name,
                failed=found[name].failed,
                of=found[name].of,
                because=str(found[name].cause),
                summary=str(found[name]),
            )
        for name in before.keys() - found.keys():
            self._log.info("predictions come true again", strategy=name)


def _seen(snapshot: Snapshot, decided: Plan, configuration: Configuration, now: datetime) -> Seen:
    return Seen(
        at=now,
        loads=decided.word,
        nodes={each.node: each for each in decided.nodes},
        imbalance={each.resource: each.before for each in decided.imbalances},
        since=dict(_since(snapshot, decided, configuration, now)),
    )


def _since(
    snapshot: Snapshot, decided: Plan, configuration: Configuration, now: datetime
) -> Iterable[tuple[str, float]]:
    """By node: all that is known of it was measured after that."""
    measured, settings = snapshot.measured, configuration.usage
    known = {each.node for each in decided.nodes if each.before}
    # Samples are corrected by what has moved since: what is still in the window from before would
    # say that all came as predicted.
    oldest = now.timestamp() - settings.window_seconds - settings.interval_seconds
    for number, node in enumerate(snapshot.nodes):
        if node.name not in known:
            continue
        if measured is None:
            yield node.name, now.timestamp()
        elif not math.isnan(since := float(measured.node_since[number])):
            yield node.name, min(since, oldest)


def _strangers(snapshot: Snapshot, plan: Object) -> frozenset[str]:
    """Nodes of the plan with pods that are younger than it, and that it has not made."""
    decided_at = reschedule_plan.decided_at(plan)
    if decided_at is None:
        return frozenset()
    own, touched = reschedule_plan.successors_of(plan), reschedule_plan.touched(plan)
    rows = snapshot.rows
    young = rows[snapshot.pods.created[rows] > int(decided_at.timestamp())]
    places = snapshot.place_of_pod[young]
    found = {
        snapshot.nodes[place].name
        for row, place in zip(young.tolist(), places.tolist(), strict=True)
        if place != NONE and snapshot.pods.uids[row] not in own
    }
    return frozenset(found & touched)
