"""From samples to what is foretold of pods: only if it is wanted, and by workload."""

from dataclasses import replace

import numpy as np
import pytest

from rescheduler.config import LearnedPatience
from rescheduler.model.cluster import Owner
from rescheduler.model.objects import Object
from rescheduler.model.usage import Usage
from rescheduler.observe.usage.learning import Learning
from rescheduler.observe.usage.placement import Placement, placement_of
from tests.unit.observe.usage.scenes import Cluster, Pod
from tests.unit.observe.usage.test_rhythms import MIDNIGHT, daily
from tests.unit.plan.support.clusters_by_load import A, pod
from tests.unit.plan.support.snapshots import replica_set, snapshot

ON = LearnedPatience(enabled=True)
CLUSTER = Cluster(
    nodes=["a"],
    pods=[
        Pod(name="w-1", node="a", owner=0),
        None,
        Pod(name="w-2", node="a", owner=1),
        Pod(name="x", node="a"),
    ],
)


def placed() -> Placement:
    """Two ReplicaSets of one Deployment, a free row, and a pod of nobody."""
    workloads = {0: "ns/Deployment/w", 1: "ns/Deployment/w"}
    return replace(CLUSTER.placement(), workloads=lambda: workloads)


def usage(cpu: float) -> Usage:
    pods = np.array([cpu, 0.0, cpu, cpu])
    node = np.array([3 * cpu])
    return Usage(
        source="metrics-server",
        as_of=0,
        node_cpu=node,
        node_memory=node,
        pod_cpu=pods,
        pod_memory=np.full(4, 1e6),
        pod_measured=np.array([True, False, True, True]),
        unknown_nodes={},
        node_since=node,
    )


def after_two_days(learning: Learning) -> Usage:
    for half_hours in range(96):
        hours = half_hours / 2
        found = usage(daily(hours))
        learning.take(
            placed(),
            found.pod_cpu,
            found.pod_memory,
            found.pod_measured,
            MIDNIGHT + 3600 * hours,
        )
    return learning.foretold(usage(daily(48)), placed(), MIDNIGHT + 48 * 3600)


def test_what_is_learnt_of_a_workload_is_foretold_of_all_its_pods() -> None:
    ahead = after_two_days(Learning(ON, "metrics-server")).ahead
    assert ahead is not None
    first, free, second, stranger = ahead.cpu.T
    assert first.max() > 300
    assert first == pytest.approx(second)
    assert not free.any()
    assert not stranger.any()


@pytest.mark.parametrize(
    ("settings", "source"), [(LearnedPatience(), "metrics-server"), (ON, "requests")]
)
def test_nothing_is_foretold_unless_it_is_wanted_and_measured(
    settings: LearnedPatience, source: str
) -> None:
    learning = Learning(settings, source)
    assert after_two_days(learning).ahead is None
    assert learning.rhythms.workloads == []


def test_nothing_is_foretold_while_nothing_is_known() -> None:
    learning = Learning(ON, "metrics-server")
    assert after_two_days(learning).ahead is not None
    blind = replace(usage(100), outage="it does not answer")
    assert learning.foretold(blind, placed(), MIDNIGHT + 48 * 3600).ahead is None


def test_a_workload_outlives_its_roll_outs() -> None:
    def owned_by(name: str) -> Owner:
        return Owner(kind="ReplicaSet", name=name, uid=name)

    reference: Object = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    old, new = owned_by("web-1"), owned_by("web-2")
    job = Owner(kind="Job", name="once", uid="j")
    cluster = snapshot(
        [A],
        [
            pod("web-1-x", "a", 1, owner=old),
            pod("web-2-y", "a", 1, owner=new),
            pod("bare", "a", 1, owner=None),
            pod("db-0", "a", 1, owner=Owner(kind="StatefulSet", name="db", uid="s")),
            pod("once-z", "a", 1, owner=job),
        ],
        replica_sets=[
            replica_set("shop", each, ownerReferences=[reference]) for each in (old, new)
        ],
    )
    placement = placement_of(cluster)
    workloads = placement.workloads()
    found = {
        name.split("/")[1]: workloads.get(owner)
        for name, owner in zip(placement.pod_names, placement.pod_owners.tolist(), strict=True)
        if name
    }
    assert found == {
        "web-1-x": "shop/Deployment/web",
        "web-2-y": "shop/Deployment/web",
        "bare": None,
        "db-0": "shop/StatefulSet/db",
        "once-z": None,
    }
