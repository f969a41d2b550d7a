"""A cluster as they become after some months: all kinds of workloads, and an uneven spread of them.

The same numbers and the same seed make the same cluster.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rescheduler import wire
from rescheduler.embedded import behaviours
from rescheduler.simulation import shapes
from rescheduler.simulation.described import BaseLoad, Described, Json
from rescheduler.wire import Resource

FEWEST_NODES: Final = 3
MOST_NODES, MOST_PODS = 5000, 150_000
"""What Kubernetes itself is made for."""

_ZONES: Final = ("zone-a", "zone-b", "zone-c")
_TEAMS: Final = (
    *("shop", "payments", "search", "media", "data", "platform", "internal", "mobile", "partners"),
    *("logistics", "identity", "catalog", "pricing", "support", "billing", "analytics"),
)
_PODS_A_NAMESPACE: Final = 80
_FIRST: Final = (
    *("cart", "order", "price", "stock", "user", "login", "mail", "image", "video", "report"),
    *("ledger", "invoice", "query", "index", "feed", "review", "chat", "alert", "audit", "label"),
)
_SECOND: Final = (
    "api",
    "web",
    "worker",
    "gateway",
    "sync",
    "cache",
    "store",
    "jobs",
    "proxy",
    "ui",
)
_DAEMONS: Final = ("log-agent", "node-agent")
_MOST_DAEMONS: Final = 0.2
"""Of all pods."""

_CPU: Final = (50, 100, 100, 200, 250, 250, 500, 500, 1000)
"""Thousandths of a core."""
_MEMORY: Final = (128, 256, 256, 512, 512, 1024, 1024, 2048, 4096)
"""MiB."""
_FULL: Final = 0.6
"""Of what the nodes have, so much is asked for."""
_MOST_STRETCHED: Final = 2.0
_SIZES: Final = (0.5, 1.0, 1.0, 2.0)
"""Of nodes, beside the usual one."""
_GIBI_A_CORE: Final = 4
_RESERVED: Final = 0.94
"""Of a node, what pods can have."""
_PRICE_A_CORE: Final = 0.04
_NEW: Final = 0.1
"""Of the nodes: they came lately, and have little to do yet."""
_STATEFUL: Final = 0.1
_WITH_BUDGET: Final = 1 / 3
_APART: Final = 0.08
_SPREAD: Final = 0.12
_MOST_APART: Final = 8
_STARTS: Final = (2, 3, 5, 5, 8, 15)
"""Seconds, until a pod is Ready."""

Figures = npt.NDArray[np.float64]


@dataclass(slots=True)
class _Made:
    """A workload, as far as it takes to place its pods."""

    kind: str
    namespace: str
    name: str
    replicas: int
    cpu: int
    memory: int
    """What it asks for, in thousandths of a core and MiB."""
    load: BaseLoad
    apart: bool = False
    """No two of its pods on one node."""
    spread: bool = False
    """Over the zones."""
    priority: str = ""
    starts_after: int = 8
    has_budget: bool = False
    nodes: list[int] = field(default_factory=list)
    """Where its pods are."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


