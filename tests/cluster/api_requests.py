"""Requests to an API server, in a row, whose answers show what it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testbed.api import Object

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
NOBODY = "nobody"
"""A scheduler that does not exist: nobody touches the pod but us."""


@dataclass(frozen=True)
class Ask:
    method: str
    kind: str
    name: str = ""
    body: Object | None = None
    subresource: str = ""
    content_type: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    """Another one than the test's."""


def create(kind: str, body: Object, **query: str) -> Ask:
    return Ask("POST", kind, body=body, query=query)


def patch(kind: str, name: str, body: Object, subresource: str = "", how: str = MERGE) -> Ask:
    return Ask("PATCH", kind, name, body, subresource, how)


def delete(kind: str, name: str, **options: object) -> Ask:
    return Ask("DELETE", kind, name, dict(options) or None)


def evict(name: str, **options: object) -> Ask:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }
    return Ask("POST", "Pod", name, body, "eviction")


def pod(name: str = "web", **spec: object) -> Object:
    container = {"name": "main", "image": "nginx:1.27"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"schedulerName": NOBODY, "containers": [container], **spec},
    }


def containers(**more: object) -> list[Object]:
    return [{"name": "main", "image": "nginx:1.27", **more}]


def workload(kind: str, name: str = "web", **spec: object) -> Object:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"schedulerName": NOBODY, "containers": containers()},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def running(name: str = "web", *, ready: bool = True) -> Ask:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return patch("Pod", name, {"status": {"phase": "Running", "conditions": [condition]}}, "status")


def migration(name: str = "m", **spec: object) -> Object:
    wanted = {"pod": {"name": "web", "uid": "u1"}, "source": "n1", "target": "n2", **spec}
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"name": name},
        "spec": wanted,
    }


def budget(**spec: object) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def quota(**hard: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": hard},
    }


def asking(*, cpu: str, memory: str) -> list[Object]:
    return containers(
        resources={"requests": {"cpu": cpu}, "limits": {"cpu": cpu, "memory": memory}}
    )


_OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "1"}
_COST = "controller.kubernetes.io/pod-deletion-cost"
_TERM = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"x": "y"}},
    "matchLabelKeys": ["app"],
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FIELD = {"key": "metadata.name", "operator": "In", "values": ["n1"]}

_SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"a": "b"}},
}
_TAINT = {"key": "a", "effect": "NoSchedule"}


def _placed(**spec: object) -> Ask:
    return create("Pod", pod("placed", **spec), dryRun="All")


def _spread(*constraints: Object) -> Ask:
    return _placed(topologySpreadConstraints=list(constraints))


def _near(**strength: object) -> Ask:
    return _placed(affinity={"podAffinity": strength})


def _tolerates(**toleration: object) -> Ask:
    return _placed(tolerations=[toleration])


def _tainted(*taints: Object) -> Ask:
    node = {"metadata": {"name": "tainted"}, "spec": {"taints": list(taints)}}
    return create("Node", node, dryRun="All")


def _with(kind: str, **spec: object) -> Ask:
    return create(kind, workload(kind, "tried", **spec), dryRun="All")


def _rolling(kind: str, **settings: object) -> Ask:
    name = "strategy" if kind == "Deployment" else "updateStrategy"
    return _with(kind, **{name: {"type": "RollingUpdate", "rollingUpdate": settings}})


