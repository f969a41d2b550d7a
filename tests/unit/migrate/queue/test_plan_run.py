"""A plan is carried out wave by wave; what fails holds up only what rests on it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from rescheduler.kube import errors
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model.moves import Denial, Move
from rescheduler.model.podmigration import Reason

MOVED = Outcome(moved=True, reason=Reason.COMPLETED, message="")
FAILED = Outcome(moved=False, reason=Reason.COPY_FAILED, message="it crashed")
LEFT = Outcome(moved=False, reason=Reason.NOT_FINISHED, message="")


def move(pod: str, *, wave: int = 0, source: str = "a", target: str = "b", group: str = "") -> Move:
    return Move(
        namespace="shop",
        pod=pod,
        uid=f"uid-{pod}",
        source=source,
        target=target,
        strategy="NodeMaintenance",
        reason="",
        wave=wave,
        group=group,
    )


@dataclass
class Handle:
    outcome: "asyncio.Future[Outcome]"
    serving: asyncio.Event

    async def taken_over(self) -> None:
        await self.serving.wait()

    async def ended(self) -> Outcome:
        return await asyncio.shield(self.outcome)


@dataclass
class Migrator:
    """Ends what the test tells it to end."""

    refusing: errors.KubeError | None = None
    asked: list[list[str]] = field(default_factory=list)
    ends: dict[str, "asyncio.Future[Outcome]"] = field(default_factory=dict)
    serving: dict[str, asyncio.Event] = field(default_factory=dict)

    async def submit(self, moves: Sequence[Move]) -> list[Handle]:
        if self.refusing:
            raise self.refusing
        self.asked.append([each.pod for each in moves])
        for each in moves:
            self.ends[each.pod] = asyncio.get_running_loop().create_future()
            self.serving[each.pod] = asyncio.Event()
        return [Handle(self.ends[each.pod], self.serving[each.pod]) for each in moves]

    async def deny(self, denials: Sequence[Denial]) -> None:
        raise NotImplementedError(denials)

    async def take_over(self, pod: str) -> None:
        self.serving[pod].set()
        await settle()

    async def end(self, pod: str, outcome: Outcome) -> None:
        self.ends[pod].set_result(outcome)
        await settle()


async def settle() -> None:
    """Until nobody has anything to do but to wait."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_wave_begins_when_all_of_the_one_before_have_ended() -> None:
    migrator = Migrator()
    run = PlanRun(migrator, [move("one"), move("two"), move("three", wave=1)])
    running = asyncio.create_task(run.run())
    await settle()
    assert migrator.asked == [["one", "two"]]
    await migrator.end("two", MOVED)
    assert migrator.asked == [["one", "two"]]
    await migrator.end("one", MOVED)
    assert migrator.asked == [["one", "two"], ["three"]]
    await migrator.end("three", MOVED)
    await running
    assert [each.pod for each, _ in run.outcomes] == ["two", "one", "three"]
    assert (run.moved, run.failed, run.skipped, run.left) == (3, 0, [], ())


async def test_originals_that_are_ending_hold_up_only_who_takes_their_place() -> None:
    migrator = Migrator()
    one, two = move("one"), move("two", wave=1)
    into_its_room = move("into-its-room", wave=2, source="c", target="a")
    run = PlanRun(migrator, [one, two, into_its_room])
    running = asyncio.create_task(run.run())
    await settle()
    await migrator.take_over("one")
    assert migrator.asked == [["one"], ["two"]]
    await migrator.end("two", MOVED)
    assert migrator.asked == [["one"], ["two"]]
    await migrator.end("one", MOVED)
    assert migrator.asked == [["one"], ["two"], ["into-its-room"]]
    await migrator.take_over("into-its-room")
    assert not running.done()
    await migrator.end("into-its-room", MOVED)
    await running
    assert run.moved == 3


async def test_all_are_taken_over_while_originals_are_still_ending() -> None:
    migrator = Migrator()
    run = PlanRun(migrator, [move("one"), move("two", wave=1)])
    running = asyncio.create_task(run.run())
    heard = asyncio.create_task(run.all_taken_over())
    await settle()
    await migrator.take_over("one")
    assert not heard.done()
    await migrator.take_over("two")
    assert await heard
    assert not running.done()
    await migrator.end("one", MOVED)
    await migrator.end("two", MOVED)
    await running