def generate(*, nodes: int, pods: int, seed: int) -> Described:
    """Raises ValueError for fewer or more nodes than it takes, or more pods than they may have."""
    if nodes < FEWEST_NODES:
        raise ValueError(f"{nodes} nodes are too few: at least {FEWEST_NODES}, one in each zone")
    if nodes > MOST_NODES:
        raise ValueError(f"{nodes} nodes are too many: at most {MOST_NODES}")
    most = min(nodes * shapes.PODS_A_NODE * 3 // 4, MOST_PODS)
    if not 1 <= pods <= most:
        raise ValueError(f"{pods} pods do not go on {nodes} nodes: at least 1, and at most {most}")
    return _Generator(nodes, pods, random.Random(seed)).described()  # noqa: S311 - repeatable


class _Generator:
    def __init__(self, nodes: int, pods: int, luck: random.Random) -> None:
        self._luck = luck
        self._nodes = nodes
        self._pods = pods
        self._namespaces = [
            _TEAMS[number % len(_TEAMS)] + ("" if number < len(_TEAMS) else f"-{number}")
            for number in range(max(pods // _PODS_A_NAMESPACE, 3))
        ]
        many = min(len(_DAEMONS), int(pods * _MOST_DAEMONS) // nodes)
        self._daemons = [self._daemon(name) for name in _DAEMONS[:many]]
        self._workloads = self._deal(pods - many * nodes)
        self._cores = self._sizes()
        self._place_all()

    # ------------------------------------------------------------------ workloads

    def _daemon(self, name: str) -> _Made:
        return _Made(
            kind="DaemonSet",
            namespace="kube-system",
            name=name,
            replicas=self._nodes,
            cpu=50,
            memory=64,
            load=BaseLoad(cores=0.03, memory=80 * 2.0**20),
            priority="system-node-critical",
            starts_after=3,
            nodes=list(range(self._nodes)),
        )

    def _deal(self, left: int) -> list[_Made]:
        names = self._names()
        made = []
        while left > 0:
            workload = self._workload(*next(names))
            workload.replicas = min(workload.replicas, left)
            left -= workload.replicas
            made.append(workload)
        return made

    def _names(self) -> Iterator[tuple[str, str]]:
        round_ = 0
        while True:
            pairs = [(first, second) for first in _FIRST for second in _SECOND]
            self._luck.shuffle(pairs)
            for first, second in pairs:
                name = f"{first}-{second}" + (f"-{round_}" if round_ else "")
                yield self._luck.choice(self._namespaces), name
            round_ += 1

    def _workload(self, namespace: str, name: str) -> _Made:
        luck = self._luck
        cpu, memory = luck.choice(_CPU), luck.choice(_MEMORY)
        stateful = luck.random() < _STATEFUL
        # Few know what their pods need: most ask for more than that, some for less.
        used_cpu = min(max(math.exp(luck.gauss(-0.65, 0.5)), 0.1), 1.6)
        used_memory = min(max(math.exp(luck.gauss(-0.45, 0.35)), 0.2), 1.1)
        replicas = luck.choice((3, 3, 5)) if stateful else min(int(luck.expovariate(0.16)) + 1, 20)
        rule = luck.random()
        apart = rule < _APART and replicas <= min(_MOST_APART, self._nodes // 2)
        return _Made(
            kind="StatefulSet" if stateful else "Deployment",
            namespace=namespace,
            name=name,
            replicas=replicas,
            cpu=cpu,
            memory=memory,
            load=BaseLoad(
                cores=cpu / 1000 * used_cpu,
                memory=memory * 2.0**20 * used_memory,
                uneven=0.35 if stateful else 0.1,
            ),
            apart=apart,
            spread=not apart and rule < _APART + _SPREAD and replicas > 1,
            priority=luck.choice(("", "", "", "", "low", "high")),
            starts_after=luck.choice(_STARTS),
            has_budget=replicas > 1 and luck.random() < _WITH_BUDGET,
        )

    # ------------------------------------------------------------------ nodes

    def _sizes(self) -> list[int]:
        """Cores of each: the usual size is the power of two that leaves the nodes as full as they
        use to be.
        """
        made = [*self._daemons, *self._workloads]
        cores = sum(each.replicas * each.cpu for each in made) / 1000
        gibi = sum(each.replicas * each.memory for each in made) / 1024
        needed = max(cores, gibi / _GIBI_A_CORE) / _FULL / _RESERVED / self._nodes
        usual = 2 ** math.ceil(math.log2(max(needed / 1.125, 2)))
        sizes = [max(int(self._luck.choice(_SIZES) * usual), 2) for _ in range(self._nodes)]
        # What is asked for is stretched to what there is, so that all sizes of clusters are alike.
        stretch = min(sum(sizes) / self._nodes / needed, _MOST_STRETCHED)
        for each in self._workloads:
            each.cpu = max(round(each.cpu * stretch / 10) * 10, 10)
            each.memory = max(round(each.memory * stretch / 16) * 16, 32)
            each.load = BaseLoad(
                each.load.cores * stretch, each.load.memory * stretch, each.load.uneven
            )
        return sizes

    # ------------------------------------------------------------------ where pods are

    def _place_all(self) -> None:
        places = _Places(self._cores, self._luck)
        for daemon in self._daemons:
            places.take_everywhere(daemon)
        # The largest first, as they find their place last else.
        order = sorted(self._workloads, key=lambda each: -each.cpu)
        for each in order:
            places.place(each)

    # ------------------------------------------------------------------ objects

    def described(self) -> Described:
        made = [each for each in (*self._daemons, *self._workloads) if each.replicas]
        placed = sum(len(each.nodes) for each in made)
        no_room = f"{placed} pods instead of {self._pods}: the nodes have no room for more"
        return Described(
            objects=tuple(self._objects(made)),
            loads={each.full_name: each.load for each in made},
            notes=(no_room,) if placed < self._pods else (),
        )

    def _objects(self, made: Sequence[_Made]) -> Iterator[tuple[Resource, Json]]:
        for name in ("kube-system", *sorted({each.namespace for each in self._workloads})):
            yield wire.NAMESPACES, {"metadata": {"name": name}}
        for name, value in (("low", -10), ("high", 1000)):
            yield wire.PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value}
        names = [f"node-{number:03}" for number in range(self._nodes)]
        for number, (name, cores) in enumerate(zip(names, self._cores, strict=True)):
            zone = _ZONES[number % len(_ZONES)]
            price = f"{cores * _PRICE_A_CORE:.2f}"
            yield wire.NODES, shapes.node(name, cores, cores * _GIBI_A_CORE, zone, price)
        pods: list[Json] = []
        for each in made:
            workload = _workload(each)
            yield from workload.objects()
            pods += workload.pods([names[number] for number in each.nodes], self._suffix)
        yield from ((wire.PODS, each) for each in pods)

    def _suffix(self) -> str:
        return "".join(self._luck.choices(shapes.SUFFIX_LETTERS, k=5))


def _workload(made: _Made) -> shapes.Workload:
    label = {"app": made.name}
    spec: dict[str, Any] = shapes.pod_spec(cpu=made.cpu, memory=made.memory)
    spec |= {"priorityClassName": made.priority} if made.priority else {}
    spec |= shapes.apart(label) if made.apart else {}
    spec |= shapes.spread(label) if made.spread else {}
    spec |= {"tolerations": [{"operator": "Exists"}]} if made.kind == "DaemonSet" else {}
    return shapes.Workload(
        kind=made.kind,
        namespace=made.namespace,
        name=made.name,
        replicas=made.replicas,
        labels=label,
        spec=spec,
        behaviour={behaviours.PREFIX + "ready-after": f"{made.starts_after}s"},
        budget=made.has_budget,
    )


class _Places:
    """Room on the nodes, and how unevenly they came to be used."""

    def __init__(self, cores: Sequence[int], luck: random.Random) -> None:
        self._luck = luck
        count = len(cores)
        self._free: Figures = np.array(
            [
                [each * 1000 * _RESERVED, each * _GIBI_A_CORE * 1024 * _RESERVED, 90.0]
                for each in cores
            ]
        )
        self._zone = np.arange(count) % len(_ZONES)
        # Nodes that were there first are fuller, and not all were filled alike.
        self._liked = np.array([math.exp(luck.gauss(0.0, 0.9)) for _ in cores])
        new = luck.sample(range(count), max(int(count * _NEW), 1))
        self._liked[new] = 0.05

    def take_everywhere(self, made: _Made) -> None:
        self._free -= _asked(made)

    def place(self, made: _Made) -> None:
        """As many pods as there is room for; it has fewer replicas else."""
        asked, here = _asked(made), np.zeros(len(self._free), np.intp)
        for number in range(made.replicas):
            allowed = np.asarray((self._free >= asked).all(axis=1))
            if made.apart:
                allowed &= here == 0
            if made.spread:
                allowed &= self._zone == number % len(_ZONES)
            node = self._chosen(allowed)
            if node is None:
                break
            here[node] += 1
            self._free[node] -= asked
            made.nodes.append(node)
        made.replicas = len(made.nodes)

    def _chosen(self, allowed: npt.NDArray[np.bool_]) -> int | None:
        weights = np.where(allowed, self._liked * self._free[:, 0], 0.0).cumsum()
        if not weights[-1]:
            return None
        return int(np.searchsorted(weights, self._luck.random() * weights[-1], side="right"))


def _asked(made: _Made) -> Figures:
    return np.array([made.cpu, made.memory, 1.0])
