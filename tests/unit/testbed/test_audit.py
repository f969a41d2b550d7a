"""The judge can say no: each verdict on a history that deserves it and on one that does not."""

from typing import Any

import pytest

from testbed.api import Object
from testbed.audit import Audit, Observation, Shortfall, Write, is_usable
from testbed.builders import budget, deployment, service, workload

BEGAN = 100


class Story:
    """A history told step by step. What is told before `begins` was there at the beginning."""

    def __init__(self) -> None:
        self.version = 1
        self.seen: list[Observation] = []

    def given(self, manifest: Object) -> "Story":
        """From here on the object is so."""
        uid = manifest["metadata"].get("uid") or f"uid-{manifest['metadata']['name']}"
        return self._add(manifest["kind"], uid, manifest)

    def pod(
        self, name: str, *, ready: bool = True, app: str = "web", ends: bool = False
    ) -> "Story":
        metadata: Object = {"name": name, "labels": {"app": app}}
        if ends:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        conditions = [{"type": "Ready", "status": str(ready)}]
        status = {"conditions": conditions}
        return self.given({"kind": "Pod", "metadata": metadata, "status": status})

    def pods(self, *names: str) -> "Story":
        for name in names:
            self.pod(name)
        return self

    def endpoints(self, name: str, *ready: str, unready: tuple[str, ...] = ()) -> "Story":
        metadata = {"name": name, "labels": {"kubernetes.io/service-name": "web"}}
        both = [(each, True) for each in ready] + [(each, False) for each in unready]
        endpoints = [
            {"conditions": {"ready": is_ready}, "targetRef": {"uid": f"uid-{each}"}}
            for each, is_ready in both
        ]
        return self.given({"kind": "EndpointSlice", "metadata": metadata, "endpoints": endpoints})

    def gone(self, kind: str, name: str) -> "Story":
        return self._add(kind, f"uid-{name}", None)

    def begins(self) -> "Story":
        self.version = BEGAN
        return self

    def _add(self, kind: str, uid: str, found: Object | None) -> "Story":
        self.version += 1
        self.seen.append(Observation(self.version, kind, uid, found))
        return self

    def audit(self, *requests: Write) -> Audit:
        return Audit(history=tuple(self.seen), began=BEGAN, requests=requests)


def web(replicas: int, *pods: str, limit: dict[str, int | str] | None = None) -> Story:
    """At the beginning: a Deployment, its Ready pods, and perhaps a budget."""
    story = Story().given(deployment("web", replicas=replicas))
    if limit:
        story.given(budget("web", **limit))
    return story.pods(*pods).begins()


# ------------------------------------------------------------------ replicas


def test_a_pod_deleted_before_another_is_ready_is_a_dip() -> None:
    story = web(2, "a", "b").pod("a", ends=True).gone("Pod", "a").pod("c", ready=False).pod("c")
    [found] = story.audit().replicas_missing()
    assert found == Shortfall("Deployment web", had=1, wanted=2, version=BEGAN + 1)


def test_a_pod_deleted_after_another_is_ready_is_none() -> None:
    story = web(2, "a", "b").pod("c", ready=False).pod("c").pod("a", ends=True).gone("Pod", "a")
    assert story.audit().replicas_missing() == []


def test_a_pod_that_loses_its_readiness_is_a_dip() -> None:
    assert web(2, "a", "b").pod("b", ready=False).audit().replicas_missing()


def test_a_pod_that_vanishes_at_once_is_a_dip() -> None:
    assert web(2, "a", "b").gone("Pod", "b").audit().replicas_missing()


def test_the_pods_of_another_workload_do_not_make_up_for_it() -> None:
    story = web(1, "a").pod("other", app="other").pod("a", ends=True)
    assert len(story.audit().replicas_missing()) == 1


def test_a_dip_is_told_once_and_a_second_dip_again() -> None:
    story = web(2, "a", "b").gone("Pod", "a").pod("other", app="other")
    assert len(story.audit().replicas_missing()) == 1
    story.pod("c").gone("Pod", "b")
    assert [found.version for found in story.audit().replicas_missing()] == [BEGAN + 1, BEGAN + 4]


def test_a_stateful_set_is_judged_as_well() -> None:
    manifest = deployment("web", replicas=1) | {"kind": "StatefulSet"}
    story = Story().given(manifest).pods("web-0").begins()
    assert story.audit().replicas_missing() == []
    [found] = story.gone("Pod", "web-0").audit().replicas_missing()
    assert found.what == "StatefulSet web"


