"""The API server goes and comes back, and its store forgets: an observer ends with what is there.

Each test has a control plane of its own, and all that is in it is compared.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from testbed.builders import deployment, pod
from testbed.faultproxy import Match, unavailable
from testbed.instance import OwnedInstance
from testbed.world import World, install_rights, make_world
from tests.cluster.observing import (
    EVERYTHING,
    SOME,
    blindness_of,
    converges,
    everything,
    eyes,
    is_blind,
    names_of,
    sees,
)

AT_ONCE = {"gracePeriodSeconds": 0}


@asynccontextmanager
async def own_world(folder: Path) -> AsyncIterator[tuple[OwnedInstance, World]]:
    with OwnedInstance() as owned:
        await install_rights(owned.instance)
        async with make_world(owned.instance, folder, "own") as world:
            yield owned, world


async def test_an_api_server_killed_and_started_again(tmp_path: Path) -> None:
    async with own_world(tmp_path) as (owned, world):
        await world.add_nodes(2)
        await world.create(deployment("web", replicas=3), deployment("old", replicas=1))
        await world.wait("web runs", lambda: world.is_complete("web"))
        async with eyes(world, EVERYTHING) as observer:
            await observer.settled()
            before = await converges(world, observer, EVERYTHING, part=everything)
            await asyncio.to_thread(owned.kill, "kube-apiserver")
            for source in EVERYTHING:
                await is_blind(world, observer, source, "not heard of since", "GET /api")
            # What was known is all that can be said, and it is said how old it is.
            assert everything(world, observer.snapshot()) == before
            assert sorted(gap.source for gap in observer.snapshot().gaps) == sorted(EVERYTHING)
            with pytest.raises(aiohttp.ClientError):
                await world.api.list("Pod")
            await asyncio.to_thread(owned.start, "kube-apiserver")
            await world.delete_workload("old")
            await world.scale("web", 5)
            await world.wait("web runs", lambda: world.is_complete("web"))
            found = await converges(world, observer, EVERYTHING, part=everything)
        assert names_of(found, "Deployment") == ["web"]


async def test_a_store_that_has_forgotten_what_was_missed(tmp_path: Path) -> None:
    async with own_world(tmp_path) as (owned, world), world.faults() as proxy:
        await world.create(pod("kept"), pod("doomed"), pod("namesake"))
        async with eyes(world) as observer, blindness_of(observer) as blindness:
            await observer.settled()
            await sees(world, observer, "doomed", "kept", "namesake")
            away = proxy.on(Match(verb="watch", resource="pods"), unavailable())
            proxy.cut_all()
            await is_blind(world, observer, "pods", "unable to handle")
            await world.api.delete("Pod", world.name, "doomed", AT_ONCE)
            await world.api.delete("Pod", world.name, "namesake", AT_ONCE)
            await world.create(pod("namesake"), pod("newcomer"))
            await compact(owned.instance.urls["etcd"])
            # The server itself remembers the last minutes in memory.
            await owned.restart("kube-apiserver")
            away.remove()
            found = await converges(world, observer, SOME, part=everything)
        assert blindness.was_told("pods", "too old resource version"), blindness
    assert names_of(found) == ["kept", "namesake", "newcomer"]


async def compact(etcd: str) -> None:
    """Nothing that was before now is kept but what is there now."""
    async with aiohttp.ClientSession() as session:
        any_key = {"key": "Lw=="}
        async with session.post(f"{etcd}/v3/kv/range", json=any_key) as answer:
            revision = (await answer.json())["header"]["revision"]
        order = {"revision": revision, "physical": True}
        async with session.post(f"{etcd}/v3/kv/compaction", json=order) as answer:
            assert answer.status == 200, await answer.text()
