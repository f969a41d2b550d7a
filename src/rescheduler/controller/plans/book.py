"""All ReschedulePlans of ours, followed by list and watch, and every write of them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import structlog

from rescheduler.clock import Clock
from rescheduler.kube import KubeApi, ObjectNews, Pauses, Reflector, Relist, errors, follow_objects
from rescheduler.model import reschedule_plan
from rescheduler.model.objects import Object, version_of
from rescheduler.model.reschedule_plan import Standing
from rescheduler.wire import RESCHEDULE_PLANS

T = TypeVar("T")

_PAUSES: Final = Pauses(first_seconds=1.0, longest_seconds=5.0, longest_refused_seconds=60.0)
_TRY_AGAIN_SECONDS: Final = (0.2, 1.0, None)
_WRITING_SECONDS: Final = 3.0
"""So long a write may take, with all that is tried again: moves wait for it."""
_MOST_UNENDED: Final = 50
"""Where how plans stand cannot be written they never end, and nobody takes them away: no more of
them are written then.
"""


class Book(Reflector[ObjectNews]):
    """Each write is guarded by the version that was seen: what people do meanwhile counts first,
    and is looked at again.
    """

    def __init__(
        self,
        kube: KubeApi,
        clock: Clock,
        namespace: str,
        tell: Callable[[], None],
        stood: Callable[[Object, Object], None] = lambda _before, _after: None,
    ) -> None:
        """`stood` hears how a plan stood, and how it stands, when that was written."""
        super().__init__(clock, RESCHEDULE_PLANS.plural, _PAUSES, Relist.AFTER_TROUBLE)
        self._kube = kube
        self._namespace = namespace
        self._tell = tell
        self._stood = stood
        self._plans: dict[str, Object] = {}
        self._told: set[str] = set()

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def is_open(self) -> bool:
        """It can be read."""
        return self.is_complete and self.refusal is None

    async def listed(self) -> None:
        """Until all are known, or it is known that they cannot be for now."""
        while not self.is_settled and self.problem is None:
            self.forget_changes()
            if not self.is_settled:
                await self.changed()

    def all(self) -> list[Object]:
        return list(self._plans.values())

    def get(self, name: str) -> Object | None:
        return self._plans.get(name)

    # ------------------------------------------------------------------ writing

    async def create(self, body: Object) -> Object | None:
        """As it is now; None: it cannot be written, which is told once.

        Raises:
            NotLeading: we must not write any more.
        """
        unended = sum(not reschedule_plan.is_over(each) for each in self._plans.values())
        if unended >= _MOST_UNENDED:
            self._say_once(
                "a plan is not written: too many have not ended",
                errors.Unavailable(f"{unended} wait or run in namespace {self._namespace}"),
                see="rescheduler get plans; those that nobody wants: rescheduler reject, or delete",
            )
            return None
        try:
            return await _in_time(self._create(body))
        except errors.NotLeading:
            raise
        except errors.KubeError as problem:
            self._say_once("a plan could not be written", problem)
            return None

    async def _create(self, body: Object) -> Object | None:
        for pause in _TRY_AGAIN_SECONDS:
            try:
                made = await self._kube.create(RESCHEDULE_PLANS, self._namespace, dict(body))
            except errors.AlreadyExists:
                # Ours, whose answer was lost: its name tells its moves and their time.
                return await self._look_up(reschedule_plan.name_of(body))
            except (errors.Unavailable, errors.Throttled) as problem:
                if pause is None:
                    raise
                await self._clock.sleep(problem.retry_after_seconds or pause)
            else:
                self.learn(made)
                return made
        raise AssertionError("unreachable")

    async def stand(self, plan: Object, standing: Standing) -> Object | None:
        """Writes how it stands, if that is news. As it is now; None: somebody was faster, or it
        cannot be written: whoever comes again looks again.
        """
        document = reschedule_plan.status_document(plan, standing, self._clock.now())
        written = await self._change_status(plan, document)
        if written is not None and written is not plan:
            self._stood(plan, written)
        return written

    async def observe(self, plan: Object, observed: Mapping[str, Any]) -> Object | None:
        """Writes what came of it, in the same way."""
        document = reschedule_plan.observed_status(plan, observed, self._clock.now())
        return await self._change_status(plan, document)

    async def _change_status(self, plan: Object, document: Mapping[str, Any]) -> Object | None:
        if reschedule_plan.says_the_same(plan, document):
            return plan
        metadata = plan["metadata"]
        change = {
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
            "status": dict(document),
        }
        try:
            changed = await _in_time(
                self._kube.patch(
                    RESCHEDULE_PLANS,
                    self._namespace,
                    metadata["name"],
                    uid=metadata["uid"],
                    change=change,
                    subresource="status",
                )
            )
        except errors.NotFound:
            self.forget(plan)
            return None
        except errors.NotLeading:
            raise
        except errors.Conflict:
            return await self._look_up(metadata["name"], only_look=True)
        except errors.KubeError as problem:
            self._say_once("how a plan stands could not be written", problem)
            return None
        self.learn(changed)
        return changed

    async def remove(self, plan: Object) -> bool:
        """False: whoever comes again tries again."""
        metadata = plan["metadata"]
        try:
            await _in_time(
                self._kube.delete(
                    RESCHEDULE_PLANS,
                    self._namespace,
                    metadata["name"],
                    uid=metadata["uid"],
                    resource_version=metadata["resourceVersion"],
                )
            )
        except errors.NotFound:
            pass
        except errors.NotLeading:
            raise
        except errors.Conflict:
            return False  # somebody has changed it, which the watch tells
        except errors.KubeError as problem:
            self._say_once("an old plan could not be deleted", problem)
            return False
        self.forget(plan)
        return True

    async def _look_up(self, name: str, *, only_look: bool = False) -> Object | None:
        """`only_look`: learn of it, and no more."""
        try:
            found = await self._kube.get(RESCHEDULE_PLANS, self._namespace, name)
        except errors.NotLeading:
            raise
        except errors.KubeError:
            return None  # the watch tells
        self.learn(found)
        return None if only_look else found

    def _say_once(self, words: str, problem: errors.KubeError, *, see: str = "") -> None:
        told = f"{words}: {type(problem).__name__}"
        log = structlog.get_logger()
        if told in self._told:
            log.debug(words, problem=str(problem))
            return
        self._told.add(told)
        if isinstance(problem, errors.Forbidden):
            see = "rbac.yaml, the role rescheduler-scheduler-plans; or your quotas and policies"
        more = {"see": see} if see else {}
        log.warning(words, problem=str(problem), **more)

    # ------------------------------------------------------------------ knowing

    def learn(self, plan: Object) -> None:
        """What we wrote ourselves, before the watch tells it."""
        known = self._plans.get(reschedule_plan.name_of(plan))
        if known is not None and reschedule_plan.uid_of(known) == reschedule_plan.uid_of(plan):
            is_same = plan["metadata"]["resourceVersion"] == known["metadata"]["resourceVersion"]
            # The same again is no news: whoever wrote in vain would at once be called to try again.
            if is_same or version_of(plan) < version_of(known):
                return
        self._plans[reschedule_plan.name_of(plan)] = reschedule_plan.remains_of(plan)
        self._tell()

    def forget(self, plan: Object) -> None:
        known = self._plans.get(reschedule_plan.name_of(plan))
        if known is not None and reschedule_plan.uid_of(known) == reschedule_plan.uid_of(plan):
            del self._plans[reschedule_plan.name_of(plan)]
            self._tell()

    def _open(self, since: str) -> AsyncGenerator[ObjectNews, None]:
        return follow_objects(self._kube, RESCHEDULE_PLANS, namespace=self._namespace, since=since)

    def _take(self, news: ObjectNews) -> None:
        if news.complete:
            listed = {reschedule_plan.name_of(each): each for each in news.present}
            as_of = int(news.version) if news.version.isdigit() else 0
            for name in self._plans.keys() - listed.keys():
                # What we wrote after that is there all the same: the watch is about to tell.
                if version_of(self._plans[name]) <= as_of:
                    del self._plans[name]
        for each in news.gone:
            self.forget(each)
        for each in news.present:
            self.learn(each)
        self._tell()

    def _forget_all(self) -> None:
        self._plans = {}

    def _tell_refusal(self, problem: errors.KubeError) -> None:
        way_out = "apply plan-crd.yaml and rbac.yaml (the role rescheduler-scheduler-plans)"
        structlog.get_logger().warning(
            "plans are not written down", problem=str(problem), to_have_them=way_out
        )


async def _in_time(writing: Awaitable[T]) -> T:
    """Raises Unavailable: whether it took effect is not known then."""
    try:
        async with asyncio.timeout(_WRITING_SECONDS):
            return await writing
    except TimeoutError:
        raise errors.Unavailable(f"no answer within {_WRITING_SECONDS:.0f} s") from None
