"""Cooldowns: what the moved pods of a snapshot tell, and who rests because of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.config import Configuration, Cooldown, PodRules, Stability
from rescheduler.model import names
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Usage
from rescheduler.plan.cooldowns import Cooldowns
from tests.unit.plan.support.movable_scenes import (
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
NOT_READY = "a pod of its workload that was moved lately is not Ready (stability.cooldown.workload)"
RECREATED = (
    "a pod of its workload was moved lately, and it would be recreated "
    "(stability.cooldown.workload)"
)
NODE = "its node gave or received a pod recently, not measured since (stability.cooldown.node)"
LONG_AGO = NOW - 3000
OTHER = {**OWNER, "name": "db", "uid": "db-uid"}
SETS = [replica_set(), replica_set(name="db", uid="db-uid")]
THREE = [*NODES, {**NODES[0], "metadata": {"name": "c"}}]


def moved(name: str, at: str, **changes: Any) -> Object:  # noqa: ANN401
    """From node b to node a, unless told otherwise."""
    annotations = {names.MIGRATION_TIME: at, names.MIGRATED_FROM: "b"}
    return pod(name, metadata={"annotations": annotations}, **changes)


def measured(cluster: Snapshot, since: float, source: str = "metrics-server") -> Snapshot:
    """All of its nodes, by samples of which the first began then."""
    nodes, pods = np.ones(len(cluster.nodes)), np.zeros(len(cluster.pods))
    usage = Usage(
        source=source,
        as_of=NOW,
        node_cpu=nodes,
        node_memory=nodes.copy(),
        pod_cpu=pods,
        pod_memory=pods.copy(),
        pod_measured=np.ones(len(pods), np.bool_),
        unknown_nodes={},
        node_since=np.full(len(nodes), since),
    )
    return replace(cluster, usage=usage)


def cooled(**seconds: float) -> Configuration:
    none = {"pod_seconds": 0.0, "workload_seconds": 0.0, "node_seconds": 0.0}
    return Configuration(stability=Stability(cooldown=Cooldown(**{**none, **seconds})))


@pytest.mark.parametrize(
    ("at", "reasons"),
    [
        ("2027-01-15T07:59:00+00:00", (POD, NODE)),
        ("2027-01-15T07:59:00Z", (POD, NODE)),
        ("2027-01-15T09:59:00+02:00", (POD, NODE)),
        ("2027-01-15T07:50:01Z", (POD, NODE)),
        ("2027-01-15T07:50:00Z", (POD,)),
        ("2027-01-15T07:00:01Z", (POD,)),
        ("2027-01-15T07:00:00Z", ()),
        ("2027-01-15T08:00:59Z", (POD, NODE)),
        ("2027-01-15T08:01:00Z", ()),
        ("2099-01-01T00:00:00Z", ()),
        ("2027-01-15T07:59:00", ()),
        ("yesterday", ()),
        ("", ()),
    ],
)
def test_a_moved_pod_rests_until_somebody_asks(at: str, reasons: tuple[str, ...]) -> None:
    cluster = measured(snapshot(moved("web-1", at), taken_at=NOW), LONG_AGO)
    assert why(cluster) == reasons
    assert why(cluster, asked=True) == ()


def test_without_a_clock_nobody_rests() -> None:
    assert why(snapshot(moved("web-1", "2027-01-15T07:59:00Z"))) == ()


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (cooled(pod_seconds=61), POD),
        (cooled(node_seconds=61), NODE),
        (cooled(pod_seconds=60, workload_seconds=60, node_seconds=60), None),
        (cooled(), None),
    ],
)
def test_each_has_a_time_of_its_own(configuration: Configuration, reason: str | None) -> None:
    moved_lately = snapshot(moved("web-1", "2027-01-15T07:59:00Z"), taken_at=NOW)
    cluster = measured(moved_lately, LONG_AGO)
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
        name: why(measured(cluster, LONG_AGO), name=name)
        for name in ("sibling", "on-the-target", "on-the-source", "far-away")
    } == {
        "sibling": (),
        "on-the-target": (NODE,),
        "on-the-source": (NODE,),
        "far-away": (),
    }


# ---------------------------------------------------------------------- until it is known anew


@pytest.mark.parametrize("source", ["", "requests"])
def test_where_load_is_by_requests_no_node_rests(source: str) -> None:
    cluster = snapshot(moved("web-1", "2027-01-15T07:59:59Z"), taken_at=NOW)
    seen = measured(cluster, np.nan, source) if source else cluster
    assert why(seen) == (POD,)
    assert not Cooldowns(seen, Cooldown()).resting_nodes.any()


@pytest.mark.parametrize(
    ("since", "rests"),
    [(NOW - 61, True), (NOW - 60, True), (NOW - 59, False), (np.nan, True)],
)
def test_a_node_rests_until_enough_samples_were_taken_since(since: float, *, rests: bool) -> None:
    cluster = snapshot(moved("web-1", "2027-01-15T07:59:00Z"), taken_at=NOW)
    assert Cooldowns(measured(cluster, since), Cooldown()).resting_nodes.tolist() == [rests, rests]


def test_samples_from_before_its_node_took_it_do_not_count() -> None:
    started = {"startTime": "2027-01-15T07:59:30Z"}
    cluster = snapshot(moved("web-1", "2027-01-15T07:59:00Z", status=started), taken_at=NOW)
    for since, rests in ((NOW - 40, True), (NOW - 20, False)):
        resting = Cooldowns(measured(cluster, since), Cooldown()).resting_nodes
        assert resting.tolist() == [rests, rests]


@pytest.mark.parametrize(
    ("at", "is_ready", "reasons"),
    [
        ("2027-01-15T07:59:00Z", False, (NOT_READY,)),
        ("2027-01-15T07:59:00Z", True, ()),
        ("2027-01-15T07:30:01Z", False, (NOT_READY,)),
        ("2027-01-15T07:30:00Z", False, ()),
    ],
)
def test_a_workload_rests_until_what_was_moved_is_ready(
    at: str, *, is_ready: bool, reasons: tuple[str, ...]
) -> None:
    status = {} if is_ready else {"conditions": [{"type": "Ready", "status": "False"}]}
    cluster = snapshot(
        moved("web-1", at, status=status), pod("sibling", nodeName="c"), nodes=THREE, taken_at=NOW
    )
    assert Cooldowns(cluster, Cooldown()).why_it_rests(row(cluster, "sibling")) == reasons


@pytest.mark.parametrize(
    ("at", "reasons"),
    [("2027-01-15T07:30:01Z", (RECREATED,)), ("2027-01-15T07:30:00Z", ())],
)
def test_who_would_be_recreated_rests_for_the_whole_time(at: str, reasons: tuple[str, ...]) -> None:
    port = [{"name": "app", "ports": [{"hostPort": 80}]}]
    cluster = snapshot(
        moved("web-1", at, containers=port),
        pod("sibling", nodeName="c", containers=port),
        nodes=THREE,
        taken_at=NOW,
    )
    allowed = Configuration(pods=PodRules(recreate="Allowed"))
    assert why(cluster, allowed, name="sibling") == reasons


# ---------------------------------------------------------------------- what it tells


def test_the_source_is_known_by_its_label_too() -> None:
    labels = {"app": "web", names.MIGRATED_FROM: "b"}
    annotations = {names.MIGRATION_TIME: "2027-01-15T07:59:00Z"}
    cluster = snapshot(
        pod(metadata={"labels": labels, "annotations": annotations}), nodes=THREE, taken_at=NOW
    )
    resting = Cooldowns(measured(cluster, LONG_AGO), Cooldown()).resting_nodes
    assert [node.name for node, rests in zip(cluster.nodes, resting, strict=True) if rests] == [
        "a",
        "b",
    ]


def test_a_source_that_is_gone_is_no_trouble() -> None:
    annotations = {names.MIGRATION_TIME: "2027-01-15T07:59:00Z", names.MIGRATED_FROM: "gone"}
    cluster = snapshot(pod(metadata={"annotations": annotations}), taken_at=NOW)
    cooldowns = Cooldowns(measured(cluster, LONG_AGO), Cooldown())
    assert cooldowns.resting_nodes.tolist() == [True, False]
    assert cooldowns.why_it_rests(row(cluster)) == (POD, NODE)


def test_a_moved_pod_that_nobody_owns_makes_no_other_bare_pod_rest() -> None:
    cluster = snapshot(
        moved("web-1", "2027-01-15T07:59:00Z", owner=None),
        pod("other", owner=None, nodeName="c"),
        nodes=THREE,
        taken_at=NOW,
    )
    assert Cooldowns(cluster, Cooldown()).why_it_rests(row(cluster, "other")) == ()
