"""What a scheduler is answered by, of a snapshot and our records."""

from typing import Any

import numpy as np
import pytest

from rescheduler import wire
from rescheduler.config import Configuration, NodeMaintenanceSettings
from rescheduler.controller.node_table import TableMaker, rules_of
from rescheduler.model import names
from rescheduler.model.snapshot import Snapshot
from rescheduler.schedule import NodeTable
from tests.unit.plan.support.small_clusters import GI, in_maintenance, node, pod
from tests.unit.plan.support.snapshots import snapshot

DEFAULTS = Configuration()


def record(uid: str, source: str, target: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    status = {"phase": "InProgress", **more.pop("status", {})}
    labels = {names.STEERING: "true"} if more.pop("steering", False) else {}
    spec = {"pod": {"name": uid, "uid": f"uid-{uid}"}, "source": source, "target": target, **more}
    return {
        "metadata": {"name": f"r-{uid}", "namespace": "shop", "uid": uid, "labels": labels},
        "spec": spec,
        "status": status,
    }


def cluster(*records: dict[str, Any], gone: bool = False) -> Snapshot:
    pods = [pod("db-0", "a", cpu=1500), pod("web", "b", cpu=1000)]
    nodes = [node("a"), node("b"), node("c")]
    return snapshot(nodes, pods[1:] if gone else pods, others={wire.POD_MIGRATIONS: records})


def made(found: Snapshot, configuration: Configuration = DEFAULTS) -> NodeTable:
    return TableMaker().make(found, configuration, 7.0)


def test_loads_of_nodes() -> None:
    table = made(cluster())
    assert table.names == ("a", "b", "c")
    assert table.taken_at == 7.0
    assert table.capacity.tolist() == [[4000.0, 16.0 * GI]] * 3
    assert table.used[:, 0].tolist() == [1500.0, 1000.0, 0.0]
    assert np.array_equal(table.used, table.requested)
    assert not table.promised.any()


def test_room_is_promised_until_the_copy_is_there() -> None:
    table = made(cluster(record("db-0", "a", "c")))
    assert table.promised[:, 0].tolist() == [0.0, 0.0, 1500.0]
    there = made(cluster(record("db-0", "a", "c", status={"newPod": {"uid": "copy"}})))
    assert not there.promised.any()
    over = made(cluster(record("db-0", "a", "c", status={"phase": "Completed"})))
    assert not over.promised.any()
    assert made(cluster(record("db-0", "a", "gone"))).promised.sum() == 0


def test_also_when_the_original_has_left() -> None:
    moving, maker = record("db-0", "a", "c"), TableMaker()
    maker.make(cluster(moving), DEFAULTS, 1.0)
    table = maker.make(cluster(moving, gone=True), DEFAULTS, 2.0)
    assert table.promised[:, 0].tolist() == [0.0, 0.0, 1500.0]
    forgotten = maker.make(cluster(gone=True), DEFAULTS, 3.0)
    assert not forgotten.promised.any()


def test_who_arrived_since_the_table_before() -> None:
    maker, nodes = TableMaker(), [node("a"), node("b")]
    at_first = [pod("web", "a"), pod("api", "")]
    assert not maker.make(snapshot(nodes, at_first), DEFAULTS, 1.0).arrived
    then = [pod("web", "a"), pod("api", "b"), pod("db", "a"), pod("new", "")]
    assert maker.make(snapshot(nodes, then), DEFAULTS, 2.0).arrived == {"uid-api", "uid-db"}
    assert not maker.make(snapshot(nodes, then), DEFAULTS, 3.0).arrived
    assert not maker.make(snapshot(nodes, at_first), DEFAULTS, 4.0).arrived


@pytest.mark.parametrize(("kind", "keeps_name"), [("StatefulSet", True), ("ReplicaSet", False)])
def test_steering_goes_by_the_owner(kind: str, keeps_name: bool) -> None:  # noqa: FBT001
    status = {"owner": {"kind": kind, "name": "db", "uid": "owner"}}
    table = made(cluster(record("db-0", "a", "c", steering=True, status=status)))
    [steering] = table.steering["owner"]
    assert (steering.pod, steering.source, steering.target) == ("db-0", "a", "c")
    assert steering.keeps_name is keeps_name
    assert not made(cluster(record("db-0", "a", "c", status=status))).steering


@pytest.mark.parametrize(
    ("strategy", "emptied"),
    [("CostOptimization", True), ("NodeMaintenance", True), ("LoadBalancing", False)],
)
def test_nodes_that_we_are_emptying(strategy: str, emptied: bool) -> None:  # noqa: FBT001
    table = made(cluster(record("db-0", "a", "c", strategy=strategy)))
    assert set(table.being_emptied) == ({0} if emptied else set())


def test_maintenance() -> None:
    found = snapshot([in_maintenance(node("a")), node("b")], [])
    assert made(found).in_maintenance == {0: "it is in maintenance"}
    asked = Configuration(node_maintenance=NodeMaintenanceSettings(removed_nodes=True))
    assert made(found, asked).in_maintenance == {0: "it is in maintenance"}


def test_rules_are_as_configured() -> None:
    rules = rules_of(DEFAULTS)
    assert rules.thresholds == (80.0, 80.0)
    assert not rules.is_strict
