import pytest

from rescheduler.embedded.apiserver import quotas
from rescheduler.embedded.kinds import CONFIG_MAPS
from rescheduler.kube import Object, errors
from rescheduler.wire import (
    DEPLOYMENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
)
from tests.unit.embedded.support.server import Server, container, deployment


@pytest.fixture
def server() -> Server:
    return Server()


def _quota(
    server: Server, hard: dict[str, str], *, used: Object | None = None, **spec: object
) -> None:
    """One that its controller has counted: nothing is there."""
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    made = server.api.create(RESOURCE_QUOTAS, "default", body)
    counted = {"hard": hard, "used": used or dict.fromkeys(hard, "0")}
    server.api.set_status(RESOURCE_QUOTAS, made, counted)


def _used(server: Server) -> Object:
    found: Object = server.api.get(RESOURCE_QUOTAS, "default", "q")["status"]["used"]
    return found


def _asking(requests: Object | None = None, limits: Object | None = None) -> list[Object]:
    return [container(resources={"requests": requests or {}, "limits": limits or {}})]


def test_pods_are_counted(server: Server) -> None:
    _quota(server, {"pods": "2", "count/pods": "9"})
    server.pod("a")
    server.pod("b")
    assert _used(server) == {"pods": "2", "count/pods": "2"}
    words = r"exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    with pytest.raises(errors.Forbidden, match=words) as refusal:
        server.pod("c")
    assert refusal.value.status == 403
    assert str(refusal.value).startswith('pods "c" is forbidden: ')
    assert _used(server) == {"pods": "2", "count/pods": "2"}


def test_what_pods_ask_for_is_counted(server: Server) -> None:
    hard = {"requests.cpu": "1", "memory": "2Gi", "limits.cpu": "4", "requests.nvidia.com/gpu": "1"}
    _quota(server, hard)
    asked = {"cpu": "600m", "memory": "512Mi", "nvidia.com/gpu": "1"}
    server.pod("a", containers=_asking(asked, {"cpu": "2", "nvidia.com/gpu": "1"}))
    assert _used(server) == {
        "requests.cpu": "600m",
        "memory": "512Mi",
        "limits.cpu": "2",
        "requests.nvidia.com/gpu": "1",
    }
    with pytest.raises(errors.Forbidden, match=r"requested: requests.cpu=600m, used: requests"):
        server.pod("b", containers=_asking({"cpu": "600m", "memory": "1"}, {"cpu": "1"}))
    server.pod("c", containers=_asking({"cpu": "400m", "memory": "1"}, {"cpu": "1"}))
    assert _used(server)["requests.cpu"] == "1"


def test_who_says_nothing_of_what_is_counted_is_refused(server: Server) -> None:
    _quota(server, {"requests.cpu": "1", "limits.memory": "1Gi"})
    words = "failed quota: q: must specify limits.memory for: main; requests.cpu for: main"
    with pytest.raises(errors.Forbidden, match=words):
        server.pod()


def test_a_quota_that_nobody_has_counted_lets_nobody_in(server: Server) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    made = server.api.create(RESOURCE_QUOTAS, "default", body)
    # So early its status says nothing at all.
    server.pod("before")
    server.api.set_status(RESOURCE_QUOTAS, made, {"hard": {"pods": "2"}})
    with pytest.raises(errors.Forbidden, match="status unknown for quota: q, resources: pods"):
        server.pod()


def test_quotas_are_asked_before_names(server: Server) -> None:
    _quota(server, {"pods": "1"})
    server.pod()
    # Whoever repeats a request does not learn that it was successful.
    with pytest.raises(errors.Forbidden, match="exceeded quota"):
        server.pod()


def test_what_is_refused_or_tried_costs_nothing(server: Server) -> None:
    _quota(server, {"pods": "3"})
    server.pod()
    with pytest.raises(errors.AlreadyExists):
        server.pod()
    server.api.create(
        PODS,
        "default",
        {"metadata": {"name": "x"}, "spec": {"containers": [container()]}},
        dry_run=True,
    )
    assert _used(server) == {"pods": "1"}


