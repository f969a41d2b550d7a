import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers.endpoint_slice import EndpointSliceController
from rescheduler.kube import Object
from rescheduler.model.objects import labels, owners
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    watching,
)

SLICES = wire.ENDPOINT_SLICES


class Served(ControllerCluster):
    """With nodes that are there, and pods that have addresses."""

    def __init__(self) -> None:
        super().__init__(EndpointSliceController)
        self.start_seconds = self.stop_seconds = NEVER
        self._addresses = 0

    def node(self, name: str, **marks: str) -> None:
        self.api.create(wire.NODES, None, {"metadata": {"name": name, "labels": marks}})

    def serving(self, name: str, *, ready: bool = True, body: Object | None = None) -> Object:
        if self.store.find(wire.NODES, None, "node") is None:
            self.node("node", **{"topology.kubernetes.io/zone": "a"})
        pod = self.create(wire.PODS, body or bare_pod(name))
        self.api.bind("shop", name, "node")
        self._addresses += 1
        now = self.get(wire.PODS, name)
        address = f"10.{self._addresses // 250}.{self._addresses % 250}.1"
        self.api.set_status(wire.PODS, now, {**now["status"], "podIP": address})
        return self.tell(pod, ready=ready)

    def slices(self, service: str = "web") -> list[Object]:
        return [
            each
            for each in self.store.all(SLICES)
            if labels(each)["kubernetes.io/service-name"] == service
        ]

    def endpoints(self, service: str = "web") -> dict[str, Object]:
        return {
            endpoint["targetRef"]["name"]: endpoint
            for each in self.slices(service)
            for endpoint in each["endpoints"]
        }

    def ready_ones(self) -> set[str]:
        found = self.endpoints()
        return {name for name, each in found.items() if each["conditions"]["ready"]}


def service(name: str = "web", **spec: object) -> Object:
    return {
        "metadata": {"name": name, "labels": {"team": "x"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec},
    }


def with_port(name: str, number: int) -> Object:
    body = bare_pod(name)
    body["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": number}]
    return body


@pytest.fixture
async def it() -> AsyncIterator[Served]:
    with Served() as made:
        yield made


async def settle() -> None:
    await asyncio.sleep(0.5)


async def test_an_endpoint_says_which_pod_it_is_and_where(it: Served) -> None:
    made = it.create(wire.SERVICES, service())
    pod = it.serving("web-1")
    await settle()
    (piece,) = it.slices()
    assert piece["metadata"]["name"].startswith("web-")
    assert piece["metadata"]["generateName"] == "web-"
    assert labels(piece) == {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "team": "x",
    }
    (owner,) = owners(piece)
    assert owner["uid"] == made["metadata"]["uid"]
    assert piece["addressType"] == "IPv4"
    assert piece["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert piece["endpoints"] == [
        {
            "addresses": ["10.0.1.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {
                "kind": "Pod",
                "namespace": "shop",
                "name": "web-1",
                "uid": pod["metadata"]["uid"],
            },
            "nodeName": "node",
            "zone": "a",
        }
    ]


async def test_a_pod_counts_while_it_is_ready(it: Served) -> None:
    it.create(wire.SERVICES, service())
    pod = it.serving("web-1", ready=False)
    it.create(wire.PODS, bare_pod("without-address"))
    await settle()
    assert set(it.endpoints()) == {"web-1"}
    assert not it.ready_ones()
    it.tell(pod)
    await settle()
    assert it.ready_ones() == {"web-1"}
    it.tell(pod, phase="Failed", ready=False)
    await settle()
    assert not it.endpoints()


async def test_one_that_ends_serves_and_is_not_ready(it: Served) -> None:
    it.create(wire.SERVICES, service())
    it.serving("web-1")
    await settle()
    it.api.delete(wire.PODS, "shop", "web-1", grace_seconds=30)
    await settle()
    assert it.endpoints()["web-1"]["conditions"] == {
        "ready": False,
        "serving": True,
        "terminating": True,
    }
    it.api.delete(wire.PODS, "shop", "web-1", grace_seconds=0)
    await settle()
    assert not it.endpoints()


async def test_all_are_published_where_it_is_asked_for(it: Served) -> None:
    it.create(wire.SERVICES, service(publishNotReadyAddresses=True))
    it.serving("web-1", ready=False)
    await settle()
    assert it.endpoints()["web-1"]["conditions"] == {
        "ready": True,
        "serving": False,
        "terminating": False,
    }


