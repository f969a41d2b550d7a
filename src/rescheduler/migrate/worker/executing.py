"""Does one action, and remembers what it came to: at most one write to the API server."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from structlog.typing import FilteringBoundLogger

from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import actions
from rescheduler.migrate.deciding.actions import (
    Action,
    CreateBudget,
    CreateCopy,
    DeleteBudget,
    DeleteCopy,
    End,
    Evict,
    GiveUp,
    LabelRecord,
    Outcome,
    PatchPod,
    Probe,
    Rehearse,
    SetReady,
    Wait,
    Write,
)
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.surge import rehearsing, resizing
from rescheduler.migrate.worker.api_failures import ASK_AGAIN_SECONDS
from rescheduler.migrate.worker.context import Context
from rescheduler.migrate.worker.memory import Memory
from rescheduler.migrate.worker.namespaces import sees_or_waits
from rescheduler.migrate.worker.recording import Recorder
from rescheduler.migrate.worker.views import Views
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, Step
from rescheduler.wire import POD_DISRUPTION_BUDGETS, PODS

_LET_IT_ACT_SECONDS: Final = 0.25
_CANNOT_LEAVE: Final = "originals cannot be taken out of their Services before they are told to end"


class Executor:
    def __init__(
        self, context: Context, recorder: Recorder, memory: Memory, log: FilteringBoundLogger
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._recorder = recorder
        self._memory = memory
        self._log = log

    async def do(self, views: Views, action: Action) -> None:
        match action:
            case End():
                return
            case GiveUp(outcome):
                if outcome.reason is Reason.COPY_DIFFERS:
                    self._forbid_copies(views.intent, outcome)
            case Wait():
                self._memory.forget_budget()
                if action.seconds is None:
                    self._memory.forget_that_it_left()  # it serves again while we wait
                began = self._clock.monotonic()
                await views.wait(action.seconds)
                if action.seconds is not None:
                    self._memory.lingering_seconds += self._clock.monotonic() - began
            case Probe():
                await self._probe(views.intent, action)
            case Rehearse():
                await self._rehearse(views.intent, action)
            case _:
                await self._carry_out(views, action)

    async def _carry_out(self, views: Views, action: actions.Write) -> None:
        memory = self._memory
        made = await self._write(views.intent, action)
        if made is not None:
            is_budget = isinstance(action, actions.CreateBudget)
            views.learn(POD_DISRUPTION_BUDGETS if is_budget else PODS, made)
        if isinstance(action, actions.CreateCopy):
            memory.created = made is not None
        if isinstance(action, actions.PatchPod) and action.is_final:
            # The ReplicaSet is about to remove the original, which saves us the eviction.
            await self._clock.sleep(_LET_IT_ACT_SECONDS)
        if isinstance(action, actions.Evict):
            memory.forget_budget()
            memory.budget_allows = action.dry_run
        if isinstance(action, actions.LabelRecord):
            memory.steering_since = self._clock.monotonic()

    async def _write(self, intent: Intent, action: actions.Write) -> Object | None:
        if isinstance(action, actions.CreateCopy):
            return await self._create(intent, action)
        if isinstance(action, actions.SetReady):
            return await self._set_ready(intent, action)
        if not (isinstance(action, actions.Evict) and action.step is Step.EVICT):
            return await write(self._context.kube, self._recorder, intent.namespace, action)
        try:
            await write(self._context.kube, self._recorder, intent.namespace, action)
        except errors.Unavailable:
            self._memory.may_have_evicted = True  # it may be the answer that was lost
            raise
        except errors.BudgetRefused:
            self._memory.may_have_evicted = False  # a pod that ends is refused no more
            raise
        self._memory.may_have_evicted = True
        return None

    async def _create(self, intent: Intent, action: actions.CreateCopy) -> Object | None:
        """None: a policy or a webhook refuses it, which its dry run did not show."""
        try:
            return await write(self._context.kube, self._recorder, intent.namespace, action)
        except (errors.Forbidden, errors.Invalid) as problem:
            if not rehearsing.is_of_admission(str(problem)):
                raise
            self._memory.giving_up = rehearsing.refusal(str(problem))
            self._forbid_copies(intent, self._memory.giving_up)
            return None

    async def _set_ready(self, intent: Intent, action: actions.SetReady) -> Object | None:
        """None: rights or a policy forbid it. Then the move goes on without: at worst a few
        requests are lost, as with every rolling update.
        """
        try:
            made = await write(self._context.kube, self._recorder, intent.namespace, action)
        except (errors.Forbidden, errors.Invalid) as problem:
            self._memory.cannot_leave = True
            self._tell_that_it_cannot_leave(str(problem))
            return None
        if action.is_ready:
            self._memory.forget_that_it_left()
        else:
            self._memory.times_left += 1
        return made

    def _tell_that_it_cannot_leave(self, problem: str) -> None:
        """Rights that are missing are missing everywhere, and told once."""
        is_of_one = rehearsing.is_of_admission(problem)
        told = self._context.told
        if is_of_one or _CANNOT_LEAVE not in told:
            self._log.warning(_CANNOT_LEAVE, problem=problem)
        told.add("" if is_of_one else _CANNOT_LEAVE)

    def _forbid_copies(self, intent: Intent, outcome: Outcome) -> None:
        if (known := self._memory.rehearsed) is not None:
            workload = f"{intent.namespace}/{intent.replica_set}"
            self._context.rehearsals.forbid(known, outcome, workload)

    async def _rehearse(self, intent: Intent, action: Rehearse) -> None:
        memory = self._memory
        try:
            memory.rehearsed = await self._context.rehearsals.ask(action, intent.namespace)
        except (errors.Forbidden, errors.Invalid):
            if not memory.created:
                raise
            # A quota that the copy itself has filled: it is judged by its siblings.
            memory.rehearsed = await self._context.rehearsals.by_siblings(action, intent.namespace)
        if action.resized is not None:
            # As only a read of this one pod shows it: lists come without managed fields.
            with sees_or_waits():
                read = await self._context.kube.get(PODS, intent.namespace, intent.pod)
            if read["metadata"]["uid"] == intent.uid:
                memory.resized = resizing.resized(read)
                memory.resized_at = resizing.generation(read)

    async def _probe(self, intent: Intent, action: Probe) -> None:
        memory = self._memory
        if memory.steering_since is None:
            memory.steering_since = self._clock.monotonic()
        try:
            answer = await self._context.kube.create(
                PODS, intent.namespace, dict(action.body), dry_run=True
            )
            memory.steered = action.is_steered(answer)
            memory.steering_refused = ""
        except (errors.Forbidden, errors.Invalid, errors.AlreadyExists) as problem:
            self._log.info(
                "dry run refused: whether the API server steers is unknown", problem=str(problem)
            )
            # A quota has no room for one more as long as the original is there, so it can never be
            # seen; where the successor lands will show it.
            memory.steered = rehearsing.is_of_quota(str(problem))
            memory.steering_refused = _why_refused(intent, str(problem))
        if not memory.steered:
            await self._clock.sleep(ASK_AGAIN_SECONDS)


def _why_refused(intent: Intent, words: str) -> str:
    """Why the API server refuses such a pod for good; empty: it may make one all the same. What is
    shown for a controller whose template nobody knows may be invalid by our own fault.
    """
    is_ours = intent.is_of_foreign and rehearsing.is_invalid(words)
    return words if rehearsing.is_of_admission(words) and not is_ours else ""


# ---------------------------------------------------------------------- writes


def status_change(
    pod: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Only as it was judged: its kubelet may be saying something else just now."""
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"conditions": list(conditions)}}


