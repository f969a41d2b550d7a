"""Random small clusters, as objects: nodes, volumes and pods that use every rule of scheduling.

The same seed makes the same world. Several worlds may live in one cluster and not take notice of
each other: their nodes have a taint that only their own pods tolerate, their pods namespaces of
their own, and rules that look at other namespaces look at topology keys that only their nodes have.
"""

import copy
import random
from collections.abc import Sequence

from tests.unit.plan.support.cluster_objects import Object
from tests.unit.plan.support.random_rules import (
    GPU,
    HOST,
    REGION,
    RULES,
    TAINTS,
    ZONE,
    World,
    node_selector,
    tolerate,
    tolerate_somehow,
)

TAINT = "fit.test/world"
DRIVER = "csi.fit.test"
GATE = "fit.test/not-yet"
COPY_OF = "fit.test/copy-of"
NOMINATED = 0.2
"""How many worlds have a pod that waits with a promise."""
COPIES = 0.3
"""How often a candidate is the copy of a pod that is on another node."""
PRIORITY_CLASSES = {
    "calm": (100, "Never"),
    "steady": (50, "PreemptLowerPriority"),
    "pushy": (500, "PreemptLowerPriority"),
}
"""Name -> value and preemptionPolicy."""

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
_EFFECTS = ("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule")


def luck_of(*what: object) -> random.Random:
    return random.Random(" ".join(map(str, what)))  # noqa: S311 - to be repeated, not secret


def world(seed: object, number: int, *, least: int = 2, cordoned: bool = True) -> World:
    """Of so many nodes at least. Not cordoned: all of them are open, and the target is any."""
    luck = luck_of(seed, "world", number)
    made = World(f"w{number}", luck)
    made.namespaces = [
        _namespace(made, "red", {"team": "red"}),
        _namespace(made, "blue", {"team": "blue", "stage": "test"}),
        _namespace(made, "green", {"team": "green"}),
    ]
    made.nodes = [
        _node(made, f"{made.name}-n{each}") for each in range(luck.randint(least, least + 3))
    ]
    made.target = luck.choice(made.nodes)["metadata"]["name"]
    for node in made.nodes:
        if cordoned and node["metadata"]["name"] != made.target:
            node["spec"]["unschedulable"] = True
            if luck.random() < 0.5:
                # As the node controller does a moment later.
                node["spec"]["taints"].append(dict(CORDON))
    _add_storage(made)
    for node in made.nodes:
        for _ in range(luck.choice((0, 1, 1, 2, 2, 3))):
            _add_resident(made, node["metadata"]["name"])
    if luck.random() < NOMINATED:
        _add_nominee(made)
    return made


def _namespace(made: World, name: str, labels: dict[str, str]) -> Object:
    full = f"{made.name}-{name}"
    labels |= {"world": made.name, "kubernetes.io/metadata.name": full}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": full, "labels": labels},
    }


# ---------------------------------------------------------------------- nodes


def _node(made: World, name: str) -> Object:
    luck = made.luck
    zone = luck.choice("123")
    labels = {
        HOST: name,
        made.own_key("zone"): f"z{zone}",
        made.own_key("rack"): luck.choice(("r1", "r2")),
        ZONE: f"{made.name}-z{zone}",
        REGION: f"{made.name}-r1",
        "disk": luck.choice(("ssd", "hdd")),
        "size": str(luck.randint(1, 5)),
        "world": made.name,
    }
    if luck.random() < 0.2:
        labels[OLD_ZONE] = f"{made.name}-z{zone}"
    for key in luck.sample([*made.own_keys, ZONE, REGION, "disk", "size"], 6):
        if luck.random() < 0.1:
            del labels[key]
    taints = [{"key": TAINT, "value": made.name, "effect": "NoSchedule"}]
    for key, value in luck.sample(TAINTS, luck.choice((0, 0, 0, 1, 2))):
        taint = {"key": key, "effect": luck.choice(_EFFECTS)}
        if (key, taint["effect"]) not in [(each["key"], each["effect"]) for each in taints]:
            taints.append(taint | ({"value": value} if value else {}))
    room = {
        "cpu": f"{luck.choice((500, 1000, 2000, 3000, 4000))}m",
        "memory": f"{luck.choice((1, 2, 4, 8))}Gi",
        "pods": str(luck.choice((3, 5, 8, 110))),
        "ephemeral-storage": "10Gi",
    }
    if luck.random() < 0.5:
        room[GPU] = str(luck.randint(0, 2))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "allocatable": room,
            "capacity": dict(room),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


# ---------------------------------------------------------------------- storage


def _add_storage(made: World) -> None:
    luck = made.luck
    for node in made.nodes:
        if luck.random() < 0.7:
            driver: Object = {"name": DRIVER, "nodeID": "node"}
            if luck.random() < 0.9:
                driver["allocatable"] = {"count": luck.choice((1, 1, 2, 3))}
            made.storage.append(
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSINode",
                    "metadata": {"name": node["metadata"]["name"]},
                    "spec": {"drivers": [driver]},
                }
            )
    for number in range(8):
        _add_claim(made, made.names[number % 2], f"{made.name}-c{number}")
    if luck.random() < 0.4:
        made.storage.append(_attachment(made, made.target))


