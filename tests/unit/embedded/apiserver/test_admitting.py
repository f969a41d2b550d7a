"""What is filled in where an object says nothing, what admission adds, and what is refused."""

import pytest

from rescheduler.kube import Object, errors
from rescheduler.wire import (
    DEPLOYMENTS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    RUNTIME_CLASSES,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from tests.unit.embedded.support.server import Server, container, deployment


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_pod_is_completed(server: Server) -> None:
    made = server.pod()
    spec = made["spec"]
    wanted = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "dnsPolicy": "ClusterFirst",
    }
    assert {key: spec[key] for key in wanted} == wanted
    assert [(each["key"], each["tolerationSeconds"]) for each in spec["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_pod_that_tolerates_everything_needs_no_more(server: Server) -> None:
    spec = server.pod(tolerations=[{"operator": "Exists"}])["spec"]
    assert spec["tolerations"] == [{"operator": "Exists"}]
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    spec = server.pod("b", tolerations=[own])["spec"]
    assert [each["key"] for each in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_the_shortest_grace_is_a_second(server: Server) -> None:
    assert (
        server.pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1
    )


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}}, "Burstable"),
        (
            {
                "requests": {"cpu": "1000m", "memory": "1024Mi"},
                "limits": {"cpu": "1", "memory": "1Gi"},
            },
            "Guaranteed",
        ),
    ],
)
def test_quality_of_service(server: Server, resources: Object, quality: str) -> None:
    made = server.pod(containers=[container(resources=resources)])
    assert made["status"]["qosClass"] == quality


def test_a_limit_is_a_request_too(server: Server) -> None:
    made = server.pod(containers=[container(resources={"limits": {"cpu": "1"}})])
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    template = deployment()["spec"]["template"]
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    kept = server.deployment(template=template)["spec"]["template"]["spec"]["containers"][0]
    assert kept["resources"] == {"limits": {"cpu": "1"}}


def _priority_class(server: Server, name: str, value: int, **more: object) -> None:
    body = {"metadata": {"name": name}, "value": value, **more}
    server.api.create(PRIORITY_CLASSES, None, body)


def test_priorities_come_from_their_classes(server: Server) -> None:
    _priority_class(server, "high", 1000, preemptionPolicy="Never")
    spec = server.pod(priorityClassName="high")["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert (
        server.pod("b", priorityClassName="system-node-critical")["spec"]["priority"] == 2000001000
    )
    with pytest.raises(errors.Forbidden, match="no PriorityClass with name low was found"):
        server.pod("c", priorityClassName="low")
    with pytest.raises(errors.Forbidden, match=r"the integer value of priority \(7\) must not"):
        server.pod("c", priorityClassName="high", priority=7)
    with pytest.raises(errors.Forbidden, match="string value of PreemptionPolicy"):
        server.pod("c", priorityClassName="high", preemptionPolicy="PreemptLowerPriority")
    _priority_class(server, "usual", 5, globalDefault=True)
    spec = server.pod("d")["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


def test_overheads_come_from_their_classes(server: Server) -> None:
    body = {
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "250m"}},
        "scheduling": {"nodeSelector": {"kata": "yes"}},
    }
    server.api.create(RUNTIME_CLASSES, None, body)
    spec = server.pod(runtimeClassName="kata", nodeSelector={"a": "b"})["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"a": "b", "kata": "yes"}
    server.pod("b", runtimeClassName="kata", overhead={"cpu": "0.25"})
    with pytest.raises(errors.Forbidden, match="doesn't match"):
        server.pod("c", runtimeClassName="kata", overhead={"cpu": "1"})
    with pytest.raises(errors.Forbidden, match="without corresponding RuntimeClass"):
        server.pod("c", overhead={"cpu": "1"})
    with pytest.raises(errors.Forbidden, match='RuntimeClass "other" not found'):
        server.pod("c", runtimeClassName="other")


def test_keys_of_labels_become_a_part_of_the_selector(server: Server) -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"x": "y"}},
        "matchLabelKeys": ["app"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = server.pod(affinity=affinity)
    kept = made["spec"]["affinity"]["podAntiAffinity"]
    found = kept["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert found["matchExpressions"] == [{"key": "app", "operator": "In", "values": ["web"]}]
    # Whoever copies the pod as it is now brings the key along twice.
    with pytest.raises(errors.Invalid, match="exists in both matchLabelKeys and labelSelector"):
        server.pod("copy", affinity=made["spec"]["affinity"])


def test_gated_pods_say_so(server: Server) -> None:
    made = server.pod(schedulingGates=[{"name": "wait"}])
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    with pytest.raises(errors.Invalid, match=r"spec\.nodeName"):
        server.pod("b", schedulingGates=[{"name": "wait"}], nodeName="n1")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "a"}]}, r"containers\[0\].image"),
        ({"containers": [container(), container()]}, "Duplicate value"),
        (
            {"containers": [container(resources={"requests": {"cpu": "x"}})]},
            "quantities must match the regular expression",
        ),
        (
            {"containers": [container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}})]},
            "must be less than or equal to cpu limit of 1",
        ),
        ({"ephemeralContainers": [container()]}, "ephemeralContainers"),
    ],
)
def test_pods_that_no_server_takes(server: Server, spec: Object, field: str) -> None:
    with pytest.raises(errors.Invalid, match=field):
        server.pod(**spec)


