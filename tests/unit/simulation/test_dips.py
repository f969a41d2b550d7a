"""Whose doing a dip is, judged on changes as a store tells them."""

from datetime import datetime, timedelta

import pytest

from rescheduler.embedded.store import Store
from rescheduler.embedded.virtual_time import START
from rescheduler.kube import Object
from rescheduler.simulation.dips import Cause, Dips
from rescheduler.wire import DEPLOYMENTS, NODES, POD_MIGRATIONS, PODS, REPLICA_SETS


class Scene:
    """A Deployment of two Ready pods on one node."""

    def __init__(self) -> None:
        self.store = Store()
        self.now = START
        self.store.put(NODES, self.node())
        self.store.put(DEPLOYMENTS, self.deployment(2))
        owner = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True}
        metadata = {"namespace": "shop", "name": "web-1", "uid": "rs", "ownerReferences": [owner]}
        self.store.put(REPLICA_SETS, {"metadata": metadata, "spec": {"replicas": 2}})
        for name in ("a", "b"):
            self.store.put(PODS, self.pod(name))
        self.dips = Dips(self.store, lambda: self.now)

    def pass_(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def node(self, *, ready: bool = True) -> Object:
        condition = {"type": "Ready", "status": "True" if ready else "Unknown"}
        return {"metadata": {"name": "n"}, "status": {"conditions": [condition]}}

    def deployment(self, replicas: int) -> Object:
        metadata = {"namespace": "shop", "name": "web", "uid": "d"}
        return {"metadata": metadata, "spec": {"replicas": replicas}}

    def pod(self, name: str, *, ready: bool = True, leaving: bool = False) -> Object:
        owner = {"kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": True}
        return {
            "metadata": {
                "namespace": "shop",
                "name": name,
                "uid": f"uid-{name}",
                "ownerReferences": [owner],
                **({"deletionTimestamp": "2026-01-05T00:00:00Z"} if leaving else {}),
            },
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        }

    def record(self, pod: str, *, phase: str = "InProgress", may_recreate: bool = False) -> None:
        spec: Object = {"pod": {"name": pod, "uid": f"uid-{pod}"}, "mayRecreate": may_recreate}
        spec |= {"way": "Recreate"} if may_recreate else {}
        metadata = {"namespace": "shop", "name": f"move-{pod}"}
        record = {"metadata": metadata, "spec": spec, "status": {"phase": phase}}
        self.store.put(POD_MIGRATIONS, record)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_move_that_is_ready_before_the_old_one_goes_is_no_dip(scene: Scene) -> None:
    scene.record("a")
    scene.store.put(PODS, scene.pod("copy", ready=False))
    scene.store.put(PODS, scene.pod("copy"))
    scene.store.put(PODS, scene.pod("a", leaving=True))
    scene.store.remove(PODS, "shop", "a")
    scene.dips.end()
    assert scene.dips.all == []


def test_a_move_whose_old_pod_goes_first_is_a_dip_by_us(scene: Scene) -> None:
    scene.record("a")
    scene.store.put(PODS, scene.pod("a", leaving=True))
    scene.pass_(30)
    scene.store.put(PODS, scene.pod("copy"))
    [dip] = (each for each in scene.dips.all if each.cause is Cause.MOVE)
    assert (dip.workload, dip.short, dip.wanted) == (("Deployment", "shop", "web"), 1, 2)
    assert dip.pod_seconds == 30
    assert dip.ended == scene.now
    assert str(dip) == "00:00:00 Deployment shop/web: 1 of 2 short"


def test_what_may_be_recreated_is_counted_apart(scene: Scene) -> None:
    scene.record("a", may_recreate=True)
    scene.store.put(PODS, scene.pod("a", leaving=True))
    assert [dip.cause for dip in scene.dips.all] == [Cause.RECREATE]


def test_what_others_take_is_not_ours(scene: Scene) -> None:
    scene.record("b", phase="Completed")
    scene.store.put(PODS, scene.pod("b", leaving=True))
    assert [dip.cause for dip in scene.dips.all] == [Cause.OTHER]


def test_a_pod_that_fails_with_its_node_while_it_is_moved_is_not_our_doing(scene: Scene) -> None:
    scene.record("a")
    scene.store.put(NODES, scene.node(ready=False))
    scene.store.put(PODS, scene.pod("a", ready=False))
    scene.store.put(PODS, scene.pod("a", ready=False, leaving=True))
    assert [dip.cause for dip in scene.dips.all] == [Cause.OTHER]


def test_who_takes_one_more_from_a_workload_that_lacks_one_has_its_part(scene: Scene) -> None:
    scene.store.put(PODS, scene.pod("b", ready=False))
    scene.pass_(10)
    scene.record("a")
    scene.store.put(PODS, scene.pod("a", leaving=True))
    scene.pass_(5)
    scene.dips.end()
    [dip] = scene.dips.all
    assert (dip.cause, dip.short, dip.ended) == (Cause.MOVE, 2, None)
    assert dip.pod_seconds == 10 + 2 * 5


def test_more_replicas_are_short_until_they_are_there_and_by_nobodys_move(scene: Scene) -> None:
    scene.store.put(DEPLOYMENTS, scene.deployment(3))
    scene.pass_(7)
    scene.store.put(PODS, scene.pod("c"))
    [dip] = (each for each in scene.dips.all if each.cause is Cause.OTHER)
    assert dip.pod_seconds == 7


def test_fewer_replicas_are_no_dip(scene: Scene) -> None:
    scene.store.put(DEPLOYMENTS, scene.deployment(1))
    scene.store.put(PODS, scene.pod("b", leaving=True))
    assert scene.dips.all == []


def test_a_workload_that_is_just_coming_up_has_lost_nothing() -> None:
    store = Store()
    metadata = {"namespace": "shop", "name": "new", "uid": "d2"}
    store.put(DEPLOYMENTS, {"metadata": metadata, "spec": {"replicas": 5}})
    dips = Dips(store, lambda: START)
    store.put(DEPLOYMENTS, {"metadata": metadata, "spec": {"replicas": 6}})
    assert dips.all == []