def _attachment(made: World, node: str) -> Object:
    source = {"persistentVolumeName": f"{made.name}-c{made.luck.randrange(8)}"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"{made.name}-attached"},
        "spec": {"attacher": DRIVER, "nodeName": node, "source": source},
    }


def _add_claim(made: World, namespace: str, name: str) -> None:
    luck = made.luck
    mode = luck.choice((*["ReadWriteMany"] * 4, "ReadWriteOnce", *["ReadWriteOncePod"] * 2))
    size = {"storage": "1Gi"}
    claim: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": [mode],
            "resources": {"requests": size},
            "storageClassName": "",
        },
        "status": {"phase": "Pending"},
    }
    made.claims.append((namespace, name))
    made.storage.append(claim)
    if luck.random() < 0.07:
        return  # bound to nothing, and nobody is going to
    claim["spec"]["volumeName"] = name
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}
    if luck.random() < 0.05:
        return  # its volume is gone
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": _volume_zones(made)},
        "spec": {
            "accessModes": [mode],
            "capacity": size,
            "claimRef": {"namespace": namespace, "name": name},
        },
    }
    if luck.random() < 0.75:
        volume["spec"]["csi"] = {"driver": DRIVER, "volumeHandle": name}
    else:
        volume["spec"]["nfs"] = {"server": "files", "path": "/"}
    if luck.random() < 0.3:
        volume["spec"]["nodeAffinity"] = {"required": node_selector(made)}
    made.storage.append(volume)


def _volume_zones(made: World) -> dict[str, str]:
    luck = made.luck
    zones = [f"{made.name}-z{each}" for each in luck.sample("123", luck.randint(1, 2))]
    match luck.choice(("", "", "", "", "zone", "old", "region")):
        case "zone":
            return {ZONE: "__".join(zones)}
        case "old":
            return {OLD_ZONE: "__".join(zones)}
        case "region":
            return {REGION: f"{made.name}-r{luck.choice('112')}", ZONE: zones[0]}
    return {}


# ---------------------------------------------------------------------- pods


def _add_resident(made: World, node: str) -> None:
    luck = made.luck
    number = len(made.pods)
    pod = blank_pod(made, f"{made.name}-r{number}")
    pod["spec"]["nodeName"] = node
    for rule in luck.sample(list(RULES), luck.choice((0, 1, 1, 2, 3))):
        RULES[rule](made, pod)
    tolerate(pod, made.find_node(made.target))
    if luck.random() < 0.2:
        pod["spec"]["priorityClassName"] = luck.choice(("steady", "pushy"))
    if luck.random() < 0.15:
        made.ending.append(pod["metadata"]["name"])
    made.pods.append(pod)
    if node != made.target:
        made.away.append(copy.deepcopy(pod))


def _add_nominee(made: World) -> None:
    luck = made.luck
    pod = blank_pod(made, f"{made.name}-nominee")
    # The scheduler counts those who wait only roughly into a spread, which looks at one namespace;
    # and it does not always ask about their own anti-affinity and claims, for it skips a plugin
    # that has nothing to say without them.
    pod["metadata"]["namespace"] = made.namespaces[-1]["metadata"]["name"]
    for rule in luck.sample(("room", "ports", "disk", "spread"), luck.choice((1, 2))):
        RULES[rule](made, pod)
    if luck.random() < 0.5:
        pod["spec"]["priorityClassName"] = "steady"
    pod["spec"]["schedulingGates"] = [{"name": GATE}]
    made.nominee = pod


def blank_pod(made: World, name: str) -> Object:
    """One that asks for nothing but its world."""
    luck = made.luck
    labels = {"app": luck.choice("abc"), "version": luck.choice("12")}
    if luck.random() < 0.3:
        labels["tier"] = luck.choice("xy")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": luck.choice(made.names), "labels": labels},
        "spec": {
            "containers": [{"name": "app", "image": "app:1"}],
            "tolerations": [{"key": TAINT, "value": made.name, "effect": "NoSchedule"}],
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
        },
    }


def copy_of(original: Object, name: str) -> Object:
    """What a move of this pod would make, if it were not pinned."""
    pod = copy.deepcopy(original)
    pod["metadata"]["name"] = name
    pod["metadata"]["annotations"] = {COPY_OF: original["metadata"]["name"]}
    del pod["spec"]["nodeName"]
    pod["spec"].pop("priorityClassName", None)
    return pod


def candidate(made: World, name: str, *, last: bool = False) -> Object:
    """A pod to be asked about. The last one of its world may push out others."""
    luck = made.luck
    if made.away and luck.random() < COPIES:
        return copy_of(luck.choice(made.away), name)
    pod = blank_pod(made, name)
    # Mostly one rule alone, so that each is seen to refuse by itself.
    count = luck.choice((0, 1, 1, 1, 1, 1, 2, 2, 3, 5))
    for rule in luck.sample(list(RULES), count):
        RULES[rule](made, pod)
    if luck.random() < 0.85:
        tolerate(pod, made.find_node(made.target))
    elif luck.random() < 0.7:
        tolerate_somehow(luck, pod)
    if last and luck.random() < 0.3:
        pod["spec"]["priorityClassName"] = "pushy"
    elif luck.random() < 0.3:
        pod["spec"]["priorityClassName"] = "calm"
    return pod


def objects_of(made: World, pods: Sequence[Object]) -> list[Object]:
    return [*made.namespaces, *made.nodes, *made.storage, *pods]