def test_a_replica_set_without_a_deployment_is_judged_as_well() -> None:
    manifest = workload("ReplicaSet", "web", replicas=2)
    story = Story().given(manifest).given(budget("web", maxUnavailable=0)).pods("a", "b").begins()
    assert story.audit().replicas_missing() == []
    story.gone("Pod", "a")
    [found] = story.audit().replicas_missing()
    assert (found.what, found.had, found.wanted) == ("ReplicaSet web", 1, 2)
    [violation] = story.audit().budgets_violated()
    assert (violation.had, violation.wanted) == (1, 2)


def test_a_replica_set_of_a_deployment_is_judged_with_it() -> None:
    """A rollout scales the old one down and the new one up; only the sum is the user's."""
    owned = workload("ReplicaSet", "web-1", replicas=2)
    owned["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "web"}]
    story = Story().given(deployment("web", replicas=2)).given(owned).pods("a", "b").begins()
    [found] = story.gone("Pod", "a").audit().replicas_missing()
    assert found.what == "Deployment web"


def test_what_happened_before_the_beginning_does_not_count() -> None:
    story = Story().given(deployment("web", replicas=2)).pods("a", "b").gone("Pod", "a")
    assert story.pod("c").begins().audit().replicas_missing() == []


def test_nothing_recorded_is_nothing_missing() -> None:
    assert Story().audit().replicas_missing() == []


def test_a_user_who_asks_for_more_has_lost_nothing_yet() -> None:
    story = web(1, "a").given(deployment("web", replicas=3)).pod("b").pod("c")
    assert story.audit().replicas_missing() == []
    # Once they are all there, they must stay.
    assert story.gone("Pod", "a").audit().replicas_missing()


def test_a_user_who_asks_for_less_has_lost_nothing() -> None:
    story = web(3, "a", "b", "c").given(deployment("web", replicas=1)).gone("Pod", "a")
    assert story.gone("Pod", "b").audit().replicas_missing() == []
    assert story.gone("Pod", "c").audit().replicas_missing()


def test_a_pod_lost_while_another_is_not_ready_is_a_loss() -> None:
    story = web(3, "a", "b").pod("c", ready=False).gone("Pod", "a")
    assert story.audit().replicas_missing()


def test_a_pod_lost_after_a_user_asked_for_more_is_a_loss() -> None:
    story = web(2, "a", "b").given(deployment("web", replicas=4)).gone("Pod", "a")
    assert story.audit().replicas_missing()


# ------------------------------------------------------------------ endpoints


def test_an_endpoint_that_goes_before_another_comes_is_missing() -> None:
    story = Story().given(service("web")).endpoints("web-1", "a", "b").begins()
    story.endpoints("web-1", "b", unready=("c",)).endpoints("web-1", "b", "c")
    [found] = story.audit().endpoints_missing()
    assert found == Shortfall("Service web", had=1, wanted=2, version=BEGAN + 1)


def test_an_endpoint_that_goes_after_another_came_is_not_missing() -> None:
    story = Story().endpoints("web-1", "a", "b").begins()
    story.endpoints("web-1", "a", "b", "c").endpoints("web-1", "b", "c", unready=("a",))
    assert story.audit().endpoints_missing() == []


def test_an_endpoint_that_moves_between_slices_is_counted_once() -> None:
    story = Story().endpoints("web-1", "a", "b").begins()
    story.endpoints("web-2", "a").endpoints("web-1", "b")
    assert story.audit().endpoints_missing() == []
    assert story.gone("EndpointSlice", "web-2").audit().endpoints_missing()


def test_twice_the_same_endpoint_does_not_make_up_for_another() -> None:
    story = Story().endpoints("web-1", "a", "b").begins()
    story.endpoints("web-2", "a").endpoints("web-1", "a")
    assert len(story.audit().endpoints_missing()) == 1


def test_slices_that_are_removed_are_endpoints_missing() -> None:
    story = Story().endpoints("web-1", "a").begins().gone("EndpointSlice", "web-1")
    assert story.audit().endpoints_missing()


def test_more_than_at_the_beginning_need_not_stay() -> None:
    story = Story().endpoints("web-1", "a").begins()
    story.endpoints("web-1", "a", "b").endpoints("web-1", "b")
    assert story.audit().endpoints_missing() == []


# ------------------------------------------------------------------ budgets


@pytest.mark.parametrize(
    ("limit", "may_go"),
    [
        ({"minAvailable": 4}, 0),
        ({"minAvailable": 2}, 2),
        ({"minAvailable": "100%"}, 0),
        ({"minAvailable": "50%"}, 2),
        ({"minAvailable": "51%"}, 1),  # 2.04 of 4, rounded up
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": "0%"}, 0),
        ({"maxUnavailable": "50%"}, 2),
        ({"maxUnavailable": "26%"}, 2),  # 1.04 of 4, rounded up
        ({"maxUnavailable": "100%"}, 4),
    ],
)
def test_a_budget_allows_so_many_and_not_one_more(limit: dict[str, int | str], may_go: int) -> None:
    names = ("a", "b", "c", "d")
    story = web(4, *names, limit=limit)
    for name in names[:may_go]:
        story.pod(name, ends=True)
    assert story.audit().budgets_violated() == []
    for name in names[may_go : may_go + 1]:
        [found] = story.pod(name, ends=True).audit().budgets_violated()
        assert found.what == "PodDisruptionBudget web"
        assert (found.had, found.wanted) == (3 - may_go, 4 - may_go)


def test_a_budget_of_other_pods_is_not_violated() -> None:
    story = web(2, "a", "b").given(budget("other", minAvailable=1))
    assert story.pod("a", ends=True).audit().budgets_violated() == []


def test_a_budget_made_stricter_is_not_violated_by_that() -> None:
    story = web(2, "a", "b", limit={"minAvailable": 1}).gone("Pod", "a")
    assert story.given(budget("web", minAvailable=2)).audit().budgets_violated() == []


def test_a_selector_that_it_cannot_judge_is_refused() -> None:
    manifest = budget("web", minAvailable=1)
    manifest["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    with pytest.raises(AssertionError, match="cannot judge"):
        web(1, "a").given(manifest).audit().budgets_violated()


# ------------------------------------------------------------------ objects


def with_change(manifest: Object, **metadata: Any) -> Object:  # noqa: ANN401
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


WEB = deployment("web", replicas=1)


@pytest.mark.parametrize(
    ("after", "change"),
    [
        (with_change(WEB, labels={"app": "web", "new": "label"}), "metadata.labels changed"),
        (with_change(WEB, annotations={"by": "us"}), "metadata.annotations changed"),
        (with_change(WEB, generation=2), "metadata.generation changed"),
        (with_change(WEB, ownerReferences=[{"name": "x"}]), "metadata.ownerReferences changed"),
        (with_change(WEB, deletionTimestamp="now"), "metadata.deletionTimestamp changed"),
        (deployment("web", replicas=2), "spec changed"),
    ],
)
def test_what_changed_of_an_object_is_named(after: Object, change: str) -> None:
    story = Story().given(WEB).begins().given(after)
    assert story.audit().changed_objects() == [f"Deployment web: {change}"]
    # And it is not forgotten when it is changed back.
    assert story.given(WEB).audit().changed_objects() == [f"Deployment web: {change}"]


@pytest.mark.parametrize(
    "after",
    [
        WEB,
        with_change(WEB, resourceVersion="7"),
        with_change(WEB, managedFields=[{"manager": "kube-controller-manager"}]),
        {**WEB, "status": {"readyReplicas": 1}},
    ],
)
def test_what_the_control_plane_writes_is_no_change(after: Object) -> None:
    assert Story().given(WEB).begins().given(after).audit().changed_objects() == []


@pytest.mark.parametrize("manifest", [WEB, service("web"), budget("web", minAvailable=1)])
def test_an_object_made_or_removed_is_named(manifest: Object) -> None:
    kind = manifest["kind"]
    story = Story().given(manifest).begins()
    assert story.audit().changed_objects() == []
    assert story.gone(kind, "web").audit().changed_objects() == [f"{kind} web: was removed"]
    story = Story().begins().given(manifest)
    assert story.audit().changed_objects() == [f"{kind} web was made"]


def test_pods_and_endpoints_may_change() -> None:
    story = web(1, "a").pod("a", ready=False).gone("Pod", "a").pod("b").endpoints("web-1", "b")
    assert story.audit().changed_objects() == []


# ------------------------------------------------------------------ pods


def test_the_pods_made_and_removed_are_those_since_the_beginning() -> None:
    story = Story().pods("old", "kept").begins()
    assert (story.audit().pods_made(), story.audit().pods_removed()) == ([], [])
    story.pod("new", ready=False).pod("new").pod("old", ends=True)
    assert (story.audit().pods_made(), story.audit().pods_removed()) == (["new"], [])
    story.gone("Pod", "old")
    assert (story.audit().pods_made(), story.audit().pods_removed()) == (["new"], ["old"])


def test_a_pod_that_came_and_went_is_both() -> None:
    audit = Story().begins().pod("brief").gone("Pod", "brief").audit()
    assert (audit.pods_made(), audit.pods_removed()) == (["brief"], ["brief"])


def test_a_pod_made_anew_under_its_name_is_another() -> None:
    story = Story().pods("web-0").begins().gone("Pod", "web-0")
    story.given({"kind": "Pod", "metadata": {"name": "web-0", "uid": "another"}, "status": {}})
    audit = story.audit()
    assert (audit.pods_made(), audit.pods_removed()) == (["web-0"], ["web-0"])


# ------------------------------------------------------------------ requests


def request(verb: str, resource: str, **fields: Any) -> Write:  # noqa: ANN401
    usual = {"subresource": "", "namespace": "n", "name": "x", "code": 200, "dry_run": False}
    return Write(verb=verb, resource=resource, **{**usual, "guarded": True, **fields})


@pytest.mark.parametrize(
    "effective",
    [
        request("create", "pods", code=201),
        request("create", "pods", subresource="eviction", code=201),
        request("patch", "pods"),
        request("update", "deployments"),
        request("delete", "pods"),
        request("deletecollection", "pods"),
    ],
)
def test_what_took_effect_is_a_write(effective: Write) -> None:
    assert Story().audit(effective).writes() == [effective]


@pytest.mark.parametrize(
    "harmless",
    [
        request("get", "pods"),
        request("list", "pods"),
        request("watch", "pods"),
        request("create", "pods", code=201, dry_run=True),
        request("delete", "pods", code=409),
        request("create", "pods", subresource="eviction", code=429),
        request("patch", "pods", code=500),
    ],
)
def test_what_took_no_effect_is_no_write(harmless: Write) -> None:
    assert Story().audit(harmless).writes() == []


def test_writes_are_in_order() -> None:
    one, two = request("create", "pods", code=201), request("delete", "pods")
    assert Story().audit(one, request("list", "pods"), two).writes() == [one, two]


def test_permissions_are_all_that_was_used_even_in_vain() -> None:
    audit = Story().audit(
        request("list", "pods"),
        request("list", "pods"),
        request("create", "pods", subresource="eviction", code=429),
        request("create", "pods", dry_run=True),
        request("list", "pods", group="metrics.k8s.io"),
    )
    assert audit.permissions_used() == {
        "list pods",
        "list pods.metrics.k8s.io",
        "create pods/eviction",
        "create pods",
    }
    assert Story().audit().permissions_used() == set()


# ------------------------------------------------------------------ nodes


@pytest.mark.parametrize(
    ("ready", "taint", "usable"),
    [
        ("True", "testbed.rescheduler.io/owner", True),
        ("True", "node.kubernetes.io/not-ready", False),
        ("False", "testbed.rescheduler.io/owner", False),
        ("Unknown", "testbed.rescheduler.io/owner", False),
    ],
)
def test_a_node_is_usable_when_it_is_ready_and_the_node_controller_says_so(
    ready: str, taint: str, *, usable: bool
) -> None:
    node = {
        "spec": {"taints": [{"key": taint}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    assert is_usable(node) is usable
    assert not is_usable({"spec": {}})


def test_a_pod_that_is_marked_and_stays_was_touched() -> None:
    story = web(2, "a", "b")
    metadata = {"name": "a", "labels": {"app": "web"}, "annotations": {"mark": "left"}}
    story.given({"kind": "Pod", "metadata": metadata, "status": {}})
    assert story.audit().touched_pods() == ["a"]


def test_a_pod_that_is_marked_and_goes_was_not_touched() -> None:
    story = web(2, "a", "b")
    metadata = {"name": "a", "labels": {"app": "web"}, "annotations": {"mark": "left"}}
    story.given({"kind": "Pod", "metadata": metadata, "status": {}}).gone("Pod", "a").pod("c")
    assert story.audit().touched_pods() == []
