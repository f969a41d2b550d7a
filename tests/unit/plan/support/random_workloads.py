"""Random small clusters in which there is something to plan: workloads, budgets, quotas, groups.

Built on the nodes, volumes and rules of `random_worlds`. Most pods stand where the scheduler could
have put them, and some do not, for a cluster is not always in order.
"""

import copy
import random

from tests.unit.plan.support import random_worlds, scheduler_rules
from tests.unit.plan.support.cluster_objects import Cluster, Object, key_of
from tests.unit.plan.support.judge import CRITICAL, MAINTENANCE, OPT_OUT
from tests.unit.plan.support.random_rules import RULES, World, tolerate

GROUP = "scheduling.x-k8s.io/pod-group"
HASH = "pod-template-hash"
CREATED = "2026-03-01T12:00:00Z"
OUT_OF_ORDER = 0.15
"""How many pods stand where the scheduler would not have put them."""


def cluster(seed: object) -> list[Object]:
    """All objects of one."""
    world = random_worlds.world(seed, 0, least=4, cordoned=False)
    luck = world.luck
    for each in (*world.namespaces, *world.nodes, *world.storage):
        _identify(each)
    for node in world.nodes:
        _make_special(luck, node)
    made = _Making(world)
    for number in range(luck.randint(3, 7)):
        made.add_workload(f"{world.name}-app{number}")
    made.add_daemons()
    for namespace in world.names:
        if luck.random() < 0.3:
            made.add_quota(namespace)
    return made.objects


def _identify(each: Object) -> None:
    metadata = each["metadata"]
    metadata["uid"] = f"uid-{each['kind']}-{metadata.get('namespace', '')}-{metadata['name']}"
    metadata["creationTimestamp"] = CREATED


def _make_special(luck: random.Random, node: Object) -> None:
    labels, roll = node["metadata"]["labels"], luck.random()
    # Larger than those of the oracle: here pods are to move.
    node["status"]["allocatable"]["cpu"] = f"{luck.choice((3000, 4000, 6000))}m"
    node["status"]["allocatable"]["pods"] = luck.choice(("8", "110"))
    node["metadata"]["annotations"] = {"rescheduler.io/node-cost": str(luck.randint(1, 9))}
    if roll < 0.25:
        labels[MAINTENANCE] = "true"
    elif roll < 0.28:
        labels["node-role.kubernetes.io/control-plane"] = ""
    elif roll < 0.31:
        node["spec"]["unschedulable"] = True
    elif roll < 0.34:
        node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]