async def test_a_copy_with_the_labels_is_an_endpoint_and_one_without_is_none(it: Served) -> None:
    it.create(wire.SERVICES, service(selector={"app": "web", "tier": "front"}))
    it.serving("web-1", body=bare_pod("web-1", tier="front"))
    pod = it.serving("web-2")
    await settle()
    assert it.ready_ones() == {"web-1"}
    it.label(pod, tier="front")
    await settle()
    assert it.ready_ones() == {"web-1", "web-2"}
    it.label(pod, tier="back")
    await settle()
    assert it.ready_ones() == {"web-1"}


async def test_a_service_without_endpoints_has_an_empty_slice_and_keeps_it(it: Served) -> None:
    it.create(wire.SERVICES, service())
    await settle()
    (empty,) = it.slices()
    assert not empty["endpoints"]
    pod = it.serving("web-1")
    await settle()
    (filled,) = it.slices()
    assert filled["metadata"]["uid"] == empty["metadata"]["uid"]
    it.api.delete(wire.PODS, "shop", pod["metadata"]["name"], grace_seconds=0)
    await settle()
    (again,) = it.slices()
    assert again["metadata"]["uid"] == empty["metadata"]["uid"]
    assert not again["endpoints"]


async def test_a_service_without_a_selector_has_none(it: Served) -> None:
    bare = service()
    del bare["spec"]["selector"]
    it.create(wire.SERVICES, bare)
    it.create(wire.SERVICES, service("outside", type="ExternalName", externalName="x.y"))
    it.serving("web-1")
    await settle()
    assert not it.slices()
    assert not it.slices("outside")


async def test_a_port_by_its_name_is_that_of_each_pod(it: Served) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    it.create(wire.SERVICES, service(ports=ports))
    it.serving("web-1", body=with_port("web-1", 8080))
    it.serving("web-2", body=with_port("web-2", 9090))
    it.serving("web-3", body=with_port("web-3", 8080))
    await settle()
    found = {
        each["ports"][0]["port"]: {endpoint["targetRef"]["name"] for endpoint in each["endpoints"]}
        for each in it.slices()
    }
    assert found == {8080: {"web-1", "web-3"}, 9090: {"web-2"}}


async def test_a_slice_holds_a_hundred_and_those_that_stay_keep_their_place(it: Served) -> None:
    it.create(wire.SERVICES, service())
    for number in range(150):
        it.serving(f"web-{number}")
    await settle()
    assert sorted(len(each["endpoints"]) for each in it.slices()) == [50, 100]
    where = {
        endpoint["targetRef"]["name"]: each["metadata"]["name"]
        for each in it.slices()
        for endpoint in each["endpoints"]
    }
    it.serving("web-more")
    await settle()
    assert sorted(len(each["endpoints"]) for each in it.slices()) == [51, 100]
    assert all(
        where.get(endpoint["targetRef"]["name"], each["metadata"]["name"])
        == each["metadata"]["name"]
        for each in it.slices()
        for endpoint in each["endpoints"]
    )


async def test_what_does_not_concern_an_endpoint_writes_nothing(it: Served) -> None:
    it.create(wire.SERVICES, service())
    pod = it.serving("web-1")
    await settle()
    with watching(it, SLICES) as heard:
        it.annotate(pod, {"note": "it"})
        it.label(pod, colour="red")
        it.serving("other", body=bare_pod("other", app="other"))
        await settle()
    assert not heard


async def test_a_slice_that_somebody_deletes_comes_back(it: Served) -> None:
    it.create(wire.SERVICES, service())
    it.serving("web-1")
    await settle()
    (piece,) = it.slices()
    it.api.delete(SLICES, "shop", piece["metadata"]["name"])
    await asyncio.sleep(2)
    assert it.ready_ones() == {"web-1"}


async def test_a_pod_on_a_node_that_is_gone_is_left_out(it: Served) -> None:
    it.create(wire.SERVICES, service())
    it.serving("web-1")
    await settle()
    it.api.delete(wire.NODES, None, "node")
    it.tell(it.get(wire.PODS, "web-1"), ready=False)
    await settle()
    assert not it.endpoints()


async def test_a_stateful_pod_is_known_by_its_host_name(it: Served) -> None:
    it.create(wire.SERVICES, service(clusterIP="None"))
    body = bare_pod("web-0")
    body["spec"] |= {"hostname": "web-0", "subdomain": "web"}
    it.serving("web-0", body=body)
    await settle()
    assert it.endpoints()["web-0"]["hostname"] == "web-0"
    (piece,) = it.slices()
    assert "service.kubernetes.io/headless" in labels(piece)
