"""The whole cluster as columns, and what changes of it: small, and without names of pods. Pure.

A pod has no identity here. It is a row of four numbers on a node; a change takes away one of the
rows that are alike, or adds one.
"""

from datetime import datetime

from msgspec import field

from rescheduler.serve.dashboard.documents import Document


class NodeColumns(Document):
    """A row is a node, and keeps its number as long as the version's epoch lasts."""

    name: list[str]
    zone: list[int]
    """Place in `zones`."""
    pool: list[int]
    """Place in `pools`."""
    flags: list[int]
    """Sum of 1: cordoned, 2: in maintenance, 4: not Ready, 8: takes no part in balancing, 16: gone,
    32: being deleted, 64: overloaded.
    """
    cpu: list[int]
    """Allocatable, in thousandths of a core."""
    memory: list[int]
    """The same, in MiB."""
    capacity: list[int]
    """Pods that it may have."""
    cpu_load: list[int]
    """In tenths of a per cent of allocatable; -1: unknown."""
    memory_load: list[int]
    cpu_planned: list[int]
    """The same, when the latest plan is done."""
    memory_planned: list[int]
    other_pods: list[int]
    """Pods of namespaces that the viewer may not see."""
    other_cpu: list[int]
    """Their share, in tenths of a per cent."""
    other_memory: list[int]


class WorkloadColumns(Document):
    """A row is what pods belong to. Rows are only ever appended within an epoch."""

    namespace: list[int]
    """Place in `namespaces`."""
    kind: list[int]
    """Place in `kinds`."""
    name: list[str]
    """Empty: pods that nobody controls."""


class PodColumns(Document):
    """In the order of the nodes; those on no node come last."""

    per_node: list[int]
    """How many of the rows below are of each node."""
    workload: list[int]
    """Place in `workloads`."""
    cpu: list[int]
    """Share of the node by what loads are of, in tenths of a per cent, rounded to what is seen."""
    memory: list[int]
    state: list[int]
    """0: Ready, 1: starting or not Ready, 2: ending, 3: a copy of ours that is on its way, 4: an
    original whose copy is there, 5: waits for a node.
    """


class PodRows(Document):
    """Rows that come or go: the same place in each list is one of them."""

    node: list[int]
    """-1: on none."""
    workload: list[int]
    cpu: list[int]
    memory: list[int]
    state: list[int]


class MoveMark(Document):
    """An arrow: a pod on its way, or one that the latest plan would send."""

    namespace: str
    pod: str
    uid: str
    workload: int
    """Place in `workloads`; -1: not known."""
    from_: int = field(name="from")
    """Place in `nodes`; -1: that node is not there any more."""
    to: int
    """-1: none is chosen yet."""
    state: str
    """`planned`, or the phase of its migration in lower case: `pending`, `inProgress`."""
    step: str
    migration: str
    """Name of its PodMigration."""


class Cluster(Document):
    version: str
    """Names this state; patches say which one they are against."""
    taken_at: datetime
    loads: str
    """What loads and shares are of: `requests` or `usage`."""
    zones: list[str]
    pools: list[str]
    namespaces: list[str]
    kinds: list[str]
    nodes: NodeColumns
    workloads: WorkloadColumns
    pods: PodColumns
    moves: list[MoveMark]


class NodeChanges(NodeColumns):
    """Rows of nodes that are new or different, whole; `number` says which."""

    number: list[int]


class ClusterPatch(Document):
    """Applies to the state of version `since` and gives that of `version`; on any other state, load
    `cluster` anew.
    """

    since: str
    version: str
    taken_at: datetime
    zones: list[str]
    """Appended to the list of zones; the same for the next three."""
    pools: list[str]
    namespaces: list[str]
    kinds: list[str]
    nodes: NodeChanges | None
    workloads: WorkloadColumns | None
    """Appended."""
    removed: PodRows | None
    added: PodRows | None
    moves: list[MoveMark] | None
    """All of them, where any has changed; null: as before."""