CASES: Mapping[str, Sequence[Ask]] = {
    "a pod": [create("Pod", pod())],
    "a pod with much in it": [
        create(
            "Pod",
            pod(
                containers=containers(
                    resources={"limits": {"cpu": "1", "memory": "1Gi"}},
                    ports=[{"containerPort": 80}],
                    readinessProbe={"tcpSocket": {"port": 80}},
                ),
                initContainers=[
                    {"name": "side", "image": "busybox", "restartPolicy": "Always"},
                    {"name": "init", "image": "busybox:latest"},
                ],
                volumes=[{"name": "scratch", "emptyDir": {}}],
                tolerations=[{"key": "a", "operator": "Exists"}],
                topologySpreadConstraints=[
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"x": "y"}},
                        "matchLabelKeys": ["app"],
                    }
                ],
                affinity={
                    "podAntiAffinity": {_REQUIRED: [_TERM]},
                    "nodeAffinity": {
                        _PREFERRED: [{"weight": 5, "preference": {"matchFields": [_FIELD]}}]
                    },
                },
            ),
        )
    ],
    "gates": [
        create("Pod", pod(schedulingGates=[{"name": "a"}])),
        patch("Pod", "web", {"spec": {"nodeSelector": {"a": "b"}}}),
        patch("Pod", "web", {"spec": {"nodeSelector": {"a": "c"}}}),
        patch("Pod", "web", {"spec": {"schedulingGates": [{"name": "a"}, {"name": "b"}]}}),
        patch("Pod", "web", {"spec": {"schedulingGates": None}}),
        patch("Pod", "web", {"spec": {"nodeSelector": {"a": "b", "c": "d"}}}),
    ],
    "what cannot be read": [
        create("Pod", pod(containers="web")),
        create("Pod", pod(containers=[*containers(), "web"])),
        create("Pod", pod(terminationGracePeriodSeconds="30")),
        create("Pod", pod(hostNetwork="yes")),
        create("Pod", {**pod(), "metadata": {"name": "a", "labels": {"a": 1}}}),
        create("Pod", {**pod(), "metadata": []}),
        create("Pod", {**pod(), "spec": "x"}),
    ],
    "pods that are refused": [
        create("Pod", pod("Web")),
        create("Pod", pod("x" * 254)),
        create("Pod", {**pod(), "metadata": {}}),
        create("Pod", {**pod(), "metadata": {"name": "a", "labels": {"a b": "c"}}}),
        create("Pod", {**pod(), "metadata": {"name": "a", "labels": {"a": "c d"}}}),
        create("Pod", {**pod(), "metadata": {"name": "a", "annotations": {_COST: "+5"}}}),
        create(
            "Pod",
            {
                **pod(),
                "metadata": {
                    "name": "a",
                    "ownerReferences": [
                        {**_OWNER, "controller": True},
                        {**_OWNER, "uid": "2", "controller": True},
                    ],
                },
            },
        ),
        create("Pod", pod(containers=[])),
        create("Pod", pod(containers=[{"name": "a"}])),
        create("Pod", pod(containers=[*containers(), *containers()])),
        create("Pod", pod(containers=containers(resources={"requests": {"cpu": "x"}}))),
        create(
            "Pod",
            pod(
                containers=containers(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})
            ),
        ),
        create("Pod", pod(terminationGracePeriodSeconds=-1)),
        create("Pod", pod(nodeName="n1", schedulingGates=[{"name": "a"}])),
        create("Pod", pod(priorityClassName="nowhere")),
        create("Pod", pod(priority=7)),
        create("Pod", pod(preemptionPolicy="Never")),
        create("Pod", pod(runtimeClassName="nowhere")),
        create("Pod", pod(overhead={"cpu": "1"})),
        create(
            "Pod",
            pod(
                affinity={
                    "nodeAffinity": {
                        _PREFERRED: [{"weight": 101, "preference": {"matchFields": [_FIELD]}}]
                    }
                }
            ),
        ),
        create(
            "Pod",
            pod(
                affinity={
                    "nodeAffinity": {
                        _PREFERRED: [
                            {
                                "weight": 1,
                                "preference": {"matchFields": [{**_FIELD, "values": ["a", "b"]}]},
                            }
                        ]
                    }
                }
            ),
        ),
        create(
            "Pod",
            pod(
                affinity={
                    "nodeAffinity": {
                        _PREFERRED: [
                            {
                                "weight": 1,
                                "preference": {"matchFields": [{**_FIELD, "operator": "Exists"}]},
                            }
                        ]
                    }
                }
            ),
        ),
        create("Pod", pod(affinity={"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}})),
        create(
            "Pod",
            pod(
                affinity={
                    "podAntiAffinity": {
                        _REQUIRED: [{**_TERM, "labelSelector": {"matchLabels": {"app": "web"}}}]
                    }
                }
            ),
        ),
        create("Pod", {**pod(), "metadata": {"name": "a", "resourceVersion": "5"}}),
        create("Pod", {**pod(), "metadata": {"name": "a", "namespace": "elsewhere"}}),
    ],
    "names": [create("Pod", pod()), create("Pod", pod()), create("Pod", pod("b"), dryRun="All")],
    "changes of a pod": [
        create("Pod", pod(containers=containers(resources={"requests": {"cpu": "1"}}))),
        patch("Pod", "web", {"metadata": {"labels": {"a": "b", "app": None}}}),
        patch("Pod", "web", {"metadata": {"labels": {"a": None}}}),
        patch("Pod", "web", {"metadata": {"annotations": {_COST: "7"}}}),
        patch("Pod", "web", {"metadata": {"annotations": {_COST: "007"}}}),
        patch("Pod", "web", {"metadata": {"annotations": {_COST: "-007"}}}),
        patch("Pod", "web", {"metadata": {"annotations": {_COST: "-"}}}),
        patch(
            "Pod",
            "web",
            {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}},
            "",
            STRATEGIC,
        ),
        patch(
            "Pod",
            "web",
            {"spec": {"containers": [{"name": "new", "image": "nginx:2"}]}},
            "",
            STRATEGIC,
        ),
        patch("Pod", "web", {"spec": {"activeDeadlineSeconds": 100}}),
        patch("Pod", "web", {"spec": {"activeDeadlineSeconds": 200}}),
        patch("Pod", "web", {"spec": {"activeDeadlineSeconds": None}}),
        patch("Pod", "web", {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}),
        patch("Pod", "web", {"spec": {"nodeName": "n1"}}),
        patch("Pod", "web", {"spec": {"nodeSelector": {"a": "b"}}}),
        patch("Pod", "web", {"spec": {"schedulerName": "other"}}),
        patch("Pod", "web", {"metadata": {"uid": "another"}}),
        patch("Pod", "web", {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}),
        patch("Pod", "web", {"status": {"phase": "Running"}}),
        running(),
        patch("Pod", "nobody", {"metadata": {"labels": {"x": "y"}}}),
        # From here on it is garbage.
        patch("Pod", "web", {"metadata": {"ownerReferences": [_OWNER]}}, "", STRATEGIC),
    ],
    "nowhere": [Ask("POST", "Pod", body=pod(), namespace="nowhere")],
    "resources are resized": [
        create("Pod", pod(containers=containers(resources={"requests": {"cpu": "1"}}))),
        patch(
            "Pod",
            "web",
            {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}},
            "",
            STRATEGIC,
        ),
        patch(
            "Pod",
            "web",
            {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}},
            "resize",
            STRATEGIC,
        ),
    ],
    "quotas": [
        create("ResourceQuota", quota(pods="1", **{"requests.cpu": "2", "limits.memory": "2Gi"})),
        create("Pod", pod()),
        create("Pod", pod(containers=asking(cpu="3", memory="1Gi"))),
        create("Pod", pod(containers=asking(cpu="500m", memory="1Gi"))),
        create("Pod", pod("second", containers=asking(cpu="500m", memory="1Gi"))),
        create("Pod", pod(containers=asking(cpu="2", memory="2Gi"))),
    ],
    "templates are counted": [
        create("DaemonSet", workload("DaemonSet")),
        patch("DaemonSet", "web", {"spec": {"minReadySeconds": 5}}),
        patch("DaemonSet", "web", {"spec": {"template": {"spec": {"hostNetwork": True}}}}),
        patch("DaemonSet", "web", {"metadata": {"annotations": None}}),
    ],
    "scales": [
        create("ReplicaSet", workload("ReplicaSet", replicas=0)),
        patch("ReplicaSet", "web", {"spec": {"replicas": 0}}, "scale"),
        patch("ReplicaSet", "web", {"spec": {"replicas": -1}}, "scale"),
    ],
    "budgets refuse": [
        create("Pod", pod(nodeName="nowhere")),
        running(),
        create("PodDisruptionBudget", budget(minAvailable=5)),
        evict("web"),
        evict("web", dryRun=["All"]),
        evict("web", preconditions={"uid": "another"}),
        create("PodDisruptionBudget", {**budget(minAvailable=5), "metadata": {"name": "second"}}),
        evict("web"),
        create("Pod", pod("waiting")),
        evict("waiting"),
        Ask("GET", "Pod", "waiting"),
    ],
    "a pod goes at once": [create("Pod", pod()), delete("Pod", "web"), Ask("GET", "Pod", "web")],
    "a pod is given time": [
        create("Pod", pod(nodeName="nowhere")),
        delete("Pod", "web", preconditions={"uid": "another"}),
        delete("Pod", "web", preconditions={"resourceVersion": "1"}),
        patch("Pod", "web", {"metadata": {"finalizers": ["a.b/c"]}}),
        delete("Pod", "web", gracePeriodSeconds=100),
        delete("Pod", "web", gracePeriodSeconds=200),
        delete("Pod", "web", gracePeriodSeconds=50),
        patch("Pod", "web", {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}}),
        delete("Pod", "web", gracePeriodSeconds=0),
        Ask("GET", "Pod", "web"),
        patch("Pod", "web", {"metadata": {"finalizers": None}}),
        Ask("GET", "Pod", "web"),
    ],
    "evictions": [
        create("Pod", pod(nodeName="nowhere")),
        running(),
        evict("web", dryRun=["All"]),
        evict("web", preconditions={"uid": "another"}, dryRun=["All"]),
        evict("web", preconditions={"uid": "another"}),
        evict("nobody"),
        evict("web", gracePeriodSeconds=100),
        Ask("GET", "Pod", "web"),
        evict("web", gracePeriodSeconds=100),
        delete("Pod", "web", gracePeriodSeconds=0),
    ],
    "workloads": [
        create("Deployment", workload("Deployment", paused=True), dryRun="All"),
        create("Deployment", workload("Deployment", strategy={"type": "Recreate"}), dryRun="All"),
        create("ReplicaSet", workload("ReplicaSet"), dryRun="All"),
        create("StatefulSet", workload("StatefulSet", serviceName="web"), dryRun="All"),
        create("DaemonSet", workload("DaemonSet"), dryRun="All"),
    ],
    "workloads that are refused": [
        create("Deployment", workload("Deployment", replicas=-1), dryRun="All"),
        create("Deployment", workload("Deployment", selector=None), dryRun="All"),
        create(
            "Deployment", workload("Deployment", selector={"matchLabels": {"a": "b"}}), dryRun="All"
        ),
        create(
            "DaemonSet", workload("DaemonSet", selector={"matchLabels": {"a": "b"}}), dryRun="All"
        ),
        create("PodDisruptionBudget", budget(minAvailable=1, maxUnavailable=1), dryRun="All"),
        create("PodDisruptionBudget", budget(minAvailable=-1), dryRun="All"),
        create("PodDisruptionBudget", budget(minAvailable="half"), dryRun="All"),
    ],
    "places that are refused": [
        _spread(_SPREAD),
        _spread({**_SPREAD, "whenUnsatisfiable": None}),
        _spread({**_SPREAD, "maxSkew": None}),
        _spread({**_SPREAD, "topologyKey": None}),
        _spread({**_SPREAD, "minDomains": 0}),
        _spread({**_SPREAD, "minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}),
        _spread(_SPREAD, _SPREAD),
        _near(**{_PREFERRED: [{"podAffinityTerm": {"topologyKey": "a"}}]}),
        _near(**{_PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "a"}}]}),
        _tolerates(key="a", operator="Perhaps"),
        _tolerates(operator="Equal"),
        _tolerates(key="a", operator="Exists", value="x"),
        _tolerates(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
        _tolerates(key="a", operator="Exists", effect="Never"),
        _placed(restartPolicy="Perhaps"),
        _placed(volumes=[{"emptyDir": {}}]),
        _placed(volumes=[{"name": "a"}, {"name": "a"}]),
        _placed(volumes=[{"name": "a", "persistentVolumeClaim": {}}]),
        _placed(volumes=[{"name": "a", "ephemeral": {}}]),
        _tainted(_TAINT, {**_TAINT, "value": "x"}),
        _tainted({"key": "a"}),
        _tainted({"key": "a", "effect": "Never"}),
    ],
    "strategies that are refused": [
        _rolling("Deployment", maxSurge=0, maxUnavailable=0),
        _rolling("Deployment", maxSurge="0%", maxUnavailable="0%"),
        _rolling("Deployment", maxUnavailable="150%"),
        _rolling("Deployment", maxSurge="150%"),
        _rolling("Deployment", maxUnavailable="x"),
        _with("Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        _with("Deployment", strategy={"type": "Perhaps"}),
        _with("Deployment", minReadySeconds=-1),
        _with("Deployment", minReadySeconds=600),
        _with("Deployment", revisionHistoryLimit=-1),
        _with("Deployment", selector={}),
        _rolling("StatefulSet", partition=-1),
        _rolling("StatefulSet", maxUnavailable=2),
        _with("StatefulSet", podManagementPolicy="Perhaps"),
        _with("StatefulSet", ordinals={"start": -1}),
        _with("StatefulSet", updateStrategy={"type": "Perhaps"}),
        _with("StatefulSet", updateStrategy={"type": "OnDelete"}),
        _with("StatefulSet", updateStrategy={"type": "OnDelete", "rollingUpdate": {}}),
        _rolling("DaemonSet", maxUnavailable=0),
        _rolling("DaemonSet", maxUnavailable=1, maxSurge=1),
        _rolling("DaemonSet", maxUnavailable=0, maxSurge="50%"),
        _with("DaemonSet", updateStrategy={"type": "Perhaps"}),
        create("PodDisruptionBudget", budget(minAvailable="101%"), dryRun="All"),
        create("PodDisruptionBudget", budget(maxUnavailable="100%"), dryRun="All"),
        create(
            "PodDisruptionBudget",
            budget(minAvailable=1, unhealthyPodEvictionPolicy="Perhaps"),
            dryRun="All",
        ),
    ],
    "another strategy": [
        create("Deployment", workload("Deployment", replicas=0)),
        # What is left over of the strategy of before.
        patch("Deployment", "web", {"spec": {"strategy": {"type": "Recreate"}}}),
    ],
    "priorities": [create("PriorityClass", {"metadata": {"name": "none"}}, dryRun="All")],
    "changes of a deployment": [
        create("Deployment", workload("Deployment", replicas=0)),
        patch("Deployment", "web", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}),
        patch("Deployment", "web", {"spec": {"replicas": -1}}),
        patch("Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"app": "x"}}}}}),
        patch("Deployment", "web", {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}),
    ],
    "budgets": [
        create("PodDisruptionBudget", budget(minAvailable=1), dryRun="All"),
        create("PodDisruptionBudget", budget(maxUnavailable="25%"), dryRun="All"),
        create("PodDisruptionBudget", {"metadata": {"name": "nothing"}}, dryRun="All"),
    ],
    "migrations": [
        create("PodMigration", migration()),
        patch("PodMigration", "m", {"spec": {"target": "n3"}}),
        patch("PodMigration", "m", {"status": {"phase": "InProgress", "unknown": 1}}, "status"),
        patch("PodMigration", "m", {"status": {"phase": "Wrong"}}, "status"),
        patch("PodMigration", "m", {"status": None}, "status"),
        patch("PodMigration", "m", {"metadata": {"labels": {"a": "b"}}}),
        create("PodMigration", {**migration("n"), "status": {"phase": "Completed"}}),
    ],
    "migrations that are refused": [
        create("PodMigration", migration("m" * 64)),
        create("PodMigration", migration(pod=None)),
        create("PodMigration", migration(pod={"name": "web"})),
        create("PodMigration", migration(pod={"name": "", "uid": "u"})),
        create("PodMigration", migration(pod={"name": "a", "uid": "u/v"})),
        create("PodMigration", migration(target="n1")),
        create("PodMigration", migration(target=5)),
        create("PodMigration", migration(attempt=0)),
        create("PodMigration", migration(attempt="1")),
        create("PodMigration", migration(way="Jump")),
        create("PodMigration", migration(strategy="x" * 254)),
        create("PodMigration", migration(group={"id": "a"})),
        create("PodMigration", migration(settings={"readyTimeout": "soon"})),
    ],
    "others": [
        create(
            "Service", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}, dryRun="All"
        ),
        create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "b"}}),
        create(
            "Job",
            {
                "metadata": {"name": "j"},
                "spec": {
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "schedulerName": NOBODY,
                            "containers": containers(),
                        }
                    }
                },
            },
            dryRun="All",
        ),
        create(
            "PersistentVolumeClaim",
            {
                "metadata": {"name": "v"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": "none",
                },
            },
            dryRun="All",
        ),
        create("NetworkPolicy", {"metadata": {"name": "n"}, "spec": {"podSelector": {}}}),
        create("Lease", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}),
    ],
}
