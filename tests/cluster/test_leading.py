"""Who leads, on a real API server: candidates that come, go, hang and are tampered with.

With -s, the times that it took to follow a leader are printed. LEADING_STOPS asks for more leaders
that are stopped and continued.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog

from testbed.api import Object
from testbed.world import World
from tests.cluster.electing import (
    BOARD,
    LEASE,
    acquired,
    candidate_of,
    edit,
    is_said,
    is_written_by,
    kubeconfig,
    lease_of,
    lost,
    put_up_board,
    renewed_again,
    settings,
)
from tests.cluster.leading_candidate import WRITER

CHILD = Path(__file__).parent / "leading_candidate.py"
STOPS = int(os.environ.get("LEADING_STOPS", "4"))

# ------------------------------------------------------------------ one leads


async def test_one_of_two_leads_and_the_other_follows_when_it_leaves(world: World) -> None:
    with structlog.testing.capture_logs() as said:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(candidate_of(world))
            leads = await acquired(first)
            assert (leads.term.holder, leads.term.number) == (first.identity, 0)
            async with candidate_of(world) as second:
                waiting = asyncio.create_task(acquired(second))
                await renewed_again(world, first.identity, times=5)
                assert leads.may_write()
                assert not waiting.done()
                left = time.monotonic()
                await stack.aclose()
                assert not leads.may_write()
                follows = await waiting
                print(f"\nfollowed a clean exit after {time.monotonic() - left:.2f} s")  # noqa: T201
                assert (follows.term.holder, follows.term.number) == (second.identity, 1)
                assert follows.may_write()
    # Who leads is told once, however often it was looked at.
    told = [
        each["leader"] for each in said if each["event"] == "standing by: another replica leads"
    ]
    assert told == [first.identity]
    spec = (await lease_of(world))["spec"]
    assert (spec.get("holderIdentity") or "", spec["leaseDurationSeconds"]) == ("", 1)


async def test_whoever_leaves_has_released_the_lease_at_whatever_moment_it_leaves(
    world: World,
) -> None:
    luck = random.Random(7)  # noqa: S311 - to be repeated, not secret
    for number in range(20):
        async with candidate_of(world, retry_period_seconds=0.1) as candidate:
            leads = await acquired(candidate)
            assert leads.term.number == number
            await asyncio.sleep(luck.uniform(0.0, 0.15))
        assert not leads.may_write()
        assert not (await lease_of(world))["spec"].get("holderIdentity")


async def test_of_many_at_once_one_leads(world: World) -> None:
    async with AsyncExitStack() as stack:
        all_of_them = [await stack.enter_async_context(candidate_of(world)) for _ in range(8)]
        waiting = [asyncio.create_task(acquired(each)) for each in all_of_them]
        done, rest = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        [leads] = [each.result() for each in done]
        await renewed_again(world, leads.term.holder, times=5)
        assert leads.may_write()
        assert not any(each.done() for each in rest)
        for each in rest:
            each.cancel()


async def test_a_main_loop_that_is_busy_for_longer_than_the_lease_does_not_lose_it(
    world: World,
) -> None:
    async with candidate_of(world) as candidate:
        leads = await acquired(candidate)
        end = time.monotonic() + 2.5 * settings(world).lease_duration_seconds
        while time.monotonic() < end:
            sum(range(10_000))
        assert leads.may_write()
        spec = (await lease_of(world))["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == (candidate.identity, 0)


# ------------------------------------------------------------------ one dies


@dataclass
class Child:
    process: asyncio.subprocess.Process
    identity: str = ""

    async def hear(self, word: str) -> Any:  # noqa: ANN401
        """Until it says this, and what it said with it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            async for line in self.process.stdout:
                words = json.loads(line)
                if word in words:
                    return words
        raise AssertionError(f"it ended without saying {word}")


@dataclass
class Children:
    world: World
    pod: str
    running: list[Child] = field(default_factory=list)

    async def start(self) -> Child:
        config = kubeconfig(self.world)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(CHILD), config, self.world.name, self.pod),
            json.dumps(asdict(settings(self.world))),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        child = Child(process)
        self.running.append(child)
        child.identity = (await child.hear("identity"))["identity"]
        return child


