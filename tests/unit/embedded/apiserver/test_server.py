"""Creating and changing objects: what the server sets, keeps and refuses."""

import random
import re

import pytest

from rescheduler.embedded.apiserver import ApiServer, bootstrapping
from rescheduler.embedded.store import Store
from rescheduler.kube import Object, errors
from rescheduler.wire import (
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LEASES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from tests.unit.embedded.support.server import START, Server, deployment, pod


@pytest.fixture
def server() -> Server:
    return Server()


# ---------------------------------------------------------------------- metadata


def test_a_new_object_has_what_the_server_gives_it(server: Server) -> None:
    metadata = server.pod()["metadata"]
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"]
    )
    assert metadata["creationTimestamp"] == "2026-01-05T10:00:00Z"
    assert metadata["namespace"] == "default"
    assert metadata["generation"] == 1
    assert int(metadata["resourceVersion"]) == server.store.version


def test_nobody_brings_along_what_is_the_servers(server: Server) -> None:
    body = pod()
    body["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
        "generation": 7,
    }
    body["status"] = {"phase": "Running"}
    made = server.api.create(PODS, "default", body)
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] == "2026-01-05T10:00:00Z"
    assert made["metadata"]["generation"] == 1
    assert "deletionTimestamp" not in made["metadata"]
    assert made["status"]["phase"] == "Pending"


def test_the_server_makes_names_up(server: Server) -> None:
    body = pod()
    body["metadata"] = {"generateName": "web-"}
    names = {server.api.create(PODS, "default", body)["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_a_long_name_is_cut_before_it_is_completed(server: Server) -> None:
    body = pod()
    body["metadata"] = {"generateName": "a" * 100}
    name = server.api.create(PODS, "default", body)["metadata"]["name"]
    assert len(name) == 63


def test_the_same_seed_makes_the_same_objects() -> None:
    first, second, third = (Server(seed).pod()["metadata"]["uid"] for seed in (1, 1, 2))
    assert first == second != third


def test_what_is_handed_in_is_copied(server: Server) -> None:
    body = pod()
    made = server.api.create(PODS, "default", body)
    body["spec"]["containers"][0]["image"] = "another"
    assert made["spec"]["containers"][0]["image"] == "nginx:1.27"
    change = {"metadata": {"annotations": {"a": "b"}}}
    changed = server.api.patch(PODS, "default", "web", change)
    change["metadata"]["annotations"]["a"] = "c"
    assert changed["metadata"]["annotations"] == {"a": "b"}


def test_two_objects_cannot_have_one_name(server: Server) -> None:
    server.pod()
    with pytest.raises(errors.AlreadyExists, match='pods "web" already exists') as refusal:
        server.pod()
    assert refusal.value.status == 409


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.name"),
        ({"name": "Web"}, "metadata.name"),
        ({"name": "a" * 254}, "metadata.name"),
        ({"name": "web", "labels": {"a b": "c"}}, "metadata.labels"),
        ({"name": "web", "labels": {"a": "c d"}}, "metadata.labels"),
        ({"name": "web", "labels": {"a": "x" * 64}}, "metadata.labels"),
        ({"name": "web", "annotations": {"a b": "c"}}, "metadata.annotations"),
        ({"name": "web", "ownerReferences": [{"name": "x"}]}, r"ownerReferences\[0\].uid"),
        (
            {"name": "web", "annotations": {"controller.kubernetes.io/pod-deletion-cost": "+5"}},
            "pod-deletion-cost",
        ),
    ],
)
def test_metadata_that_no_server_takes(server: Server, metadata: Object, field: str) -> None:
    with pytest.raises(errors.Invalid, match=field) as refusal:
        server.api.create(PODS, "default", {**pod(), "metadata": metadata})
    assert refusal.value.status == 422
    assert server.store.count(PODS) == 0


def test_only_one_owner_manages(server: Server) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "1"}
    owners = [{**owner, "controller": True}, {**owner, "uid": "2", "controller": True}]
    body = pod()
    body["metadata"]["ownerReferences"] = owners
    with pytest.raises(errors.Invalid, match="Only one reference can have Controller set to true"):
        server.api.create(PODS, "default", body)


@pytest.mark.parametrize("cost", ["0", "-2147483648", "2147483647", "17", "-0", "-007"])
def test_deletion_costs_are_plain_numbers(server: Server, cost: str) -> None:
    server.pod()
    key = "controller.kubernetes.io/pod-deletion-cost"
    server.api.patch(PODS, "default", "web", {"metadata": {"annotations": {key: cost}}})
    for wrong in ("007", "+7", "1.5", "2147483648", "-", ""):
        with pytest.raises(errors.Invalid, match="must be a 32bit integer"):
            server.api.patch(PODS, "default", "web", {"metadata": {"annotations": {key: wrong}}})


