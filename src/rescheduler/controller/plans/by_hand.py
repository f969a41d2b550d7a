"""Says yes or no to a plan, as people ask for it: by annotations, whoever leads, or nobody.

Guarded by the version of the plan that was looked at, and safe to repeat: what a lost answer was
about is looked up.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rescheduler.clock import Clock
from rescheduler.documents.places import quoted
from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.model import reschedule_plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Decision, Phase, Reason
from rescheduler.wire import RESCHEDULE_PLANS

KIND: Final = "rescheduleplan.rescheduler.io"
_PLURAL: Final = "rescheduleplans.rescheduler.io"
_TYPES: Final = (KIND, _PLURAL, "rescheduleplan", "rescheduleplans", "rplan")
_TRIES: Final = 10
_AGAIN_SECONDS: Final = 0.2


class CannotDecide(ReschedulerError):
    """The message says why, and what to do instead."""


class NoPlans(ReschedulerError):
    """They cannot be read; the message says what to do about it."""


class NotInstalled(NoPlans):
    """The cluster does not know what a plan is."""


async def read(kube: KubeApi, namespace: str) -> list[Object]:
    """The oldest first. Raises NoPlans."""
    try:
        found = await kube.list(RESCHEDULE_PLANS, namespace=namespace)
    except errors.NotFound as problem:
        raise NotInstalled(
            f"the cluster does not know ReschedulePlans ({problem}); install them: "
            "kubectl apply -k manifests/rescheduler"
        ) from None
    except errors.Forbidden as problem:
        raise NoPlans(_not_allowed("list", namespace, problem)) from None
    return sorted(found, key=reschedule_plan.order_of)


async def find(kube: KubeApi, namespace: str, name: str) -> Object:
    """Raises CannotDecide, with a name that may have been meant."""
    name = plain(name)
    try:
        return await kube.get(RESCHEDULE_PLANS, namespace, name)
    except errors.NotFound:
        pass
    except errors.Forbidden as problem:
        raise NoPlans(_not_allowed("get", namespace, problem)) from None
    there = [reschedule_plan.name_of(each) for each in await read(kube, namespace)]
    raise CannotDecide(not_found(name, there))


def plain(name: str) -> str:
    """Without its type, which stands before it where names are printed to be given back."""
    of_type, slash, bare = name.partition("/")
    return bare if slash and of_type.lower() in _TYPES else name


def not_found(name: str, there: Sequence[str]) -> str:
    near = nearest(name, there)
    meant = f"; did you mean {quoted(near)}?" if near else "; see rescheduler get plans"
    return f"{_PLURAL} {quoted(name)} not found{meant}"


async def decide(
    kube: KubeApi, clock: Clock, namespace: str, name: str, decision: Decision, by: str
) -> bool:
    """Whether that is news. Raises CannotDecide when it is too late for it."""
    name = plain(name)
    problem: errors.KubeError | None = None
    for _ in range(_TRIES):
        plan = await find(kube, namespace, name)
        if why := why_too_late(plan, decision, clock.now()):
            raise CannotDecide(why)
        if reschedule_plan.decision_of(plan) is decision:
            # Perhaps by ourselves, and the answer was lost.
            return problem is not None and reschedule_plan.decided_by(plan) == by
        try:
            await _annotate(kube, plan, reschedule_plan.approval(decision, by, clock.now()))
        except (errors.Conflict, errors.NotFound, errors.Unavailable, errors.Throttled) as trouble:
            problem = trouble
        except errors.Forbidden as refused:
            raise CannotDecide(_not_allowed("patch", namespace, refused)) from None
        else:
            return True
        await clock.sleep(problem.retry_after_seconds or _AGAIN_SECONDS)
    raise CannotDecide(f"plan {name} could not be changed; try again ({problem})")


async def _annotate(kube: KubeApi, plan: Object, said: dict[str, str]) -> None:
    metadata = plan["metadata"]
    change = {"metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": said}}
    await kube.patch(
        RESCHEDULE_PLANS,
        metadata["namespace"],
        metadata["name"],
        uid=metadata["uid"],
        change=change,
    )


def why_too_late(plan: Object, decision: Decision, now: datetime) -> str:
    """Empty: it is not."""
    name, phase = reschedule_plan.name_of(plan), reschedule_plan.phase_of(plan)
    words = reschedule_plan.message_of(plan)
    if phase is Phase.RUNNING:
        done = "it is carried out already" if decision is Decision.APPROVED else "it has begun"
        way_out = (
            "" if decision is Decision.APPROVED else f"; when it has ended: rescheduler undo {name}"
        )
        return f"plan {name} is Running: {done}{way_out}"
    if phase is Phase.SUPERSEDED and (newer := reschedule_plan.superseded_by(plan)):
        return (
            f"plan {name} was superseded: {words}; look at that one: rescheduler get plans {newer}"
        )
    if phase.is_over:
        return f"plan {name} is {phase}{f': {words}' if words else ''}; see rescheduler get plans"
    end = reschedule_plan.expiry_told(plan)
    if end is not None and now >= end:
        return f"plan {name} expired at {end:%Y-%m-%dT%H:%M:%SZ}; see rescheduler get plans"
    if decision is Decision.APPROVED and reschedule_plan.reason_of(plan) == Reason.DRY_RUN:
        return (
            f"plan {name} was made in mode DryRun, in which nothing is moved: set mode to Approve, "
            "and approve the plan that it makes then"
        )
    return ""


def _not_allowed(verb: str, namespace: str, problem: errors.Forbidden) -> str:
    return (
        f"no right to {verb} {_PLURAL} in namespace {namespace} ({problem}); ask whoever "
        f"administers the cluster for it, and check: kubectl auth can-i {verb} {_PLURAL} "
        f"-n {namespace}"
    )
