"""What scenarios on the embedded cluster rest on: processes that die, and faults that strike."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rescheduler.embedded import virtual_time
from rescheduler.kube import errors
from rescheduler.wire import PODS
from testbed.builders import pod
from testbed.faultproxy import (
    Fault,
    Match,
    arrive_late,
    cut_after,
    drop_reply,
    drop_request,
    fail,
    half_open,
    hold_events,
    throttled,
)
from tests.scenarios.deploying import deploy_web
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import EmbeddedWorld, make_embedded_world

CREATE = Match(verb="create", resource="pods")


def play(folder: Path, scene: Callable[[EmbeddedWorld], Awaitable[None]]) -> None:
    async def main() -> None:
        with speaking_apart():
            async with make_embedded_world(folder, "shop") as world:
                await scene(world)

    virtual_time.run(main())


def test_who_is_killed_asks_writes_and_says_nothing_more(tmp_path: Path) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        await deploy_web(world, 2)
        await world.afflict_copies(ready_after="3s")
        running = await world.start_command("run", "--config", str(world.configuration()))
        await world.wait_for_copy("web")
        running.kill()
        said, asked = len(running.lines), len(world.requests)
        run = await running.finish()
        assert run.code == -9
        await asyncio.sleep(120)
        assert (len(running.lines), len(world.requests)) == (said, asked)
        [record] = await world.records()
        assert record["status"]["phase"] == "InProgress"

    play(tmp_path, scene)


def test_two_processes_speak_apart(tmp_path: Path) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        await world.add_nodes(1)
        first = await world.start_command("run", "--config", str(world.configuration()))
        second = await world.start_as_admin("drain", "no-such-node")
        ended = await second.finish()
        await first.says("pass ended")
        assert ended.code == 1
        assert ended.err.startswith('error: nodes "no-such-node" not found')
        assert "no-such-node" not in first.told()
        assert (await first.stop()).code == 0

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("fault", "problem", "is_made", "seconds"),
    [
        pytest.param(drop_request(), errors.Unavailable, False, 0, id="request-lost"),
        pytest.param(drop_reply(), errors.Unavailable, True, 0, id="reply-lost"),
        pytest.param(fail(403), errors.Forbidden, False, 0, id="403"),
        pytest.param(throttled(), errors.Throttled, False, 0, id="throttled"),
        pytest.param(half_open(), errors.Unavailable, False, 30, id="silent"),
        pytest.param(half_open(forwarded=True), errors.Unavailable, True, 30, id="silent-applied"),
    ],
)
def test_a_fault_strikes_as_it_does_on_a_real_connection(
    tmp_path: Path, fault: Fault, problem: type[Exception], *, is_made: bool, seconds: int
) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        began = asyncio.get_running_loop().time()
        async with world.faults() as faults, world.connect() as kube:
            rule = faults.on(CREATE, fault, times=1)
            with pytest.raises(problem):
                await kube.create(PODS, world.name, pod("web"))
            assert (rule.fired, faults.requests[-1].fault) == (1, fault.name)
        assert asyncio.get_running_loop().time() - began >= seconds
        assert (await world.find_pod("web") is not None) is is_made

    play(tmp_path, scene)


def test_what_arrives_late_does(tmp_path: Path) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        async with world.faults() as faults, world.connect() as kube:
            faults.on(CREATE, arrive_late(5), times=1)
            with pytest.raises(errors.Unavailable):
                await kube.create(PODS, world.name, pod("web"))
            assert await world.find_pod("web") is None
            await asyncio.sleep(6)
            assert await world.find_pod("web") is not None

    play(tmp_path, scene)


def test_reads_that_fail_once_are_repeated_and_each_attempt_is_seen(tmp_path: Path) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        async with world.faults() as faults, world.connect() as kube:
            faults.on(Match(verb="list", resource="pods"), drop_reply(), times=2)
            assert await kube.list(PODS, namespace=world.name) == []
            assert [each.status for each in faults.requests] == [None, None, 200]

    play(tmp_path, scene)


def test_watches_are_held_and_cut(tmp_path: Path) -> None:
    async def scene(world: EmbeddedWorld) -> None:
        let_go = asyncio.Event()
        async with world.faults() as faults, world.connect() as kube:
            faults.on(Match(verb="watch", resource="pods"), hold_events(let_go))
            faults.on(Match(verb="watch", resource="pods"), cut_after(1))
            stream = kube.watch(PODS, namespace=world.name)
            coming = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(1)
            await world.create(pod("web"))
            await asyncio.sleep(1)
            assert not coming.done()
            let_go.set()
            assert (await coming).object["metadata"]["name"] == "web"
            with pytest.raises(errors.Unavailable):
                await anext(stream)

    play(tmp_path, scene)


def test_the_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    histories: list[list[tuple[str, str]]] = []

    async def scene(world: EmbeddedWorld) -> None:
        await deploy_web(world, 3)
        async with world.auditor() as auditor:
            assert (await world.run()).code == 0
            audit = await world.audit(auditor)
        histories.append([(seen.kind, str(seen.version)) for seen in audit.history])
        histories[-1] += [("Pod", name) for name in audit.pods_made()]

    for _ in range(2):
        play(tmp_path, scene)
    assert histories[0] == histories[1]
