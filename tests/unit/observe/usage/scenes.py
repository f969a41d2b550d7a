"""Small clusters, and what a source would say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rescheduler.config import UsageSettings
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.samples import Measured, Sample, identities

START = 1_700_000_000.0
LONG_AGO = START - 86400
STEP = 30.0

MOMENTS = UsageSettings(debounce=1, percentile=100)
"""Every sample counts at once, so that a single one can be looked at."""


@dataclass(frozen=True, kw_only=True)
class Pod:
    name: str
    node: str
    cpu: float = 100.0
    """What it really uses, in thousandths of a core; of memory, as many megabytes."""
    started: float = LONG_AGO
    uid: str = ""
    owner: int = -1
    asks: float = 50.0
    original: str = ""
    leaving: bool = False

    @property
    def identity(self) -> str:
        return self.uid or f"uid-of-{self.name}"


def placement(nodes: Sequence[str], pods: Sequence[Pod | None]) -> Placement:
    """None leaves a row free."""
    numbers = {name: number for number, name in enumerate(nodes)}
    rows = [pod or Pod(name="", node="", started=0, asks=0) for pod in pods]
    return Placement(
        nodes=nodes,
        pod_names=[f"ns/{pod.name}" if pod.name else "" for pod in rows],
        pod_uids=[pod.identity if pod.name and pod.uid != "assumed" else "" for pod in rows],
        pod_nodes=np.array([numbers.get(pod.node, -1) for pod in rows], np.int32),
        pod_started=np.array([pod.started for pod in rows], np.int64),
        pod_owners=np.array([pod.owner for pod in rows], np.int32),
        cpu_requests=np.array([pod.asks for pod in rows], np.int64),
        memory_requests=np.array([pod.asks * 1e6 for pod in rows], np.int64),
        replaces={row: pod.original for row, pod in enumerate(rows) if pod.original},
        pod_leaving=np.array([pod.leaving for pod in rows], np.bool_),
    )


def measured(figures: Mapping[str, float], at: float, *, span: float = 0.0) -> Measured:
    """CPU by name; memory is a million times that."""
    cpu = np.array(list(figures.values()), np.float64)
    count = len(figures)
    with np.errstate(over="ignore"):
        memory = cpu * 1e6
    return Measured(
        who=identities(figures),
        at=np.full(count, at),
        span=np.full(count, span),
        cpu=cpu,
        memory=memory,
    )


@dataclass(kw_only=True)
class Cluster:
    """What is really going on, and a source that measures it without a fault."""

    nodes: list[str]
    pods: list[Pod | None] = field(default_factory=list)
    system: float = 200.0
    """What every node uses for itself."""

    def placement(self) -> Placement:
        return placement(list(self.nodes), list(self.pods))

    def load(self, node: str, *, staying: bool = False) -> float:
        """With the pods on their way out, which are measured, or without them."""
        there = [pod for pod in self.pods if pod and pod.node == node]
        return self.system + sum(pod.cpu for pod in there if not (staying and pod.leaving))

    def sample(self, at: float, *, span: float = 0.0) -> Sample:
        nodes = {node: self.load(node) for node in self.nodes}
        pods = {f"ns/{pod.name}": pod.cpu for pod in self.pods if pod and 0 < pod.started <= at}
        return Sample(nodes=measured(nodes, at, span=span), pods=measured(pods, at, span=span))
