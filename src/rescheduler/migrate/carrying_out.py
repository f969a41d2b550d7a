"""Carries out a surge: look, decide (`surge.next_step`), act, look again, until it has ended."""

from dataclasses import dataclass

import structlog

from rescheduler.clock import Clock
from rescheduler.config import Migration
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate import viewing
from rescheduler.migrate.changes import Changes, watching
from rescheduler.migrate.deciding import copies
from rescheduler.migrate.deciding.facts import Intent, Progress, View
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
    describe,
)
from rescheduler.migrate.deciding.surge import next_step
from rescheduler.model import conditions
from rescheduler.wire import PODS

# How long a wait may last before looking again, should a watch be dead without a word.
_LOOK_AGAIN_SECONDS = 2.0
# How often a refusing budget is asked: it sees a new pod a moment after it is Ready.
_ASK_AGAIN_SECONDS = 0.25
# Changes come in bursts; one look for all of a burst.
_GATHER_SECONDS = 0.02
_BACK_OFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)


async def carry_out(kube: KubeApi, clock: Clock, intent: Intent, limits: Migration) -> Outcome:
    """Moves one pod, or leaves everything as it was. Safe to call again after any crash."""
    async with watching(kube, clock, intent.namespace) as changes:
        return await _Surge(kube, clock, intent, limits).run(changes)


@dataclass(slots=True)
class _Memory:
    """How long things have taken, by our own clock, and whether we are giving up. It bounds our
    patience; what is to be done next, the cluster tells.
    """

    started: float
    created: bool = False
    copy_ready_since: float | None = None
    budget_allows: bool = False
    budget_refused_since: float | None = None
    giving_up: Outcome | None = None
    failures: int = 0
    said: tuple[str, str] = ("", "")


class _Surge:
    def __init__(self, kube: KubeApi, clock: Clock, intent: Intent, limits: Migration) -> None:
        self._kube = kube
        self._clock = clock
        self._intent = intent
        self._limits = limits
        self._memory = _Memory(started=clock.monotonic(), created=intent.resumed)
        self._log = structlog.get_logger().bind(
            migration=copies.migration_id(intent.uid),
            pod=f"{intent.namespace}/{intent.pod}",
            source=intent.source,
            target=intent.target,
            strategy=intent.strategy,
            reason=intent.reason,
        )

    async def run(self, changes: Changes) -> Outcome:
        while True:
            changes.forget()
            try:
                step = await self._look()
                match step:
                    case End(outcome):
                        return outcome
                    case GiveUp(outcome):
                        self._memory.giving_up = outcome
                    case Wait():
                        # An allowance, and a refusal, hold for the instant in which they are given.
                        self._memory.budget_allows = False
                        self._memory.budget_refused_since = None
                        await changes.wait(_LOOK_AGAIN_SECONDS)
                        await self._clock.sleep(_GATHER_SECONDS)
                    case _:
                        await self._write(step)
                self._memory.failures = 0
            except errors.KubeError as problem:
                await self._clock.sleep(self._pause_after(problem))

    async def _look(self) -> Step:
        view = await viewing.view(self._kube, self._intent)
        step = next_step(self._intent, view, self._progress(view), self._limits)
        self._say(step)
        return step

    async def _write(self, write: Write) -> None:
        namespace = self._intent.namespace
        match write:
            case CreateCopy(body):
                await self._kube.create(PODS, namespace, dict(body))
                self._memory.created = True
            case PatchPod(_, pod, change):
                meta = pod["metadata"]
                await self._kube.patch_metadata(
                    PODS, namespace, meta["name"], uid=meta["uid"], change=change
                )
            case Evict(_, pod, grace, dry_run):
                meta = pod["metadata"]
                await self._kube.evict(
                    namespace, meta["name"], uid=meta["uid"], grace_seconds=grace, dry_run=dry_run
                )
                self._memory.budget_allows = dry_run
                self._memory.budget_refused_since = None
            case DeleteCopy(copy):
                meta = copy["metadata"]
                version = meta["resourceVersion"]
                await self._kube.delete(
                    PODS, namespace, meta["name"], uid=meta["uid"], resource_version=version
                )

    def _pause_after(self, problem: errors.KubeError) -> float:
        """What a refusal means, and how long to wait before looking again."""
        memory = self._memory
        memory.budget_allows = False
        match problem:
            case errors.BudgetRefused():
                if memory.budget_refused_since is None:
                    memory.budget_refused_since = self._clock.monotonic()
                    self._log.info("budget refuses for now", problem=str(problem))
                return _ASK_AGAIN_SECONDS
            case errors.Conflict() | errors.AlreadyExists() | errors.NotFound():
                # Someone was faster, or our own write of before took effect after all.
                self._log.debug("looks again", problem=str(problem))
                return _BACK_OFF_SECONDS[0]
            case errors.Unavailable() | errors.Throttled():
                # Whether a write took effect is not known; the next look tells.
                self._log.warning("API server did not answer as it should", problem=str(problem))
                if self._clock.monotonic() - memory.started > self._longest_seconds():
                    where = f"{self._intent.namespace}/{self._intent.copy}"
                    raise errors.KubeError(
                        f"{problem}; if there is a {where}, the next run ends it"
                    )
                memory.failures += 1
                worst = len(_BACK_OFF_SECONDS)
                return (
                    problem.retry_after_seconds
                    or _BACK_OFF_SECONDS[min(memory.failures, worst) - 1]
                )
        if memory.giving_up:
            if isinstance(problem, errors.SeveralBudgets):
                # After the adoption: the ReplicaSet removes the original without asking anyone.
                return _LOOK_AGAIN_SECONDS
            # Not even taking back is allowed: an operator has to look.
            where = f"{self._intent.namespace}/{self._intent.copy}"
            raise errors.KubeError(f"{problem}; the copy {where} is left: the next run ends it")
        several = isinstance(problem, errors.SeveralBudgets)
        reason = Reason.SEVERAL_BUDGETS if several else Reason.REFUSED
        memory.giving_up = Outcome(moved=False, reason=reason, message=str(problem))
        self._say(GiveUp(memory.giving_up))
        return 0.0

    def _longest_seconds(self) -> float:
        """Longer than any wait of `next_step`, for when we cannot even look any more."""
        limits = self._limits
        waits = 4 * limits.ready_timeout_seconds + limits.settle_seconds
        return waits + limits.budget_timeout_seconds + 2 * limits.eviction_grace_period_seconds

    def _progress(self, view: View) -> Progress:
        now, memory = self._clock.monotonic(), self._memory
        if view.copy is not None:
            memory.created = True
        if view.copy is None or not conditions.holds(view.copy, "Ready"):
            memory.copy_ready_since = None
        elif memory.copy_ready_since is None:
            memory.copy_ready_since = now
        return Progress(
            now=self._clock.now(),
            created=memory.created,
            running_seconds=now - memory.started,
            copy_ready_seconds=_since(memory.copy_ready_since, now),
            budget_allows=memory.budget_allows,
            budget_refused_seconds=_since(memory.budget_refused_since, now),
            giving_up=memory.giving_up,
        )

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
        if said != self._memory.said:
            self._memory.said = said
            self._log.info(said[0], **detail)


def _since(start: float | None, now: float) -> float:
    return 0.0 if start is None else now - start
