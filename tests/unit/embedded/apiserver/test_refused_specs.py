"""Specifications that no API server takes, so that no controller here ever has to read them."""

import pytest

from rescheduler.kube import Object, errors
from rescheduler.wire import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NODES,
    POD_MIGRATIONS,
    PODS,
    PRIORITY_CLASSES,
    STATEFUL_SETS,
    Resource,
)
from rescheduler.wire import POD_DISRUPTION_BUDGETS as BUDGETS
from tests.unit.embedded.support.server import Server, container, deployment

_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def server() -> Server:
    return Server()


def _without(item: Object, key: str) -> Object:
    return {name: value for name, value in item.items() if name != key}


def _spread(*constraints: Object) -> Object:
    return {"topologySpreadConstraints": list(constraints)}


def _far(**strength: object) -> Object:
    return {"affinity": {"podAntiAffinity": strength}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (_spread(_without(_SPREAD, "whenUnsatisfiable")), "Constraints[0].whenUnsatisfiable"),
        (_spread(_without(_SPREAD, "maxSkew")), "Constraints[0].maxSkew"),
        (_spread(_without(_SPREAD, "topologyKey")), "Constraints[0].topologyKey"),
        (_spread({**_SPREAD, "minDomains": 0}), "Constraints[0].minDomains"),
        (_spread(_SPREAD, _SPREAD), "Constraints[1].{topologyKey, whenUnsatisfiable}"),
        (_far(**{_REQUIRED: [{"labelSelector": {}}]}), f"{_REQUIRED}[0].topologyKey"),
        (_far(**{_PREFERRED: [{"podAffinityTerm": {"topologyKey": "a"}}]}), "[0].weight"),
        (_far(**{_PREFERRED: [{"weight": 1}]}), "[0].podAffinityTerm.topologyKey"),
        ({"tolerations": [{"key": "a", "operator": "Perhaps"}]}, "tolerations[0].operator"),
        ({"tolerations": [{"operator": "Equal"}]}, "tolerations[0].operator"),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, "tolerations[0].effect"),
        ({"tolerations": [{"key": "a", "tolerationSeconds": 1}]}, "tolerations[0].effect"),
        ({"restartPolicy": "Perhaps"}, "spec.restartPolicy"),
        ({"volumes": [{"emptyDir": {}}]}, "volumes[0].name"),
        ({"volumes": [{"name": "a"}, {"name": "a"}]}, "volumes[1].name"),
        ({"volumes": [{"name": "a", "persistentVolumeClaim": {}}]}, "Claim.claimName"),
        ({"volumes": [{"name": "a", "ephemeral": {}}]}, "ephemeral.volumeClaimTemplate"),
    ],
)
def test_of_pods_and_templates(server: Server, spec: Object, field: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        server.pod(**spec)
    assert field in str(refused.value)
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container()], **spec},
    }
    with pytest.raises(errors.Invalid) as refused:
        server.deployment(template=template)
    assert field in str(refused.value)


def test_spreads_that_are_fine(server: Server) -> None:
    server.pod(**_spread(_SPREAD, {**_SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}))


def _rolling(**settings: object) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": settings}


@pytest.mark.parametrize(
    ("resource", "spec", "field"),
    [
        (DEPLOYMENTS, {"strategy": _rolling(maxSurge=0, maxUnavailable="0%")}, "maxUnavailable"),
        (DEPLOYMENTS, {"strategy": _rolling(maxUnavailable="x")}, "maxUnavailable"),
        (DEPLOYMENTS, {"strategy": _rolling(maxUnavailable="101%")}, "maxUnavailable"),
        (DEPLOYMENTS, {"strategy": {**_rolling(), "type": "Recreate"}}, "strategy.rollingUpdate"),
        (DEPLOYMENTS, {"strategy": {"type": "Perhaps"}}, "spec.strategy"),
        (DEPLOYMENTS, {"minReadySeconds": -1}, "minReadySeconds"),
        (DEPLOYMENTS, {"minReadySeconds": 600}, "progressDeadlineSeconds"),
        (DEPLOYMENTS, {"revisionHistoryLimit": -1}, "revisionHistoryLimit"),
        (DEPLOYMENTS, {"selector": {}}, "spec.selector"),
        (STATEFUL_SETS, {"updateStrategy": _rolling(partition=-1)}, "partition"),
        (STATEFUL_SETS, {"updateStrategy": {**_rolling(), "type": "OnDelete"}}, "rollingUpdate"),
        (STATEFUL_SETS, {"updateStrategy": {"type": "Perhaps"}}, "spec.updateStrategy"),
        (STATEFUL_SETS, {"podManagementPolicy": "Perhaps"}, "podManagementPolicy"),
        (STATEFUL_SETS, {"ordinals": {"start": -1}}, "ordinals.start"),
        (DAEMON_SETS, {"updateStrategy": _rolling(maxUnavailable=0)}, "maxUnavailable"),
        (DAEMON_SETS, {"updateStrategy": _rolling(maxSurge=1)}, "maxSurge"),
        (DAEMON_SETS, {"updateStrategy": {"type": "Perhaps"}}, "spec.updateStrategy"),
    ],
)
def test_of_workloads(server: Server, resource: Resource, spec: Object, field: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        server.api.create(resource, "default", deployment(**spec))
    assert field in str(refused.value)


def test_a_strategy_is_not_left_with_the_settings_of_another(server: Server) -> None:
    server.deployment()
    recreate: Object = {"type": "Recreate"}
    with pytest.raises(errors.Invalid, match="may not be specified when strategy `type` is"):
        server.api.patch(DEPLOYMENTS, "default", "web", {"spec": {"strategy": recreate}})
    recreate["rollingUpdate"] = None
    server.api.patch(DEPLOYMENTS, "default", "web", {"spec": {"strategy": recreate}})


def test_a_feature_that_is_off_is_dropped(server: Server) -> None:
    body = deployment(updateStrategy=_rolling(maxUnavailable=2))
    made = server.api.create(STATEFUL_SETS, "default", body)
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}


