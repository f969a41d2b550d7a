import copy

import pytest

from rescheduler.embedded.apiserver.patching import merged, strategically_merged
from rescheduler.kube import Object
from rescheduler.wire import DEPLOYMENTS
from tests.unit.embedded.support.server import Server

# The examples of RFC 7386, appendix A.
_RFC = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("before", "change", "after"), _RFC)
def test_merge_patches_are_those_of_the_rfc(before: object, change: object, after: object) -> None:
    kept = copy.deepcopy(before)
    assert merged(before, change) == after
    assert before == kept


def _containers(*names: str) -> list[Object]:
    return [
        {"name": name, "image": f"{name}:1", "env": [{"name": "A", "value": "1"}]} for name in names
    ]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ([{"name": "a", "image": "a:2"}], ["a:2", "b:1"]),
        ([{"name": "c", "image": "c:1"}], ["a:1", "b:1", "c:1"]),
        ([{"name": "a", "$patch": "delete"}], ["b:1"]),
        ([{"name": "x", "$patch": "delete"}], ["a:1", "b:1"]),
        ([{"$patch": "replace"}, {"name": "d", "image": "d:1"}], ["d:1"]),
    ],
)
def test_containers_are_merged_by_their_names(change: list[Object], names: list[str]) -> None:
    before = {"containers": _containers("a", "b")}
    after = strategically_merged(before, {"containers": change})
    assert [each["image"] for each in after["containers"]] == names


def test_inside_a_container_lists_are_merged_too() -> None:
    before = {"containers": _containers("a")}
    env = [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    ports = [{"containerPort": 80}]
    change = {"containers": [{"name": "a", "env": env, "ports": ports}]}
    after = strategically_merged(before, change)["containers"][0]
    assert after["env"] == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    change = {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]}
    after = strategically_merged({"containers": [after]}, change)["containers"][0]
    assert after["ports"] == [{"containerPort": 80, "name": "http"}]
    assert before == {"containers": _containers("a")}


def test_of_a_service_ports_are_told_by_their_numbers() -> None:
    before = {"ports": [{"port": 80, "targetPort": 8080}]}
    after = strategically_merged(before, {"ports": [{"port": 80, "name": "http"}, {"port": 443}]})
    assert after["ports"] == [{"port": 80, "targetPort": 8080, "name": "http"}, {"port": 443}]


@pytest.mark.parametrize("name", ["tolerations", "taints", "args", "nodeSelectorTerms"])
def test_lists_without_a_key_are_replaced(name: str) -> None:
    assert strategically_merged({name: [{"key": "a"}]}, {name: [{"key": "b"}]}) == {
        name: [{"key": "b"}]
    }


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("conditions", "type"),
        ("volumes", "name"),
        ("ownerReferences", "uid"),
        ("initContainers", "name"),
        ("topologySpreadConstraints", "topologyKey"),
    ],
)
def test_lists_with_a_key(name: str, key: str) -> None:
    before = {name: [{key: "a", "old": 1}, {key: "b", "old": 2}]}
    after = strategically_merged(before, {name: [{key: "b", "new": 3}]})
    assert after == {name: [{key: "a", "old": 1}, {key: "b", "old": 2, "new": 3}]}


def test_finalizers_are_a_set() -> None:
    before = {"finalizers": ["a", "b"]}
    assert strategically_merged(before, {"finalizers": ["b", "c"]}) == {
        "finalizers": ["a", "b", "c"]
    }
    change = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert strategically_merged(before, change) == {"finalizers": ["b"]}


def test_directives_of_kubectl() -> None:
    before = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    change = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert strategically_merged(before, change) == {"strategy": {"type": "Recreate"}}
    change = {"strategy": {"$patch": "replace", "type": "Recreate"}}
    assert strategically_merged(before, change) == {"strategy": {"type": "Recreate"}}
    two = {"containers": _containers("a", "b")}
    order = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}
    assert [each["name"] for each in strategically_merged(two, order)["containers"]] == ["b", "a"]


def test_a_user_sets_an_image() -> None:
    server = Server()
    server.deployment()
    change = {
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}
    }
    changed = server.api.patch(DEPLOYMENTS, "default", "web", change, strategic=True)
    container = changed["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "nginx:2"
    assert container["terminationMessagePolicy"] == "File"
    assert changed["metadata"]["generation"] == 2
