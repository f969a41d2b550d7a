"""What came of plans is written: again where it could not be, and not for ever in vain."""

from collections.abc import Sequence
from typing import Any

from structlog.testing import capture_logs

from rescheduler.config import Configuration
from rescheduler.controller.plans import Book, Tidings
from rescheduler.controller.plans.observing import Observing
from rescheduler.kube import errors
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move, NodeLoad, Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import (
    Gains,
    Made,
    Origin,
    Phase,
    Progress,
    Reason,
    Standing,
    State,
)
from testbed import builders
from tests.unit.embedded.support.server_and_client import ServerAndClient
from tests.unit.plan.support.object_snapshots import snapshot_of

LOADS = {"cpu": 10.0, "memory": 10.0}
NODES = tuple(
    NodeLoad(node=name, before=LOADS, after=LOADS, pods_before=1, pods_after=1, eligible=True)
    for name in ("a", "b")
)


class Between:
    """The client, and what happens to what is written of how plans stand."""

    def __init__(self, there: ServerAndClient) -> None:
        self._kube = there.kube
        self.written: list[str] = []
        self.is_old = False
        """The definition in the cluster knows no `observed`, which the server leaves out then."""
        self.refuses = ""
        """The name of a plan whose status it does not take."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the client has
        return getattr(self._kube, name)

    async def patch(self, *of: Any, change: Any, **more: Any) -> Object:  # noqa: ANN401
        name = of[2]
        self.written.append(name)
        if name == self.refuses:
            raise errors.Invalid("refused by a policy")
        status = dict(change["status"])
        if self.is_old:
            status.pop("observed", None)
        return await self._kube.patch(*of, change={**change, "status": status}, **more)


class Ended:
    """Plans that have ended, of which nobody has told what came."""

    def __init__(self, there: ServerAndClient) -> None:
        self.there, self.between = there, Between(there)
        self.records: list[Object] = []
        self.book = Book(self.between, there.clock, "default", lambda: None)  # type: ignore[arg-type]
        self.observing = Observing(
            self.book, there.clock, Configuration(), self._records_of, Tidings()
        )

    def _records_of(self, uid: str) -> Sequence[Object]:
        return [each for each in self.records if each["spec"]["pod"]["uid"] == uid]

    async def plan(self, uid: str) -> str:
        move = Move(
            namespace="default",
            pod=uid,
            uid=uid,
            source="a",
            target="b",
            strategy="LoadBalancing",
            reason="why",
        )
        made = Made(origin=Origin.PASS, mode="Auto", at=self.there.clock.now())
        gains = Gains(loads="requests", nodes=NODES)
        plan = await self.book.create(reschedule_plan.build("default", [move], gains, made))
        assert plan is not None
        progress = Progress(uid=uid, state=State.MOVED, successor={"uid": f"{uid}-new"})
        ended = Standing(phase=Phase.COMPLETED, reason=Reason.ALL_MOVED, moves=[progress])
        assert await self.book.stand(plan, ended)
        return reschedule_plan.name_of(plan)

    async def look(self, seconds: float = 60.0) -> None:
        """A pass, and what it found is written."""
        await self.there.clock.sleep(seconds)
        snapshot = snapshot_of(
            [builders.node("a"), builders.node("b")], taken_at=self.there.clock.now().timestamp()
        )
        waiting = [each for each in self.book.all() if reschedule_plan.awaits_loads(each)]
        self.observing.see(snapshot, Plan(moves=(), nodes=NODES), waiting)
        await self.observing.write()


async def test_where_the_definition_is_an_older_one_it_says_so_once(there: ServerAndClient) -> None:
    ended = Ended(there)
    names = [await ended.plan("one"), await ended.plan("two")]
    ended.between.is_old = True
    ended.between.written.clear()
    with capture_logs() as logs:
        for _ in range(3):
            await ended.look()
    assert ended.between.written == names
    [told] = [each for each in logs if each["log_level"] == "warning"]
    assert "older definition" in told["event"]
    assert "plan observed" not in [each["event"] for each in logs]


async def test_one_that_cannot_be_written_holds_up_no_other(there: ServerAndClient) -> None:
    ended = Ended(there)
    first, second = await ended.plan("one"), await ended.plan("two")
    ended.between.refuses = first
    for _ in range(3):
        await ended.look()
    assert _verdict(ended, second) == "AsPredicted"
    assert _verdict(ended, first) == ""
    ended.between.refuses = ""
    await ended.look()
    assert _verdict(ended, first) == "AsPredicted"

    ended.between.refuses = first  # and when their pods have moved again
    for _ in range(3):
        await ended.look(3600.0)
    assert [_is_final(ended, each) for each in (first, second)] == [False, True]
    ended.between.refuses = ""
    await ended.look()
    assert _is_final(ended, first)


def _verdict(ended: Ended, name: str) -> str:
    plan = ended.book.get(name)
    assert plan is not None
    return reschedule_plan.verdict_of(plan)


def _is_final(ended: Ended, name: str) -> bool:
    plan = ended.book.get(name)
    assert plan is not None
    return bool(reschedule_plan.observed_of(plan).get("final"))