def test_a_body_of_another_kind_or_place_is_refused(server: Server) -> None:
    with pytest.raises(errors.Invalid, match="does not match the namespace"):
        server.api.create(PODS, "default", {**pod(), "metadata": {"name": "a", "namespace": "b"}})
    with pytest.raises(errors.Invalid):
        server.api.create(PODS, "default", {**pod(), "kind": "Node"})
    with pytest.raises(errors.Unavailable, match="resourceVersion should not be set"):
        server.api.create(
            PODS, "default", {**pod(), "metadata": {"name": "a", "resourceVersion": "1"}}
        )


# ---------------------------------------------------------------------- namespaces


def test_a_namespace_is_labelled_with_its_name(server: Server) -> None:
    made = server.api.create(NAMESPACES, None, {"metadata": {"name": "team"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert made["status"] == {"phase": "Active"}


def test_there_is_nothing_in_a_namespace_that_is_not_there(server: Server) -> None:
    with pytest.raises(errors.NotFound, match='namespaces "team" not found'):
        server.api.create(PODS, "team", pod())


def test_nothing_is_made_in_a_namespace_that_ends(server: Server) -> None:
    server.api.delete(NAMESPACES, None, "default")
    with pytest.raises(errors.Forbidden, match="because it is being terminated") as refusal:
        server.pod()
    assert refusal.value.status == 403


def test_a_cluster_begins_with_its_own_namespaces() -> None:
    api = ApiServer(Store(), lambda: START, random.Random(1))  # noqa: S311
    bootstrapping.bootstrap(api)
    bootstrapping.bootstrap(api)
    names = [each["metadata"]["name"] for each in api.store.all(NAMESPACES)]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert api.get(PRIORITY_CLASSES, None, "system-node-critical")["value"] == 2_000_001_000


# ---------------------------------------------------------------------- reading


def test_what_is_not_there_is_not_found(server: Server) -> None:
    with pytest.raises(errors.NotFound, match=r'deployments\.apps "web" not found') as refusal:
        server.api.get(DEPLOYMENTS, "default", "web")
    assert refusal.value.status == 404


def test_a_kind_that_is_not_served_is_not_found(server: Server) -> None:
    with pytest.raises(errors.NotFound, match="could not find the requested resource"):
        server.api.create(Resource("example.com/v1", "widgets"), "default", pod())


# ---------------------------------------------------------------------- changing


def test_a_write_that_changes_nothing_writes_nothing(server: Server) -> None:
    made = server.pod()
    version = server.store.version
    api = server.api
    api.patch(PODS, "default", "web", {"metadata": {"labels": {"app": "web", "gone": None}}})
    api.replace(PODS, made)
    api.set_status(PODS, made, dict(made["status"]))
    assert server.store.version == version


def test_a_change_is_refused_for_another_object_or_version(server: Server) -> None:
    made = server.pod()
    label = {"labels": {"a": "b"}}
    # The real one takes a UID in a patch for an attempt to change it.
    with pytest.raises(errors.Invalid, match=r"metadata\.uid"):
        server.api.patch(PODS, "default", "web", {"metadata": {**label, "uid": "another"}})
    with pytest.raises(errors.Conflict) as refusal:
        server.api.patch(PODS, "default", "web", {"metadata": {**label, "resourceVersion": "1"}})
    assert refusal.value.status == 409
    for wrong in ({"uid": "another"}, {"resourceVersion": "1"}):
        with pytest.raises(errors.Conflict):
            server.api.replace(PODS, {**made, "metadata": {**made["metadata"], **label, **wrong}})
    exactly = {key: made["metadata"][key] for key in ("uid", "resourceVersion")}
    changed = server.api.patch(PODS, "default", "web", {"metadata": {**label, **exactly}})
    assert changed["metadata"]["labels"] == {"app": "web", "a": "b"}


def test_what_the_server_has_set_stays(server: Server) -> None:
    made = server.pod()
    metadata = {"name": "web", "namespace": "default", "labels": {"app": "x"}}
    changed = server.api.replace(PODS, {**made, "metadata": metadata})
    kept = ("uid", "creationTimestamp", "generation", "name", "namespace")
    assert {key: changed["metadata"][key] for key in kept} == {
        key: made["metadata"][key] for key in kept
    }
    assert changed["metadata"]["labels"] == {"app": "x"}


def test_empty_labels_are_none(server: Server) -> None:
    server.pod()
    changed = server.api.patch(PODS, "default", "web", {"metadata": {"labels": {"app": None}}})
    assert "labels" not in changed["metadata"]


def test_spec_and_status_are_written_apart(server: Server) -> None:
    server.deployment()
    status = {"replicas": 3}
    both = {"spec": {"replicas": 5}, "status": status}
    changed = server.api.patch(DEPLOYMENTS, "default", "web", both)
    assert changed["spec"]["replicas"] == 5
    assert "status" not in changed
    changed = server.api.patch(DEPLOYMENTS, "default", "web", both, subresource="status")
    assert changed["status"] == status
    changed = server.api.patch(
        DEPLOYMENTS, "default", "web", {"spec": {"replicas": 9}}, subresource="status"
    )
    assert changed["spec"]["replicas"] == 5
    changed = server.api.replace(DEPLOYMENTS, {**changed, "status": {"replicas": 9}})
    assert changed["status"] == status


def test_a_node_comes_with_its_status(server: Server) -> None:
    body = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}
    assert server.api.create(NODES, None, body)["status"] == {"allocatable": {"cpu": "4"}}
    changed = server.api.patch(NODES, None, "n1", {"status": {"allocatable": {"cpu": "8"}}})
    assert changed["status"] == {"allocatable": {"cpu": "4"}}


def test_a_new_node_is_not_ready_yet(server: Server) -> None:
    own = {"key": "a", "effect": "NoExecute"}
    made = server.api.create(NODES, None, {"metadata": {"name": "n1"}, "spec": {"taints": [own]}})
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [own, not_ready]
    again = {"metadata": {"name": "n2"}, "spec": {"taints": [not_ready]}}
    assert server.api.create(NODES, None, again)["spec"]["taints"] == [not_ready]


def test_templates_of_a_daemon_set_are_counted(server: Server) -> None:
    key = "deprecated.daemonset.template.generation"
    body = {**deployment("d"), "kind": "DaemonSet"}
    made = server.api.create(DAEMON_SETS, "default", body)

    def number(change: Object) -> str:
        changed = server.api.patch(DAEMON_SETS, "default", "d", change)
        found: str = changed["metadata"]["annotations"][key]
        return found

    assert made["metadata"]["annotations"] == {key: "1"}
    assert number({"spec": {"minReadySeconds": 5}}) == "1"
    assert number({"spec": {"template": {"spec": {"hostNetwork": True}}}}) == "2"
    assert number({"metadata": {"annotations": {"a": "b"}}}) == "2"


def test_slices_count_generations_though_they_have_no_spec(server: Server) -> None:
    body: Object = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": []}
    server.api.create(ENDPOINT_SLICES, "default", body)

    def generation(change: Object) -> int:
        changed = server.api.patch(ENDPOINT_SLICES, "default", "s", change)
        return int(changed["metadata"]["generation"])

    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"endpoints": [{"addresses": ["10.0.0.1"]}]}) == 2


