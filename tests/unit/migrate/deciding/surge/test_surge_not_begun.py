"""Pods for which no surge is begun: nothing is written, and it is told why."""

from dataclasses import replace

import pytest

from rescheduler.migrate.deciding.actions import (
    End,
)
from rescheduler.migrate.deciding.deciding import decide
from rescheduler.migrate.deciding.facts import Progress
from tests.unit.migrate.deciding.surge.surge_scenes import (
    DISTURBANCES,
    Disturbance,
    on,
    pause,
    take_aside,
    unready,
)
from tests.unit.migrate.driving import Drive
from tests.unit.migrate.toy_cluster import (
    BEGINNING,
    ToyCluster,
)

# ---------------------------------------------------------------------- what is not begun at all


def _vanish(cluster: ToyCluster, uid: str) -> None:
    del cluster.pods[uid]


def _paused(cluster: ToyCluster) -> None:
    pause(cluster)
    cluster.tick()


def _recreate(cluster: ToyCluster) -> None:
    assert cluster.deployment
    cluster.deployment["spec"]["strategy"] = {"type": "Recreate"}


def _same_node(cluster: ToyCluster) -> None:
    cluster.intent = replace(cluster.intent, target=cluster.intent.source)


def _name_taken(cluster: ToyCluster) -> None:
    cluster.siblings[0]["metadata"]["name"] = cluster.intent.copy


def _names_a_node(cluster: ToyCluster) -> None:
    cluster.replica_sets["rs-1"]["spec"]["template"]["spec"]["nodeName"] = "node-1"


def _greedy(cluster: ToyCluster) -> None:
    greedy = cluster.add_replica_set("greedy", 0)
    greedy["spec"]["selector"] = {"matchLabels": {"app": "web"}}


_RECREATES = "its move would recreate it: "
NOT_BEGUN = [
    (on("original", ToyCluster.stop), "NotNow", "the pod is terminating"),
    (on("original", _vanish), "NotNow", "the pod is gone"),
    (on("original", unready(9)), "NotNow", "the pod is not Ready"),
    (on("original", take_aside), "NotNow", "the pod is no longer one of its ReplicaSet's"),
    (on("sibling", unready(9)), "NotNow", "its sibling web-1 is not Ready"),
    (lambda c: c.replica_sets.clear(), "NotNow", "its ReplicaSet is gone"),
    (lambda c: c.scale(5), "NotNow", "its Deployment has just been changed"),
    (_paused, "NotNow", "its Deployment is paused"),
    (_name_taken, "NotNow", "a pod that is not ours has the name of the copy"),
    (_same_node, "NotMovable", "source and target are the same node"),
    (_recreate, "NotMovable", f"{_RECREATES}its Deployment has strategy Recreate: two of"),
    (_names_a_node, "NotMovable", f"{_RECREATES}its template names a node, past the scheduler"),
    (DISTURBANCES["two budgets appear"], "NotMovable", "several PodDisruptionBudgets select it"),
    (_greedy, "NotMovable", f"{_RECREATES}another ReplicaSet would adopt the copy: web-greedy"),
]


@pytest.mark.parametrize(
    ("disturbance", "reason", "message"), NOT_BEGUN, ids=[each[2][:70] for each in NOT_BEGUN]
)
def test_nothing_is_written_when(disturbance: Disturbance, reason: str, message: str) -> None:
    cluster = ToyCluster()
    disturbance(cluster)
    (action,) = Drive(cluster).one_look()
    assert isinstance(action, End)
    assert action.outcome.reason == reason
    assert action.outcome.message.startswith(message)
    assert not action.outcome.moved


def test_nothing_is_written_when_every_label_is_selected_by() -> None:
    cluster = ToyCluster()
    selector = cluster.replica_sets["rs-1"]["spec"]["selector"]
    view = replace(cluster.view(), network_policies=({"spec": {"podSelector": selector}},))
    action = decide(cluster.intent, view, Progress(now=BEGINNING))
    assert isinstance(action, End)
    assert action.outcome.reason == "NotMovable"
