import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers.quota import QuotaController
from rescheduler.kube import Object, errors
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    watching,
)

QUOTAS = wire.RESOURCE_QUOTAS


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(QuotaController) as shop:
        shop.start_seconds = NEVER
        yield shop


def quota(name: str = "some", **hard: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"hard": hard}}


def pod(name: str, cpu: str = "500m", memory: str = "1Gi") -> Object:
    body = bare_pod(name)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory}}
    return body


def used(shop: ControllerCluster, name: str = "some") -> Object:
    found: Object = shop.get(QUOTAS, name)["status"]["used"]
    return found


FOUR_PODS = {"pods": "4", "requests.cpu": "2", "requests.memory": "8Gi"}


async def test_what_was_there_before_is_counted(it: ControllerCluster) -> None:
    it.create(wire.PODS, pod("one"))
    it.create(wire.PODS, pod("two", cpu="1"))
    it.create(QUOTAS, quota(**FOUR_PODS))
    await asyncio.sleep(1)
    assert it.get(QUOTAS, "some")["status"] == {
        "hard": FOUR_PODS,
        "used": {"pods": "2", "requests.cpu": "1500m", "requests.memory": "2Gi"},
    }


async def test_what_goes_is_given_back_and_then_there_is_room_again(it: ControllerCluster) -> None:
    it.create(QUOTAS, quota(**FOUR_PODS))
    await asyncio.sleep(1)
    for number in range(4):
        it.create(wire.PODS, pod(f"web-{number}"))
    assert used(it)["requests.cpu"] == "2"
    with pytest.raises(errors.Forbidden, match="exceeded quota"):
        it.create(wire.PODS, pod("web-4"))
    it.api.delete(wire.PODS, "shop", "web-0")
    await asyncio.sleep(1)
    assert used(it) == {"pods": "3", "requests.cpu": "1500m", "requests.memory": "3Gi"}
    it.create(wire.PODS, pod("web-4"))


async def test_one_that_ends_counts_until_it_should_be_gone(it: ControllerCluster) -> None:
    it.stop_seconds = NEVER
    it.create(QUOTAS, quota(**FOUR_PODS))
    await asyncio.sleep(1)
    it.run(it.create(wire.PODS, pod("stuck")))
    it.api.delete(wire.PODS, "shop", "stuck", grace_seconds=30)
    await asyncio.sleep(50)
    assert used(it)["pods"] == "1"
    # The moment of its end has its grace in it, and gets it once more.
    await asyncio.sleep(15)
    assert used(it)["pods"] == "0"
    assert it.pods()


async def test_one_that_has_ended_is_still_an_object(it: ControllerCluster) -> None:
    it.create(QUOTAS, quota(**{"pods": "4", "count/pods": "4"}))
    await asyncio.sleep(1)
    it.tell(it.run(it.create(wire.PODS, pod("done"))), phase="Succeeded", ready=False)
    await asyncio.sleep(1)
    assert used(it) == {"pods": "0", "count/pods": "1"}


async def test_another_limit_is_taken_up(it: ControllerCluster) -> None:
    it.create(QUOTAS, quota(pods="4"))
    it.create(wire.PODS, pod("one"))
    await asyncio.sleep(1)
    it.patch(QUOTAS, "some", {"spec": {"hard": {"pods": "1", "limits.cpu": "1"}}})
    await asyncio.sleep(1)
    assert it.get(QUOTAS, "some")["status"] == {
        "hard": {"pods": "1", "limits.cpu": "1"},
        "used": {"pods": "1", "limits.cpu": "0"},
    }


async def test_what_comes_is_charged_once(it: ControllerCluster) -> None:
    it.create(QUOTAS, quota(**FOUR_PODS))
    await asyncio.sleep(1)
    with watching(it, QUOTAS) as heard:
        it.create(wire.PODS, pod("one"))
        await asyncio.sleep(1)
    assert len(heard) == 1
    assert used(it)["pods"] == "1"


async def test_others_than_pods_are_counted_too(it: ControllerCluster) -> None:
    it.create(QUOTAS, quota(services="2", **{"requests.storage": "10Gi"}))
    await asyncio.sleep(1)
    it.create(wire.SERVICES, {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}})
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "3Gi"}},
        },
    }
    it.create(wire.PERSISTENT_VOLUME_CLAIMS, claim)
    assert used(it)["services"] == "1"
    it.api.delete(wire.SERVICES, "shop", "web")
    await asyncio.sleep(1)
    assert used(it) == {"services": "0", "requests.storage": "3Gi"}


async def test_each_namespace_has_its_own(it: ControllerCluster) -> None:
    it.api.create(wire.NAMESPACES, None, {"metadata": {"name": "other"}})
    it.create(QUOTAS, quota(pods="4"))
    await asyncio.sleep(1)
    it.api.create(wire.PODS, "other", pod("one"))
    await asyncio.sleep(1)
    assert used(it) == {"pods": "0"}