def test_generations_count_what_is_wanted(server: Server) -> None:
    api = server.api
    server.deployment()

    def generation(change: Object, subresource: str = "") -> int:
        changed = api.patch(DEPLOYMENTS, "default", "web", change, subresource=subresource)
        return int(changed["metadata"]["generation"])

    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"status": {"replicas": 1}}, "status") == 1
    assert generation({"spec": {"replicas": 2}}) == 2
    assert generation({"metadata": {"annotations": {"a": "b"}}}) == 3
    budget = server.budget()
    assert budget["metadata"]["generation"] == 1
    annotated = {"metadata": {"annotations": {"a": "b"}}}
    changed = api.patch(POD_DISRUPTION_BUDGETS, "default", "web", annotated)
    assert changed["metadata"]["generation"] == 1
    changed = api.patch(POD_DISRUPTION_BUDGETS, "default", "web", {"spec": {"minAvailable": 2}})
    assert changed["metadata"]["generation"] == 2


def test_a_status_is_set_of_the_object_that_is_meant(server: Server) -> None:
    made = server.pod()
    server.api.delete(PODS, "default", "web")
    server.pod()
    with pytest.raises(errors.Conflict):
        server.api.set_status(PODS, made, {"phase": "Failed"})


def test_a_dry_run_shows_and_does_nothing(server: Server) -> None:
    version = server.store.version
    made = server.api.create(PODS, "default", pod(), dry_run=True)
    assert made["spec"]["schedulerName"] == "default-scheduler"
    server.store.version = version
    assert server.store.count(PODS) == 0
    server.deployment()
    changed = server.api.patch(
        DEPLOYMENTS, "default", "web", {"spec": {"replicas": 7}}, dry_run=True
    )
    assert changed["spec"]["replicas"] == 7
    assert server.api.get(DEPLOYMENTS, "default", "web")["spec"]["replicas"] == 1


def test_workloads_are_scaled(server: Server) -> None:
    server.deployment(replicas=3)
    scale = server.api.patch(
        DEPLOYMENTS, "default", "web", {"spec": {"replicas": 4}}, subresource="scale"
    )
    assert scale["kind"] == "Scale"
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}
    scale["spec"]["replicas"] = 2
    server.api.replace(DEPLOYMENTS, scale, subresource="scale")
    assert server.api.get(DEPLOYMENTS, "default", "web")["spec"]["replicas"] == 2
    server.pod()
    with pytest.raises(errors.NotFound):
        server.api.patch(PODS, "default", "web", {"spec": {"replicas": 4}}, subresource="scale")


def test_a_lease_is_compared_and_set(server: Server) -> None:
    made = server.api.create(LEASES, "default", {"metadata": {"name": "l"}, "spec": {"a": 1}})
    taken = server.api.replace(LEASES, {**made, "spec": {"a": 2}})
    with pytest.raises(errors.Conflict):
        server.api.replace(LEASES, {**made, "spec": {"a": 3}})
    assert server.api.get(LEASES, "default", "l") == taken
