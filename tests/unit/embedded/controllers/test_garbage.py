import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.controllers.garbage import GarbageCollector
from rescheduler.kube import Object
from rescheduler.model.objects import is_terminating, owners
from rescheduler.wire import Resource
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    names_of,
    replica_set,
)

SETS = wire.REPLICA_SETS


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(GarbageCollector) as shop:
        shop.start_seconds = NEVER
        yield shop


def reference(owner: Object, **fields: object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **fields,
    }


def pod_of(shop: ControllerCluster, name: str, *references: Object) -> Object:
    body = bare_pod(name)
    body["metadata"]["ownerReferences"] = list(references)
    return shop.create(wire.PODS, body)


def running(shop: ControllerCluster, name: str, *references: Object) -> Object:
    return shop.run(pod_of(shop, name, *references))


def settings(shop: ControllerCluster, name: str) -> Object:
    return shop.create(kinds.CONFIG_MAPS, {"metadata": {"name": name}})


def is_there(shop: ControllerCluster, resource: Resource, name: str) -> bool:
    return shop.store.find(resource, "shop", name) is not None


async def test_what_belonged_to_one_that_is_gone_goes(it: ControllerCluster) -> None:
    owner = it.create(SETS, replica_set(replicas=0))
    running(it, "owned", reference(owner, controller=True))
    running(it, "free")
    it.api.delete(SETS, "shop", "web")
    await asyncio.sleep(0.5)
    # Gracefully, as whoever deletes a pod does.
    assert is_terminating(it.get(wire.PODS, "owned"))
    await asyncio.sleep(2)
    assert names_of(it.pods()) == {"free"}


async def test_it_goes_down_the_whole_line(it: ControllerCluster) -> None:
    top = it.create(wire.DEPLOYMENTS, replica_set("top", replicas=0))
    body = replica_set("middle", replicas=0)
    body["metadata"]["ownerReferences"] = [reference(top, controller=True)]
    middle = it.create(SETS, body)
    running(it, "bottom", reference(middle, controller=True))
    it.api.delete(wire.DEPLOYMENTS, "shop", "top")
    await asyncio.sleep(3)
    assert not is_there(it, SETS, "middle")
    assert not it.pods()


async def test_one_that_has_another_owner_only_loses_the_reference(it: ControllerCluster) -> None:
    one, other = settings(it, "one"), settings(it, "other")
    running(it, "shared", reference(one), reference(other))
    it.api.delete(kinds.CONFIG_MAPS, "shop", "one")
    await asyncio.sleep(2)
    (left,) = owners(it.get(wire.PODS, "shared"))
    assert left["name"] == "other"
    assert not is_terminating(it.get(wire.PODS, "shared"))


async def test_a_namesake_of_the_owner_is_not_the_owner(it: ControllerCluster) -> None:
    old = settings(it, "one")
    running(it, "owned", reference(old))
    it.api.delete(kinds.CONFIG_MAPS, "shop", "one")
    new = settings(it, "one")
    running(it, "of-new", reference(new))
    await asyncio.sleep(3)
    assert names_of(it.pods()) == {"of-new"}


async def test_what_is_made_for_an_owner_that_never_was_goes(it: ControllerCluster) -> None:
    ghost = reference(settings(it, "one")) | {"uid": "of-nobody"}
    pod_of(it, "owned", ghost)
    await asyncio.sleep(2)
    assert not it.pods()


async def test_an_owner_of_an_unknown_kind_is_left_to_itself(it: ControllerCluster) -> None:
    stranger = {"apiVersion": "x.io/v1", "kind": "Strange", "name": "x", "uid": "x"}
    pod_of(it, "owned", stranger)
    await asyncio.sleep(2)
    assert names_of(it.pods()) == {"owned"}


async def test_orphaned_pods_stay_and_belong_to_nobody(it: ControllerCluster) -> None:
    owner = it.create(SETS, replica_set(replicas=0))
    pod = running(it, "owned", reference(owner, controller=True))
    it.api.delete(SETS, "shop", "web", propagation="Orphan")
    await asyncio.sleep(2)
    assert not is_there(it, SETS, "web")
    now = it.get(wire.PODS, "owned")
    assert now["metadata"]["uid"] == pod["metadata"]["uid"]
    assert not owners(now)
    assert not is_terminating(now)


async def test_in_the_foreground_an_owner_waits_for_those_that_block_it(
    it: ControllerCluster,
) -> None:
    it.stop_seconds = 10
    owner = it.create(SETS, replica_set(replicas=0))
    running(it, "blocking", reference(owner, controller=True, blockOwnerDeletion=True))
    it.api.delete(SETS, "shop", "web", propagation="Foreground")
    await asyncio.sleep(5)
    assert is_terminating(it.get(SETS, "web"))
    assert is_terminating(it.get(wire.PODS, "blocking"))
    await asyncio.sleep(10)
    assert not is_there(it, SETS, "web")
    assert not it.pods()


async def test_in_the_foreground_nobody_waits_for_those_that_do_not_block(
    it: ControllerCluster,
) -> None:
    it.stop_seconds = 10
    owner = it.create(SETS, replica_set(replicas=0))
    running(it, "other", reference(owner, controller=True))
    it.api.delete(SETS, "shop", "web", propagation="Foreground")
    await asyncio.sleep(5)
    assert not is_there(it, SETS, "web")
    assert is_terminating(it.get(wire.PODS, "other"))


async def test_the_foreground_goes_down_the_whole_line(it: ControllerCluster) -> None:
    it.stop_seconds = 10
    top = it.create(wire.DEPLOYMENTS, replica_set("top", replicas=0))
    blocking = {"controller": True, "blockOwnerDeletion": True}
    body = replica_set("middle", replicas=0)
    body["metadata"]["ownerReferences"] = [reference(top, **blocking)]
    middle = it.create(SETS, body)
    running(it, "bottom", reference(middle, **blocking))
    it.api.delete(wire.DEPLOYMENTS, "shop", "top", propagation="Foreground")
    await asyncio.sleep(5)
    assert is_terminating(it.get(wire.DEPLOYMENTS, "top"))
    assert is_terminating(it.get(SETS, "middle"))
    await asyncio.sleep(10)
    assert not is_there(it, SETS, "middle")
    assert not is_there(it, wire.DEPLOYMENTS, "top")


async def test_what_was_orphaned_before_it_began_is_found() -> None:
    it = ControllerCluster(GarbageCollector)
    it.start_seconds = NEVER
    it.api.create(wire.NAMESPACES, None, {"metadata": {"name": "shop"}})
    owner = settings(it, "one")
    pod_of(it, "owned", reference(owner))
    it.api.delete(kinds.CONFIG_MAPS, "shop", "one")
    for each in it.controllers:
        each.start()
    await asyncio.sleep(2)
    assert not it.pods()
