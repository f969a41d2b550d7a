"""What may be changed on a pod that is there, as the API server has it."""

import pytest

from rescheduler.kube import Object, errors
from rescheduler.wire import PODS
from tests.unit.embedded.support.server import Server, container

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def server() -> Server:
    return Server()


def _spec(server: Server, **spec: object) -> Object:
    changed = server.api.patch(PODS, "default", "web", {"spec": spec})
    found: Object = changed["spec"]
    return found


def test_labels_annotations_and_owners_may_change(server: Server) -> None:
    server.running()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1"}
    metadata = {
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "ownerReferences": [owner],
        "finalizers": ["e/f"],
    }
    changed = server.api.patch(PODS, "default", "web", {"metadata": metadata})["metadata"]
    assert changed["labels"] == {"app": "web", "a": "b"}
    assert changed["ownerReferences"] == [owner]
    assert changed["finalizers"] == ["e/f"]
    assert changed["generation"] == 1


def test_images_may_change(server: Server) -> None:
    pod = server.running()
    containers = [{**pod["spec"]["containers"][0], "image": "nginx:2"}]
    assert _spec(server, containers=containers)["containers"][0]["image"] == "nginx:2"
    assert server.api.get(PODS, "default", "web")["metadata"]["generation"] == 2


def test_deadlines_come_closer(server: Server) -> None:
    server.running()
    assert _spec(server, activeDeadlineSeconds=50)["activeDeadlineSeconds"] == 50
    assert _spec(server, activeDeadlineSeconds=40)["activeDeadlineSeconds"] == 40
    with pytest.raises(errors.Invalid, match="less than or equal to previous value"):
        _spec(server, activeDeadlineSeconds=50)
    with pytest.raises(errors.Invalid, match="must not update from a positive integer to nil"):
        _spec(server, activeDeadlineSeconds=None)


def test_tolerations_become_more(server: Server) -> None:
    known = server.running()["spec"]["tolerations"]
    more = [*known, {"key": "a", "operator": "Exists"}]
    assert _spec(server, tolerations=more)["tolerations"] == more
    longer = [{**each, "tolerationSeconds": 9} if "effect" in each else each for each in more]
    assert _spec(server, tolerations=longer)["tolerations"] == longer
    with pytest.raises(errors.Invalid, match="existing toleration can not be modified"):
        _spec(server, tolerations=known)


def test_the_default_tolerations_need_not_be_repeated(server: Server) -> None:
    known = server.running()["spec"]["tolerations"]
    own = {"key": "a", "operator": "Exists"}
    assert _spec(server, tolerations=[own])["tolerations"] == [own, *known]


@pytest.mark.parametrize(
    "change",
    [
        {"nodeName": "n2"},
        {"nodeSelector": {"a": "b"}},
        {
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
                "podAffinity": {_REQUIRED: [{"topologyKey": "a"}]},
            }
        },
        {"priority": 5},
        {"restartPolicy": "Never"},
        {"schedulerName": "mine"},
        {"terminationGracePeriodSeconds": 1},
        {"volumes": [{"name": "a", "emptyDir": {}}]},
        {"containers": [container(resources={"requests": {"cpu": "1"}})]},
        {"schedulingGates": [{"name": "late"}]},
    ],
)
def test_nothing_else_of_the_spec_changes(server: Server, change: Object) -> None:
    before = server.running()
    with pytest.raises(errors.Invalid, match=r"spec") as refusal:
        _spec(server, **change)
    assert refusal.value.status == 422
    assert server.api.get(PODS, "default", "web") == before


def test_containers_stay_as_many(server: Server) -> None:
    pod = server.running()
    more = [*pod["spec"]["containers"], container("second")]
    with pytest.raises(errors.Invalid, match="may not add or remove containers"):
        _spec(server, containers=more)


def test_nothing_changes_by_an_empty_word(server: Server) -> None:
    server.running()
    version = server.store.version
    assert _spec(server, priority=0, nodeSelector=None)["priority"] == 0
    assert server.store.version == version


def _required(*terms: Object) -> Object:
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def _term(*keys: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}


def test_a_gated_pod_may_be_placed_more_narrowly(server: Server) -> None:
    server.pod(schedulingGates=[{"name": "wait"}], affinity=_required(_term("a")))
    assert _spec(server, nodeSelector={"x": "y"})["nodeSelector"] == {"x": "y"}
    with pytest.raises(errors.Invalid, match=r"only additions to spec\.nodeSelector"):
        _spec(server, nodeSelector={"x": "z"})
    _spec(server, affinity=_required(_term("a", "b")))
    with pytest.raises(errors.Invalid, match="only additions are allowed"):
        _spec(server, affinity=_required(_term("c")))
    with pytest.raises(errors.Invalid, match="no additions/deletions to non-empty"):
        _spec(server, affinity=_required(_term("a", "b"), _term("c")))
    with pytest.raises(errors.Invalid, match="only deletion is allowed"):
        _spec(server, schedulingGates=[{"name": "wait"}, {"name": "more"}])
    assert "schedulingGates" not in _spec(server, schedulingGates=None)
    with pytest.raises(errors.Invalid, match="pod updates may not change fields"):
        _spec(server, nodeSelector={"x": "y", "later": "on"})


def test_resources_change_by_resizing(server: Server) -> None:
    pod = server.running(containers=[container(resources={"requests": {"cpu": "1"}})])
    containers = [{**pod["spec"]["containers"][0], "resources": {"requests": {"cpu": "2"}}}]
    change = {"spec": {"containers": containers}}
    changed = server.api.patch(PODS, "default", "web", change, subresource="resize")
    assert changed["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