async def write(kube: KubeApi, recorder: Recorder, namespace: str, action: Write) -> Object | None:
    """What was made or changed by it, as it is now."""
    match action:
        case CreateCopy(body):
            return await kube.create(PODS, namespace, dict(body))
        case CreateBudget(body):
            return await kube.create(POD_DISRUPTION_BUDGETS, namespace, dict(body))
        case PatchPod(_, pod, change):
            meta = pod["metadata"]
            change = {"metadata": change}
            return await kube.patch(PODS, namespace, meta["name"], uid=meta["uid"], change=change)
        case SetReady(_, pod, conditions):
            return await kube.patch(
                PODS,
                namespace,
                pod["metadata"]["name"],
                uid=pod["metadata"]["uid"],
                change=status_change(pod, conditions),
                subresource="status",
            )
        case Evict(_, pod, grace, dry_run):
            meta = pod["metadata"]
            await kube.evict(
                namespace, meta["name"], uid=meta["uid"], grace_seconds=grace, dry_run=dry_run
            )
        case DeleteCopy(copy):
            # Only as it was judged: it may serve by now, or have been adopted.
            meta = copy["metadata"]
            version = meta["resourceVersion"]
            await kube.delete(
                PODS, namespace, meta["name"], uid=meta["uid"], resource_version=version
            )
        case DeleteBudget(budget):
            # Ours whatever its version, which changes with every count of its controller.
            meta = budget["metadata"]
            await kube.delete(POD_DISRUPTION_BUDGETS, namespace, meta["name"], uid=meta["uid"])
        case LabelRecord(labels):
            await recorder.label(dict(labels))
    return None
