"""Dry runs of what migrations are about to make: once for a template, however many share it.

What they showed is remembered for a while, as is that no right copy can be made.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.migrate.deciding.actions import Outcome, Rehearse
from rescheduler.migrate.deciding.facts import Rehearsed
from rescheduler.migrate.deciding.surge import likeness, rehearsing
from rescheduler.wire import PODS

_BELIEVED_SECONDS: Final = 180.0
"""Then it is asked anew: what admission gives may change, as the size that an autoscaler wants."""
_REFUSED_SECONDS: Final = 600.0
"""For so long nobody tries another copy of a template that admission does not let us make right."""
_MOST: Final = 1000
"""Templates that are remembered: a bound of our memory, not of what can be moved."""


@dataclass(frozen=True, slots=True)
class _Known:
    until: float
    rehearsed: Rehearsed


class Rehearsals:
    def __init__(self, kube: KubeApi, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._running: dict[str, asyncio.Task[Rehearsed]] = {}

    async def ask(self, action: Rehearse, namespace: str) -> Rehearsed:
        known = self._known.get(action.template)
        if known and self._clock.monotonic() < known.until:
            return known.rehearsed
        running = self._running.get(action.template)
        if running is None:
            running = asyncio.create_task(self._rehearse(action, namespace), name="dry runs")
            self._running[action.template] = running
            running.add_done_callback(lambda done: self._ended(action.template, done))
        return await asyncio.shield(running)

    async def by_siblings(self, action: Rehearse, namespace: str) -> Rehearsed:
        """What can be known without dry runs."""
        found = [await self._read(namespace, name) for name in action.siblings]
        siblings = tuple(each for each in found if each is not None)
        return Rehearsed(template=action.template, siblings=siblings)

    def forbid(self, known: Rehearsed, outcome: Outcome, who: str) -> None:
        """No right copy can be made of it, as one has shown that was really made, or refused."""
        self._remember(rehearsing.refused(known, outcome), who)

    def _ended(self, template: str, done: "asyncio.Task[Rehearsed]") -> None:
        self._running.pop(template, None)
        # When all who waited for it have gone, nobody wants to know how it failed.
        done.cancelled() or done.exception()

    def _remember(self, rehearsed: Rehearsed, who: str) -> None:
        before = self._known.pop(rehearsed.template, None)
        is_news = before is None or before.rehearsed.refusal is None
        seconds = _REFUSED_SECONDS if rehearsed.refusal else _BELIEVED_SECONDS
        until = self._clock.monotonic() + seconds
        self._known[rehearsed.template] = _Known(until, rehearsed)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        if rehearsed.refusal and is_news:
            structlog.get_logger().warning(
                "no copies of this workload's pods are made for a while",
                workload=who,
                cause=rehearsed.refusal.reason,
                message=rehearsed.refusal.message,
            )

    # ------------------------------------------------------------------ asking

    async def _rehearse(self, action: Rehearse, namespace: str) -> Rehearsed:
        answers = await self._answers(action, namespace)
        rehearsed = Rehearsed(template=action.template)
        # Where a pod of the owner itself is refused, the refusal of a copy would mean nothing.
        if answers:
            rehearsed = await self._with_copy(action, namespace, self._agreed(action, answers))
        if rehearsed.answer is None:
            known = await self.by_siblings(action, namespace)
            rehearsed = replace(rehearsed, siblings=known.siblings)
        self._remember(rehearsed, _workload(action))
        return rehearsed

    async def _answers(self, action: Rehearse, namespace: str) -> list[Object]:
        """A pod as its owner would get it, two times over; none: the API server does not tell."""
        try:
            return [await self._dry_run(namespace, dict(action.as_owner)) for _ in range(2)]
        except (errors.Forbidden, errors.Invalid, errors.Unavailable) as problem:
            if not _is_answer(problem):
                raise
            _say(
                "dry run of a pod refused: what admission makes of it is unknown",
                action,
                problem=str(problem),
            )
            return []

    def _agreed(self, action: Rehearse, answers: Sequence[Object]) -> Object | None:
        agreed = rehearsing.agreed(action.as_owner, *answers)
        if agreed is None:
            _say("admission answers with another pod each time", action)
        return dict(agreed) if agreed else None

    async def _with_copy(
        self, action: Rehearse, namespace: str, answer: Object | None
    ) -> Rehearsed:
        """What admission makes of the copy: nothing, if it was right. What it gives every pod once
        more, a copy of the template gets once.
        """
        known = Rehearsed(template=action.template, answer=answer)
        problem, made = await self._try(namespace, dict(action.copy_of(answer)))
        if answer is None or (made and likeness.has_same_shape(made, answer)):
            return rehearsing.refused(known, rehearsing.refusal(problem)) if problem else known
        if not problem and made is None:
            return known
        of_template, again = await self._try(namespace, dict(action.copy_of(None)))
        if again and likeness.has_same_shape(again, answer):
            return Rehearsed(template=action.template, answer=answer, is_given_twice=True)
        if problem or of_template:
            return rehearsing.refused(known, rehearsing.refusal(problem or of_template))
        return known

    async def _try(self, namespace: str, body: Object) -> tuple[str, Object | None]:
        """Why it is refused, and what it would be; neither, if that cannot be asked."""
        try:
            return "", await self._dry_run(namespace, body)
        except errors.AlreadyExists:
            return "", None  # it is there by now, and can be looked at
        except (errors.Forbidden, errors.Invalid, errors.Unavailable) as problem:
            if not _is_answer(problem):
                raise
            is_unasked = problem.status == _BAD_REQUEST or not _is_for_good(problem)
            return "" if is_unasked else str(problem), None

    async def _read(self, namespace: str, name: str) -> Object | None:
        """All of it: of a pod that is not moved itself, lists keep less."""
        try:
            return await self._kube.get(PODS, namespace, name)
        except errors.NotFound:
            return None

    async def _dry_run(self, namespace: str, body: Object) -> Object:
        return await self._kube.create(PODS, namespace, body, dry_run=True)


_BAD_REQUEST: Final = 400
"""So the API server answers when a webhook has effects of its own, and is not asked in dry runs."""


def _is_answer(problem: errors.KubeError) -> bool:
    """Whether asking again would tell no more."""
    words = str(problem)
    if isinstance(problem, errors.Unavailable):
        return rehearsing.is_of_silent_webhook(words)
    return not rehearsing.is_of_quota(words)


def _workload(action: Rehearse) -> str:
    metadata = action.as_owner["metadata"]
    return f"{metadata['namespace']}/{metadata['ownerReferences'][0]['name']}"


def _say(what: str, action: Rehearse, **detail: str) -> None:
    structlog.get_logger().info(what, workload=_workload(action), **detail)


def _is_for_good(problem: errors.KubeError) -> bool:
    is_invalid = isinstance(problem, errors.Invalid)
    return is_invalid or rehearsing.is_of_admission(str(problem))
