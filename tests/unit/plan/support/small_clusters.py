"""Small clusters in few words: nodes and pods of which a test says only what matters to it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model import names
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Usage
from rescheduler.plan.desk import Desk
from rescheduler.wire import Resource
from tests.unit.plan.support.snapshots import Object, snapshot

GI = 2**30
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, *, cpu: int = 4000, pods: int = 110, **labels: str) -> Node:
    return Node(
        name=name,
        labels={"kubernetes.io/hostname": name, **labels},
        taints=(),
        allocatable={"cpu": cpu, "memory": 16 * GI, "pods": pods},
        ready=True,
        unschedulable=False,
    )


def in_maintenance(each: Node) -> Node:
    return replace(each, labels={**each.labels, names.MAINTENANCE: "true"})


def pod(
    name: str,
    where: str,
    *,
    cpu: int = 1000,
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - as the API has it
) -> Pod:
    """Of a ReplicaSet of its own, in the namespace `shop` unless the name has one."""
    namespace, _, own = name.rpartition("/")
    return Pod(
        namespace=namespace or "shop",
        name=own,
        uid=f"uid-{name}",
        node=where,
        phase="Running",
        ready=True,
        terminating=False,
        labels={"app": own, **(labels or {})},
        annotations={},
        owner=Owner(kind="ReplicaSet", name=own, uid=f"rs-{name}"),
        requests={"cpu": cpu, "memory": GI, "pods": 1},
        priority=priority,
        spec=spec,
    )


def apart(app: str, key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    """An affinity: never in one domain with pods of this app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def spread(app: str, key: str = "zone", skew: int = 1) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": app}}
    return [
        {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
        }
    ]


def desk(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    configuration: Configuration | None = None,
    *,
    others: Mapping[Resource, Iterable[Object]] | None = None,
    cpu_used: Mapping[str, float] | None = None,
    outage: str = "",
) -> Desk:
    """With `cpu_used`, in thousandths, what other nodes use is unknown."""
    found = snapshot(nodes, pods, others=others)
    if cpu_used is not None or outage:
        found = replace(found, usage=_usage(found, cpu_used or {}, outage))
    return Desk(found, configuration or Configuration())


def _usage(state: Snapshot, cpu_used: Mapping[str, float], outage: str) -> Usage:
    """Nodes use the figures given, and no memory; pods use what they ask for."""
    known = np.array([node.name in cpu_used for node in state.nodes], bool)
    cpu = np.array([cpu_used.get(node.name, np.nan) for node in state.nodes])
    of_pods = np.array([state.requests[number] for number in state.pods.request_set], np.float64)
    return Usage(
        source="test",
        as_of=1.0,
        node_cpu=cpu,
        node_memory=np.where(known, 0.0, np.nan),
        pod_cpu=of_pods[:, state.resource_names.index("cpu")].copy(),
        pod_memory=of_pods[:, state.resource_names.index("memory")].copy(),
        pod_measured=np.ones(len(state.pods), bool),
        node_since=np.ones(len(cpu)),
        unknown_nodes={int(number): "not seen" for number in np.flatnonzero(~known)},
        outage=outage,
    )


def row_of(at: Desk, name: str) -> int:
    return list(at.snapshot.pods.names).index(name if "/" in name else f"shop/{name}")


def number_of(at: Desk, node_name: str) -> int:
    return at.snapshot.node_numbers[node_name]


def refusals(of: Desk) -> dict[str, list[str]]:
    return {
        of.name(row).removeprefix("shop/"): list(reasons) for row, reasons in of.refused.items()
    }


def moves(of: Desk) -> list[tuple[str, str, str]]:
    """Pod, from, to, in order."""
    return [
        (
            of.name(each.row).removeprefix("shop/"),
            of.nodes[each.source].name,
            of.nodes[each.target].name,
        )
        for each in of.moves
    ]


def assert_every_step_fits(of: Desk) -> None:
    """Made once more from the beginning, each move is allowed when its turn comes."""
    again = Desk(of.snapshot, of.configuration)
    for each in of.moves:
        assert not again.why_it_stays(each.row, asked=each.asked)
        assert again.placement.why_not(each.row, each.target, each.way) == ()
        assert again.placement.fits(each.row, each.target, each.way)
        again.placement.move(each.row, each.target)


def state_of(at: Desk) -> tuple[object, ...]:
    """All that a move changes."""
    placement = at.placement
    return (
        placement.place.tolist(),
        placement.free.tolist(),
        at.loads.used.tolist(),
        [placement.rows_on(number) for number in range(len(at.nodes))],
        [at.targets(row).tolist() for row in at.snapshot.rows.tolist()],
        list(at.moves),
    )
