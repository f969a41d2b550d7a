"""Changes as people would make them: to the objects of a cluster, or to a configuration file.

Shares nothing with what finds them but their description, so that a change which is only imagined
to help does not.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from rescheduler import config
from rescheduler.config import Configuration
from rescheduler.model import quantities
from rescheduler.plan.whatif import Change
from tests.unit.plan.support.cluster_objects import Object, asked_by, key_of

HEADER = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "ReschedulerConfiguration"}
KINDS = {
    "pods": "Pod",
    "namespaces": "Namespace",
    "replicasets": "ReplicaSet",
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "jobs": "Job",
}
NANOS = 10**9


class Hands:
    """Makes changes one after the other."""

    def __init__(self, objects: Sequence[Object], settings: Mapping[str, Any]) -> None:
        self.objects = copy.deepcopy(list(objects))
        self.settings = copy.deepcopy(dict(settings))
        """As in a file."""

    @property
    def configuration(self) -> Configuration:
        return config.parse(yaml.safe_dump({**HEADER, **self.settings}))

    def make(self, change: Change, *, halved: bool = False) -> None:
        amount = change.amount
        if halved:
            assert amount is not None
            amount //= 2
        getattr(self, f"_{change.kind.name.lower()}")(change, amount)

    def find(self, kind: str, name: str) -> Object:
        wanted = tuple(name.split("/")) if "/" in name else ("", name)
        return next(
            each for each in self.objects if each["kind"] == kind and key_of(each) == wanted
        )

    # ------------------------------------------------------------------ marks, settings

    def _label(self, change: Change, _: int | None) -> None:
        found = self.find(KINDS[change.details["resource"]], change.subject)
        del found["metadata"]["labels"][change.details["name"]]

    def _annotation(self, change: Change, _: int | None) -> None:
        found = self.find(KINDS[change.details["resource"]], change.subject)
        del found["metadata"]["annotations"][change.details["name"]]

    def _setting(self, change: Change, amount: int | None) -> None:
        *above, last = change.subject.split(".")
        holder = self.settings
        for name in above:
            holder = holder.setdefault(name, {})
        value = change.details["value"]
        if amount is not None and amount != change.amount:
            more = amount - change.amount  # type: ignore[operator]
            value += more if last == "priorityThreshold" else -more
        holder[last] = value

    # ------------------------------------------------------------------ states

    def _ready(self, change: Change, _: int | None) -> None:
        pod = self.find("Pod", change.subject)
        pod["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for reference in pod["metadata"].get("ownerReferences", ()):
            if reference["kind"] in ("ReplicaSet", "StatefulSet"):
                namespace = pod["metadata"]["namespace"]
                owner = self.find(reference["kind"], f"{namespace}/{reference['name']}")
                counted = owner["status"].get("readyReplicas", 0) + 1
                owner["status"]["readyReplicas"] = min(counted, owner["spec"]["replicas"])

    def _replicas(self, change: Change, amount: int | None) -> None:
        owner = self.find(KINDS[change.details["resource"]], change.subject)
        assert amount is not None
        owner["status"]["readyReplicas"] = owner["status"].get("readyReplicas", 0) + amount

    def _budget(self, change: Change, amount: int | None) -> None:
        budget = self.find("PodDisruptionBudget", change.subject)
        budget["status"] |= {"disruptionsAllowed": amount}

    def _budgets(self, change: Change, _: int | None) -> None:
        self.objects.remove(self.find("PodDisruptionBudget", change.subject))

    def _quota(self, change: Change, amount: int | None) -> None:
        hard = self.find("ResourceQuota", change.subject)["spec"]["hard"]
        for name, nanos in change.details["more"].items():
            more = nanos if amount is None else amount
            # Those of generated clusters count whole pods.
            hard[name] = str(int(hard[name]) + more // NANOS)

    # ------------------------------------------------------------------ the pod

    def _requests(self, change: Change, amount: int | None) -> None:
        pod, name = self.find("Pod", change.subject), change.details["resource"]
        assert amount is not None
        left = asked_by(pod)[name] - amount
        spec = pod["spec"]
        holders = [*spec["containers"], *spec.get("initContainers", ()), spec]
        for each in holders:
            ((each.get("resources") or {}).get("requests") or {}).pop(name, None)
        (spec.get("overhead") or {}).pop(name, None)
        first = spec["containers"][0].setdefault("resources", {})
        quantity = f"{left}m" if name == "cpu" else str(left)
        first["requests"] = {**(first.get("requests") or {}), name: quantity}
        assert asked_by(pod).get(name, 0) == left

    def _toleration(self, change: Change, _: int | None) -> None:
        spec = self.find("Pod", change.subject)["spec"]
        spec["tolerations"] = [*spec.get("tolerations", ()), change.details["toleration"]]

    def _skew(self, change: Change, amount: int | None) -> None:
        spec = self.find("Pod", change.subject)["spec"]
        spread = spec["topologySpreadConstraints"][change.details["number"]]
        assert amount is not None
        spread["maxSkew"] += amount

    def _rule(self, change: Change, _: int | None) -> None:
        holder = self.find("Pod", change.subject)["spec"]
        *above, last = change.details["path"]
        for name in above:
            holder = holder[name]
        if change.details["number"] is None:
            del holder[last]
        else:
            del holder[last][change.details["number"]]

    def _priority(self, change: Change, amount: int | None) -> None:
        assert amount is not None
        self.find("Pod", change.subject)["spec"]["priority"] -= amount

    def _volume(self, change: Change, _: int | None) -> None:
        spec = self.find("Pod", change.subject)["spec"]
        gone = change.details["volumes"]
        spec["volumes"] = [each for each in spec["volumes"] if each["name"] not in gone]

    # ------------------------------------------------------------------ nodes

    def _uncordon(self, change: Change, _: int | None) -> None:
        spec = self.find("Node", change.subject)["spec"]
        spec["unschedulable"] = False
        key = "node.kubernetes.io/unschedulable"
        spec["taints"] = [each for each in spec.get("taints", ()) if each["key"] != key]

    def _maintenance(self, change: Change, _: int | None) -> None:
        labels = self.find("Node", change.subject)["metadata"]["labels"]
        del labels["scheduler.alpha.kubernetes.io/maintenance"]

    def _room(self, change: Change, amount: int | None) -> None:
        allocatable = self.find("Node", change.subject)["status"]["allocatable"]
        name = change.details["resource"]
        told = allocatable.get(name, "0")
        before = quantities.millis(told) if name == "cpu" else quantities.units(told)
        assert amount is not None
        allocatable[name] = f"{before + amount}m" if name == "cpu" else str(before + amount)

    def _node(self, change: Change, _: int | None) -> None:
        amounts = change.details["allocatable"]
        self.objects.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": "new-node",
                    "uid": "uid-new-node",
                    "labels": change.details["labels"],
                },
                "spec": {},
                "status": {
                    "allocatable": {
                        name: f"{each}m" if name == "cpu" else str(each)
                        for name, each in amounts.items()
                    },
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )
