import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.controllers.namespace import NamespaceController
from rescheduler.kube import errors
from rescheduler.model.objects import is_terminating
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    replica_set,
)


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(NamespaceController) as shop:
        shop.start_seconds = NEVER
        yield shop


async def test_a_new_one_gets_its_account_and_gets_it_back(it: ControllerCluster) -> None:
    await asyncio.sleep(1)
    assert it.get(kinds.SERVICE_ACCOUNTS, "default")
    it.api.delete(kinds.SERVICE_ACCOUNTS, "shop", "default")
    await asyncio.sleep(1)
    assert it.get(kinds.SERVICE_ACCOUNTS, "default")


async def test_its_pods_go_first_and_gracefully_then_the_rest_then_itself(
    it: ControllerCluster,
) -> None:
    it.stop_seconds = 10
    it.run(it.create(wire.PODS, bare_pod("web-1")))
    it.create(wire.REPLICA_SETS, replica_set(replicas=0))
    it.api.create(wire.NAMESPACES, None, {"metadata": {"name": "other"}})
    it.api.create(kinds.CONFIG_MAPS, "other", {"metadata": {"name": "kept"}})
    it.api.delete(wire.NAMESPACES, None, "shop")
    await asyncio.sleep(5)
    namespace = it.api.get(wire.NAMESPACES, None, "shop")
    assert namespace["status"]["phase"] == "Terminating"
    assert is_terminating(it.get(wire.PODS, "web-1"))
    assert it.get(wire.REPLICA_SETS, "web")
    with pytest.raises(errors.Forbidden):
        it.create(wire.PODS, bare_pod("late"))
    await asyncio.sleep(10)
    assert it.store.find(wire.NAMESPACES, None, "shop") is None
    assert not list(it.store.all(wire.REPLICA_SETS))
    assert not list(it.store.all(kinds.SERVICE_ACCOUNTS, "shop"))
    assert it.api.get(kinds.CONFIG_MAPS, "other", "kept")


async def test_it_waits_for_what_somebody_holds(it: ControllerCluster) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    it.create(kinds.CONFIG_MAPS, held)
    it.api.delete(wire.NAMESPACES, None, "shop")
    await asyncio.sleep(10)
    assert it.api.get(wire.NAMESPACES, None, "shop")
    it.patch(kinds.CONFIG_MAPS, "held", {"metadata": {"finalizers": None}})
    await asyncio.sleep(1)
    assert it.store.find(wire.NAMESPACES, None, "shop") is None


async def test_one_may_come_again(it: ControllerCluster) -> None:
    it.api.delete(wire.NAMESPACES, None, "shop")
    await asyncio.sleep(1)
    it.api.create(wire.NAMESPACES, None, {"metadata": {"name": "shop"}})
    await asyncio.sleep(1)
    assert it.get(kinds.SERVICE_ACCOUNTS, "default")
    it.create(wire.PODS, bare_pod("web-1"))