@asynccontextmanager
async def children(world: World) -> AsyncIterator[Children]:
    await put_up_board(world)
    made = Children(world, BOARD)
    try:
        yield made
    finally:
        for child in made.running:
            if child.process.returncode is None:
                child.process.kill()
                await child.process.wait()


async def test_one_that_was_killed_is_followed(world: World) -> None:
    async with children(world) as started:
        first = await started.start()
        await first.hear("acquired")
        second = await started.start()
        first.process.kill()
        killed = time.monotonic()
        words = await second.hear("acquired")
        print(f"\nfollowed a kill -9 after {time.monotonic() - killed:.2f} s of a lease of 4 s")  # noqa: T201
        assert words["acquired"] == 1


@pytest.mark.timeout(120 + 30 * STOPS)
async def test_nobody_writes_who_does_not_lead_however_long_it_was_stopped(world: World) -> None:
    """The fence is all that holds it back: it goes on with what it was about to do."""
    luck = random.Random(6)  # noqa: S311 - to be repeated, not secret
    async with children(world) as started, history_of(world) as history:
        leader = await started.start()
        words: list[dict[str, Any]] = []
        for number in range(STOPS):
            assert (await leader.hear("acquired"))["acquired"] == number
            standby = await started.start()
            await world.wait("it writes", _written_by(world, leader.identity))
            await asyncio.sleep(luck.uniform(0.0, 0.2))
            leader.process.send_signal(signal.SIGSTOP)
            # Not earlier: the first write of the new one is what a late write conflicts with.
            await world.wait("the other one writes", _written_by(world, standby.identity))
            leader.process.send_signal(signal.SIGCONT)
            words.append(await leader.hear("refused"))
            assert await leader.process.wait() == 1
            leader = standby
        await history.catch_up()
    late = {key: sum(each[key] for each in words) for key in ("conflicts", "unknown")}
    print(f"\n{len(history.writes)} writes, {STOPS} stops, {late}")  # noqa: T201
    assert len(history.holders()) == STOPS + 1
    assert history.writes_of_others() == []
    # Else nothing was tried, or nothing was held against each other.
    assert all(each["written"] for each in words)
    assert {writer for _, writer in history.writes} == set(history.holders())


def _written_by(world: World, writer: str) -> Callable[[], Awaitable[bool]]:
    return lambda: is_written_by(world, writer)


@dataclass
class History:
    """Who held the lease and who wrote into the pod, by versions of the one store of both."""

    world: World
    leases: list[tuple[int, str]] = field(default_factory=list)
    writes: list[tuple[int, str]] = field(default_factory=list)

    def holders(self) -> list[str]:
        named = [holder for _, holder in self.leases if holder]
        return [holder for holder, _ in itertools.groupby(named)]

    def writes_of_others(self) -> list[str]:
        found = []
        for version, writer in self.writes:
            before = [holder for since, holder in self.leases if since < version]
            if before[-1:] != [writer]:
                found.append(f"{version}: {writer} wrote while {before[-1:]} held the lease")
        return found

    def note(self, kind: str, found: Object) -> None:
        version = int(found["metadata"]["resourceVersion"])
        if kind == "Lease":
            self.leases.append((version, found["spec"].get("holderIdentity") or ""))
        elif writer := (found["metadata"].get("annotations") or {}).get(WRITER):
            self.writes.append((version, writer))

    async def catch_up(self) -> None:
        """Until the watches have shown what is there now."""
        now = await self.world.api.list_page("Pod", self.world.name)
        version = int(now["metadata"]["resourceVersion"])

        async def is_there() -> bool:
            ends = [seen[-1][0] if seen else 0 for seen in (self.leases, self.writes)]
            return min(ends) >= version

        await self.world.wait("the watches have caught up", is_there)


