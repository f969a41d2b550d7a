"""The cluster of the demo: one that has grown, and where nothing was ever moved.

The first nodes are full, those that came later half full, and the newest empty, for a scheduler
places a pod once. Pure: the same seed gives the same objects.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rescheduler import wire
from rescheduler.kube import Object
from rescheduler.simulation.described import WORKLOAD, BaseLoad
from rescheduler.wire import Resource

FEWEST_NODES: Final = 6

_CORES: Final = 8
_GIBIBYTES: Final = 32
_OLD_SHARE, _NEW_SHARE = 0.2, 0.25
_FULL, _HALF_FULL = 0.9, 0.5
"""What the pods of old and of later nodes ask for, of their cpu."""
_ZONES: Final = ("a", "b", "c")
_MILLICORES: Final = (150, 200, 250, 250, 300, 400, 600)
_FEWEST_REPLICAS, _MOST_REPLICAS = 2, 9
_STATEFUL_MILLICORES: Final = 500
_DAEMON_MILLICORES: Final = 50
_USED_SHARE: Final = (0.7, 1.3)
"""Of what pods ask for, what they use in the mean."""
_UNEVEN: Final = 0.05
"""How much pods of one workload differ in that."""
_SPREAD_SHARE: Final = 0.15
_BUDGET_SHARE: Final = 0.6
_SYSTEM: Final = "kube-system"
_NAMESPACES: Final = {
    "shop": ("web", "cart", "prices"),
    "checkout": ("payment", "invoice", "tax"),
    "catalog": ("items", "stock", "photos"),
    "search": ("query", "suggest", "ranking"),
    "crawl": ("fetch", "parse", "index"),
    "media": ("upload", "resize", "stream"),
    "accounts": ("login", "profile", "tokens"),
    "mail": ("inbox", "outbox", "filter"),
    "chat": ("rooms", "presence", "push"),
    "maps": ("tiles", "routes", "places"),
    "ads": ("bids", "clicks", "reports"),
    "billing": ("ledger", "export", "audit"),
}
_STATEFUL: Final = ("postgres", "kafka", "redis", "elastic", "mongo", "etcd")
_STATEFUL_NAMESPACE: Final = "data"


@dataclass(frozen=True, slots=True)
class Made:
    resource: Resource
    namespace: str | None
    body: Object

    @property
    def name(self) -> str:
        name: str = self.body["metadata"]["name"]
        return name


@dataclass(frozen=True, slots=True)
class Stage:
    """Of the history of the cluster: the nodes that join, and what is deployed then."""

    nodes: tuple[Made, ...]
    objects: tuple[Made, ...]

    @property
    def pods(self) -> int:
        """That come with it: replicas, and one of the DaemonSet for each node."""
        replicas = [int(each.body.get("spec", {}).get("replicas", 0)) for each in self.objects]
        return len(self.nodes) + sum(replicas)


@dataclass(frozen=True, slots=True)
class History:
    stages: tuple[Stage, ...]
    loads: Mapping[str, BaseLoad]
    """By workload, as the annotation `WORKLOAD` of its pods names it."""


def history(nodes: int, seed: int) -> History:
    chance = random.Random(f"demo/{seed}")  # noqa: S311 - the same again
    old = max(round(nodes * _OLD_SHARE), 2)
    new = max(round(nodes * _NEW_SHARE), 1)
    names = [f"node-{number:0{len(str(nodes))}}" for number in range(1, nodes + 1)]
    groups = names[:old], names[old : nodes - new], names[nodes - new :]
    workloads = _Workloads(chance)
    namespaces = map(_namespace, (_STATEFUL_NAMESPACE, *_NAMESPACES, _SYSTEM))
    stages = (
        Stage(
            _nodes(groups[0]),
            (*namespaces, workloads.daemon_set(), *workloads.filling(old * _CORES * _FULL)),
        ),
        Stage(
            _nodes(groups[1]),
            (
                *workloads.stateful(max(nodes // 5, 1), most=nodes - new - 1),
                *workloads.filling(len(groups[1]) * _CORES * _HALF_FULL),
            ),
        ),
        Stage(_nodes(groups[2]), ()),
    )
    return History(stages, workloads.loads)


# ---------------------------------------------------------------------- nodes


def _nodes(names: list[str]) -> tuple[Made, ...]:
    return tuple(_node(name, _ZONES[int(name.rpartition("-")[2]) % len(_ZONES)]) for name in names)


def _node(name: str, zone: str) -> Made:
    has = {"cpu": str(_CORES), "memory": f"{_GIBIBYTES}Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    body: Object = {
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"capacity": has, "allocatable": dict(has)},
    }
    return Made(wire.NODES, None, body)


def _namespace(name: str) -> Made:
    return Made(wire.NAMESPACES, None, {"metadata": {"name": name}})


# ---------------------------------------------------------------------- workloads


class _Workloads:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = self._all_names()
        self.loads: dict[str, BaseLoad] = {}

    def _all_names(self) -> Iterator[tuple[str, str]]:
        """First each once, by turns of the namespaces, then each with a number."""
        pairs = [(where, name) for where, names in _NAMESPACES.items() for name in names]
        self._chance.shuffle(pairs)
        yield from pairs
        number = 2
        while True:
            yield from ((where, f"{name}-{number}") for where, name in pairs)
            number += 1

    def filling(self, cores: float) -> Iterator[Made]:
        """Deployments that ask for so much in all."""
        left = round(cores * 1000)
        while left >= min(_MILLICORES):
            asks = self._chance.choice([each for each in _MILLICORES if each <= left])
            wanted = self._chance.randint(_FEWEST_REPLICAS, _MOST_REPLICAS)
            replicas = min(wanted, left // asks)
            left -= asks * replicas
            yield from self._deployment(*next(self._names), replicas, asks)

    def _deployment(self, namespace: str, name: str, replicas: int, asks: int) -> Iterator[Made]:
        template = self._template(namespace, name, asks)
        if self._chance.random() < _SPREAD_SHARE:
            template["spec"]["topologySpreadConstraints"] = [_spread_over_zones(name)]
        yield Made(wire.DEPLOYMENTS, namespace, _workload(name, replicas, template))
        yield _service(namespace, name)
        if self._chance.random() < _BUDGET_SHARE:
            yield _budget(namespace, name, {"maxUnavailable": 0})

    def stateful(self, count: int, most: int) -> Iterator[Made]:
        """Of at most so many replicas, each on a node of its own. Their pods have to end before
        their successors begin. Some have a budget, others are guarded by a temporary one.
        """
        for number in range(count):
            name, again = _STATEFUL[number % len(_STATEFUL)], number // len(_STATEFUL)
            name += f"-{again + 1}" if again else ""
            template = self._template(_STATEFUL_NAMESPACE, name, _STATEFUL_MILLICORES)
            template["spec"]["affinity"] = {"podAntiAffinity": _one_per_node(name)}
            body = _workload(name, min(self._chance.choice((3, 5)), most), template)
            body["spec"]["serviceName"] = name
            yield Made(wire.STATEFUL_SETS, _STATEFUL_NAMESPACE, body)
            yield _service(_STATEFUL_NAMESPACE, name, headless=True)
            if number % 2:
                yield _budget(_STATEFUL_NAMESPACE, name, {"maxUnavailable": 1})

    def daemon_set(self) -> Made:
        name = "log-agent"
        template = self._template(_SYSTEM, name, _DAEMON_MILLICORES)
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
        return Made(wire.DAEMON_SETS, _SYSTEM, {"metadata": {"name": name}, "spec": spec})

    def _template(self, namespace: str, name: str, millicores: int) -> dict[str, Any]:
        mebibytes = round(millicores * self._chance.uniform(2.0, 4.0))
        workload = f"{namespace}/{name}"
        share = self._chance.uniform(*_USED_SHARE)
        self.loads[workload] = BaseLoad(
            share * millicores / 1000, share * mebibytes * 2**20, uneven=_UNEVEN
        )
        requests = {"cpu": f"{millicores}m", "memory": f"{mebibytes}Mi"}
        container = {"name": "main", "image": f"registry.example/{name}:1"}
        return {
            "metadata": {"labels": {"app": name}, "annotations": {WORKLOAD: workload}},
            "spec": {"containers": [{**container, "resources": {"requests": requests}}]},
        }


def _workload(name: str, replicas: int, template: dict[str, Any]) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }


def _spread_over_zones(name: str) -> dict[str, Any]:
    return {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }


def _one_per_node(name: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _service(namespace: str, name: str, *, headless: bool = False) -> Made:
    spec: dict[str, Any] = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
    if headless:
        spec["clusterIP"] = "None"
    return Made(wire.SERVICES, namespace, {"metadata": {"name": name}, "spec": spec})


def _budget(namespace: str, name: str, allows: dict[str, int]) -> Made:
    spec = {"selector": {"matchLabels": {"app": name}}, **allows}
    return Made(wire.POD_DISRUPTION_BUDGETS, namespace, {"metadata": {"name": name}, "spec": spec})
