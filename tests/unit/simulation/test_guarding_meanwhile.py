"""While somebody drains and the guard holds: users act, and win; the controller is killed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from rescheduler.kube import KubeApi
from rescheduler.model import names, podmigration
from rescheduler.simulation import rude_drains
from rescheduler.simulation.running import running
from rescheduler.wire import DEPLOYMENTS, NAMESPACES, NODES, POD_MIGRATIONS, PODS
from tests.unit.simulation.guarded import GUARDING, Guarded, filled, on_one_node

OFF = {names.GUARD: "off"}


def roll_out(it: Guarded) -> None:
    it.change("web", {"template": {"metadata": {"annotations": {"version": "2"}}}})


def scale_up(it: Guarded) -> None:
    it.change("web", {"replicas": 5})


def scale_down(it: Guarded) -> None:
    it.change("web", {"replicas": 1})


def delete_it(it: Guarded) -> None:
    it.cluster.api.delete(DEPLOYMENTS, "default", "web")


def uncordon(it: Guarded) -> None:
    rude_drains.cordon(it.cluster.api, "full", wanted=False)


@pytest.mark.parametrize(
    ("act", "wanted"),
    [(roll_out, 3), (scale_up, 5), (scale_down, 1), (delete_it, 0), (uncordon, 3)],
    ids=lambda each: getattr(each, "__name__", ""),
)
@pytest.mark.parametrize("after", [0.5, 2.0, 4.0, 7.0])
async def test_users_win(act: Callable[[Guarded], None], wanted: int, after: float) -> None:
    async with on_one_node("a", "b") as it:
        serving = [3]
        it.cluster.store.listen(PODS, lambda _: serving.append(it.serving("web")))
        draining = asyncio.create_task(it.drain("full"))
        await asyncio.sleep(after)
        act(it)
        assert await draining
        await asyncio.sleep(120)
        assert len(it.pods("web")) == wanted
        assert len(it.pods("db")) == 3
        left = it.cluster.store.all(POD_MIGRATIONS)
        assert not [each for each in left if podmigration.is_unfinished(each)]
        # Beside pods that are just starting a copy is adopted after its original has gone.
        assert min(serving) >= min(wanted, 3), "with copies that nobody has adopted yet"
        assert all(each.short == 1 for each in it.dips.all if each.workload[2] == "db")


@pytest.mark.parametrize("who", ["pod", "namespace", "node"])
async def test_who_has_opted_out_goes_at_once(who: str) -> None:
    async with on_one_node("a") as it:
        api, change = it.cluster.api, {"metadata": {"annotations": OFF}}
        if who == "namespace":
            api.patch(NAMESPACES, None, "default", change)
        elif who == "node":
            api.patch(NODES, None, "full", change)
        else:
            for each in it.cluster.store.all(PODS):
                api.patch(PODS, "default", each["metadata"]["name"], change)
        await asyncio.sleep(5)
        assert await it.drain("full")
        assert not list(it.cluster.store.all(POD_MIGRATIONS))
        assert {each.short for each in it.dips.all} == {3}


@pytest.mark.parametrize("after", [0.2, 1.0, 3.0, 5.5, 8.0])
async def test_the_controller_is_killed_in_the_middle_and_another_goes_on(after: float) -> None:
    async with filled("a", "b") as cluster:
        clients = []

        @asynccontextmanager
        async def connect() -> AsyncIterator[KubeApi]:
            clients.append(cluster.client())
            yield clients[-1]

        until = asyncio.get_running_loop().time() + 900
        async with running(cluster, GUARDING, connect=connect) as first:
            cluster.review_evictions(first.guard)
            await asyncio.sleep(20)
            draining = asyncio.create_task(rude_drains.drain(cluster.api, "full", until=until))
            await asyncio.sleep(after)
            for each in clients:
                each.sever()
            cluster.review_evictions(None)
            async with running(cluster, GUARDING) as second:
                cluster.review_evictions(second.guard)
                assert await draining
                await asyncio.sleep(120)
        pods = list(cluster.store.all(PODS))
        assert len(pods) == 6
        assert "full" not in {each["spec"]["nodeName"] for each in pods}
        for record in cluster.store.all(POD_MIGRATIONS):
            assert not podmigration.is_unfinished(record)
