import pytest

from rescheduler.kube import Object, errors
from rescheduler.wire import CSI_NODES, DEPLOYMENTS, JOBS, NAMESPACES, PODS
from tests.unit.embedded.support.server import Server, container


@pytest.fixture
def server() -> Server:
    return Server()


def _now(server: Server) -> Object | None:
    return server.store.find(PODS, "default", "web")


def test_a_running_pod_is_given_time(server: Server) -> None:
    server.running()
    server.api.delete(PODS, "default", "web")
    pod = _now(server)
    assert pod is not None
    assert pod["metadata"]["deletionTimestamp"] == "2026-01-05T10:00:30Z"
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pod["metadata"]["generation"] == 2
    # The kubelet is done with it.
    server.api.delete(PODS, "default", "web", grace_seconds=0)
    assert _now(server) is None
    told = [each.kind for each in server.heard[-3:]]
    assert told == ["MODIFIED", "MODIFIED", "DELETED"]
    assert server.heard[-1].object["metadata"]["deletionGracePeriodSeconds"] == 0


def test_time_is_only_taken_away(server: Server) -> None:
    server.running()
    server.api.delete(PODS, "default", "web", grace_seconds=60)
    server.clock.pass_by(10)
    version = server.store.version
    for longer in (None, 60, 90):
        server.api.delete(PODS, "default", "web", grace_seconds=longer)
    assert server.store.version == version
    server.api.delete(PODS, "default", "web", grace_seconds=20)
    pod = _now(server)
    assert pod is not None
    # Counted from when it was first told to go.
    assert pod["metadata"]["deletionTimestamp"] == "2026-01-05T10:00:20Z"
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 20
    assert pod["metadata"]["generation"] == 2


def test_a_negative_time_is_the_shortest(server: Server) -> None:
    server.running()
    server.api.delete(PODS, "default", "web", grace_seconds=-5)
    pod = _now(server)
    assert pod is not None
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 1


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_what_has_ended_goes_at_once(server: Server, phase: str) -> None:
    pod = server.running()
    server.api.set_status(PODS, pod, {**pod["status"], "phase": phase})
    server.api.delete(PODS, "default", "web", grace_seconds=60)
    assert _now(server) is None


def test_what_runs_nowhere_goes_at_once(server: Server) -> None:
    server.pod()
    server.api.delete(PODS, "default", "web")
    assert _now(server) is None
    assert [each.kind for each in server.heard] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_delete_means_one_object(server: Server) -> None:
    pod = server.running()
    with pytest.raises(errors.Conflict, match=r"the UID in the precondition \(x\) does not match"):
        server.api.delete(PODS, "default", "web", uid="x")
    with pytest.raises(errors.Conflict, match=r"the ResourceVersion in the precondition \(1\)"):
        server.api.delete(PODS, "default", "web", resource_version="1")
    metadata = pod["metadata"]
    version = metadata["resourceVersion"]
    server.api.delete(PODS, "default", "web", uid=metadata["uid"], resource_version=version)
    with pytest.raises(errors.NotFound):
        server.api.delete(PODS, "default", "other")


def test_finalizers_hold_a_pod(server: Server) -> None:
    server.running()
    server.api.patch(PODS, "default", "web", {"metadata": {"finalizers": ["a/b", "c/d"]}})
    server.api.delete(PODS, "default", "web", grace_seconds=0)
    pod = _now(server)
    assert pod is not None
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 0
    change = {"metadata": {"finalizers": ["a/b", "c/d", "e/f"]}}
    with pytest.raises(errors.Invalid, match="no new finalizers can be added"):
        server.api.patch(PODS, "default", "web", change)
    server.api.patch(PODS, "default", "web", {"metadata": {"finalizers": ["c/d"]}})
    assert _now(server) is not None
    server.api.patch(PODS, "default", "web", {"metadata": {"finalizers": None}})
    assert _now(server) is None


def test_a_pod_without_finalizers_waits_for_its_kubelet_all_the_same(server: Server) -> None:
    server.running()
    server.api.patch(PODS, "default", "web", {"metadata": {"finalizers": ["a/b"]}})
    server.api.delete(PODS, "default", "web")
    server.api.patch(PODS, "default", "web", {"metadata": {"finalizers": None}})
    assert _now(server) is not None


def test_everything_else_goes_at_once(server: Server) -> None:
    server.deployment()
    server.api.delete(DEPLOYMENTS, "default", "web")
    assert server.store.find(DEPLOYMENTS, "default", "web") is None
    assert [each.kind for each in server.heard] == ["ADDED", "DELETED"]
    server.api.create(CSI_NODES, None, {"metadata": {"name": "n1"}})
    server.api.delete(CSI_NODES, None, "n1")
    assert server.store.count(CSI_NODES) == 0


@pytest.mark.parametrize(
    ("propagation", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
def test_the_garbage_collector_is_waited_for(
    server: Server, propagation: str, finalizer: str
) -> None:
    server.deployment()
    server.api.delete(DEPLOYMENTS, "default", "web", propagation=propagation)
    metadata = server.api.get(DEPLOYMENTS, "default", "web")["metadata"]
    assert metadata["finalizers"] == [finalizer]
    assert metadata["deletionTimestamp"] == "2026-01-05T10:00:00Z"
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2
    server.api.patch(DEPLOYMENTS, "default", "web", {"metadata": {"finalizers": None}})
    assert server.store.find(DEPLOYMENTS, "default", "web") is None


@pytest.mark.parametrize(("propagation", "stays"), [("", True), ("Background", False)])
def test_the_pods_of_a_job_are_kept_unless_somebody_says_otherwise(
    server: Server, propagation: str, *, stays: bool
) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    body = {"metadata": {"name": "j"}, "spec": {"template": template}}
    server.api.create(JOBS, "default", body)
    server.api.delete(JOBS, "default", "j", propagation=propagation)
    found = server.store.find(JOBS, "default", "j")
    assert (found is not None and found["metadata"]["finalizers"] == ["orphan"]) == stays


def test_who_asks_again_may_not_want_to_wait(server: Server) -> None:
    server.deployment()
    server.api.delete(DEPLOYMENTS, "default", "web", propagation="Foreground")
    server.api.delete(DEPLOYMENTS, "default", "web", propagation="")
    assert server.store.find(DEPLOYMENTS, "default", "web") is not None
    server.api.delete(DEPLOYMENTS, "default", "web", propagation="Background")
    assert server.store.find(DEPLOYMENTS, "default", "web") is None


def test_a_dry_run_deletes_nothing(server: Server) -> None:
    server.running()
    server.deployment()
    version = server.store.version
    server.api.delete(PODS, "default", "web", dry_run=True)
    server.api.delete(DEPLOYMENTS, "default", "web", dry_run=True)
    assert server.store.version == version


def test_a_namespace_ends_when_its_controller_says_so(server: Server) -> None:
    server.api.delete(NAMESPACES, None, "default")
    namespace = server.api.get(NAMESPACES, None, "default")
    assert namespace["status"]["phase"] == "Terminating"
    assert "deletionTimestamp" in namespace["metadata"]
    server.api.delete(NAMESPACES, None, "default")
    nothing: Object = {"spec": {"finalizers": []}}
    server.api.patch(NAMESPACES, None, "default", nothing, subresource="finalize")
    assert server.store.find(NAMESPACES, None, "default") is None
