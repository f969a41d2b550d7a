"""Cooldowns: what the moved pods of a snapshot tell, and who rests because of it."""

from typing import Any

import pytest

from rescheduler.config import Configuration, Cooldown, Stability
from rescheduler.model import names
from rescheduler.plan.history import History
from tests.unit.plan.movable_scenes import (
    NODES,
    NOW,
    OWNER,
    Object,
    pod,
    replica_set,
    row,
    snapshot,
    why,
)

POD = "it was moved lately (stability.cooldown.pod)"
WORKLOAD = "a pod of its workload was moved lately (stability.cooldown.workload)"
NODE = "its node gave or took a pod lately (stability.cooldown.node)"
OTHER = {**OWNER, "name": "db", "uid": "db-uid"}
SETS = [replica_set(), replica_set(name="db", uid="db-uid")]
THREE = [*NODES, {**NODES[0], "metadata": {"name": "c"}}]


def moved(name: str, at: str, **changes: Any) -> Object:  # noqa: ANN401
    """From node b to node a, unless told otherwise."""
    annotations = {names.MIGRATION_TIME: at, names.MIGRATED_FROM: "b"}
    return pod(name, metadata={"annotations": annotations}, **changes)


def cooled(**seconds: float) -> Configuration:
    none = {"pod_seconds": 0.0, "workload_seconds": 0.0, "node_seconds": 0.0}
    return Configuration(stability=Stability(cooldown=Cooldown(**{**none, **seconds})))


@pytest.mark.parametrize(
    ("at", "reasons"),
    [
        ("2027-01-15T07:59:00+00:00", (POD, WORKLOAD, NODE)),
        ("2027-01-15T07:59:00Z", (POD, WORKLOAD, NODE)),
        ("2027-01-15T09:59:00+02:00", (POD, WORKLOAD, NODE)),
        ("2027-01-15T07:50:01Z", (POD, WORKLOAD, NODE)),
        ("2027-01-15T07:50:00Z", (WORKLOAD,)),
        ("2027-01-15T07:30:01Z", (WORKLOAD,)),
        ("2027-01-15T07:30:00Z", ()),
        ("2027-01-15T08:00:59Z", (POD, WORKLOAD, NODE)),
        ("2027-01-15T08:01:00Z", ()),
        ("2099-01-01T00:00:00Z", ()),
        ("2027-01-15T07:59:00", ()),
        ("yesterday", ()),
        ("", ()),
    ],
)
def test_a_moved_pod_rests_until_somebody_asks(at: str, reasons: tuple[str, ...]) -> None:
    cluster = snapshot(moved("web-1", at), taken_at=NOW)
    assert why(cluster) == reasons
    assert why(cluster, asked=True) == ()


def test_without_a_clock_nobody_rests() -> None:
    assert why(snapshot(moved("web-1", "2027-01-15T07:59:00Z"))) == ()


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (cooled(pod_seconds=61), POD),
        (cooled(workload_seconds=61), WORKLOAD),
        (cooled(node_seconds=61), NODE),
        (cooled(pod_seconds=60, workload_seconds=60, node_seconds=60), None),
        (cooled(), None),
    ],
)
def test_each_has_a_time_of_its_own(configuration: Configuration, reason: str | None) -> None:
    cluster = snapshot(moved("web-1", "2027-01-15T07:59:00Z"), taken_at=NOW)
    assert why(cluster, configuration) == ((reason,) if reason else ())


def test_who_else_rests() -> None:
    cluster = snapshot(
        moved("web-1", "2027-01-15T07:59:00Z"),
        pod("sibling", nodeName="c"),
        pod("on-the-target", owner=OTHER),
        pod("on-the-source", owner=OTHER, nodeName="b"),
        pod("far-away", owner=OTHER, nodeName="c"),
        nodes=THREE,
        replicasets=SETS,
        taken_at=NOW,
    )
    assert {
        name: why(cluster, name=name)
        for name in ("sibling", "on-the-target", "on-the-source", "far-away")
    } == {
        "sibling": (WORKLOAD,),
        "on-the-target": (NODE,),
        "on-the-source": (NODE,),
        "far-away": (),
    }


def test_the_source_is_known_by_its_label_too() -> None:
    labels = {"app": "web", names.MIGRATED_FROM: "b"}
    annotations = {names.MIGRATION_TIME: "2027-01-15T07:59:00Z"}
    cluster = snapshot(
        pod(metadata={"labels": labels, "annotations": annotations}), nodes=THREE, taken_at=NOW
    )
    resting = History(cluster, Cooldown()).resting_nodes
    assert [node.name for node, rests in zip(cluster.nodes, resting, strict=True) if rests] == [
        "a",
        "b",
    ]


def test_a_source_that_is_gone_is_no_trouble() -> None:
    annotations = {names.MIGRATION_TIME: "2027-01-15T07:59:00Z", names.MIGRATED_FROM: "gone"}
    cluster = snapshot(pod(metadata={"annotations": annotations}), taken_at=NOW)
    history = History(cluster, Cooldown())
    assert history.resting_nodes.tolist() == [True, False]
    assert history.why_it_rests(row(cluster)) == (POD, WORKLOAD, NODE)


def test_a_moved_pod_that_nobody_owns_makes_no_other_bare_pod_rest() -> None:
    cluster = snapshot(
        moved("web-1", "2027-01-15T07:59:00Z", owner=None),
        pod("other", owner=None, nodeName="c"),
        nodes=THREE,
        taken_at=NOW,
    )
    assert History(cluster, Cooldown()).why_it_rests(row(cluster, "other")) == ()
