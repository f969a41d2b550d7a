"""Claims get their volumes: those that are there, and those that are made for them."""

import asyncio
from collections.abc import Iterator

import pytest

from rescheduler import wire
from rescheduler.kube import Object
from tests.unit.embedded.support.node_cluster import NAMESPACE, NodeCluster

CLAIMS, VOLUMES = wire.PERSISTENT_VOLUME_CLAIMS, wire.PERSISTENT_VOLUMES


def storage_class(cluster: NodeCluster, name: str, **fields: object) -> None:
    body = {"metadata": {"name": name}, "provisioner": "csi.example.com", **fields}
    cluster.api.create(wire.STORAGE_CLASSES, None, body)


def claim(
    cluster: NodeCluster, name: str, kind: str, *, size: str = "1Gi", mode: str = "ReadWriteOnce"
) -> None:
    spec = {
        "accessModes": [mode],
        "storageClassName": kind,
        "resources": {"requests": {"storage": size}},
    }
    cluster.api.create(CLAIMS, NAMESPACE, {"metadata": {"name": name}, "spec": spec})


def volume(cluster: NodeCluster, name: str, kind: str, size: str, node: str = "") -> None:
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
    cluster.api.create(VOLUMES, None, {"metadata": {"name": name}, "spec": spec})


def bound_to(cluster: NodeCluster, name: str) -> str:
    found = cluster.api.get(CLAIMS, NAMESPACE, name)
    is_bound = found["status"].get("phase") == "Bound"
    return found["spec"].get("volumeName") or "" if is_bound else ""


def using(*names: str) -> Object:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {"volumes": volumes}


async def test_the_smallest_that_will_do_is_taken(cluster: NodeCluster) -> None:
    for name, size in (("tiny", "500Mi"), ("large", "10Gi"), ("medium", "2Gi")):
        volume(cluster, name, "", size)
    claim(cluster, "data", "")
    await asyncio.sleep(1)
    assert bound_to(cluster, "data") == "medium"
    taken = cluster.api.get(VOLUMES, None, "medium")
    assert taken["status"]["phase"] == "Bound"
    assert taken["spec"]["claimRef"]["name"] == "data"
    claim(cluster, "more", "", size="100Gi")
    await asyncio.sleep(1)
    assert bound_to(cluster, "more") == ""
    volume(cluster, "huge", "", "1Ti")
    await asyncio.sleep(1)
    assert bound_to(cluster, "more") == "huge"


async def test_a_class_makes_volumes_where_it_may(cluster: NodeCluster) -> None:
    await cluster.nodes("a", zone="z1")
    await cluster.nodes("b", zone="z2")
    zones = {"key": "topology.kubernetes.io/zone", "values": ["z2"]}
    topologies = [{"matchLabelExpressions": [zones]}]
    storage_class(cluster, "fast", allowedTopologies=topologies, reclaimPolicy="Delete")
    claim(cluster, "data", "fast")
    await asyncio.sleep(1)
    made = bound_to(cluster, "data")
    assert made.startswith("pvc-")
    assert await cluster.placed("web", **using("data")) == "b"
    cluster.delete("web", grace=0)
    cluster.api.delete(CLAIMS, NAMESPACE, "data")
    await asyncio.sleep(1)
    assert cluster.store.find(VOLUMES, None, made) is None


async def test_claims_that_wait_are_bound_where_their_pod_goes(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    storage_class(
        cluster,
        "local",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    volume(cluster, "on-b", "local", "5Gi", node="b")
    claim(cluster, "data", "local")
    claim(cluster, "second", "local")
    await asyncio.sleep(5)
    assert bound_to(cluster, "data") == ""
    assert await cluster.placed("web", **using("data")) == "b"
    assert bound_to(cluster, "data") == "on-b"
    assert await cluster.placed("next", **using("second")) == ""
    assert "2 node(s) didn't find available persistent volumes to bind" in cluster.why_not("next")
    volume(cluster, "on-a", "local", "5Gi", node="a")
    await asyncio.sleep(1)
    assert cluster.place("next") == "a"


async def test_only_free_volumes_are_looked_at(cluster: NodeCluster) -> None:
    """A large cluster has thousands that somebody has, and each node is asked."""
    await cluster.nodes("a", "b")
    storage_class(cluster, "late", volumeBindingMode="WaitForFirstConsumer")
    claim(cluster, "data", "late")
    looked_at: list[wire.Resource] = []
    everything = cluster.store.all

    def noted(resource: wire.Resource, namespace: str | None = None) -> Iterator[Object]:
        looked_at.append(resource)
        return everything(resource, namespace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster.store, "all", noted)
        assert await cluster.placed("web", **using("data"))
    assert VOLUMES not in looked_at


async def test_a_volume_that_waits_is_made_near_its_pod(cluster: NodeCluster) -> None:
    await cluster.nodes("a", zone="z1")
    await cluster.nodes("b", zone="z2")
    for node in ("a", "b"):
        driver = {
            "name": "csi.example.com",
            "nodeID": node,
            "topologyKeys": ["topology.kubernetes.io/zone"],
        }
        body = {"metadata": {"name": node}, "spec": {"drivers": [driver]}}
        cluster.api.create(wire.CSI_NODES, None, body)
    storage_class(cluster, "late", volumeBindingMode="WaitForFirstConsumer")
    claim(cluster, "data", "late")
    where = {"nodeSelector": {"kubernetes.io/hostname": "b"}}
    assert await cluster.placed("web", **using("data"), **where) == "b"
    assert bound_to(cluster, "data")
    cluster.delete("web", grace=0)
    cluster.change_node("b", spec={"unschedulable": True})
    await asyncio.sleep(1)
    assert await cluster.placed("again", **using("data")) == ""
    assert "1 node(s) didn't match PersistentVolume's node affinity" in cluster.why_not("again")


async def test_a_claim_of_one_pod(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    storage_class(cluster, "fast")
    claim(cluster, "data", "fast", mode="ReadWriteOncePod")
    await asyncio.sleep(1)
    assert await cluster.placed("web", **using("data"))
    assert await cluster.placed("next", **using("data")) == ""
    assert "ReadWriteOncePod access mode already in-use" in cluster.why_not("next")
    cluster.delete("web")
    await asyncio.sleep(1)
    assert cluster.place("next")


async def test_ephemeral_volumes_get_claims(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    storage_class(cluster, "fast")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    assert await cluster.placed("web", volumes=[scratch]) == "a"
    found = cluster.api.get(CLAIMS, NAMESPACE, "web-scratch")
    assert found["metadata"]["ownerReferences"][0]["name"] == "web"


async def test_one_that_is_kept_for_half_a_name_is_released(cluster: NodeCluster) -> None:
    volume(cluster, "odd", "", "1Gi")
    cluster.api.patch(VOLUMES, None, "odd", {"spec": {"claimRef": {"uid": "u"}}})
    await asyncio.sleep(1)
    assert cluster.api.get(VOLUMES, None, "odd")["status"]["phase"] == "Released"
