"""What an onlooker makes of the changes of a cluster."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from rescheduler.model import names
from rescheduler.simulation.onlooking import Onlooker
from rescheduler.simulation.scenes import MoveLook, MoveScene, NodeLook, PodLook
from rescheduler.wire import NODES, POD_MIGRATIONS, PODS

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
READY = [{"type": "Ready", "status": "True"}]


class Flat:
    """Every pod uses one core and a gibibyte."""

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        assert pod
        assert at
        return 1.0, 2.0**30


class Ground:
    def __init__(self) -> None:
        self.store = Store()
        self.now = START
        self.heard: list[MoveScene] = []
        self.onlooker = Onlooker(self.store, Flat(), lambda: self.now, self.heard.append)

    def node(self, name: str, **spec: Any) -> None:  # noqa: ANN401
        labels = {names.MAINTENANCE: "true"} if spec.pop("maintained", False) else {}
        has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        status = {"allocatable": has, "conditions": READY}
        metadata = {"name": name, "labels": labels}
        self.store.put(NODES, {"metadata": metadata, "spec": spec, "status": status})

    def pod(self, name: str, node: str, *, ready: bool = True, owner: str = "ReplicaSet") -> None:
        reference = {"kind": owner, "name": "x", "uid": "x", "controller": True}
        metadata = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [reference]}
        containers = [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]
        status = {"phase": "Running", "conditions": READY if ready else []}
        self.store.put(
            PODS,
            {
                "metadata": metadata,
                "spec": {"nodeName": node, "containers": containers},
                "status": status,
            },
        )

    def record(self, pod: str, phase: str = "", **status: str) -> None:
        spec = {"pod": {"name": pod, "uid": pod}, "source": "a", "target": "b", "reason": "why"}
        metadata = {"name": f"{pod}-1", "namespace": "shop"}
        told = {"phase": phase, **status} if phase else {}
        self.store.put(POD_MIGRATIONS, {"metadata": metadata, "spec": spec, "status": told})


def test_nodes_are_seen_with_their_pods_and_loads() -> None:
    ground = Ground()
    ground.node("a")
    ground.node("b", unschedulable=True)
    ground.node("c", maintained=True)
    ground.pod("one", "a")
    ground.pod("two", "a", ready=False)
    ground.pod("agent", "a", owner="DaemonSet")
    a, b, c = ground.onlooker.scene().nodes
    assert a.pods == (PodLook.SERVING, PodLook.STARTING, PodLook.SERVING)
    assert a.requested == 37.5
    assert 75 <= a.used["cpu"] < 80
    assert a.movable == 2
    assert (a.look, b.look, c.look) == (NodeLook.PLAIN, NodeLook.CORDONED, NodeLook.MAINTENANCE)
    assert ground.onlooker.pods_on("a") == 2


def test_the_imbalance_is_that_of_nodes_which_take_pods() -> None:
    ground = Ground()
    ground.node("a")
    ground.node("b")
    ground.node("c", maintained=True)
    for name in ("one", "two"):
        ground.pod(name, "a")
    ground.pod("three", "b")
    assert round(ground.onlooker.scene().imbalance["cpu"]) == 25


def test_a_pod_that_goes_is_leaving_until_it_is_gone() -> None:
    ground = Ground()
    ground.node("a")
    ground.pod("one", "a")
    [raw] = ground.store.all(PODS)
    going = {**raw["metadata"], "deletionTimestamp": "2026-01-05T10:00:00Z"}
    ground.store.put(PODS, {**raw, "metadata": going})
    assert ground.onlooker.scene().nodes[0].pods == (PodLook.LEAVING,)
    ground.store.remove(PODS, "shop", "one")
    assert ground.onlooker.scene().nodes[0].pods == ()


def test_a_move_is_followed_from_its_record_to_its_end() -> None:
    ground = Ground()
    ground.record("one")
    assert not ground.onlooker.is_calm
    ground.record("one", "InProgress", step="Create", way="Surge")
    ground.now += timedelta(seconds=6)
    ground.record("one", "Completed", step="Done", way="Surge", reason="Completed")
    looks = [each.look for each in ground.heard]
    assert looks == [MoveLook.WAITING, MoveLook.UNDER_WAY, MoveLook.MOVED]
    assert ground.heard[-1].seconds == 6
    assert ground.onlooker.is_calm
    assert ground.onlooker.has_ended(1)
    assert ground.onlooker.scene().moved == 1


def test_what_is_written_on_a_record_after_its_end_is_no_other_move() -> None:
    ground = Ground()
    ground.record("one", "Completed", step="Done")
    ground.record("one", "Completed", step="Done", message="seen")
    assert len(ground.heard) == 1
    assert ground.onlooker.scene().moved == 1


def test_one_that_failed_and_one_that_was_put_off_are_told_apart() -> None:
    ground = Ground()
    ground.record("one", "Failed", step="Done", reason="CopyFailed", message="no image")
    ground.record("two", "Failed", step="Done", reason="NotNow", message="does not fit")
    assert [each.outcome for each in ground.onlooker.failed] == ["CopyFailed: no image"]
    assert [each.outcome for each in ground.onlooker.put_off] == ["NotNow: does not fit"]
    assert ground.onlooker.scene().failed == 1


def test_what_stood_there_before_is_seen_too() -> None:
    ground = Ground()
    ground.node("a")
    ground.pod("one", "a")
    late = Onlooker(ground.store, Flat(), lambda: START)
    assert late.scene().pods == 1
    assert late.has_come_up(1)
    ground.store.remove(PODS, "shop", "one")
    assert late.scene().pods == 0
