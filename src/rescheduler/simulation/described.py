"""A cluster as it is when a simulation begins, wherever it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rescheduler.embedded import behaviours
from rescheduler.wire import Resource

Json = dict[str, Any]

WORKLOAD: Final = behaviours.PREFIX + "workload"
"""Annotation of pod templates, and so of pods: by this their load is known, whoever makes them."""


@dataclass(frozen=True, slots=True)
class BaseLoad:
    """What one pod of a workload uses in the mean of a day."""

    cores: float
    memory: float
    """Bytes."""
    uneven: float = 0.1
    """How much its pods differ from each other: of shards, more than of replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    objects: tuple[tuple[Resource, Json], ...]
    """In the order in which they can be made: pods come last, each on its node."""
    loads: Mapping[str, BaseLoad]
    """By what the annotation `WORKLOAD` says."""
    beside: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By namespace/name of a pod: how many times the CPU and the memory of its like it uses."""
    notes: tuple[str, ...] = ()
    """What of the user's own cluster is not as it was there, in words."""

    def count(self, resource: Resource) -> int:
        return sum(each == resource for each, _ in self.objects)

    def all(self, resource: Resource) -> list[Json]:
        return [item for each, item in self.objects if each == resource]
