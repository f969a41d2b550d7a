"""A cluster as one pass sees it: nodes, pods, workloads, and all of them as a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rescheduler.model.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    allocatable: Resources
    ready: bool
    unschedulable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    namespace: str
    name: str
    uid: str
    node: str
    """Empty while it is not bound."""
    phase: str
    ready: bool
    terminating: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner: Owner | None
    """Its controller, if it has one."""
    requests: Resources
    priority: int
    spec: Mapping[str, Any]
    """The specification as the server sent it, less our own pin: for rules that look into it."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A ReplicaSet, with what its Deployment says about it where it has one."""

    uid: str
    recreates: bool
    """Its Deployment declares that two of its pods must never run at once."""
    unsettled: str
    """Why it is not at rest (a rollout, a pause, missing pods); empty when it is."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    nodes: tuple[Node, ...]
    """Those in scope."""
    pods: tuple[Pod, ...]
    """Those on a node in scope, whatever their namespace, for they all take room."""
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """By UID of the ReplicaSet."""

    @cached_property
    def pods_by_node(self) -> Mapping[str, tuple[Pod, ...]]:
        found: dict[str, list[Pod]] = {node.name: [] for node in self.nodes}
        for pod in self.pods:
            if pod.node in found:
                found[pod.node].append(pod)
        return {name: tuple(pods) for name, pods in found.items()}
