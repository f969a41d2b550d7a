"""Objects whose fields are of other JSON types: told with the field, as the real server does."""

from typing import Any

import pytest

from rescheduler import wire
from rescheduler.kube import Object, errors
from rescheduler.wire import (
    DEPLOYMENTS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from tests.unit.embedded.support.server import Server, container, deployment, pod


@pytest.fixture
def server() -> Server:
    return Server()


def _with(item: Object, path: str, value: Any) -> Object:  # noqa: ANN401 - any JSON
    *above, last = path.split(".")
    at = item
    for name in above:
        at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
    at[int(last) if isinstance(at, list) else last] = value
    return item


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("spec.replicas", "3", "string into Go struct field Deployment.spec.replicas of type int"),
        ("spec.replicas", 1.5, "number 1.5 into Go struct field Deployment.spec.replicas"),
        ("spec.replicas", True, "bool into Go struct field Deployment.spec.replicas"),
        ("spec.replicas", 2**31, "number 2147483648 into Go struct field Deployment.spec.replicas"),
        ("spec.paused", "no", "string into Go struct field Deployment.spec.paused of type bool"),
        ("spec", [], "array into Go struct field Deployment.spec of type object"),
        ("metadata", "x", "string into Go struct field Deployment.metadata of type object"),
        ("metadata.labels", {"a": 1}, "number 1 into Go struct field Deployment.metadata.labels.a"),
        ("spec.strategy", "Recreate", "Deployment.spec.strategy of type object"),
        ("spec.strategy.rollingUpdate.maxSurge", {}, "maxSurge of type intstr.IntOrString"),
        ("spec.template.spec.containers", {}, "Deployment.spec.template.spec.containers of type l"),
        ("spec.template.spec.containers.0.image", 3, "spec.containers[0].image of type string"),
        ("spec.template.spec.tolerations", ["x"], "spec.tolerations[0] of type object"),
        (
            "spec.template.spec.containers.0.resources",
            {"requests": {"cpu": "x"}},
            "quantities must match the regular expression",
        ),
    ],
)
def test_the_field_is_named(server: Server, path: str, value: object, told: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        server.api.create(DEPLOYMENTS, "default", _with(deployment(), path, value))
    assert refused.value.status == 400
    assert str(refused.value).startswith('Deployment in version "v1" cannot be handled as a Deploy')
    assert told in str(refused.value)


def test_of_a_change_as_well(server: Server) -> None:
    made = server.deployment()
    odd: list[Object] = [
        {"spec": {"replicas": "3"}},
        {"metadata": "x"},
        {"spec": {"template": []}},
    ]
    for strategic in (False, True):
        for change in odd:
            with pytest.raises(errors.Invalid, match="cannot be handled as a Deployment"):
                server.api.patch(DEPLOYMENTS, "default", "web", change, strategic=strategic)
    with pytest.raises(errors.Invalid, match=r"Deployment\.spec\.replicas"):
        server.api.patch(
            DEPLOYMENTS, "default", "web", {"spec": {"replicas": "3"}}, subresource="scale"
        )
    with pytest.raises(errors.Invalid, match=r"Deployment\.spec\.replicas"):
        server.api.replace(DEPLOYMENTS, {**made, "spec": {**made["spec"], "replicas": "3"}})
    with pytest.raises(errors.Invalid, match="name must be provided"):
        server.api.replace(DEPLOYMENTS, {**made, "metadata": {}})
    assert server.api.get(DEPLOYMENTS, "default", "web") == made


def test_ports_of_another_type_are_not_merged(server: Server) -> None:
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    server.api.create(SERVICES, "default", service)
    with pytest.raises(errors.Invalid, match=r"Service\.spec\.ports\[0\] of type object"):
        server.api.patch(SERVICES, "default", "web", {"spec": {"ports": ["x"]}}, strategic=True)


def test_null_is_as_good_as_nothing(server: Server) -> None:
    spec: Object = {"tolerations": None, "containers": [None, container()], "volumes": [None]}
    made = server.api.create(PODS, "default", pod(nodeSelector={"a": None}, **spec))
    assert [each["name"] for each in made["spec"]["containers"]] == ["main"]
    assert made["spec"]["nodeSelector"] == {}


def test_quantities_may_be_numbers(server: Server) -> None:
    asked = {"requests": {"cpu": 1, "memory": 1e9, "example.com/part": 0.5}}
    server.pod(containers=[container(resources=asked)])


@pytest.mark.parametrize(
    ("resource", "path", "value", "told"),
    [
        (PODS, "spec.resources.requests.cpu", "-1", "spec.resources.requests[cpu]"),
        (PODS, "spec.readinessGates", [{}], "spec.readinessGates[0].conditionType"),
        (SERVICES, "spec.ports", [{}], "spec.ports[0].port: Invalid value: 0"),
        (SERVICES, "spec.selector.app", "a b", "spec.selector"),
        (NODES, "status.allocatable.cpu", "-1", "status.allocatable[cpu]"),
    ],
)
def test_what_no_controller_could_read_is_invalid(
    server: Server, resource: Resource, path: str, value: object, told: str
) -> None:
    item = pod() if resource == PODS else {"metadata": {"name": "web"}}
    with pytest.raises(errors.Invalid) as refused:
        server.api.create(
            resource, None if resource == NODES else "default", _with(item, path, value)
        )
    assert refused.value.status == 422
    assert told in str(refused.value)


def test_conditions_of_a_node_have_a_type(server: Server) -> None:
    node = {"metadata": {"name": "n"}, "status": {"conditions": [{"reason": "Odd"}]}}
    made = server.api.create(NODES, None, node)
    assert made["status"]["conditions"] == [{"reason": "Odd", "type": "", "status": ""}]


def test_only_pods_are_resized(server: Server) -> None:
    server.deployment()
    with pytest.raises(errors.NotFound):
        server.api.patch(
            DEPLOYMENTS, "default", "web", {"spec": {"paused": True}}, subresource="resize"
        )
    server.pod("alone")
    with pytest.raises(errors.Invalid, match="may not add or remove containers"):
        server.api.patch(PODS, "default", "alone", {"spec": None}, subresource="resize")


_ODD: tuple[Any, ...] = (None, "x", 3, -1, 1.5, True, [], {}, [None], ["x"], {"a": 3}, [[]], 10**30)


@pytest.mark.parametrize("value", _ODD, ids=repr)
@pytest.mark.parametrize(
    "resource", [PODS, DEPLOYMENTS, STATEFUL_SETS, POD_DISRUPTION_BUDGETS, wire.JOBS]
)
def test_nothing_that_is_odd_ends_in_another_error(resource: Resource, value: object) -> None:
    """Wherever it stands."""
    base = pod() if resource == PODS else deployment()
    for path in list(_paths(base)):
        odd = _with(pod() if resource == PODS else deployment(), path, value)
        try:
            Server().api.create(resource, "default", odd)
        except errors.KubeError as refused:
            assert refused.status in (400, 422)  # noqa: PT017 - those that are taken are fine, too


def _paths(item: Any, above: str = "") -> list[str]:  # noqa: ANN401
    found = []
    named = item.items() if isinstance(item, dict) else enumerate(item)
    for name, each in named:
        path = f"{above}.{name}".removeprefix(".")
        found.append(path)
        if isinstance(each, dict | list):
            found += _paths(each, path)
    return found