class _Making:
    def __init__(self, world: World) -> None:
        self.world = world
        self.luck = world.luck
        self.objects = [*world.namespaces, *world.nodes, *world.storage]
        self._cluster = Cluster.of(self.objects)

    def _add(self, each: Object) -> None:
        self.objects.append(each)
        self._cluster.add(each)

    # ------------------------------------------------------------------ workloads

    def add_workload(self, name: str) -> None:
        luck = self.luck
        template = random_worlds.blank_pod(self.world, name)
        template["metadata"]["labels"]["workload"] = name
        RULES["room"](self.world, template)
        for rule in luck.sample(list(RULES), luck.choice((0, 0, 1, 1, 2))):
            RULES[rule](self.world, template)
        for node in self.world.nodes:
            if luck.random() < 0.8:
                tolerate(template, node)
        template["spec"]["priority"] = luck.choice((0, 0, 0, 0, 100, 500))
        kind = luck.choice((*["Deployment"] * 6, "StatefulSet"))
        match luck.randrange(20):
            case 0:
                template["metadata"]["labels"][OPT_OUT] = "disabled"
            case 1:
                template["spec"]["priority"] = CRITICAL
            case 2:
                kind = luck.choice(("", "Job"))
            case 3 | 4:
                template["metadata"]["labels"][GROUP] = name
        if kind == "Deployment":
            template["metadata"]["labels"][HASH] = "1"
        pods = [self._pod(template, f"{name}-{number}") for number in range(luck.randint(1, 5))]
        placed = [pod for pod in pods if self._place(pod)]
        self._add_owners(kind, template, placed)
        if placed and luck.random() < 0.3:
            self._add_budget(template, len(placed))

    def _pod(self, template: Object, name: str) -> Object:
        pod = as_created(template)
        pod["metadata"]["name"] = name
        _identify(pod)
        ready = "True" if self.luck.random() < 0.99 else "False"
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        if self.luck.random() < 0.02:
            pod["metadata"]["deletionTimestamp"] = CREATED
        return pod

    def _place(self, pod: Object) -> bool:
        names = [each["metadata"]["name"] for each in self.world.nodes]
        right = [name for name in names if not scheduler_rules.why_not(self._cluster, pod, name)]
        if self.luck.random() < OUT_OF_ORDER:
            right = self.luck.sample(names, len(names))
        if not right:
            return False
        # Mostly on the first ones, so that there is something to balance.
        pod["spec"]["nodeName"] = self.luck.choice(right[:2])
        self._add(pod)
        return True

    def _add_owners(self, kind: str, template: Object, pods: list[Object]) -> None:
        namespace, name = key_of(template)
        count = len(pods)
        ready = sum(
            each["status"]["conditions"][0]["status"] == "True"
            and "deletionTimestamp" not in each["metadata"]
            for each in pods
        )
        status = {
            "replicas": count,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": count,
            "observedGeneration": 1,
        }
        owner = ""
        for each in {"Deployment": ("Deployment", "ReplicaSet")}.get(kind, (kind,) if kind else ()):
            made: Object = {
                "apiVersion": "batch/v1" if each == "Job" else "apps/v1",
                "kind": each,
                "metadata": {"name": name, "namespace": namespace, "generation": 1},
                "spec": {
                    "replicas": count,
                    "selector": {"matchLabels": {"workload": name}},
                    "template": {"metadata": template["metadata"], "spec": template["spec"]},
                },
                "status": dict(status),
            }
            _identify(made)
            if each == "ReplicaSet":
                made["spec"]["selector"]["matchLabels"][HASH] = "1"
            if owner:
                made["metadata"]["ownerReferences"] = [_reference("Deployment", made, owner)]
            owner = made["metadata"]["uid"]
            self._add(made)
        for pod in pods:
            if kind:
                of = "ReplicaSet" if kind == "Deployment" else kind
                pod["metadata"]["ownerReferences"] = [_reference(of, template, owner)]

    def add_daemons(self) -> None:
        for node in self.world.nodes:
            name = node["metadata"]["name"]
            if self.luck.random() < 0.3:
                pod = random_worlds.blank_pod(self.world, f"{name}-daemon")
                _identify(pod)
                pod["status"] = {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
                pod["spec"]["nodeName"] = name
                pod["metadata"]["ownerReferences"] = [_reference("DaemonSet", pod, "uid-daemons")]
                self._add(pod)

    # ------------------------------------------------------------------ limits

    def _add_budget(self, template: Object, count: int) -> None:
        namespace, name = key_of(template)
        allowed = self.luck.choice((0, 0, 1))
        healthy = self.luck.choice((count, count, count, count - 1))
        budget: Object = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace, "generation": 1},
            "spec": {"selector": {"matchLabels": {"workload": name}}},
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed if healthy == count else 0,
                "currentHealthy": healthy,
                "desiredHealthy": count - allowed,
                "expectedPods": count,
            },
        }
        if self.luck.random() < 0.1:
            budget["spec"]["selector"] = {}
        _identify(budget)
        self._add(budget)

    def add_quota(self, namespace: str) -> None:
        used = sum(1 for key in self._cluster.pods if key[0] == namespace)
        more = self.luck.choice((0, 1, 5))
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "quota", "namespace": namespace},
            "spec": {"hard": {"pods": str(used + more)}},
            "status": {"hard": {"pods": str(used + more)}, "used": {"pods": str(used)}},
        }
        _identify(quota)
        self._add(quota)


def _reference(kind: str, named: Object, uid: str) -> Object:
    name = named["metadata"]["name"]
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def as_created(template: Object) -> Object:
    """As the API server makes it: matchLabelKeys and mismatchLabelKeys go into the selectors."""
    pod = copy.deepcopy(template)
    labels = pod["metadata"]["labels"]
    terms = [
        term
        for kind in ("podAffinity", "podAntiAffinity")
        for term in scheduler_rules.required_terms(pod, kind)
    ]
    for each in (*terms, *(pod["spec"].get("topologySpreadConstraints") or ())):
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
            for key in each.get(field) or ():
                one = {"key": key, "operator": operator, "values": [labels[key]]}
                selector = each["labelSelector"] = {**each["labelSelector"]}
                selector["matchExpressions"] = [*selector.get("matchExpressions", ()), one]
    return pod
