"""Plans as they are followed and written, on the embedded API server."""

import asyncio

from rescheduler.config import Configuration
from rescheduler.controller.plans import Book, Proposing
from rescheduler.kube import ObjectNews
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move, Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Gains, Made, Origin, Phase, Reason, Standing
from rescheduler.wire import RESCHEDULE_PLANS
from tests.unit.controller.test_passes import MOVE, Migrator
from tests.unit.embedded.support.server_and_client import ServerAndClient

RUNNING = Standing(phase=Phase.RUNNING, reason=Reason.BY_ITSELF)


class Following:
    """A book that is open, and how often it had news."""

    def __init__(self, there: ServerAndClient) -> None:
        self.there, self.news = there, 0
        self.book = Book(there.kube, there.clock, "default", self._hear)

    def _hear(self) -> None:
        self.news += 1

    def body(self, *moves: Move) -> Object:
        made = Made(origin=Origin.PASS, mode="Auto", at=self.there.clock.now())
        return reschedule_plan.build("default", moves or (MOVE,), Gains(summary="why"), made)

    async def opened(self) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.book.run())
        await self.book.listed()
        return task


async def test_a_list_from_before_does_not_take_away_what_was_written_since(
    there: ServerAndClient,
) -> None:
    following = Following(there)
    before = await there.kube.listing(RESCHEDULE_PLANS, namespace="default")
    made = await following.book.create(following.body())
    assert made is not None
    name = reschedule_plan.name_of(made)
    following.book._take(ObjectNews(version=before.version, complete=True))  # noqa: SLF001
    assert following.book.get(name) is not None
    await there.kube.delete(RESCHEDULE_PLANS, "default", name, uid=reschedule_plan.uid_of(made))
    after = await there.kube.listing(RESCHEDULE_PLANS, namespace="default")
    following.book._take(ObjectNews(version=after.version, complete=True))  # noqa: SLF001
    assert following.book.get(name) is None


async def test_the_same_again_is_no_news(there: ServerAndClient) -> None:
    following = Following(there)
    made = await following.book.create(following.body())
    assert made is not None
    before = following.news
    following.book.learn(made)
    assert following.news == before
    assert await following.book.stand(made, RUNNING)
    assert following.news == before + 1


async def test_a_defect_does_not_hold_up_moves(there: ServerAndClient) -> None:
    following = Following(there)
    task = await following.opened()
    proposing = Proposing(following.book, there.clock, Configuration())
    broken: Plan = None  # type: ignore[assignment]
    assert list(await proposing.propose(broken, [MOVE])) == [MOVE]
    task.cancel()


async def test_what_is_not_begun_after_all_is_not_waited_for(there: ServerAndClient) -> None:
    following = Following(there)
    task = await following.opened()
    proposing = Proposing(following.book, there.clock, Configuration())
    decided = Plan(moves=(MOVE,))
    await proposing.propose(decided, [MOVE])
    assert list(proposing.runs.values()) == [None]
    proposing.begun(None)
    assert proposing.runs == {}
    [begun] = await proposing.propose(decided, [MOVE])
    run = PlanRun(Migrator(), [begun])
    proposing.begun(run)
    assert list(proposing.runs.values()) == [run]
    task.cancel()
