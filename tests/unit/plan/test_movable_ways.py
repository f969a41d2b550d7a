"""How a pod would move, what its volumes have to do with it, and when an interruption is right."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, NEVER, WHEN_ASKED, Configuration, PodRules
from rescheduler.model.moves import Way
from tests.unit.plan.movable_scenes import (
    Object,
    movable,
    owned_by,
    pod,
    replica_set,
    row,
    snapshot,
    stateful_set,
    why,
)

LOCAL = Configuration(pods=PodRules(local_storage=True))


def claim(name: str = "data", *modes: str, phase: str = "Bound") -> Object:
    return {
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"accessModes": list(modes or ("ReadWriteOnce",)), "volumeName": f"pv-{name}"},
        "status": {"phase": phase},
    }


def mounting(*names: str) -> Object:
    return pod(
        volumes=[{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in names]
    )


# ------------------------------------------------------------------ volumes


@pytest.mark.parametrize(
    "source",
    ["emptyDir", "hostPath", "ephemeral"],
)
def test_local_storage_keeps_a_pod_unless_allowed(source: str) -> None:
    found = pod(volumes=[{"name": "tmp", source: {}}])
    assert why(found, asked=True) == ("it has local storage, which would stay behind: volume tmp",)
    assert why(found, LOCAL) == ()


def test_memory_is_local_storage_too() -> None:
    found = pod(volumes=[{"name": "shm", "emptyDir": {"medium": "Memory"}}])
    assert why(found) == ("it has local storage, which would stay behind: volume shm",)


@pytest.mark.parametrize(
    "source",
    [
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "iscsi",
        "rbd",
        "azureDisk",
        "fc",
        "cinder",
        "vsphereVolume",
        "portworxVolume",
        "flexVolume",
        None,
    ],
)
def test_volumes_for_one_pod_at_a_time(source: str | None) -> None:
    volume: Object = {"name": "disk", **({source: {}} if source else {})}
    assert why(pod(volumes=[volume]), LOCAL, asked=True) == (
        "one pod at a time may have its volume disk",
    )


@pytest.mark.parametrize(
    "source", ["configMap", "secret", "projected", "downwardAPI", "image", "nfs", "csi", "cephfs"]
)
def test_volumes_that_any_number_of_pods_may_have(source: str) -> None:
    cluster = snapshot(pod(volumes=[{"name": "x", source: {}}]))
    assert why(cluster) == ()
    assert movable(cluster).way(row(cluster)) is Way.SURGE


def test_the_volumes_are_named() -> None:
    volumes: list[Object] = [
        {"name": "tmp", "emptyDir": {}},
        {"name": "conf", "configMap": {}},
        {"name": "cache", "emptyDir": {}},
        {"name": "disk", "rbd": {}},
    ]
    assert why(pod(volumes=volumes)) == (
        "it has local storage, which would stay behind: volume tmp, cache",
        "one pod at a time may have its volume disk",
    )


# ------------------------------------------------------------------ claims


def test_claims_that_are_not_there_or_not_bound() -> None:
    pending = claim("late", "ReadWriteMany", phase="Pending")
    elsewhere = {**claim("gone"), "metadata": {"namespace": "other", "name": "gone"}}
    cluster = snapshot(mounting("gone", "late"), persistentvolumeclaims=[pending, elsewhere])
    assert why(cluster, asked=True) == (
        "its PersistentVolumeClaim gone was not found",
        "its PersistentVolumeClaim late is not bound",
    )


@pytest.mark.parametrize(
    ("modes", "way"),
    [
        (["ReadWriteOnce"], Way.RESTART),
        (["ReadWriteOncePod"], Way.RESTART),
        (["ReadWriteOnce", "ReadOnlyMany"], Way.RESTART),
        (["ReadWriteMany"], Way.SURGE),
        (["ReadWriteOnce", "ReadWriteMany"], Way.SURGE),
        (["ReadOnlyMany"], Way.SURGE),
    ],
)
def test_who_may_have_a_claim_decides_the_way(modes: list[str], way: Way) -> None:
    cluster = snapshot(mounting("data"), persistentvolumeclaims=[claim("data", *modes)])
    found = movable(cluster)
    assert found.way(row(cluster)) is way
    assert bool(found.why_interrupted(row(cluster))) == (way is Way.RESTART)
    assert bool(why(cluster)) == (way is Way.RESTART)
    assert why(cluster, asked=True) == ()


def test_one_of_several_claims_is_enough() -> None:
    claims = [claim("shared", "ReadWriteMany"), claim("own")]
    cluster = snapshot(mounting("shared", "own"), persistentvolumeclaims=claims)
    (reason,) = why(cluster)
    assert reason.endswith(": one node at a time may have its PersistentVolumeClaim own")


def test_alike_pods_whose_claims_differ_move_in_different_ways() -> None:
    one, two = mounting("own"), mounting("shared")
    two["metadata"] |= {"name": "web-2", "uid": "uid-web-2"}
    claims = [claim("shared", "ReadWriteMany"), claim("own")]
    cluster = snapshot(one, two, persistentvolumeclaims=claims)
    found = movable(cluster)
    assert found.way(row(cluster)) is Way.RESTART
    assert found.way(row(cluster, "web-2")) is Way.SURGE


def test_a_claim_that_is_made_for_each_pod_holds_nobody() -> None:
    found = pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    cluster = snapshot(found, persistentvolumeclaims=[claim("web-1-tmp")])
    assert movable(cluster, LOCAL).way(row(cluster)) is Way.SURGE
    assert why(cluster, LOCAL) == ()


# ------------------------------------------------------------------ ways and interruptions


PORT = {"name": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}
NO_PORT = {"name": "app", "ports": [{"containerPort": 80, "hostPort": 0}]}
RECREATING = {
    "replicasets": [replica_set(ownerReferences=[owned_by("Deployment")])],
    "deployments": [
        {
            "metadata": {"namespace": "shop", "name": "web", "uid": "Deployment-uid"},
            "spec": {"replicas": 1, "strategy": {"type": "Recreate"}},
        }
    ],
}
INTERRUPTED: list[tuple[Object, dict[str, Any], str]] = [
    (pod(hostNetwork=True), {}, "it uses ports of its node"),
    (pod(containers=[PORT]), {}, "it uses ports of its node"),
    (pod(initContainers=[PORT]), {}, "it uses ports of its node"),
    (pod(), RECREATING, "its Deployment has strategy Recreate"),
    (
        pod(owner=owned_by("StatefulSet")),
        {"statefulsets": [stateful_set()]},
        "it is one of a StatefulSet",
    ),
    (
        mounting("data"),
        {"persistentvolumeclaims": [claim()]},
        "one node at a time may have its PersistentVolumeClaim data",
    ),
]


@pytest.mark.parametrize(("found", "objects", "because"), INTERRUPTED)
def test_an_interruption_is_for_those_who_ask_or_allow_it(
    found: Object, objects: dict[str, Any], because: str
) -> None:
    cluster = snapshot(found, **objects)
    assert movable(cluster).way(row(cluster)) is Way.RESTART
    assert movable(cluster).why_interrupted(row(cluster)) == because
    for setting, unasked, asked in (
        (NEVER, True, True),
        (WHEN_ASKED, True, False),
        (ALLOWED, False, False),
    ):
        configuration = Configuration(pods=PodRules(interruptions=setting))
        reason = (f"its move would interrupt it, and pods.interruptions is {setting}: {because}",)
        assert why(cluster, configuration) == (reason if unasked else ())
        assert why(cluster, configuration, asked=True) == (reason if asked else ())


@pytest.mark.parametrize("found", [pod(), pod(owner=None), pod(containers=[NO_PORT])])
def test_most_pods_need_no_interruption(found: Object) -> None:
    cluster = snapshot(found)
    assert movable(cluster).way(row(cluster)) is Way.SURGE
    assert movable(cluster).why_interrupted(row(cluster)) == ""
