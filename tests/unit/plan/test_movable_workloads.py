"""Who may move: rules about the workload of a pod, its namespace, and what was not seen of them."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, WHEN_ASKED, Configuration, PodRules
from rescheduler.model import names
from rescheduler.model.snapshot import Gap
from tests.unit.plan.support.movable_scenes import (
    NOW,
    Object,
    owned_by,
    pod,
    replica_set,
    snapshot,
    stateful_set,
    why,
)

OFF = names.RESCHEDULING
ANYTHING = Configuration(pods=PodRules(jobs=ALLOWED, bare_pods=ALLOWED, recreate=ALLOWED))


def deployment(**changes: Any) -> Object:  # noqa: ANN401
    metadata = {"namespace": "shop", "name": "web", "uid": "Deployment-uid"}
    return {
        "metadata": {**metadata, **changes.pop("metadata", {})},
        "spec": {"replicas": 1, **changes},
    }


DEPLOYED = replica_set(ownerReferences=[owned_by("Deployment")])


# ------------------------------------------------------------------ ReplicaSets


@pytest.mark.parametrize(
    ("replica_sets", "deployments", "reason"),
    [
        ([], [], "its ReplicaSet was not found"),
        ([replica_set(uid="other")], [], "its ReplicaSet was not found"),
        ([replica_set(namespace="other")], [], "its ReplicaSet was not found"),
        ([replica_set(replicas=0)], [], "its ReplicaSet is scaled to 0"),
        ([DEPLOYED], [deployment(paused=True)], "its Deployment is paused"),
        ([DEPLOYED], [deployment(replicas=2)], "its Deployment is being rolled out or scaled"),
        ([DEPLOYED], [deployment()], ""),
        ([DEPLOYED], [deployment(paused=True, metadata={"uid": "other"})], ""),
        ([replica_set()], [deployment(paused=True)], ""),
        ([replica_set(ownerReferences=[owned_by("Rollout")])], [], ""),
    ],
    ids=[
        "not-found",
        "a-namesake",
        "in-another-namespace",
        "scaled-to-0",
        "paused",
        "scaling",
        "at-rest",
        "deployment-gone",
        "bare",
        "of-another-kind",
    ],
)
def test_it_stays_for_its_replica_set(
    replica_sets: list[Object], deployments: list[Object], reason: str
) -> None:
    cluster = snapshot(pod(), replicasets=replica_sets, deployments=deployments)
    assert why(cluster) == ((reason,) if reason else ())
    assert why(cluster, asked=True) == ((reason,) if reason else ())


def test_a_sibling_that_is_not_ready_holds_it_until_somebody_asks() -> None:
    cluster = snapshot(pod(), replicasets=[replica_set(ready=0)])
    assert why(cluster) == ("0 of 1 of its ReplicaSet's pods are Ready",)
    assert why(cluster, asked=True) == ()


# ------------------------------------------------------------------ StatefulSets


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "its StatefulSet was not found"),
        ([stateful_set(metadata={"uid": "other"})], "its StatefulSet was not found"),
        ([stateful_set()], ""),
        ([stateful_set(spec={"replicas": 0})], "its StatefulSet is scaled to 0"),
        ([stateful_set(spec={"replicas": 4})], "its StatefulSet has 3 of 4 pods"),
        ([stateful_set(status={"readyReplicas": 2})], "2 of 3 of its StatefulSet's pods are Rea"),
        ([stateful_set(status={"updateRevision": "r2"})], "has an update that not all of its pods"),
        ([stateful_set(metadata={"generation": 2})], "its StatefulSet has just been changed"),
        (
            [stateful_set(metadata={"deletionTimestamp": "2027-01-15T08:00:00Z"})],
            "its StatefulSet is being deleted",
        ),
    ],
)
def test_it_stays_for_its_stateful_set(found: list[Object], reason: str) -> None:
    cluster = snapshot(pod(owner=owned_by("StatefulSet")), statefulsets=found)
    told = why(cluster, ANYTHING)
    assert len(told) == bool(reason), told
    assert reason in "".join(told)


def test_a_stateful_set_may_be_too_small() -> None:
    cluster = snapshot(pod(owner=owned_by("StatefulSet")), statefulsets=[stateful_set()])
    rules = PodRules(min_replicas=4, recreate=ALLOWED)
    assert why(cluster, Configuration(pods=rules)) == (
        "its workload is smaller than pods.minReplicas: 3",
    )


def test_workloads_of_which_nothing_is_told_are_no_trouble() -> None:
    """A file may hold anything."""
    bare = {"metadata": {"namespace": "shop", "name": "web", "uid": "rs-uid"}}
    above = {"kind": "Deployment", "name": "web", "controller": True}
    deployed = {"metadata": {**bare["metadata"], "ownerReferences": [above]}}
    nameless = {"metadata": {"namespace": "shop", "name": "web"}}
    assert why(snapshot(pod(), replicasets=[bare])) == ("its ReplicaSet has 0 of 1 pods",)
    cluster = snapshot(pod(), replicasets=[deployed], deployments=[nameless])
    assert why(cluster) == ("its ReplicaSet has 0 of 1 pods",)
    stateful = {"metadata": {"namespace": "shop", "name": "web", "uid": "StatefulSet-uid"}}
    cluster = snapshot(pod(owner=owned_by("StatefulSet")), statefulsets=[stateful])
    assert why(cluster, ANYTHING) == ("its StatefulSet has 0 of 1 pods",)


# ------------------------------------------------------------------ Jobs


def test_pods_of_jobs_stay_unless_allowed() -> None:
    job = {
        "metadata": {"namespace": "shop", "name": "web", "uid": "Job-uid"},
        "spec": {"parallelism": 2},
    }
    cluster = snapshot(pod(owner=owned_by("Job")), jobs=[job])
    off = "it belongs to a Job, and pods.jobs is Never"
    act = "set it to WhenAsked, or use rescheduler drain"
    assert why(cluster, asked=True) == (f"{off}: {act}",)
    when_asked = Configuration(pods=PodRules(jobs=WHEN_ASKED))
    assert why(cluster, when_asked, asked=True) == ()
    assert "it belongs to a Job, and pods.jobs is WhenAsked" in why(cluster, when_asked)
    assert why(cluster, ANYTHING) == ()
    assert why(cluster, Configuration(pods=PodRules(jobs=ALLOWED, recreate=ALLOWED))) == ()
    larger = PodRules(jobs=ALLOWED, recreate=ALLOWED, min_replicas=3)
    assert why(cluster, Configuration(pods=larger)) == (
        "its workload is smaller than pods.minReplicas: 2",
    )
    assert why(snapshot(pod(owner=owned_by("Job"))), ANYTHING) == ("its Job was not found",)


# ------------------------------------------------------------------ autoscalers


def autoscaler(kind: str, name: str = "web", namespace: str = "shop", **status: Any) -> Object:  # noqa: ANN401
    return {
        "metadata": {"namespace": namespace, "name": "scaler"},
        "spec": {"scaleTargetRef": {"kind": kind, "name": name}},
        "status": {"currentReplicas": 3, "desiredReplicas": 3, **status},
    }


SCALING = "its HorizontalPodAutoscaler scaler is scaling from 3 to 5"
JUST = "its HorizontalPodAutoscaler scaler has just scaled it"


@pytest.mark.parametrize(
    ("found", "taken_at", "reason"),
    [
        (autoscaler("Deployment"), NOW, ""),
        (autoscaler("Deployment", desiredReplicas=5), NOW, SCALING),
        (autoscaler("ReplicaSet", desiredReplicas=5), NOW, SCALING),
        (autoscaler("StatefulSet", desiredReplicas=5), NOW, ""),
        (autoscaler("Deployment", "other", desiredReplicas=5), NOW, ""),
        (autoscaler("Deployment", namespace="other", desiredReplicas=5), NOW, ""),
        (autoscaler("Deployment", desiredReplicas=0), NOW, ""),
        (autoscaler("Deployment", lastScaleTime="2027-01-15T07:55:01Z"), NOW, JUST),
        (autoscaler("Deployment", lastScaleTime="2027-01-15T07:55:00Z"), NOW, ""),
        (autoscaler("Deployment", lastScaleTime="2027-01-15T07:59:00Z"), 0.0, ""),
    ],
    ids=[
        "at-rest",
        "scaling",
        "scaling-the-set",
        "of-another-kind",
        "of-another-name",
        "of-another-namespace",
        "without-figures",
        "just-scaled",
        "settled",
        "no-clock",
    ],
)
def test_it_stays_while_its_autoscaler_settles(found: Object, taken_at: float, reason: str) -> None:
    cluster = snapshot(
        pod(),
        replicasets=[DEPLOYED],
        deployments=[deployment()],
        horizontalpodautoscalers=[found],
        taken_at=taken_at,
    )
    assert why(cluster) == ((reason,) if reason else ())
    assert why(cluster, asked=True) == ()


def test_autoscalers_of_stateful_sets_and_of_kinds_that_we_do_not_know() -> None:
    scaling = autoscaler("StatefulSet", desiredReplicas=5)
    cluster = snapshot(
        pod(owner=owned_by("StatefulSet")),
        statefulsets=[stateful_set()],
        horizontalpodautoscalers=[scaling],
    )
    assert why(cluster, ANYTHING) == (SCALING,)
    cluster = snapshot(
        pod(),
        replicasets=[replica_set(ownerReferences=[owned_by("Rollout")])],
        horizontalpodautoscalers=[autoscaler("Rollout", desiredReplicas=5)],
    )
    assert why(cluster) == (SCALING,)


# ------------------------------------------------------------------ opting out


@pytest.mark.parametrize("place", ["label", "annotation"])
@pytest.mark.parametrize("value", ["disabled", "", "enabled"])
@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet", "Job", "namespace"])
def test_owner_and_namespace_may_opt_out(kind: str, value: str, place: str) -> None:
    by_kind: dict[str, dict[str, Any]] = {
        "ReplicaSet": {"replicasets": [replica_set()]},
        "Deployment": {"replicasets": [DEPLOYED], "deployments": [deployment()]},
        "StatefulSet": {"statefulsets": [stateful_set()]},
        "Job": {
            "jobs": [
                {"metadata": {"namespace": "shop", "name": "web", "uid": "Job-uid"}, "spec": {}}
            ]
        },
        "namespace": {"namespaces": [{"metadata": {"name": "shop"}}]},
    }
    objects = by_kind[kind]
    marked = objects[f"{kind.lower()}s"]
    metadata = {**marked[0]["metadata"], f"{place}s": {OFF: value}}
    objects[f"{kind.lower()}s"] = [{**marked[0], "metadata": metadata}]
    owner = owned_by(kind) if kind in ("StatefulSet", "Job") else None
    cluster = snapshot(pod(owner=owner) if owner else pod(), **objects)
    out = f"the {place} {OFF} of its {kind} keeps it out"
    assert why(cluster, ANYTHING) == (() if value == "enabled" else (out,))
    told = () if value == "enabled" else (f"{out}: take it off",)
    assert why(cluster, ANYTHING, asked=True) == told


def test_do_not_disrupt_counts_on_the_workload_too() -> None:
    left_alone = replica_set(annotations={names.DO_NOT_DISRUPT: "true"})
    cluster = snapshot(pod(), replicasets=[left_alone])
    reason = f"the annotation {names.DO_NOT_DISRUPT} of its ReplicaSet keeps it out"
    assert why(cluster) == (reason,)


def test_a_namespace_that_is_being_deleted() -> None:
    dying = {"metadata": {"name": "shop"}, "status": {"phase": "Terminating"}}
    assert why(snapshot(pod(), namespaces=[dying])) == ("its namespace is being deleted",)
    living = {"metadata": {"name": "shop"}, "status": {"phase": "Active"}}
    other = {"metadata": {"name": "other"}, "status": {"phase": "Terminating"}}
    assert why(snapshot(pod(), namespaces=[living, other])) == ()


def test_two_reasons_of_its_workload_at_once() -> None:
    cluster = snapshot(
        pod(),
        replicasets=[{**DEPLOYED, "status": {"replicas": 1}}],
        deployments=[deployment(metadata={"labels": {OFF: "disabled"}})],
        horizontalpodautoscalers=[autoscaler("Deployment", desiredReplicas=5)],
    )
    assert why(cluster) == (
        f"the label {OFF} of its Deployment keeps it out",
        "0 of 1 of its ReplicaSet's pods are Ready",
        SCALING,
    )


# ------------------------------------------------------------------ what was not seen


CLAIMED = pod(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
STATEFUL = pod(owner=owned_by("StatefulSet"))


@pytest.mark.parametrize(
    ("source", "found", "reason"),
    [
        ("poddisruptionbudgets", pod(), "its PodDisruptionBudgets are not known: no permission"),
        ("poddisruptionbudgets", STATEFUL, "its PodDisruptionBudgets are not known: no permission"),
        ("resourcequotas", pod(), "the ResourceQuotas of its namespace are not known: no permiss"),
        ("resourcequotas", STATEFUL, ""),
        ("persistentvolumeclaims", CLAIMED, "its PersistentVolumeClaims are not known: no perm"),
        ("persistentvolumeclaims", pod(), ""),
        ("namespaces", pod(), "its namespace is not known: no permission"),
        ("horizontalpodautoscalers", pod(), "its HorizontalPodAutoscaler is not known: no permi"),
        ("horizontalpodautoscalers", STATEFUL, "its HorizontalPodAutoscaler is not known: no per"),
        ("horizontalpodautoscalers", pod(owner=None), ""),
        ("deployments", pod(), "its Deployment is not known: no permission"),
        ("deployments", STATEFUL, ""),
        ("statefulsets", pod(), ""),
        ("services", pod(), ""),
    ],
)
def test_what_is_not_known_keeps_those_whom_it_may_concern(
    source: str, found: Object, reason: str
) -> None:
    gap = Gap(source=source, reason="no permission", forbidden=True)
    cluster = snapshot(
        found,
        gaps=[gap],
        replicasets=[DEPLOYED],
        deployments=[deployment()],
        statefulsets=[stateful_set()],
    )
    # A node that is to be emptied waits for no autoscaler.
    told = why(cluster, ANYTHING, asked=source != "horizontalpodautoscalers")
    assert len(told) == bool(reason), told
    assert reason in "".join(told)


@pytest.mark.parametrize(
    ("kind", "source"),
    [("ReplicaSet", "replicasets"), ("StatefulSet", "statefulsets"), ("Job", "jobs")],
)
def test_an_owner_that_could_not_be_seen(kind: str, source: str) -> None:
    gap = Gap(source=source, reason="late")
    cluster = snapshot(pod(owner=owned_by(kind)), gaps=[gap], replicasets=[], unseen=[source])
    assert why(cluster, ANYTHING) == (f"its {kind} is not known: late",)


@pytest.mark.parametrize(
    "source",
    [
        "poddisruptionbudgets",
        "resourcequotas",
        "namespaces",
        "horizontalpodautoscalers",
        "deployments",
        "replicasets",
        "statefulsets",
    ],
)
def test_what_a_file_leaves_out_keeps_nobody(source: str) -> None:
    gap = Gap(source=source, reason="the file has none", left_out=True)
    for found in (pod(), STATEFUL):
        objects: dict[str, Any] = {"replicasets": [DEPLOYED], "statefulsets": [stateful_set()]}
        objects.pop(source, None)
        cluster = snapshot(found, gaps=[gap], unseen=[source], **objects)
        assert why(cluster, ANYTHING) == ()