@asynccontextmanager
async def history_of(world: World) -> AsyncIterator[History]:
    history = History(world)
    page = await world.api.list_page("Pod", world.name)

    async def record(kind: str) -> None:
        version = page["metadata"]["resourceVersion"]
        async for event, found in world.api.watch(kind, world.name, version):
            if event in ("ADDED", "MODIFIED"):
                history.note(kind, found)

    async with asyncio.TaskGroup() as tasks:
        recording = [tasks.create_task(record(kind)) for kind in ("Lease", "Pod")]
        try:
            yield history
        finally:
            for each in recording:
                each.cancel()


# ------------------------------------------------------------------ the lease is tampered with


async def test_a_leader_makes_a_deleted_lease_anew_and_nobody_snatches_it(world: World) -> None:
    async with candidate_of(world) as first, candidate_of(world) as second:
        waiting = [asyncio.create_task(acquired(each)) for each in (first, second)]
        done, rest = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        [leads] = [each.result() for each in done]
        for _ in range(5):
            await renewed_again(world, leads.term.holder)
            await world.api.delete("Lease", world.name, LEASE)
            await world.wait("there is a lease again", lambda: _is_there(world))
        found = await renewed_again(world, leads.term.holder)
        assert leads.may_write()
        assert found["spec"]["leaseTransitions"] == leads.term.number
        assert not any(each.done() for each in rest)
        for each in rest:
            each.cancel()


async def _is_there(world: World) -> bool:
    return await world.api.find("Lease", world.name, LEASE) is not None


async def test_a_dead_leader_whose_lease_was_deleted_is_followed_with_the_next_number(
    world: World,
) -> None:
    dead = {
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": world.name},
        "spec": {"holderIdentity": "dead", "leaseDurationSeconds": 4, "leaseTransitions": 7},
    }
    await world.api.create(dead)
    with structlog.testing.capture_logs() as said:
        async with candidate_of(world) as candidate:
            await world.wait(
                "it stands by", lambda: is_said(said, "standing by: another replica leads")
            )
            await world.api.delete("Lease", world.name, LEASE)
            leads = await acquired(candidate)
            assert leads.term.number == 8
            assert (await lease_of(world))["spec"]["leaseTransitions"] == 8


async def test_a_foreign_holder_from_the_future_ends_the_term_and_is_followed_in_its_turn(
    world: World,
) -> None:
    async with candidate_of(world) as first:
        leads = await acquired(first)
        future = "2099-01-01T00:00:00.000000Z"
        await edit(world, holderIdentity="alice", renewTime=future, leaseTransitions=5)
        assert "alice holds" in await lost(leads)
        assert not leads.may_write()
        async with candidate_of(world) as second:
            follows = await acquired(second)
            assert follows.term.number == 6
            assert follows.may_write()
        assert not leads.may_write()


async def test_a_holder_that_was_emptied_ends_the_term(world: World) -> None:
    async with candidate_of(world) as candidate:
        leads = await acquired(candidate)
        await edit(world, holderIdentity=None)
        assert "nobody holds" in await lost(leads)
        assert not leads.may_write()


async def test_edits_that_leave_the_holder_do_not_disturb_it(world: World) -> None:
    async with candidate_of(world) as candidate:
        leads = await acquired(candidate)
        await edit(world, leaseTransitions=99, leaseDurationSeconds=1, acquireTime=None)
        change = {"metadata": {"annotations": {"note": "of a user"}}}
        await world.api.patch("Lease", world.name, LEASE, change)
        found = await renewed_again(world, candidate.identity)
        assert leads.may_write()
        assert found["metadata"]["annotations"] == {"note": "of a user"}
        spec = found["spec"]
        assert (spec["leaseTransitions"], spec["leaseDurationSeconds"]) == (0, 4)


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": ""}], ids=["none", "empty", "free"])
async def test_a_lease_that_says_nothing_is_taken(world: World, spec: Any) -> None:  # noqa: ANN401
    lease: Object = {
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": world.name},
        "spec": spec,
    }
    await world.api.create(lease)
    async with candidate_of(world) as candidate:
        assert (await acquired(candidate)).term.number == 1
