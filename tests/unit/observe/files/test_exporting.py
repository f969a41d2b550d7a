"""A snapshot as objects: nothing that we keep is lost, and nothing depends on rows and slots."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import names, pins
from rescheduler.observe import sources
from rescheduler.observe.files import to_objects
from rescheduler.observe.files.exporting import KINDS
from rescheduler.observe.state import ClusterState
from rescheduler.wire import NODES, PODS, REPLICA_SETS, schema
from tests.unit.observe.files.clusters import Json, clusters, name_of, snapshot_of
from tests.unit.observe.state.server import hear, lose, node, owned, pod, state_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


# ------------------------------------------------------------------ properties


@given(clusters)
def test_what_was_read_from_objects_gives_the_same_objects(cluster: list[Json]) -> None:
    objects = to_objects(snapshot_of(cluster))
    assert to_objects(snapshot_of(objects)) == objects


@given(clusters, st.randoms(use_true_random=False))
def test_the_order_in_which_things_were_heard_of_does_not_matter(
    cluster: list[Json], luck: random.Random
) -> None:
    shuffled = luck.sample(cluster, len(cluster))
    assert to_objects(snapshot_of(cluster)) == to_objects(snapshot_of(shuffled))


@given(clusters)
def test_what_is_counted_is_the_same_again(cluster: list[Json]) -> None:
    before = snapshot_of(cluster)
    after = snapshot_of(to_objects(before))
    assert [node.name for node in after.nodes] == [node.name for node in before.nodes]
    for each in before.nodes:
        assert after.pods_on(each.name) == before.pods_on(each.name)
    for name in before.resource_names:
        place, again = before.resource_names.index(name), after.resource_names.index(name)
        assert after.requested[:, again].tolist() == before.requested[:, place].tolist()
        assert after.room[:, again].tolist() == before.room[:, place].tolist()


@given(clusters)
def test_objects_are_in_order_each_once(cluster: list[Json]) -> None:
    objects = to_objects(snapshot_of(cluster))
    keys = [(each["kind"], *name_of(each)) for each in objects]
    assert keys == sorted(set(keys))


# ------------------------------------------------------------------ one by one


def objects_of(state: ClusterState) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in to_objects(state.snapshot())}


def test_a_pod_is_as_the_server_sent_it_reduced_to_what_we_keep() -> None:
    raw = pod(
        "web",
        "a",
        labels={"app": "web", "apps.kubernetes.io/pod-index": "0"},
        annotations={names.DELETION_COST: "3", "note": "secret"},
        creationTimestamp="2026-01-02T03:04:05Z",
        deletionTimestamp="2026-01-02T03:05:05Z",
        **owned("StatefulSet", "web"),
        status={"startTime": "2026-01-02T03:04:06Z"},
    )
    expected = {"apiVersion": "v1", "kind": "Pod", **raw}
    expected["metadata"]["annotations"] = {names.DELETION_COST: "3"}
    assert objects_of(state_of([node("a")], [raw]))["web"] == expected


def test_a_node_has_exact_amounts() -> None:
    raw = node("a", cpu="1.5", memory="0.5Gi")
    raw["spec"] = {"unschedulable": True, "taints": [{"key": "x", "effect": "NoSchedule"}]}
    made = objects_of(state_of([raw], []))["a"]
    assert made["status"]["allocatable"] == {"cpu": "1500m", "memory": "536870912", "pods": "110"}
    assert made["spec"] == raw["spec"]


def test_claims_are_named_again_in_their_places() -> None:
    volumes = [
        {"name": "first", "persistentVolumeClaim": {"claimName": "first-0"}},
        {
            "name": "scratch",
            "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Block"}}},
        },
        {"name": "kube-api-access-abcde", "projected": {}},
        {"name": "second", "persistentVolumeClaim": {"claimName": "second-0", "readOnly": True}},
    ]
    made = objects_of(state_of([], [pod("db-0", spec={"volumes": volumes})]))["db-0"]
    # But for the volume of its token, which every pod has under a name of its own.
    assert made["spec"]["volumes"] == [volumes[0], volumes[1], volumes[3]]


def test_a_moved_pod_has_its_pin() -> None:
    user = {
        "nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x"}]}]}}
    }
    free = {"containers": [{"name": "app"}], "affinity": user, "nodeName": "b"}
    raw = pod("web", "b", spec=pins.add(free, "b"), annotations={names.ORIGINAL_POD: "uid-old"})
    state = state_of([node("b")], [raw])
    assert "matchFields" not in str(state.snapshot().templates)
    assert objects_of(state)["web"]["spec"] == raw["spec"]


def test_the_pod_of_a_daemon_set_has_the_pin_of_its_controller() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    affinity = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}
    raw = pod("agent", "a", spec={"affinity": affinity}, **owned("DaemonSet", "agent"))
    assert objects_of(state_of([node("a")], [raw]))["agent"]["spec"] == raw["spec"]


def test_an_owner_may_be_of_no_kind() -> None:
    reference = {"name": "x", "uid": "y", "controller": True}
    state = state_of([node("a")], [pod("web", "a", ownerReferences=[reference])])
    assert objects_of(state)["web"]["metadata"]["ownerReferences"] == [reference]


def test_a_pod_that_was_resized_holds_what_it_held() -> None:
    held = [{"name": "app", "allocatedResources": {"cpu": "2"}, "resources": {}}]
    raw = pod("web", "a", cpu="100m", status={"containerStatuses": held})
    before = state_of([node("a")], [raw]).snapshot()
    after = snapshot_of(to_objects(before))
    assert before.requested[0, 0] == after.requested[0, 0] == 2000


def test_a_resize_that_was_refused_does_not_count_for_what_a_pod_holds() -> None:
    status = {
        "containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
        "conditions": [
            {
                "type": "PodResizePending",
                "status": "True",
                "reason": "Infeasible",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }
        ],
    }
    before = state_of([node("a")], [pod("web", "a", cpu="3", status=status)]).snapshot()
    after = snapshot_of(to_objects(before))
    assert before.requested[0, 0] == after.requested[0, 0] == 1000


def test_of_several_refusals_to_resize_the_first_counts() -> None:
    pending = {"type": "PodResizePending", "status": "True"}
    status = {
        "containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
        "conditions": [pending | {"reason": "Deferred"}, pending | {"reason": "Infeasible"}],
    }
    before = state_of([node("a")], [pod("web", "a", cpu="3", status=status)]).snapshot()
    after = snapshot_of(to_objects(before))
    assert before.requested[0, 0] == after.requested[0, 0] == 3000


def test_what_is_only_assumed_is_left_out() -> None:
    state = state_of([node("a"), node("b")], [pod("web", "a")])
    seen = to_objects(state.snapshot())
    assert state.pods.assume("shop/web", "uid-web", "b")
    assert to_objects(state.snapshot()) == seen


def test_rows_that_are_free_again_leave_no_trace() -> None:
    state = state_of([node("a")], [pod("one", "a"), pod("two", "a")])
    lose(state, PODS, pod("one"))
    assert set(objects_of(state)) == {"a", "two"}


def test_a_pod_may_name_a_node_that_is_not_there() -> None:
    state = state_of([node("a")], [pod("web", "gone")])
    assert objects_of(state)["web"]["spec"]["nodeName"] == "gone"
    lose(state, NODES, node("a"))
    assert set(objects_of(state)) == {"web"}


def test_other_kinds_are_as_they_are_kept() -> None:
    raw = {
        "metadata": {"namespace": "shop", "name": "web", "uid": "u", "annotations": {"x": "y"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    state = ClusterState()
    hear(state, REPLICA_SETS, raw)
    assert to_objects(state.snapshot()) == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": raw["spec"],
        }
    ]


# ------------------------------------------------------------------ kinds


@pytest.mark.parametrize("resource", sources.ALL, ids=lambda each: each.plural)
def test_every_source_has_its_kind(resource: Any) -> None:  # noqa: ANN401
    kind = KINDS[resource]
    message = schema.kind_of(resource).message
    assert kind == message or (kind, message) == ("PodMigration", "Custom")
    assert len(KINDS) == len(sources.ALL)