@pytest.mark.parametrize(
    "spec",
    [{"minAvailable": "101%"}, {"maxUnavailable": "x"}, {"unhealthyPodEvictionPolicy": "Perhaps"}],
)
def test_of_budgets(server: Server, spec: Object) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"selector": {}, **spec}}
    with pytest.raises(errors.Invalid, match=next(iter(spec))):
        server.api.create(BUDGETS, "default", body)


def test_a_budget_may_say_nothing(server: Server) -> None:
    """It selects no pods then, and its controller has something to read."""
    made = server.api.create(BUDGETS, "default", {"metadata": {"name": "web"}})
    assert made["spec"] == {}


@pytest.mark.parametrize(
    ("taints", "field"),
    [
        ([{"key": "a"}], "taints[0].effect"),
        ([{"effect": "NoSchedule"}], "taints[0].key"),
        ([{"key": "a", "effect": "Never"}], "taints[0].effect"),
        ([{"key": "a", "effect": "NoExecute"}] * 2, "taints[1]: Duplicate value"),
    ],
)
def test_of_nodes(server: Server, taints: list[Object], field: str) -> None:
    body = {"metadata": {"name": "n1"}, "spec": {"taints": taints}}
    with pytest.raises(errors.Invalid) as refused:
        server.api.create(NODES, None, body)
    assert field in str(refused.value)
    server.api.create(NODES, None, {"metadata": {"name": "n1"}})
    with pytest.raises(errors.Invalid):
        server.api.patch(NODES, None, "n1", {"spec": {"taints": taints}})


def test_of_jobs(server: Server) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    body = {"metadata": {"name": "j"}, "spec": {"template": template}}
    server.api.create(JOBS, "default", body)
    for change in ({"completions": 3}, {"completionMode": "Indexed"}, {"parallelism": -1}):
        with pytest.raises(errors.Invalid, match=next(iter(change))):
            server.api.patch(JOBS, "default", "j", {"spec": change})
    server.api.patch(JOBS, "default", "j", {"spec": {"parallelism": 3}})
    counting = {"completionMode": "Indexed", "parallelism": 2, "template": template}
    with pytest.raises(errors.Invalid, match="completions: Required value"):
        server.api.create(JOBS, "default", {"metadata": {"name": "k"}, "spec": counting})


def test_a_priority_is_zero_unless_it_is_told(server: Server) -> None:
    server.api.create(PRIORITY_CLASSES, None, {"metadata": {"name": "p"}, "globalDefault": True})
    assert server.pod()["spec"]["priority"] == 0


def test_some_are_never_replaced_blindly(server: Server) -> None:
    """Or who forgets to say what it has seen would overwrite what others wrote."""
    lease = server.api.create(LEASES, "default", {"metadata": {"name": "l"}})
    found = {LEASES: lease, POD_MIGRATIONS: server.migration(), BUDGETS: server.budget()}
    for resource, made in found.items():
        blind = {**made, "metadata": _without(made["metadata"], "resourceVersion")}
        with pytest.raises(errors.Invalid, match="must be specified for an update"):
            server.api.replace(resource, blind)
        server.api.replace(resource, made)


def test_a_pod_may_be_replaced_blindly(server: Server) -> None:
    made = server.pod()
    body = {**made, "metadata": _without(made["metadata"], "resourceVersion")}
    assert server.api.replace(PODS, body) == made
