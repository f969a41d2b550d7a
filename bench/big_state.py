"""The state of a large cluster with all kinds of rules, made in memory: no server, no etcd."""

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from rescheduler import wire
from rescheduler.observe.state import ClusterState
from rescheduler.wire import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    Batch,
    Resource,
)

Object = dict[str, Any]

CLASSES: Final = 3_000
"""Of alike pods, on a cluster of full size; a smaller one has fewer."""
_DAEMONS: Final = 2
_TEAMS: Final = 100
_CPU: Final = (100, 150, 200, 250, 300, 400, 500, 750)
_MEMORY: Final = (128, 192, 256, 384, 512, 768)
_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_AT_ONCE: Final = 5_000
_APART, _SPREAD, _SSD, _TOLERANT = range(4)
_DEDICATED: Final = 20
"""One node in so many is tainted."""


def _term(app: str, where: str) -> Object:
    return {"topologyKey": where, "labelSelector": {"matchLabels": {"app": app}}}


def _rules(number: int, app: str) -> Object:
    """Of one class in ten each; six in ten have none."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart = {"affinity": {"podAntiAffinity": {required: [_term(app, _HOST)]}}}
    spread = {
        "topologySpreadConstraints": [
            {"maxSkew": 5, "whenUnsatisfiable": "DoNotSchedule", **_term(app, _ZONE)}
        ]
    }
    ssd: Object = {"nodeSelector": {"disk": "ssd"}}
    tolerant = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    by_kind: dict[int, Object] = {_APART: apart, _SPREAD: spread, _SSD: ssd, _TOLERANT: tolerant}
    return by_kind.get(number % 10, {})


class BigState:
    """Every run makes the same."""

    def __init__(self, nodes: int, pods: int) -> None:
        self.state = ClusterState()
        self._luck = random.Random(0)  # noqa: S311 - repeatable
        self._nodes = nodes
        self._classes = max(CLASSES * nodes // 5_000, 1)
        self._each = max((pods - _DAEMONS * nodes) // self._classes, 1)
        self._places = [
            [self._place(number, index) for index in range(self._each)]
            for number in range(self._classes)
        ]
        self._take(NODES, map(self._node, range(nodes)))
        self._take(NAMESPACES, ({"metadata": {"name": f"team-{n}"}} for n in range(_TEAMS)))
        self._take(DAEMON_SETS, (_daemon_set(number) for number in range(_DAEMONS)))
        self._take(DEPLOYMENTS, map(self._deployment, range(self._classes)))
        self._take(REPLICA_SETS, map(self._replica_set, range(self._classes)))
        self._take(POD_DISRUPTION_BUDGETS, map(self._budget, range(0, self._classes, 2)))
        self._take(PODS, self._pods())

    def some_events(self, seed: int, many: int = 20) -> None:
        """As between two passes: pods that have become unready, or ready again."""
        luck = random.Random(seed)  # noqa: S311 - repeatable
        some = [
            self._pod(
                luck.randrange(self._classes), luck.randrange(self._each), ready=seed % 2 == 0
            )
            for _ in range(many)
        ]
        self.state.take(PODS, Batch(present=[wire.from_json(PODS, each) for each in some]))

    def _take(self, resource: Resource, raws: Iterable[Object]) -> None:
        self.state.begin_listing(resource)
        rest = iter(raws)
        while some := list(islice(rest, _AT_ONCE)):
            views = [wire.from_json(resource, raw) for raw in some]
            told = self.state.take(resource, Batch(present=views))
            if told:
                raise ValueError(f"{resource.plural}: {told[0]}")
        self.state.take(resource, Batch(complete=True))

    def _node(self, number: int) -> Object:
        name = f"node-{number:04}"
        labels = {_HOST: name, _ZONE: f"zone-{'abc'[number % 3]}"}
        labels["disk"] = "ssd" if number % 4 == 0 else "hdd"
        taints = [{"key": "dedicated", "value": "yes", "effect": "NoSchedule"}]
        return {
            "metadata": {"name": name, "uid": name, "labels": labels},
            "spec": {"taints": taints if number % _DEDICATED == 0 else []},
            "status": {
                "allocatable": {"cpu": "32", "memory": "40Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def _pods(self) -> Iterator[Object]:
        for number in range(self._classes):
            for index in range(self._each):
                yield self._pod(number, index)
        for number in range(_DAEMONS):
            for node in range(self._nodes):
                yield _daemon_pod(number, f"node-{node:04}")

    def _pod(self, number: int, index: int, *, ready: bool = True) -> Object:
        app, team = f"app-{number:04}", f"team-{number % _TEAMS}"
        asked = {"cpu": f"{_CPU[number % 8]}m", "memory": f"{_MEMORY[number % 6]}Mi"}
        return {
            "metadata": {
                "namespace": team,
                "name": f"{app}-{index}",
                "uid": f"{app}-{index}",
                "labels": {"app": app},
                "ownerReferences": [_owner("ReplicaSet", app)],
            },
            "spec": {
                "nodeName": f"node-{self._places[number][index]:04}",
                "priority": 100 * (number % 5),
                "containers": [{"name": "app", "resources": {"requests": asked}}],
                **_rules(number, app),
            },
            "status": {
                "phase": "Running",
                "startTime": "2026-01-01T00:00:00Z",
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        }

    def _place(self, number: int, index: int) -> int:
        """Scattered over the nodes, unevenly, with the rules of the class kept."""
        kind, luck = number % 10, self._luck
        if kind == _APART:
            node = (number * 97 + index * 11) % (self._nodes - 1)
            return node + 1 if node % _DEDICATED == 0 else node
        while True:
            node = luck.randrange(self._nodes)
            if kind == _SPREAD:
                node = node - node % 3 + index % 3
            if node >= self._nodes or (node % _DEDICATED == 0 and kind != _TOLERANT):
                continue
            if kind == _SSD and node % 4:
                continue
            # A third of the nodes has half of the pods.
            if node // 3 % 3 == 0 or luck.getrandbits(1):
                return node

    def _deployment(self, number: int) -> Object:
        name = f"app-{number:04}"
        labels = {"app": name}
        return {
            "metadata": {"namespace": f"team-{number % _TEAMS}", "name": name, "uid": f"d-{name}"},
            "spec": {"replicas": self._each, "selector": {"matchLabels": labels}},
            "status": {
                "replicas": self._each,
                "readyReplicas": self._each,
                "updatedReplicas": self._each,
                "availableReplicas": self._each,
            },
        }

    def _replica_set(self, number: int) -> Object:
        name = f"app-{number:04}"
        owner = _owner("Deployment", name) | {"uid": f"d-{name}"}
        return {
            "metadata": {
                "namespace": f"team-{number % _TEAMS}",
                "name": name,
                "uid": name,
                "ownerReferences": [owner],
            },
            "spec": {"replicas": self._each},
            "status": {"replicas": self._each, "readyReplicas": self._each},
        }

    def _budget(self, number: int) -> Object:
        name = f"app-{number:04}"
        return {
            "metadata": {"namespace": f"team-{number % _TEAMS}", "name": name, "uid": f"b-{name}"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": 1},
            "status": {
                "currentHealthy": self._each,
                "desiredHealthy": self._each - 1,
                "disruptionsAllowed": 1,
                "expectedPods": self._each,
            },
        }


def _owner(kind: str, name: str) -> Object:
    return {"kind": kind, "name": name, "uid": name, "controller": True}


def _daemon_set(number: int) -> Object:
    name = f"agent-{number}"
    return {
        "metadata": {"namespace": "team-0", "name": name, "uid": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"spec": _daemon_spec()}},
    }


def _daemon_spec() -> Object:
    asked = {"cpu": "100m", "memory": "64Mi"}
    return {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "agent", "resources": {"requests": asked}}],
    }


def _daemon_pod(number: int, node: str) -> Object:
    name = f"agent-{number}"
    return {
        "metadata": {
            "namespace": "team-0",
            "name": f"{name}-{node}",
            "uid": f"{name}-{node}",
            "labels": {"app": name},
            "ownerReferences": [_owner("DaemonSet", name)],
        },
        "spec": {"nodeName": node, **_daemon_spec()},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
