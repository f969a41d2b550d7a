"""One node, one pod, and why pods stay. Pure."""

from typing import Any

from msgspec import field

from rescheduler.serve.dashboard.documents import Document
from rescheduler.serve.dashboard.documents.plans import PlannedMove


class Taint(Document):
    key: str
    value: str
    effect: str


class PodRow(Document):
    namespace: str
    name: str
    uid: str
    workload: str
    """kind/name; empty: nobody controls it."""
    node: str
    requests: dict[str, int]
    usage: dict[str, float | None]
    """Measured; empty: nobody has."""
    share: dict[str, float | None]
    """Of its node, per cent by resource, by what loads are of."""
    state: str
    """ready, notReady, ending, copy, leaving or waiting."""
    refusals: list[str]
    """Why the last pass left it where it is, when it looked at it."""
    move: PlannedMove | None
    migration: str
    """The unfinished one; empty: there is none."""


class NodeDocument(Document):
    name: str
    zone: str
    pool: str
    labels: dict[str, str]
    taints: list[Taint]
    ready: bool
    unschedulable: bool
    maintenance: bool
    allocatable: dict[str, int]
    load: dict[str, float | None]
    """Per cent by resource; empty: unknown."""
    planned: dict[str, float | None]
    thresholds: dict[str, float]
    loads: str
    unknown: str
    """Why its load is not known; empty: it is."""
    pods: list[PodRow]
    continue_: str = field(name="continue")
    total: int
    other_pods: int
    """Of namespaces that the viewer may not see."""
    commands: dict[str, str]


class PodList(Document):
    items: list[PodRow]
    continue_: str = field(name="continue")
    total: int


class NodeVerdict(Document):
    name: str
    fits: bool
    reasons: list[str]


class Change(Document):
    kind: str
    of: str
    words: str
    amount: float | None
    details: dict[str, Any]


class PodExplanation(Document):
    """As `rescheduler explain pod -o json` says it."""

    pod: dict[str, str]
    node: str | None
    owner: dict[str, str] | None
    priority: int
    requests: dict[str, int]
    usage: dict[str, float | None]
    may_move: bool
    stays: list[str]
    may_move_when_asked: bool
    stays_when_asked: list[str]
    way: str
    recreated: str
    group: list[str]
    nodes: list[NodeVerdict]
    move: PlannedMove | None
    refusals: list[str]
    strategies: list[dict[str, Any]]
    remedies: list[list[Change]]
    """Each a set of changes that have to be made together."""
    nothing_helps: str | None
    """Why there is none, in words; null: there is, or it may move already."""
    command: str


class RefusedPod(Document):
    namespace: str
    name: str
    reasons: list[str]
    passing: bool
    """Nothing but time is needed."""


class RefusalKindCount(Document):
    kind: str
    count: int
    reasons: list[str]
    """The most frequent ones, at most 20."""


class Refusals(Document):
    kinds: list[RefusalKindCount]
    """Those of the most pods first."""
    items: list[RefusedPod]
    """Of the kind that was asked for, else of all."""
    continue_: str = field(name="continue")
    total: int