def _preferring(weight: int, fields: list[Object]) -> Object:
    wish = {"weight": weight, "preference": {"matchFields": fields}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


@pytest.mark.parametrize(
    ("affinity", "field"),
    [
        (_preferring(101, []), "must be in the range 1-100"),
        (_preferring(0, []), "must be in the range 1-100"),
        (_preferring(1, [{"key": "spec.x", "operator": "In", "values": ["a"]}]), "key"),
        (_preferring(1, [{"key": "metadata.name", "operator": "Exists"}]), "operator"),
        (
            _preferring(1, [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]),
            "values",
        ),
        (
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
            "must have at least one node selector term",
        ),
    ],
)
def test_affinities_that_no_server_takes(server: Server, affinity: Object, field: str) -> None:
    with pytest.raises(errors.Invalid, match=field):
        server.pod(affinity=affinity)


def test_mutators_come_first(server: Server) -> None:
    def afflict(resource: Resource, made: Object) -> Object:
        assert resource == PODS
        made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        return made

    server.api.mutators.append(afflict)
    assert server.pod()["status"]["qosClass"] == "Burstable"
    server.api.mutators.remove(afflict)
    assert server.pod("b")["status"]["qosClass"] == "BestEffort"


def test_workloads_are_completed(server: Server) -> None:
    spec = server.deployment()["spec"]
    assert spec["replicas"] == 1
    assert spec["revisionHistoryLimit"] == 10
    assert spec["progressDeadlineSeconds"] == 600
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert spec["template"]["spec"]["schedulerName"] == "default-scheduler"
    assert server.deployment("b", strategy={"type": "Recreate"})["spec"]["strategy"] == {
        "type": "Recreate"
    }
    stateful = {**deployment("s"), "kind": "StatefulSet"}
    spec = server.api.create(STATEFUL_SETS, "default", stateful)["spec"]
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    spec = server.api.create(SERVICES, "default", service)["spec"]
    assert (spec["type"], spec["ports"]) == (
        "ClusterIP",
        [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    )


def test_what_is_taken_away_is_filled_in_again(server: Server) -> None:
    server.deployment(replicas=3)
    changed = server.api.patch(
        DEPLOYMENTS, "default", "web", {"spec": {"strategy": None, "replicas": None}}
    )
    assert changed["spec"]["replicas"] == 1
    assert changed["spec"]["strategy"]["type"] == "RollingUpdate"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"selector": {"matchLabels": {"app": "x"}}}, "selector"),
        ({"replicas": -1}, "spec.replicas"),
        ({"template": {"metadata": {"labels": {"app": "x"}}}}, "does not match template"),
        ({"template": {"spec": {"restartPolicy": "Never"}}}, "restartPolicy"),
    ],
)
def test_what_cannot_be_changed_of_a_workload(server: Server, change: Object, field: str) -> None:
    server.deployment()
    with pytest.raises(errors.Invalid, match=field):
        server.api.patch(DEPLOYMENTS, "default", "web", {"spec": change})


def test_the_template_of_a_replica_set_may_change(server: Server) -> None:
    body = {**deployment("rs"), "kind": "ReplicaSet"}
    server.api.create(REPLICA_SETS, "default", body)
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    changed = server.api.patch(REPLICA_SETS, "default", "rs", change)
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"a": "b"}


def test_of_a_stateful_set_little_may_change(server: Server) -> None:
    server.api.create(STATEFUL_SETS, "default", {**deployment("s"), "kind": "StatefulSet"})
    with pytest.raises(errors.Invalid, match="updates to statefulset spec for fields other than"):
        server.api.patch(STATEFUL_SETS, "default", "s", {"spec": {"serviceName": "other"}})


def test_a_budget_has_one_measure(server: Server) -> None:
    for wrong in (
        {"minAvailable": 1, "maxUnavailable": 1},
        {"minAvailable": -1},
        {"maxUnavailable": "half"},
    ):
        body = {"metadata": {"name": "b"}, "spec": {"selector": {}, **wrong}}
        with pytest.raises(errors.Invalid, match="spec"):
            server.api.create(POD_DISRUPTION_BUDGETS, "default", body)


# ---------------------------------------------------------------------- binding


def test_a_pod_is_bound_once(server: Server) -> None:
    zone = "topology.kubernetes.io/zone"
    server.api.create(NODES, None, {"metadata": {"name": "n1", "labels": {zone: "a", "x": "y"}}})
    server.pod()
    server.api.bind("default", "web", "n1")
    bound = server.api.get(PODS, "default", "web")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-05T10:00:00Z"}
    ]
    assert bound["metadata"]["labels"] == {"app": "web", zone: "a"}
    with pytest.raises(errors.Conflict, match='already assigned to node "n1"'):
        server.api.bind("default", "web", "n2")
    server.pod("gated", schedulingGates=[{"name": "wait"}])
    with pytest.raises(errors.Conflict, match="schedulingGates"):
        server.api.bind("default", "gated", "n1")
    server.pod("going")
    server.api.patch(PODS, "default", "going", {"metadata": {"finalizers": ["a/b"]}})
    server.api.delete(PODS, "default", "going")
    with pytest.raises(errors.Conflict, match="is being deleted"):
        server.api.bind("default", "going", "n1")
