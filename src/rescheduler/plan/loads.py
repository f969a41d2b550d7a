"""How loaded nodes are, and what each pod adds to it: by usage where it is measured."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rescheduler.model import resources
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.snapshot import Snapshot

RESOURCES = (resources.CPU, resources.MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    word: str
    """What the figures are of: `requests` or `usage`."""
    percents: Mapping[str, Mapping[str, float]]
    """Of allocatable: by resource and node. Nodes of which it is unknown are left out: they are
    neither full nor empty.
    """
    unknown: Mapping[str, str]
    """By node: why."""
    outage: str
    """Why nothing is known of any node; empty: something is."""

    def __str__(self) -> str:
        if not self.unknown:
            return ""
        first = min(self.unknown)
        others = f" and {len(self.unknown) - 1} more" if len(self.unknown) > 1 else ""
        return f"; the {self.word} of {first}{others} is unknown: {self.unknown[first]}"


def loads_of(snapshot: Snapshot, nodes: list[Node]) -> Loads:
    """Of nodes that have some of everything."""
    usage = snapshot.usage
    numbers = {node.name: snapshot.node_numbers[node.name] for node in nodes}
    if usage is None:
        figures = {
            name: snapshot.staying[:, snapshot.resource_names.index(name)].astype(np.float64)
            for name in RESOURCES
        }
        unknown: dict[str, str] = {}
    else:
        figures = {resources.CPU: usage.node_cpu, resources.MEMORY: usage.node_memory}
        unknown = {
            name: usage.unknown_nodes[number]
            for name, number in numbers.items()
            if number in usage.unknown_nodes
        }
    return Loads(
        word="requests" if usage is None or usage.source == "requests" else "usage",
        percents={
            resource: {
                node.name: 100 * float(figure[numbers[node.name]]) / node.allocatable[resource]
                for node in nodes
                if node.name not in unknown
            }
            for resource, figure in figures.items()
        },
        unknown=unknown,
        outage="" if usage is None else usage.outage,
    )


def load_of(pod: Pod, resource: str) -> float:
    """What it adds to its node: what it uses, or what it asks for where nobody measures."""
    return pod.usage.get(resource, float(pod.requests.get(resource, 0)))
