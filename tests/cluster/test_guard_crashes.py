"""The process that the API server asks is killed at each write that an eviction leads to, or loses
the reply to it: the evictor comes to its end, and so does the move; nothing of ours is left.

All of them are many: CI runs a few, drawn anew each time, and `make crash-matrix` all.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Literal, get_args

import pytest

from testbed.builders import behaviour, deployment, pod_spec, service
from testbed.faultproxy import Match, Request, drop_reply, kill
from testbed.guarding import Held, evict
from testbed.world import World
from tests.cluster.guarding import Guarded, guarded, nothing_is_left
from tests.scenarios.drawing import drawn
from tests.scenarios.looping import election

When = Literal["before", "after", "reply lost"]

WRITES = 13
"""For one pod at the most: its record first, then what a surge writes."""
LEAST_WRITES = 11
"""Its ReplicaSet may save us the eviction."""
_EVICTORS_PAUSE = 1.0
"""Seconds; kubectl's own is 5."""
CASES = [
    pytest.param(number, when, id=f"{number}-{when.replace(' ', '-')}")
    for number in range(1, WRITES + 1)
    for when in get_args(When)
]


@pytest.fixture
async def guard(world: World) -> AsyncIterator[Guarded]:
    async with guarded(
        world, migration={"linger": "1s"}, leaderElection=election(world)["leaderElection"]
    ) as made:
        yield made


def concerns_the_move(request: Request) -> bool:
    return request.resource in ("pods", "podmigrations")


async def evict_until_gone(world: World, pod: str, uid: str) -> None:
    """As all evictors do: what is held is tried again."""
    while True:
        try:
            if not await evict(world, pod, uid):
                return
        except Held:
            pass
        await asyncio.sleep(_EVICTORS_PAUSE)


@pytest.mark.parametrize(("number", "when"), drawn(CASES, matrix="CRASH", share=1 / 13))
async def test_disturbed_at_a_write_the_eviction_and_the_move_end(
    world: World, guard: Guarded, number: int, when: When
) -> None:
    full, *_ = await world.add_nodes(2)
    await world.create(service("web"))
    annotations = behaviour(ready_after="1s")
    spec = pod_spec(cpu="100m")
    await world.deploy(deployment("web", replicas=2, spec=spec, annotations=annotations), on=full)
    pod = (await world.pods("web"))[0]["metadata"]
    async with world.auditor() as auditor:
        async with world.faults() as proxy, guard.running() as first:
            fault = kill(first, when=when) if when != "reply lost" else drop_reply()
            match = Match(write=True, predicate=concerns_the_move)
            rule = proxy.on(match, fault, after=number - 1, times=1)
            evicting = asyncio.create_task(evict_until_gone(world, pod["name"], pod["uid"]))
            await asyncio.wait_for(evicting, 120)
            is_killed = when != "reply lost" and bool(rule.fired)
            if is_killed:
                await first.finish()
            else:
                await nothing_is_left(world)
        async with guard.running():
            await nothing_is_left(world)
            await world.wait("web is complete", partial(world.is_complete, "web"))
        audit = await world.audit(auditor)
    assert rule.fired or number > LEAST_WRITES
    assert len(await world.nodes_of("web")) == 2
    if not is_killed:
        # Who lives to see it moves the pod first, whatever answers were lost.
        assert audit.replicas_missing() == []
        assert audit.endpoints_missing() == []
