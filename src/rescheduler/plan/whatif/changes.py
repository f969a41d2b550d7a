"""One thing that somebody could change: in words, for machines, and made in a copy of the world."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rescheduler.config import Configuration
from rescheduler.model.selectors import EVERYTHING, NOTHING
from rescheduler.plan.whatif.worlds import World


class Kind(enum.StrEnum):
    """What is changed. The order is that in which they are offered: what costs least first."""

    TIME = "time"
    LABEL = "label"
    ANNOTATION = "annotation"
    SETTING = "setting"
    UNCORDON = "uncordon"
    MAINTENANCE = "maintenance"
    REQUESTS = "requests"
    TOLERATION = "toleration"
    SKEW = "maxSkew"
    RULE = "rule"
    ROOM = "room"
    READY = "ready"
    REPLICAS = "replicas"
    BUDGET = "budget"
    BUDGETS = "budgets"
    QUOTA = "quota"
    PRIORITY = "priority"
    VOLUME = "volume"
    NODE = "node"


RANK: Mapping[Kind, int] = {kind: number for number, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    kind: Kind
    subject: str
    """What it is done to: a pod, a node, a setting, an object."""
    words: str
    """What somebody would do."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """The same for machines."""
    amount: int | None = None
    """Where it is a quantity: by how much, in the smallest unit; anything less does not do."""
    made_in: Callable[[World], World] = field(repr=False, compare=False)

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.kind, self.subject, self.words


def setting(name: str, value: Any, words: str, *, amount: int | None = None) -> Change:  # noqa: ANN401
    """`value` as a file would have it."""
    return Change(
        kind=Kind.SETTING,
        subject=name,
        words=words,
        details={"value": value},
        amount=amount,
        made_in=lambda world: world.but(configuration=_set(world.configuration, name, value)),
    )


_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods.recreate": ("pods", "recreate"),
    "pods.jobs": ("pods", "jobs"),
    "pods.barePods": ("pods", "bare_pods"),
    "pods.otherControllers": ("pods", "other_controllers"),
    "pods.emptyDir": ("pods", "empty_dir"),
    "pods.localStorage": ("pods", "local_storage"),
    "pods.priorityThreshold": ("pods", "priority_threshold"),
    "pods.minReplicas": ("pods", "min_replicas"),
    "groups.allowRecreate": ("groups", "allow_recreate"),
    "migration.way": ("migration", "way"),
    "excludedNamespaces": ("excluded_namespaces",),
    "excludedPodSelector": ("excluded_pod_selector",),
    "scope.namespaces": ("scope", "namespaces"),
    "scope.nodeSelector": ("scope", "node_selector"),
}
_READ: Mapping[str, Callable[[Any], Any]] = {
    "excludedNamespaces": tuple,
    "scope.namespaces": tuple,
    "excludedPodSelector": lambda _: NOTHING,
    "scope.nodeSelector": lambda _: EVERYTHING,
}
"""Those that are kept in another form than they are written; selectors are only ever emptied."""


def _set(configuration: Configuration, name: str, value: Any) -> Configuration:  # noqa: ANN401
    *above, last = _FIELDS[name]
    value = _READ.get(name, lambda same: same)(value)
    if not above:
        return replace(configuration, **{last: value})
    section = replace(getattr(configuration, above[0]), **{last: value})
    return replace(configuration, **{above[0]: section})
