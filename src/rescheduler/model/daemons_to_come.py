"""What DaemonSets will put on nodes that have none of their pods yet.

Follows NodeShouldRunDaemonPod of the DaemonSet controller: where a pod of the set may be by the
affinity and the tolerations of its template and those that the controller adds. It asks for no
room, so neither do we: its pod will wait there, and take the room that others leave.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from rescheduler.model import node_affinity, resources, taints
from rescheduler.model.cluster import Node
from rescheduler.model.objects import Object, is_terminating
from rescheduler.model.resources import Resources

_ADDED_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{condition}", "operator": "Exists", "effect": effect}
    for condition, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
_FOR_HOST_NETWORK = {
    "key": "node.kubernetes.io/network-unavailable",
    "operator": "Exists",
    "effect": "NoSchedule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A DaemonSet, as far as it says what nodes will hold."""

    uid: str
    requests: Resources
    """Of each of its pods."""
    affinity: node_affinity.Required
    tolerations: tuple[taints.Toleration, ...]
    only_node: str
    """Its template may name a node; empty where it does not."""

    def runs_on(self, node: Node) -> bool:
        return (
            self.only_node in ("", node.name)
            and self.affinity.allows(node.labels, node.name)
            and taints.untolerated(node.taints, self.tolerations) is None
        )


def read(daemon_set: Object, overheads: Mapping[str, Mapping[str, Any]] | None = None) -> Daemon:
    """`overheads`: name of a RuntimeClass -> its `overhead.podFixed`.

    Raises:
        ValueError: an amount in its template is no quantity.
    """
    spec = daemon_set["spec"]["template"].get("spec") or {}
    overhead = (overheads or {}).get(spec.get("runtimeClassName") or "")
    for_network = (_FOR_HOST_NETWORK,) if spec.get("hostNetwork") else ()
    return Daemon(
        uid=daemon_set["metadata"]["uid"],
        requests=resources.of_template(spec, overhead),
        affinity=node_affinity.required(spec),
        tolerations=(*(spec.get("tolerations") or ()), *_ADDED_TOLERATIONS, *for_network),
        only_node=spec.get("nodeName") or "",
    )


def is_at_work(daemon_set: Object) -> bool:
    """Its controller creates no pods for one that is being deleted or selects everything."""
    return not is_terminating(daemon_set) and bool(daemon_set["spec"].get("selector"))


def reserved(
    daemons: Collection[Daemon], nodes: Iterable[Node], present: Mapping[str, AbstractSet[str]]
) -> Mapping[str, Resources]:
    """Node -> what the pods will ask for that are still to come; nodes without any are left out.

    `present`: the UID of a DaemonSet -> the names of nodes that a pod of it is bound to that has
    not ended. One that terminates is present, for its successor takes its room.
    """
    to_come: dict[str, Resources] = {}
    sums: dict[tuple[str, ...], Resources] = {}
    for alike in _alike(daemons, nodes):
        # One set after the other: on nearly all nodes none is missing, and there are thousands.
        missing: dict[str, list[Daemon]] = {}
        for each in daemons:
            if each.runs_on(alike[0]):
                here = present.get(each.uid, frozenset())
                for name in [node.name for node in alike if node.name not in here]:
                    missing.setdefault(name, []).append(each)
        for name in [node.name for node in alike if node.name in missing]:
            key = tuple(each.uid for each in missing[name])
            if key not in sums:
                sums[key] = resources.add(*(each.requests for each in missing[name]))
            to_come[name] = sums[key]
    return to_come


def _alike(daemons: Collection[Daemon], nodes: Iterable[Node]) -> Iterable[list[Node]]:
    """Nodes that no DaemonSet can tell from one another: thousands are of a few kinds."""
    keys = sorted(frozenset().union(*(each.affinity.keys for each in daemons)))
    by_name = any(each.only_node or each.affinity.asks_for_names for each in daemons)
    found: dict[object, list[Node]] = defaultdict(list)
    for node in nodes:
        labels = tuple([node.labels.get(key) for key in keys])
        tainted = tuple([(t.get("key"), t.get("value"), t.get("effect")) for t in node.taints])
        found[labels, tainted, node.name if by_name else ""].append(node)
    return found.values()
