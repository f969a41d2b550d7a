"""Who may move: one case for each rule that keeps a pod where it is."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration, Scope
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Owner, Pod
from rescheduler.plan.movable import RULES, why_it_stays
from tests.unit.plan.clusters import Object, replica_set, snapshot

OWNER = Owner(kind="ReplicaSet", name="web", uid="rs-uid")
POD = Pod(
    namespace="shop",
    name="web-1",
    uid="pod-uid",
    node="a",
    phase="Running",
    ready=True,
    terminating=False,
    labels={"app": "web"},
    annotations={},
    owner=OWNER,
    requests={"cpu": 100, "pods": 1},
    priority=0,
    spec={"containers": [{"name": "app"}]},
)


def why(pod: Pod, configuration: Configuration | None = None) -> str:
    return why_it_stays(pod, snapshot([], [pod]), configuration or Configuration())


def test_an_ordinary_pod_may_move() -> None:
    assert why(POD) == ""


def _owned_by(kind: str) -> Pod:
    return replace(POD, owner=Owner(kind=kind, name="x", uid="rs-uid"))


def _labelled(key: str, value: str) -> Pod:
    return replace(POD, labels={**POD.labels, key: value})


STAYS = [
    pytest.param(replace(POD, namespace="kube-system"), "excludedNamespaces", id="namespace"),
    pytest.param(replace(POD, annotations={names.MIRROR_POD: "x"}), "a static pod", id="static"),
    pytest.param(_owned_by("DaemonSet"), "belongs to a DaemonSet", id="daemon-set"),
    pytest.param(replace(POD, priority=2_000_000_000), "critical", id="critical"),
    pytest.param(_labelled(names.RESCHEDULING, "disabled"), "keeps it out", id="opted-out"),
    pytest.param(_labelled(names.RESCHEDULING, "no"), "keeps it out", id="opted-out-oddly"),
    pytest.param(_labelled(names.RESCHEDULING, ""), "keeps it out", id="opted-out-emptily"),
    pytest.param(replace(POD, terminating=True), "it is terminating", id="terminating"),
    pytest.param(replace(POD, phase="Pending"), "not Running and Ready", id="pending"),
    pytest.param(replace(POD, ready=False), "not Running and Ready", id="unready"),
    pytest.param(_labelled(names.MIGRATION_STATUS, "in-progress"), "moved already", id="moving"),
    pytest.param(replace(POD, owner=None), "standalone", id="standalone"),
    pytest.param(_owned_by("StatefulSet"), "pods of a StatefulSet", id="stateful-set"),
    pytest.param(_owned_by("Job"), "pods of a Job", id="job"),
]


@pytest.mark.parametrize(("pod", "reason"), STAYS)
def test_it_stays_for_what_it_is(pod: Pod, reason: str) -> None:
    assert reason in why(pod)


PVC = {"name": "data", "persistentVolumeClaim": {"claimName": "x"}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

STAYS_FOR_ITS_SPEC: list[tuple[dict[str, Any], str]] = [
    ({"volumes": [PVC]}, "its volume data may be had by one pod"),
    ({"volumes": [{"name": "data", "iscsi": {}}]}, "its volume data may be had by one pod"),
    ({"volumes": [{"name": "data", "ephemeral": {}}]}, "its volume data may be had by one pod"),
    ({"volumes": [{"name": "tmp", "emptyDir": {}}]}, "its volume tmp is local"),
    ({"volumes": [{"name": "log", "hostPath": {"path": "/"}}]}, "its volume log is local"),
    ({"volumes": [{"name": "c", "configMap": {}}, PVC]}, "its volume data may be had by one pod"),
    ({"schedulerName": "volcano"}, "another scheduler places it: volcano"),
    ({"resourceClaims": [{"name": "gpu"}]}, "it has resource claims"),
    ({"hostNetwork": True}, "ports of its node"),
    ({"containers": [{"ports": [{"containerPort": 1}, {"hostPort": 80}]}]}, "ports of its node"),
    ({"initContainers": [{"ports": [{"hostPort": 80}]}]}, "ports of its node"),
    ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, "topology spread"),
    ({"affinity": {"podAffinity": {REQUIRED: [{}]}}}, "a required podAffinity"),
    ({"affinity": {"podAntiAffinity": {REQUIRED: [{}]}}}, "a required podAntiAffinity"),
]


@pytest.mark.parametrize(("spec", "reason"), STAYS_FOR_ITS_SPEC, ids=lambda each: str(each)[:40])
def test_it_stays_for_what_it_asks(spec: dict[str, Any], reason: str) -> None:
    assert reason in why(replace(POD, spec=spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": None},
        {"volumes": [{"name": "c", "configMap": {}}, {"name": "p", "projected": {}}]},
        {"schedulerName": "default-scheduler"},
        {"containers": [{"ports": None}, {"ports": [{"containerPort": 80, "hostPort": 0}]}]},
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": None},
        {"affinity": {"podAffinity": {PREFERRED: [{}]}, "podAntiAffinity": None}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}},
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_it_asks_does_not_keep_it(spec: dict[str, Any]) -> None:
    assert why(replace(POD, spec=spec)) == ""


@pytest.mark.parametrize("value", ["enabled", None])
def test_a_pod_that_did_not_opt_out_may_move(value: str | None) -> None:
    assert why(POD if value is None else _labelled(names.RESCHEDULING, value)) == ""


def test_a_pod_that_was_moved_before_may_move_again() -> None:
    assert why(_labelled(names.MIGRATION_STATUS, names.STATUS_COMPLETED)) == ""


OF_A_DEPLOYMENT: Any = {
    "ownerReferences": [{"kind": "Deployment", "name": "web", "uid": "d", "controller": True}]
}
DEPLOYMENT: Object = {
    "metadata": {"namespace": "shop", "name": "web", "uid": "d"},
    "spec": {"replicas": 1},
}
RECREATING = DEPLOYMENT | {"spec": {"replicas": 1, "strategy": {"type": "Recreate"}}}
PAUSED = DEPLOYMENT | {"spec": {"replicas": 1, "paused": True}}
OF_ANOTHER_UID = PAUSED | {"metadata": {**PAUSED["metadata"], "uid": "other"}}


@pytest.mark.parametrize(
    ("replica_sets", "deployments", "reason"),
    [
        ([], [], "its ReplicaSet was not found"),
        ([replica_set("shop", replace(OWNER, uid="other"))], [], "its ReplicaSet was not found"),
        ([replica_set("other", OWNER)], [], "its ReplicaSet was not found"),
        ([replica_set("shop", OWNER, ready=0)], [], "0 of 1 of its ReplicaSet's pods are Ready"),
        ([replica_set("shop", OWNER, **OF_A_DEPLOYMENT)], [RECREATING], "strategy Recreate"),
        ([replica_set("shop", OWNER, **OF_A_DEPLOYMENT)], [PAUSED], "Deployment is paused"),
        ([replica_set("shop", OWNER, **OF_A_DEPLOYMENT)], [DEPLOYMENT], ""),
        ([replica_set("shop", OWNER, **OF_A_DEPLOYMENT)], [OF_ANOTHER_UID], ""),
        ([replica_set("shop", OWNER)], [PAUSED], ""),
    ],
    ids=[
        "not-found",
        "a-namesake",
        "in-another-namespace",
        "unsettled",
        "recreate",
        "paused",
        "at-rest",
        "deployment-gone",
        "bare",
    ],
)
def test_it_stays_for_its_workload(
    replica_sets: list[Object], deployments: list[Object], reason: str
) -> None:
    cluster = snapshot([], [POD], replica_sets=replica_sets, deployments=deployments)
    found = why_it_stays(POD, cluster, Configuration())
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_pod_whose_copy_is_there_stays() -> None:
    assert "taking its place" in why(replace(POD, leaving=True))


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (Configuration(scope=Scope(namespaces=("other",))), "not in scope.namespaces"),
        (Configuration(scope=Scope(namespaces=("shop",))), ""),
        (Configuration(excluded_namespaces=("shop",)), "excludedNamespaces"),
        (Configuration(excluded_pod_selector=selectors.parse("app=web")), "excludedPodSelector"),
        (Configuration(excluded_pod_selector=selectors.parse("app=db")), ""),
    ],
    ids=["out-of-scope", "in-scope", "excluded", "selected", "not-selected"],
)
def test_it_stays_for_the_configuration(configuration: Configuration, reason: str) -> None:
    found = why(POD, configuration=configuration)
    assert reason in found
    assert bool(found) == bool(reason)


def test_every_rule_was_seen_to_refuse() -> None:
    cluster = snapshot([], [])
    pods = [
        *(each.values[0] for each in STAYS),
        *(replace(POD, spec=spec) for spec, _ in STAYS_FOR_ITS_SPEC),
    ]
    for rule in RULES:
        assert any(rule(pod, cluster, Configuration()) for pod in pods if isinstance(pod, Pod)), (
            rule
        )
