"""Carries out one migration: look, decide, write down what is about to be done, do it, look again.

What is to be done next, the cluster and the record tell. So a process that dies anywhere is
followed by one that looks and goes on.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from rescheduler.kube import errors
from rescheduler.migrate.deciding import actions, records
from rescheduler.migrate.deciding.actions import (
    Action,
    End,
    GiveUp,
    Outcome,
    Probe,
    Rehearse,
    Wait,
    describe,
)
from rescheduler.migrate.deciding.deciding import WAYS, decide
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.records import InvalidRecord, MigrationStatus
from rescheduler.migrate.deciding.way import Decider
from rescheduler.migrate.worker.api_failures import (
    ASK_AGAIN_SECONDS,
    BUDGET_REFUSES,
    ApiFailures,
)
from rescheduler.migrate.worker.context import Context
from rescheduler.migrate.worker.executing import Executor
from rescheduler.migrate.worker.memory import Memory
from rescheduler.migrate.worker.recording import Gone, Recorder
from rescheduler.migrate.worker.views import Views
from rescheduler.model import podmigration, resources
from rescheduler.model.objects import Object, spec
from rescheduler.model.podmigration import Phase, Reason, Step

_ASK_PLANNER_SECONDS: Final = 1.0


class Worker:
    def __init__(self, context: Context, record: Object) -> None:
        self._context = context
        self._clock = context.clock
        self._recorder = Recorder(context, record)
        now = self._clock.monotonic()
        self._memory = Memory.of(self._recorder.status, now, self._clock.now())
        self._views: Views | None = None
        self._asked_at = float("-inf")
        self._not_there = ""
        self._told = _Telling(context.is_told)

    @property
    def step(self) -> Step:
        return self._recorder.status.step

    @property
    def _decider(self) -> Decider | None:
        way = self._recorder.status.way
        return WAYS[way] if way else None

    @property
    def record(self) -> Object:
        """As we know it."""
        return self._recorder.record

    @property
    def is_ending(self) -> bool:
        return self._recorder.status.is_ending

    @property
    def is_in_group(self) -> bool:
        return bool(podmigration.group_id(self.record))

    @property
    def is_cancelled(self) -> bool:
        """Its record was deleted."""
        return self._recorder.is_gone

    def wake(self) -> None:
        if self._views is not None:
            self._views.wake()

    def cancel(self) -> None:
        """Who deletes the record of a migration wants it taken back."""
        self._recorder.is_gone = True
        if self._memory.giving_up is None:
            self._memory.giving_up = Outcome(
                moved=False, reason=Reason.CANCELLED, message="its record was deleted"
            )
        self.wake()

    async def run(self) -> Outcome:
        """How it ended. NOT_FINISHED: whoever comes next goes on."""
        status = self._recorder.status
        try:
            intent = records.intent_of(self.record, self._context.settings, status.owner)
        except (InvalidRecord, KeyError, ValueError, TypeError) as problem:
            outcome = Outcome(moved=False, reason=Reason.INVALID, message=str(problem))
            if self._context.is_told(outcome.reason):
                self._told.log.warning(
                    "PodMigration is invalid",
                    migration=self.record["metadata"]["name"],
                    problem=outcome.message,
                )
            with suppress(Gone):
                await self._recorder.write(self._ended(status, outcome))
            return outcome
        self._told.of(intent)
        async with self._context.namespaces.using(intent.namespace, intent.uid) as namespace:
            views = Views(self._context, namespace, self._recorder, intent)
            self._views = views
            namespace.listeners[views.hear] = None
            try:
                return await self._go_on(views)
            finally:
                namespace.listeners.pop(views.hear, None)
                self._context.planner.forget(intent)

    async def _go_on(self, views: Views) -> Outcome:
        log = self._told.log
        executor = Executor(self._context, self._recorder, self._memory, log)
        api_failures = ApiFailures(self._context, views.intent, self._memory, views, log)
        while True:
            views.forget_changes()
            try:
                action = await self._take_one(views, executor)
                if isinstance(action, End):
                    return action.outcome
                if _is_done(action):
                    api_failures.are_over()
                    api_failures.conflicts = 0
                elif isinstance(action, Wait):
                    api_failures.are_over()
            except Gone:
                self.cancel()
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                pause = api_failures.pause_after(problem)
                if pause is None:
                    message = f"left as it is: {problem}"
                    return Outcome(moved=False, reason=Reason.NOT_FINISHED, message=message)
                if pause > ASK_AGAIN_SECONDS and isinstance(problem, errors.BudgetRefused):
                    with suppress(errors.KubeError, Gone):
                        await self._recorder.tell(f"{BUDGET_REFUSES}: {problem}")
                await self._clock.sleep(pause)

    # ------------------------------------------------------------------ one action

    async def _take_one(self, views: Views, executor: Executor) -> Action:
        action = await self._next(views)
        if isinstance(action, actions.PatchPod) and action.is_final and not self._recorder.is_gone:
            # Its step was written down some actions ago. Whoever has deleted the record since is
            # heard now: after this there is no way back.
            await self._recorder.refresh()
        await executor.do(views, action)
        if isinstance(action, Rehearse):
            self._asked_at = float("-inf")  # the planner has to know the size that it will have
        return action

    async def _next(self, views: Views) -> Action:
        """Recorded, but not done. What was seen for it, all of a namespace, is forgotten here."""
        view = await views.look()
        progress, action = self._decide(views.intent, view)
        if self._is_final(action) and not view.is_live:
            view = await views.read()
            progress, action = self._decide(views.intent, view)
        self._told.say(action, self._recorder.status)
        await self._note(views.intent, action, self._new_pod(views.intent, view, progress))
        return action

    def _is_final(self, action: Action) -> bool:
        if isinstance(action, End) and action.outcome.moved:
            # A pod that was seen to go does not come back.
            return self._decider is not None and self._decider.reads_its_end
        return actions.is_final(action)

    def _decide(self, intent: Intent, view: View) -> tuple[Progress, Action]:
        now, status = self._clock.monotonic(), self._recorder.status
        self._memory.learn(view, now)
        not_there = self._why_not(intent, now)
        progress = self._memory.progress(
            status,
            now,
            self._clock.now(),
            not_there,
            extender_steers=self._context.extender_steers,
        )
        action = decide(intent, view, progress)
        # Asked each time: others come and go, and where the scheduler puts them is not ours.
        is_asked = view.copy is not None and actions.lets_go(action)
        if is_asked and (uneven := self._context.planner.why_uneven_after(intent)):
            progress = replace(progress, uneven_after=uneven)
            action = decide(intent, view, progress)
        return progress, action

    def _why_not(self, intent: Intent, now: float) -> str:
        """The planner looks at the whole cluster, so it is not asked at every look."""
        if not self._recorder.status.step.is_beginning or self._memory.created:
            return ""
        if now - self._asked_at >= _ASK_PLANNER_SECONDS:
            sized = replace(intent, asks=self._asks())
            self._asked_at, self._not_there = now, self._context.planner.why_not(sized)
        return self._not_there

    def _asks(self) -> resources.Resources | None:
        """What admission makes the copy ask for, if that is known; a size that is kept is no more
        than the planner reckons with.
        """
        known = self._memory.rehearsed
        if known is None or known.answer is None or self._memory.resized:
            return None
        return resources.of_pod(spec(known.answer))

    def _new_pod(self, intent: Intent, view: View, progress: Progress) -> Object | None:
        return self._decider.new_pod(intent, view, progress) if self._decider else view.copy

    async def _note(self, intent: Intent, action: Action, made: Object | None) -> None:
        if isinstance(action, Rehearse):
            return  # nobody notices it, so whoever goes on need not know
        before = self._recorder.status
        outcome = action.outcome if isinstance(action, GiveUp | End) else self._memory.giving_up
        waiting = action.reason if isinstance(action, Wait) else ""
        if isinstance(action, End) and action.outcome.reason is Reason.NOT_FINISHED:
            return  # whoever goes on has to know how far it has come
        status = replace(
            before,
            phase=Phase.IN_PROGRESS,
            step=action.step,
            owner=before.owner or intent.owner,
            old_node=before.old_node or intent.source,
            started_at=before.started_at or self._clock.now(),
            holder=self._context.holder,
            fence=self._context.fence,
            reason=outcome.reason if outcome else "",
            message=outcome.message if outcome else waiting,
            **action.note,
        )
        if made is not None:
            metadata, node = made["metadata"], made["spec"].get("nodeName") or ""
            status = replace(
                status, new_pod=metadata["name"], new_uid=metadata["uid"], new_node=node
            )
        if isinstance(action, GiveUp):
            self._memory.giving_up = action.outcome
        if isinstance(action, End):
            status = self._ended(status, action.outcome)
        await self._recorder.write(status)

    def _ended(self, status: MigrationStatus, outcome: Outcome) -> MigrationStatus:
        return replace(
            status,
            phase=Phase.COMPLETED if outcome.moved else Phase.FAILED,
            step=Step.DONE,
            reason=outcome.reason,
            message=outcome.message,
            ended_at=self._clock.now(),
        )


def _is_done(action: Action) -> bool:
    """Something was written: so nobody is writing to the same thing all the time."""
    if isinstance(action, actions.Evict):
        return not action.dry_run
    return not isinstance(action, Wait | Probe | Rehearse | GiveUp | End)


class _Telling:
    """What the log says of it: a line per action, not one per look."""

    def __init__(self, is_told: Callable[[str], bool]) -> None:
        self._is_one_of_few = is_told
        self._said = ("", "")
        self.log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def of(self, intent: Intent) -> None:
        """From now on each line has what this migration is about."""
        self.log = self.log.bind(
            migration=intent.record,
            pod=intent.full_name,
            source=intent.source,
            target=intent.target,
            strategy=intent.strategy,
            reason=intent.reason,
        )

    def say(self, action: Action, status: MigrationStatus) -> None:
        detail: dict[str, object] = {}
        match action:
            case Wait(waiting):
                detail = {"because": waiting}
            case GiveUp(outcome):
                detail = {"cause": outcome.reason, "message": outcome.message}
            case End(outcome):
                detail = {
                    "moved": outcome.moved,
                    "outcome": outcome.reason,
                    "message": outcome.message,
                }
        said = (f"migration {describe(action)}", str(detail))
        if said == self._said:
            return
        self._said = said
        if isinstance(action, End) and not self._is_told(action, status):
            return
        alarm = isinstance(action, End) and action.outcome.reason is Reason.REPLACEMENT_NOT_READY
        (self.log.error if alarm else self.log.info)(said[0], step=action.step.value, **detail)

    def _is_told(self, end: End, status: MigrationStatus) -> bool:
        """Of those that end before anything was done for them, not each."""
        is_begun = end.outcome.moved or status.phase is not Phase.PENDING
        return is_begun or self._is_one_of_few(end.outcome.reason)
