"""Carries out one migration: look, decide, write down what is about to be done, do it, look again.

What is to be done next, the cluster and the record tell. So a process that dies anywhere is
followed by one that looks and goes on.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from rescheduler.kube import errors
from rescheduler.migrate.context import Context
from rescheduler.migrate.deciding import records, rehearsing, resizing, steering, steps
from rescheduler.migrate.deciding.deciding import decide
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.records import InvalidRecord, Standing
from rescheduler.migrate.deciding.stages import Method, Phase, Stage
from rescheduler.migrate.deciding.steps import End, GiveUp, Probe, Rehearse, Step, Wait, describe
from rescheduler.migrate.looking import Lookout
from rescheduler.migrate.reading import sees_or_waits
from rescheduler.migrate.recording import Gone, Recorder
from rescheduler.migrate.remembering import BEGINNING, Memory
from rescheduler.migrate.troubles import ASK_AGAIN_SECONDS, Troubles
from rescheduler.migrate.writing import write
from rescheduler.model import resources
from rescheduler.model.objects import Object, spec
from rescheduler.wire import POD_DISRUPTION_BUDGETS, PODS

_LET_IT_ACT_SECONDS: Final = 0.25
_ASK_PLANNER_SECONDS: Final = 1.0


class Worker:
    def __init__(self, context: Context, record: Object) -> None:
        self._context = context
        self._clock = context.clock
        self._recorder = Recorder(context, record)
        now = self._clock.monotonic()
        self._memory = Memory.of(self._recorder.standing, now, self._clock.now())
        self._lookout: Lookout | None = None
        self._said = ("", "")
        self._asked_at = float("-inf")
        self._not_there = ""
        self._log = structlog.get_logger()

    @property
    def stage(self) -> Stage:
        return self._recorder.standing.stage

    @property
    def record(self) -> Object:
        """As we know it."""
        return self._recorder.record

    @property
    def is_ending(self) -> bool:
        return self._recorder.standing.is_ending

    @property
    def is_in_group(self) -> bool:
        return bool(self.record["spec"].get("group"))

    @property
    def is_cancelled(self) -> bool:
        """Its record was deleted."""
        return self._recorder.is_gone

    def wake(self) -> None:
        if self._lookout is not None:
            self._lookout.wake()

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
        standing = self._recorder.standing
        try:
            intent = records.intent_of(self.record, self._context.settings, standing.owner)
        except (InvalidRecord, KeyError, ValueError, TypeError) as problem:
            outcome = Outcome(moved=False, reason=Reason.INVALID, message=str(problem))
            with suppress(Gone):
                await self._recorder.write(self._ended(standing, outcome))
            return outcome
        self._log = _logger(intent)
        async with self._context.namespaces.using(intent.namespace, intent.uid) as namespace:
            lookout = Lookout(self._context, namespace, self._recorder, intent)
            self._lookout = lookout
            namespace.listeners[lookout.hear] = None
            try:
                return await self._go_on(lookout)
            finally:
                namespace.listeners.pop(lookout.hear, None)

    async def _go_on(self, lookout: Lookout) -> Outcome:
        troubles = Troubles(self._context, lookout.intent, self._memory, lookout, self._log)
        while True:
            lookout.forget_changes()
            try:
                step = await self._step(lookout)
                if isinstance(step, End):
                    return step.outcome
                if _is_done(step):
                    troubles.are_over()
                    troubles.conflicts = 0
                elif isinstance(step, Wait):
                    troubles.are_over()
            except Gone:
                self.cancel()
            except errors.NotLeading:
                raise
            except errors.KubeError as problem:
                pause = troubles.pause_after(problem)
                if pause is None:
                    message = f"left as it is: {problem}"
                    return Outcome(moved=False, reason=Reason.NOT_FINISHED, message=message)
                if pause > ASK_AGAIN_SECONDS and isinstance(problem, errors.BudgetRefused):
                    with suppress(errors.KubeError, Gone):
                        await self._recorder.tell(f"a budget refuses for now: {problem}")
                await self._clock.sleep(pause)

    # ------------------------------------------------------------------ one step

    async def _step(self, lookout: Lookout) -> Step:
        step = await self._next(lookout)
        if isinstance(step, steps.PatchPod) and step.is_final and not self._recorder.is_gone:
            # Its stage was written down some steps ago. Whoever has deleted the record since is
            # heard now: after this there is no way back.
            await self._recorder.refresh()
        await self._act(lookout, step)
        return step

    async def _next(self, lookout: Lookout) -> Step:
        """Recorded, but not done. What was seen for it, all of a namespace, is forgotten here."""
        view = await lookout.look()
        progress, step = self._decide(lookout.intent, view)
        if self._is_final(step) and not view.is_live:
            view = await lookout.read()
            progress, step = self._decide(lookout.intent, view)
        self._say(step)
        await self._note(lookout.intent, step, self._new_pod(lookout.intent, view, progress))
        return step

    def _is_final(self, step: Step) -> bool:
        if isinstance(step, End) and step.outcome.moved:
            # A pod that was seen to go does not come back. What was made for a steered eviction may
            # be there, and the watch not have told it yet.
            return self._recorder.standing.method is Method.STEER
        return steps.is_final(step)

    def _decide(self, intent: Intent, view: View) -> tuple[Progress, Step]:
        now, standing = self._clock.monotonic(), self._recorder.standing
        self._memory.learn(view, now)
        not_there = self._why_not(intent, now)
        progress = self._memory.progress(standing, now, self._clock.now(), not_there)
        return progress, decide(intent, view, progress)

    def _why_not(self, intent: Intent, now: float) -> str:
        """The planner looks at the whole cluster, so it is not asked at every look."""
        if self._recorder.standing.stage not in BEGINNING or self._memory.created:
            return ""
        if now - self._asked_at >= _ASK_PLANNER_SECONDS:
            sized = replace(intent, asks=self._asks())
            self._asked_at, self._not_there = now, self._context.why_not(sized)
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
        if self._recorder.standing.method is Method.STEER:
            return steering.replacement(intent, view, progress)
        return view.copy

    async def _note(self, intent: Intent, step: Step, made: Object | None) -> None:
        if isinstance(step, Rehearse):
            return  # nobody notices it, so whoever goes on need not know
        before = self._recorder.standing
        outcome = step.outcome if isinstance(step, GiveUp | End) else self._memory.giving_up
        waiting = step.reason if isinstance(step, Wait) else ""
        if isinstance(step, End) and step.outcome.reason is Reason.NOT_FINISHED:
            return  # whoever goes on has to know how far it has come
        standing = replace(
            before,
            phase=Phase.IN_PROGRESS,
            stage=step.stage,
            owner=before.owner or intent.owner,
            old_node=before.old_node or intent.source,
            started_at=before.started_at or self._clock.now(),
            holder=self._context.holder,
            fence=self._context.fence,
            reason=outcome.reason if outcome else "",
            message=outcome.message if outcome else waiting,
            **step.note,
        )
        if made is not None:
            metadata, node = made["metadata"], made["spec"].get("nodeName") or ""
            standing = replace(
                standing, new_pod=metadata["name"], new_uid=metadata["uid"], new_node=node
            )
        if isinstance(step, GiveUp):
            self._memory.giving_up = step.outcome
        if isinstance(step, End):
            standing = self._ended(standing, step.outcome)
        await self._recorder.write(standing)

    def _ended(self, standing: Standing, outcome: Outcome) -> Standing:
        return replace(
            standing,
            phase=Phase.COMPLETED if outcome.moved else Phase.FAILED,
            stage=Stage.DONE,
            reason=outcome.reason,
            message=outcome.message,
            ended_at=self._clock.now(),
        )

    async def _act(self, lookout: Lookout, step: Step) -> None:
        match step:
            case End():
                return
            case GiveUp(outcome):
                if outcome.reason is Reason.COPY_DIFFERS:
                    self._forbid_copies(lookout.intent, outcome)
            case Wait():
                self._memory.forget_budget()
                await lookout.wait()
            case Probe(body):
                await self._probe(lookout.intent, body)
            case Rehearse():
                await self._rehearse(lookout.intent, step)
            case _:
                await self._carry_out(lookout, step)

    async def _carry_out(self, lookout: Lookout, step: steps.Write) -> None:
        memory = self._memory
        made = await self._write(lookout.intent, step)
        if made is not None:
            is_budget = isinstance(step, steps.CreateBudget)
            lookout.learn(POD_DISRUPTION_BUDGETS if is_budget else PODS, made)
        if isinstance(step, steps.CreateCopy):
            memory.created = made is not None
        if isinstance(step, steps.PatchPod) and step.is_final:
            # The ReplicaSet is about to remove the original, which saves us the eviction.
            await self._clock.sleep(_LET_IT_ACT_SECONDS)
        if isinstance(step, steps.Evict):
            memory.forget_budget()
            memory.budget_allows = step.dry_run
        if isinstance(step, steps.LabelRecord):
            memory.steering_since = self._clock.monotonic()

    async def _write(self, intent: Intent, step: steps.Write) -> Object | None:
        if isinstance(step, steps.CreateCopy):
            return await self._create(intent, step)
        if not (isinstance(step, steps.Evict) and step.stage is Stage.EVICT):
            return await write(self._context.kube, self._recorder, intent.namespace, step)
        try:
            await write(self._context.kube, self._recorder, intent.namespace, step)
        except errors.Unavailable:
            self._memory.may_have_evicted = True  # it may be the answer that was lost
            raise
        except errors.BudgetRefused:
            self._memory.may_have_evicted = False  # a pod that ends is refused no more
            raise
        self._memory.may_have_evicted = True
        return None

    async def _create(self, intent: Intent, step: steps.CreateCopy) -> Object | None:
        """None: a policy or a webhook refuses it, which its dry run did not show."""
        try:
            return await write(self._context.kube, self._recorder, intent.namespace, step)
        except (errors.Forbidden, errors.Invalid) as problem:
            if not rehearsing.is_of_admission(str(problem)):
                raise
            self._memory.giving_up = rehearsing.refusal(str(problem))
            self._forbid_copies(intent, self._memory.giving_up)
            return None

    def _forbid_copies(self, intent: Intent, outcome: Outcome) -> None:
        if (known := self._memory.rehearsed) is not None:
            workload = f"{intent.namespace}/{intent.replica_set}"
            self._context.rehearsals.forbid(known, outcome, workload)

    async def _rehearse(self, intent: Intent, step: Rehearse) -> None:
        memory = self._memory
        try:
            memory.rehearsed = await self._context.rehearsals.ask(step, intent.namespace)
        except (errors.Forbidden, errors.Invalid):
            if not memory.created:
                raise
            # A quota that the copy itself has filled: it is judged by its siblings.
            memory.rehearsed = await self._context.rehearsals.by_siblings(step, intent.namespace)
        if step.resized is not None:
            # As only a read of this one pod shows it: lists come without managed fields.
            with sees_or_waits():
                read = await self._context.kube.get(PODS, intent.namespace, intent.pod)
            if read["metadata"]["uid"] == intent.uid:
                memory.resized = resizing.resized(read)
                memory.resized_at = resizing.generation(read)
        self._asked_at = float("-inf")  # the planner has to know the size that it will really have

    async def _probe(self, intent: Intent, body: Mapping[str, object]) -> None:
        memory = self._memory
        if memory.steering_since is None:
            memory.steering_since = self._clock.monotonic()
        try:
            answer = await self._context.kube.create(
                PODS, intent.namespace, dict(body), dry_run=True
            )
            memory.steered = steering.is_steered(answer, intent)
            memory.steering_refused = ""
        except (errors.Forbidden, errors.Invalid, errors.AlreadyExists) as problem:
            self._log.info("cannot ask whether the API server steers", problem=str(problem))
            # A quota has no room for one more as long as the original is there, so it can never be
            # seen; where the successor lands will show it.
            memory.steered = rehearsing.is_of_quota(str(problem))
            memory.steering_refused = _why_refused(intent, str(problem))
        if not memory.steered:
            await self._clock.sleep(ASK_AGAIN_SECONDS)

    # ------------------------------------------------------------------ telling

    def _say(self, step: Step) -> None:
        """One line per step, not one per look."""
        detail: dict[str, object] = {}
        match step:
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
        said = (describe(step), str(detail))
        if said == self._said:
            return
        self._said = said
        alarm = isinstance(step, End) and step.outcome.reason is Reason.REPLACEMENT_NOT_READY
        (self._log.error if alarm else self._log.info)(said[0], step=step.stage.value, **detail)


def _why_refused(intent: Intent, words: str) -> str:
    """Why the API server refuses such a pod for good; empty: it may make one all the same. What is
    shown for a controller whose template nobody knows may be invalid by our own fault.
    """
    is_ours = intent.is_of_foreign and rehearsing.is_invalid(words)
    return words if rehearsing.is_of_admission(words) and not is_ours else ""


def _is_done(step: Step) -> bool:
    """Something was written: so nobody is writing to the same thing all the time."""
    if isinstance(step, steps.Evict):
        return not step.dry_run
    return not isinstance(step, Wait | Probe | Rehearse | GiveUp | End)


def _logger(intent: Intent) -> structlog.typing.FilteringBoundLogger:
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(
        migration=intent.record,
        pod=intent.full_name,
        source=intent.source,
        target=intent.target,
        strategy=intent.strategy,
        reason=intent.reason,
    )
    return logger