@pytest.mark.parametrize("outcome", [FAILED, LEFT], ids=["failed", "left"])
async def test_who_waits_for_all_hears_that_some_are_not_taken_over(outcome: Outcome) -> None:
    migrator = Migrator()
    run = PlanRun(migrator, [move("one"), move("two"), move("three", wave=1)])
    running = asyncio.create_task(run.run())
    await settle()
    await migrator.end("one", outcome)
    await migrator.take_over("two")
    if outcome is FAILED:
        await migrator.take_over("three")
    assert not await run.all_taken_over()
    running.cancel()


async def test_who_waits_for_all_hears_of_an_early_end() -> None:
    run = PlanRun(Migrator(refusing=errors.NotLeading("lost")), [move("one")])
    with pytest.raises(errors.NotLeading):
        await run.run()
    assert not await run.all_taken_over()


async def test_what_rests_on_one_that_failed_is_skipped_and_the_rest_goes_on() -> None:
    migrator = Migrator()
    into_its_room = move("into-its-room", wave=1, source="c", target="a")
    elsewhere = move("elsewhere", wave=1)
    of_its_group = move("of-its-group", wave=1, group="shop/g")
    run = PlanRun(migrator, [move("one", group="shop/g"), into_its_room, elsewhere, of_its_group])
    running = asyncio.create_task(run.run())
    await settle()
    await migrator.end("one", FAILED)
    assert migrator.asked == [["one"], ["elsewhere"]]
    assert run.skipped == [into_its_room, of_its_group]
    await migrator.end("elsewhere", MOVED)
    await running
    assert (run.moved, run.failed) == (1, 1)


async def test_told_to_stop_it_hears_its_wave_out_and_asks_for_no_other() -> None:
    migrator, forgotten = Migrator(), list[Move]()
    first, second = move("one"), move("two", wave=1)
    run = PlanRun(migrator, [first, second], forget=forgotten.append)
    running = asyncio.create_task(run.run())
    await settle()
    run.stop()
    await settle()
    assert not running.done()
    await migrator.end("one", MOVED)
    await running
    assert migrator.asked == [["one"]]
    assert run.moved == 1
    assert forgotten == [first, second]


async def test_each_counts_as_made_from_the_beginning_until_it_has_ended() -> None:
    migrator, assumed = Migrator(), set[str]()
    moves = [move("one"), move("two", wave=1), move("three", wave=1, target="a")]
    run = PlanRun(
        migrator,
        moves,
        assume=lambda each: assumed.add(each.pod),
        forget=lambda each: assumed.remove(each.pod),
    )
    assert assumed == {"one", "two", "three"}
    running = asyncio.create_task(run.run())
    await settle()
    await migrator.end("one", FAILED)
    assert assumed == {"two"}  # and what was skipped is not going to be made
    await migrator.end("two", MOVED)
    await running
    assert assumed == set()


async def test_cut_short_nothing_stays_assumed() -> None:
    assumed = set[str]()
    run = PlanRun(
        Migrator(),
        [move("one"), move("two", wave=1)],
        assume=lambda each: assumed.add(each.pod),
        forget=lambda each: assumed.remove(each.pod),
    )
    running = asyncio.create_task(run.run())
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert assumed == set()


async def test_when_one_is_left_to_the_next_process_so_is_all_that_follows() -> None:
    migrator = Migrator()
    run = PlanRun(migrator, [move("one"), move("two", wave=1)])
    running = asyncio.create_task(run.run())
    await settle()
    await migrator.end("one", LEFT)
    await running
    assert migrator.asked == [["one"]]


async def test_a_wave_that_cannot_be_asked_for_has_failed() -> None:
    told: list[tuple[str, Outcome]] = []
    run = PlanRun(
        Migrator(refusing=errors.Forbidden("quota exceeded")),
        [move("one")],
        told=lambda each, outcome: told.append((each.pod, outcome)),
    )
    await run.run()
    refused = Outcome(moved=False, reason=Reason.REFUSED, message="quota exceeded")
    assert told == [("one", refused)]
    assert run.failed == 1


async def test_who_leads_no_longer_is_told() -> None:
    run = PlanRun(Migrator(refusing=errors.NotLeading("lost")), [move("one")])
    with pytest.raises(errors.NotLeading):
        await run.run()
