"""Claims get their volumes: those that are there, and those that are made for them."""

import asyncio
from collections.abc import Iterator

import pytest

from rescheduler import wire
from rescheduler.kube import Object
from tests.unit.embedded.ground import NAMESPACE, Ground, on_ground

CLAIMS, VOLUMES = wire.PERSISTENT_VOLUME_CLAIMS, wire.PERSISTENT_VOLUMES


def storage_class(ground: Ground, name: str, **fields: object) -> None:
    body = {"metadata": {"name": name}, "provisioner": "csi.example.com", **fields}
    ground.api.create(wire.STORAGE_CLASSES, None, body)


def claim(
    ground: Ground, name: str, kind: str, *, size: str = "1Gi", mode: str = "ReadWriteOnce"
) -> None:
    spec = {
        "accessModes": [mode],
        "storageClassName": kind,
        "resources": {"requests": {"storage": size}},
    }
    ground.api.create(CLAIMS, NAMESPACE, {"metadata": {"name": name}, "spec": spec})


def volume(ground: Ground, name: str, kind: str, size: str, node: str = "") -> None:
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": kind,
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": "/data"},
    }
    if node:
        wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        terms = [{"matchExpressions": [wanted]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    ground.api.create(VOLUMES, None, {"metadata": {"name": name}, "spec": spec})


def bound_to(ground: Ground, name: str) -> str:
    found = ground.api.get(CLAIMS, NAMESPACE, name)
    is_bound = found["status"].get("phase") == "Bound"
    return found["spec"].get("volumeName") or "" if is_bound else ""


def using(*names: str) -> Object:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {"volumes": volumes}


@on_ground
async def test_the_smallest_that_will_do_is_taken(ground: Ground) -> None:
    for name, size in (("tiny", "500Mi"), ("large", "10Gi"), ("medium", "2Gi")):
        volume(ground, name, "", size)
    claim(ground, "data", "")
    await asyncio.sleep(1)
    assert bound_to(ground, "data") == "medium"
    taken = ground.api.get(VOLUMES, None, "medium")
    assert taken["status"]["phase"] == "Bound"
    assert taken["spec"]["claimRef"]["name"] == "data"
    claim(ground, "more", "", size="100Gi")
    await asyncio.sleep(1)
    assert bound_to(ground, "more") == ""
    volume(ground, "huge", "", "1Ti")
    await asyncio.sleep(1)
    assert bound_to(ground, "more") == "huge"


@on_ground
async def test_a_class_makes_volumes_where_it_may(ground: Ground) -> None:
    await ground.nodes("a", zone="z1")
    await ground.nodes("b", zone="z2")
    zones = {"key": "topology.kubernetes.io/zone", "values": ["z2"]}
    topologies = [{"matchLabelExpressions": [zones]}]
    storage_class(ground, "fast", allowedTopologies=topologies, reclaimPolicy="Delete")
    claim(ground, "data", "fast")
    await asyncio.sleep(1)
    made = bound_to(ground, "data")
    assert made.startswith("pvc-")
    assert await ground.placed("web", **using("data")) == "b"
    ground.delete("web", grace=0)
    ground.api.delete(CLAIMS, NAMESPACE, "data")
    await asyncio.sleep(1)
    assert ground.store.find(VOLUMES, None, made) is None


@on_ground
async def test_claims_that_wait_are_bound_where_their_pod_goes(ground: Ground) -> None:
    await ground.nodes("a", "b")
    storage_class(
        ground,
        "local",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    volume(ground, "on-b", "local", "5Gi", node="b")
    claim(ground, "data", "local")
    claim(ground, "second", "local")
    await asyncio.sleep(5)
    assert bound_to(ground, "data") == ""
    assert await ground.placed("web", **using("data")) == "b"
    assert bound_to(ground, "data") == "on-b"
    assert await ground.placed("next", **using("second")) == ""
    assert "2 node(s) didn't find available persistent volumes to bind" in ground.why_not("next")
    volume(ground, "on-a", "local", "5Gi", node="a")
    await asyncio.sleep(1)
    assert ground.place("next") == "a"


@on_ground
async def test_only_free_volumes_are_looked_at(ground: Ground) -> None:
    """A large cluster has thousands that somebody has, and each node is asked."""
    await ground.nodes("a", "b")
    storage_class(ground, "late", volumeBindingMode="WaitForFirstConsumer")
    claim(ground, "data", "late")
    looked_at: list[wire.Resource] = []
    everything = ground.store.all

    def noted(resource: wire.Resource, namespace: str | None = None) -> Iterator[Object]:
        looked_at.append(resource)
        return everything(resource, namespace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ground.store, "all", noted)
        assert await ground.placed("web", **using("data"))
    assert VOLUMES not in looked_at


@on_ground
async def test_a_volume_that_waits_is_made_near_its_pod(ground: Ground) -> None:
    await ground.nodes("a", zone="z1")
    await ground.nodes("b", zone="z2")
    for node in ("a", "b"):
        driver = {
            "name": "csi.example.com",
            "nodeID": node,
            "topologyKeys": ["topology.kubernetes.io/zone"],
        }
        body = {"metadata": {"name": node}, "spec": {"drivers": [driver]}}
        ground.api.create(wire.CSI_NODES, None, body)
    storage_class(ground, "late", volumeBindingMode="WaitForFirstConsumer")
    claim(ground, "data", "late")
    where = {"nodeSelector": {"kubernetes.io/hostname": "b"}}
    assert await ground.placed("web", **using("data"), **where) == "b"
    assert bound_to(ground, "data")
    ground.delete("web", grace=0)
    ground.change_node("b", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await ground.placed("again", **using("data")) == ""
    assert "1 node(s) didn't match PersistentVolume's node affinity" in ground.why_not("again")


@on_ground
async def test_a_claim_of_one_pod(ground: Ground) -> None:
    await ground.nodes("a", "b")
    storage_class(ground, "fast")
    claim(ground, "data", "fast", mode="ReadWriteOncePod")
    await asyncio.sleep(1)
    assert await ground.placed("web", **using("data"))
    assert await ground.placed("next", **using("data")) == ""
    assert "ReadWriteOncePod access mode already in-use" in ground.why_not("next")
    ground.delete("web")
    await asyncio.sleep(1)
    assert ground.place("next")


@on_ground
async def test_ephemeral_volumes_get_claims(ground: Ground) -> None:
    await ground.nodes("a")
    storage_class(ground, "fast")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    assert await ground.placed("web", volumes=[scratch]) == "a"
    found = ground.api.get(CLAIMS, NAMESPACE, "web-scratch")
    assert found["metadata"]["ownerReferences"][0]["name"] == "web"


@on_ground
async def test_one_that_is_kept_for_half_a_name_is_released(ground: Ground) -> None:
    volume(ground, "odd", "", "1Gi")
    ground.api.patch(VOLUMES, None, "odd", {"spec": {"claimRef": {"uid": "u"}}})
    await asyncio.sleep(1)
    assert ground.api.get(VOLUMES, None, "odd")["status"]["phase"] == "Released"
