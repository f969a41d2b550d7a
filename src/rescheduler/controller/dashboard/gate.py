"""Who a viewer is and what they may see and do, as the API server says of their own token.

Nothing is done here by rights of ours: each request goes with the token of whoever asks.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from rescheduler.clock import Clock
from rescheduler.controller.plans import asking, by_hand
from rescheduler.controller.settings import Settings
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move
from rescheduler.model.reschedule_plan import Decision
from rescheduler.model.snapshot import Snapshot
from rescheduler.serve.dashboard.access import Act, Namespaces, Permission, Person
from rescheduler.serve.dashboard.documents.plans import Acted
from rescheduler.serve.dashboard.refusing import (
    CONFLICT,
    FORBIDDEN,
    NO_TOKEN,
    UNAVAILABLE,
    Refused,
)
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights
from rescheduler.serve.dashboard.view import View
from rescheduler.wire import SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_REVIEWS

ConnectAs = Callable[[str], AbstractAsyncContextManager[KubeApi]]
"""As whoever has that token."""

_MOST_NAMESPACES: Final = 2000
"""That are asked about one by one; of more, the others are not seen."""
_AT_ONCE: Final = 16
_WHO: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
_GROUP: Final = reschedule_plan.API_VERSION.partition("/")[0]


class ApiGate:
    def __init__(self, connect_as: ConnectAs, clock: Clock, settings: Settings) -> None:
        self._connect_as = connect_as
        self._clock = clock
        self._settings = settings

    @property
    def _namespace(self) -> str:
        return self._settings.configuration.leader_election.resource_namespace

    async def who(self, token: str, namespaces: Namespaces) -> Person:
        try:
            async with self._connect_as(token) as kube:
                name = await _name(kube)
                rights = await _rights(kube, namespaces)
                may_act = Permission()
                if self._settings.configuration.dashboard.actions:
                    may_act = await _may(kube, "patch", self._namespace)
                return Person(name=name, rights=rights, may_act=may_act)
        except errors.Unauthorized:
            raise Refused(
                NO_TOKEN,
                "the API server does not know this token",
                way_out="take a fresh one, such as kubectl create token NAME",
            ) from None
        except ReschedulerError as problem:
            raise Refused(
                UNAVAILABLE, f"the API server does not say who that is: {problem}"
            ) from None

    async def act(self, token: str, person: Person, act: Act, view: View) -> Acted:
        verb = "create" if act.what == "undo" else "patch"
        async with self._connect_as(token) as kube:
            try:
                allowed = await _may(kube, verb, self._namespace)
            except ReschedulerError as problem:
                raise Refused(UNAVAILABLE, str(problem)) from None
            if not allowed.allowed:
                raise Refused(FORBIDDEN, allowed.why_not, way_out=_right(verb, self._namespace))
            return await acted(kube, self._clock, view, act, by=person.name)


async def _name(kube: KubeApi) -> str:
    found = await kube.create(SELF_SUBJECT_REVIEWS, "", dict(_WHO))
    info = (found.get("status") or {}).get("userInfo") or {}
    return str(info.get("username") or "")


async def _rights(kube: KubeApi, namespaces: Namespaces) -> Rights:
    if (await _asked(kube, {"verb": "list", "resource": "pods"})).allowed:
        return EVERYTHING
    turns = asyncio.Semaphore(_AT_ONCE)

    async def is_seen(namespace: str) -> bool:
        async with turns:
            wanted = {"verb": "list", "resource": "pods", "namespace": namespace}
            return (await _asked(kube, wanted)).allowed

    names = sorted(await namespaces())[:_MOST_NAMESPACES]
    answers = await asyncio.gather(*map(is_seen, names))
    return Rights(frozenset(name for name, yes in zip(names, answers, strict=True) if yes))


async def _may(kube: KubeApi, verb: str, namespace: str) -> Permission:
    """To change plans."""
    plural = reschedule_plan.PLURAL
    wanted = {"verb": verb, "group": _GROUP, "resource": plural, "namespace": namespace}
    found = await _asked(kube, wanted)
    if found.allowed:
        return found
    why = f"no right to {verb} {plural} in namespace {namespace}"
    return Permission(why_not=f"{why}: {found.why_not}" if found.why_not else why)


async def _asked(kube: KubeApi, wanted: dict[str, str]) -> Permission:
    body: dict[str, Any] = {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEWS.group_version,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": wanted},
    }
    status = (await kube.create(SELF_SUBJECT_ACCESS_REVIEWS, "", body)).get("status") or {}
    return Permission(
        allowed=status.get("allowed") is True, why_not=str(status.get("reason") or "")[:300]
    )


def _right(verb: str, namespace: str) -> str:
    plural = f"{reschedule_plan.PLURAL}.{_GROUP}"
    return f"ask for that right, and check: kubectl auth can-i {verb} {plural} -n {namespace}"


# ---------------------------------------------------------------------- acting


async def acted(kube: KubeApi, clock: Clock, view: View, act: Act, *, by: str) -> Acted:
    """As the command of that name does it. Raises Refused."""
    namespace, name = view.configuration.leader_election.resource_namespace, act.name
    try:
        plan = await by_hand.find(kube, namespace, name)
        if act.uid and reschedule_plan.uid_of(plan) != act.uid:
            raise Refused(
                CONFLICT, f"plan {name} is another one by now", way_out="look at it again"
            )
        if act.what == "undo":
            return await _undone(kube, clock, view, by, name)
        decision = Decision.APPROVED if act.what == "approve" else Decision.REJECTED
        is_news = await by_hand.decide(kube, clock, namespace, name, decision, by)
    except errors.Unauthorized:
        raise Refused(NO_TOKEN, "the API server does not know this token") from None
    except (errors.Unavailable, errors.Throttled) as problem:
        raise Refused(UNAVAILABLE, str(problem), way_out="try again") from None
    except ReschedulerError as problem:
        raise Refused(CONFLICT, str(problem)) from None
    words = decision.value if is_news else f"already {decision.value}"
    return Acted(plan=name, message=f"plan {name} is {words}", changed=is_news)


async def _undone(kube: KubeApi, clock: Clock, view: View, by: str, name: str) -> Acted:
    configuration = view.configuration
    plan, plans = await asking.plan_to_undo(kube, configuration, name)
    # In a thread: every rule is asked about every move.
    judged = await asyncio.to_thread(
        asking.undone, _Seen(view.snapshot), clock, configuration, plan, plans, by=by
    )
    if judged.body is None:
        stays = f"; {len(judged.stay)} pods stay" if judged.stay else ""
        return Acted(plan="", message=f"there is nothing to move back{stays}", changed=False)
    made = await asking.ask(kube, clock, judged.body)
    new = reschedule_plan.name_of(made)
    stays = f"; {len(judged.stay)} stay where they are" if judged.stay else ""
    return Acted(
        plan=new,
        message=f"plan {new} brings {len(judged.moves)} pods back{stays}",
        changed=True,
    )


class _Seen:
    """What was published, for whoever judges moves: nothing is assumed of it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def with_usage(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def assume(self, _: Move) -> bool:
        return False

    def forget(self, _: Move) -> None:
        return None
