"""How a pod would move, what its volumes have to do with it, and when it is recreated."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, NEVER, WHEN_ASKED, Configuration, PodRules
from rescheduler.model import names
from rescheduler.model.moves import Way
from tests.unit.plan.support.movable_scenes import (
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

BEHIND = "it has local storage, which would stay behind"
ACT = "set it to WhenAsked, or use rescheduler drain"
LOCAL = Configuration(pods=PodRules(local_storage=ALLOWED))


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


@pytest.mark.parametrize("medium", ["", "Memory"])
def test_scratch_of_a_controlled_pod_keeps_it_only_where_that_is_wanted(medium: str) -> None:
    found = pod(volumes=[{"name": "tmp", "emptyDir": {"medium": medium}}])
    assert why(found) == ()
    reason = "it would lose what is in its emptyDir tmp, and pods.emptyDir is"
    when_asked = Configuration(pods=PodRules(empty_dir=WHEN_ASKED))
    assert why(found, when_asked) == (f"{reason} WhenAsked",)
    assert why(found, when_asked, asked=True) == ()
    never = Configuration(pods=PodRules(empty_dir=NEVER, local_storage=ALLOWED))
    assert why(found, never, asked=True) == (f"{reason} Never: {ACT}",)


@pytest.mark.parametrize("source", ["hostPath", "ephemeral"])
def test_what_is_of_the_node_keeps_a_pod_until_somebody_asks(source: str) -> None:
    found = pod(volumes=[{"name": "data", source: {}}])
    assert why(found) == (f"{BEHIND} (volume data), and pods.localStorage is WhenAsked",)
    assert why(found, asked=True) == ()
    assert why(found, LOCAL) == ()
    never = Configuration(pods=PodRules(local_storage=NEVER))
    told = f"{BEHIND} (volume data), and pods.localStorage is Never: {ACT}"
    assert why(found, never, asked=True) == (told,)


def test_scratch_of_a_bare_pod_is_local_storage() -> None:
    found = pod(owner=None, volumes=[{"name": "tmp", "emptyDir": {}}])
    bare = Configuration(pods=PodRules(bare_pods=ALLOWED))
    assert why(found, bare) == (f"{BEHIND} (volume tmp), and pods.localStorage is WhenAsked",)
    assert why(found, bare, asked=True) == ()
    assert len(why(found, Configuration(pods=PodRules(empty_dir=NEVER)), asked=True)) == 1


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        (names.SAFE_TO_EVICT, "true", ""),
        (names.SAFE_TO_EVICT, "True", "tmp, host"),
        (names.EVICT, "true", ""),
        (names.EVICT, "", ""),
        (names.SAFE_TO_EVICT_VOLUMES, "tmp,host", ""),
        (names.SAFE_TO_EVICT_VOLUMES, "host", "tmp"),
        (names.SAFE_TO_EVICT_VOLUMES, "tmp,other", "host"),
        (names.SAFE_TO_EVICT_VOLUMES, "tmp, host", "host"),
        (names.SAFE_TO_EVICT_VOLUMES, "", "tmp, host"),
    ],
)
def test_annotations_let_local_volumes_go(key: str, value: str, kept: str) -> None:
    volumes: list[Object] = [{"name": "tmp", "emptyDir": {}}, {"name": "host", "hostPath": {}}]
    found = pod(owner=None, volumes=volumes, metadata={"annotations": {key: value}})
    never = Configuration(pods=PodRules(bare_pods=ALLOWED, local_storage=NEVER))
    told = f"{BEHIND} (volume {kept}), and pods.localStorage is Never"
    assert why(found, never) == ((told,) if kept else ())
    # Nothing else goes by it.
    assert why(found) == (
        "it is a bare pod, and pods.barePods is WhenAsked",
        *((told.replace("Never", "WhenAsked"),) if kept else ()),
    )


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
        {"name": "tmp", "hostPath": {}},
        {"name": "conf", "configMap": {}},
        {"name": "cache", "ephemeral": {}},
        {"name": "disk", "rbd": {}},
    ]
    assert why(pod(volumes=volumes)) == (
        f"{BEHIND} (volume tmp, cache), and pods.localStorage is WhenAsked",
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
        (["ReadWriteOnce"], Way.RECREATE),
        (["ReadWriteOncePod"], Way.RECREATE),
        (["ReadWriteOnce", "ReadOnlyMany"], Way.RECREATE),
        (["ReadWriteMany"], Way.SURGE),
        (["ReadWriteOnce", "ReadWriteMany"], Way.SURGE),
        (["ReadOnlyMany"], Way.SURGE),
    ],
)
def test_who_may_have_a_claim_decides_the_way(modes: list[str], way: Way) -> None:
    cluster = snapshot(mounting("data"), persistentvolumeclaims=[claim("data", *modes)])
    found = movable(cluster)
    assert found.way(row(cluster)) is way
    assert bool(found.why_recreated(row(cluster))) == (way is Way.RECREATE)
    assert bool(why(cluster)) == (way is Way.RECREATE)
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
    assert found.way(row(cluster)) is Way.RECREATE
    assert found.way(row(cluster, "web-2")) is Way.SURGE


def test_a_claim_that_is_made_for_each_pod_holds_nobody() -> None:
    found = pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    cluster = snapshot(found, persistentvolumeclaims=[claim("web-1-tmp")])
    assert movable(cluster, LOCAL).way(row(cluster)) is Way.SURGE
    assert why(cluster, LOCAL) == ()


# ------------------------------------------------------------------ who may be recreated


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
RECREATED: list[tuple[Object, dict[str, Any], str]] = [
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


@pytest.mark.parametrize(("found", "objects", "because"), RECREATED)
def test_to_recreate_is_for_those_who_ask_or_allow_it(
    found: Object, objects: dict[str, Any], because: str
) -> None:
    cluster = snapshot(found, **objects)
    assert movable(cluster).way(row(cluster)) is Way.RECREATE
    assert movable(cluster).why_recreated(row(cluster)) == because
    for setting, unasked, asked in (
        (NEVER, True, True),
        (WHEN_ASKED, True, False),
        (ALLOWED, False, False),
    ):
        configuration = Configuration(pods=PodRules(recreate=setting))
        held = f"its move would recreate it, and pods.recreate is {setting}"
        act = " (set it to WhenAsked, or use rescheduler drain)"
        assert why(cluster, configuration) == ((f"{held}: {because}",) if unasked else ())
        told = (f"{held}{act}: {because}",) if asked else ()
        assert why(cluster, configuration, asked=True) == told


@pytest.mark.parametrize("found", [pod(), pod(owner=None), pod(containers=[NO_PORT])])
def test_most_pods_need_not_be_recreated(found: Object) -> None:
    cluster = snapshot(found)
    assert movable(cluster).way(row(cluster)) is Way.SURGE
    assert movable(cluster).why_recreated(row(cluster)) == ""