def test_other_kinds_are_counted_by_name(server: Server) -> None:
    _quota(server, {"count/deployments.apps": "1", "configmaps": "1"})
    server.deployment("a")
    with pytest.raises(errors.Forbidden, match=r"requested: count/deployments.apps=1"):
        server.api.create(DEPLOYMENTS, "default", deployment("b"))
    server.api.create(CONFIG_MAPS, "default", {"metadata": {"name": "a"}})
    with pytest.raises(errors.Forbidden, match="configmaps=1"):
        server.api.create(CONFIG_MAPS, "default", {"metadata": {"name": "b"}})
    server.pod()


def test_storage_is_counted(server: Server) -> None:
    of_class = "fast.storageclass.storage.k8s.io/requests.storage"
    _quota(server, {"requests.storage": "10Gi", of_class: "2Gi", "persistentvolumeclaims": "5"})
    body = {
        "metadata": {"name": "a"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}},
    }
    server.api.create(PERSISTENT_VOLUME_CLAIMS, "default", body)
    assert _used(server)["requests.storage"] == "2Gi"
    with pytest.raises(errors.Forbidden, match=r"fast\.storageclass"):
        server.api.create(PERSISTENT_VOLUME_CLAIMS, "default", {**body, "metadata": {"name": "b"}})


@pytest.mark.parametrize(
    ("scopes", "spec", "is_counted"),
    [
        (["BestEffort"], {}, True),
        (["NotBestEffort"], {}, False),
        (["NotBestEffort"], {"containers": _asking({"cpu": "1"})}, True),
        (["Terminating"], {}, False),
        (["Terminating"], {"activeDeadlineSeconds": 5}, True),
        (["NotTerminating"], {}, True),
        (["CrossNamespacePodAffinity"], {}, False),
        (["PriorityClass"], {}, False),
        (["PriorityClass"], {"priorityClassName": "high"}, True),
        (["BestEffort", "Terminating"], {}, False),
    ],
)
def test_scopes(server: Server, scopes: list[str], spec: Object, *, is_counted: bool) -> None:
    server.api.create(PRIORITY_CLASSES, None, {"metadata": {"name": "high"}, "value": 1})
    _quota(server, {"pods": "5"}, scopes=scopes)
    server.pod(**spec)
    assert _used(server) == {"pods": "1" if is_counted else "0"}


def test_a_quota_for_some_classes(server: Server) -> None:
    server.api.create(PRIORITY_CLASSES, None, {"metadata": {"name": "high"}, "value": 1})
    of_class = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    _quota(server, {"pods": "1"}, scopeSelector={"matchExpressions": [of_class]})
    server.pod("a")
    server.pod("b", priorityClassName="high")
    with pytest.raises(errors.Forbidden, match="exceeded quota"):
        server.pod("c", priorityClassName="high")


def test_whoever_has_ended_or_should_be_gone_takes_nothing(server: Server) -> None:
    pod = server.running(containers=_asking({"cpu": "1"}))
    now = server.clock.now
    assert quotas.usage_of(PODS, pod, now)["requests.cpu"] == 10**9
    ended = {**pod, "status": {"phase": "Failed"}}
    assert quotas.usage_of(PODS, ended, now) == {"count/pods": 10**9}
    server.api.delete(PODS, "default", "web")
    going = server.api.get(PODS, "default", "web")
    server.clock.pass_by(59)
    assert "pods" in quotas.usage_of(PODS, going, server.clock.now)
    server.clock.pass_by(2)
    # The time of its going has its grace in it already, and gets it once more.
    assert "pods" not in quotas.usage_of(PODS, going, server.clock.now)


@pytest.mark.parametrize(
    ("nanos", "like", "words"),
    [
        (2 * 10**9, "1", "2"),
        (1_500_000_000, "1", "1500m"),
        (1, "1", "1n"),
        (0, "1Gi", "0"),
        (3 * 2**30 * 10**9, "10Gi", "3Gi"),
        (1536 * 2**20 * 10**9, "10Gi", "1536Mi"),
        (3 * 2**30 * 10**9, "10", "3221225472"),
    ],
)
def test_amounts_in_words(nanos: int, like: str, words: str) -> None:
    assert quotas.in_words(nanos, like=like) == words
