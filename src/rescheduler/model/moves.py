"""What planning gives and migrating takes."""

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

from rescheduler.model.podmigration import Reason


class Passing(str):
    """A reason that goes by itself, or by what others are about to do: worth waiting for. Any other
    one lasts until somebody changes something.
    """

    __slots__ = ()


class Way(enum.StrEnum):
    """How a pod gets to its target, as far as planning has to know: a copy counts as a surge."""

    SURGE = "surge"
    """The new pod is Ready before the old one goes: for a while there are both."""
    RECREATE = "recreate"
    """The old one goes first, since two of them must not, or cannot, be there at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    namespace: str
    pod: str
    uid: str
    source: str
    target: str
    strategy: str
    reason: str
    """In numbers, for people."""
    way: Way = Way.SURGE
    asked: bool = False
    """A person or a maintenance asked for it: only the limits of what is in flight hold it."""
    forced: bool = False
    """By command, so that what the configuration keeps where it is moves, too."""
    is_ready: bool = True
    """Else it serves nobody, and nobody misses it while its successor starts."""
    group: str = ""
    """Of the pods that move together or not at all; empty: it moves alone."""
    wave: int = 0
    """Moves of the same wave may be in flight at once; 0 begins beside what is in flight now."""
    charged: bool = False
    """A quota of its namespace counts its copy: and each original until it is gone."""
    planned_at: str = ""
    """When the pass began that decided it, the same for all of its moves; empty: none did."""
    plan: str = ""
    """The name of the ReschedulePlan that it is of; empty: of none that was written down."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.pod}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a pod that could have helped stays where it is."""

    namespace: str
    pod: str
    reasons: tuple[str, ...]
    """Every rule that holds it, in words."""
    passing: bool = False
    """Nothing but time is needed until it may go."""

    @classmethod
    def of(cls, full_name: str, reasons: Collection[str]) -> Self:
        namespace, _, pod = full_name.partition("/")
        return cls(
            namespace=namespace,
            pod=pod,
            reasons=tuple(map(str, reasons)),
            passing=bool(reasons) and all(isinstance(each, Passing) for each in reasons),
        )

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.pod}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A PodMigration that leaves the choice of a target to the planner, and gets none."""

    namespace: str
    record: str
    """Its name, and its UID."""
    record_uid: str
    reason: Reason
    message: str
    """What keeps its pod, in words."""
    is_gone: bool = False
    """As far as the snapshot shows, which may be older than the pod: whoever acts looks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one strategy did, and why."""

    strategy: str
    acted: bool
    blind: bool = False
    """It could not decide, as something that it needs was not to be seen."""
    summary: str
    """One sentence with numbers."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The same numbers for machines: before, after, bound, steps, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emptying:
    """What becomes of the pods of a node in maintenance, but for those that are a part of it: of
    DaemonSets, and static ones.
    """

    node: str
    left: int
    """Pods that are on it now."""
    stay: tuple[Refusal, ...]
    """Those of them that cannot leave, in the order of their names."""
    note: str
    """All of it in words, as it stands among the notes of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """Of one node, before and after the plan, in per cent of allocatable."""

    node: str
    before: Mapping[str, float]
    """By resource; empty where it is unknown."""
    after: Mapping[str, float]
    pods_before: int
    pods_after: int
    eligible: bool
    """Counted when the imbalance is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """Of one resource: the most used eligible node minus the least used one, in points."""

    resource: str
    before: float
    after: float
    most: str
    least: str
    """The nodes at the ends before the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    moves: tuple[Move, ...] = ()
    """In the order in which each of them fits."""
    refusals: tuple[Refusal, ...] = ()
    reports: tuple[Report, ...] = ()
    """Of every strategy that is enabled, in the order in which they decided."""
    nodes: tuple[NodeLoad, ...] = ()
    imbalances: tuple[Imbalance, ...] = ()
    word: str = "requests"
    """What the loads are of: `requests` or `usage`."""
    notes: tuple[str, ...] = ()
    """What a reader should know beside the moves: what was not seen, maintenance that nobody
    does, pods that fit nowhere.
    """
    emptying: tuple[Emptying, ...] = ()
    """Every node in maintenance."""
    denials: tuple[Denial, ...] = ()
    steps: int = 0
    """What a long search took: with the same number as its budget it gives the same plan again."""
    seed: int = 0

    @property
    def is_cut_short(self) -> bool:
        """By maxReschedulePods: further passes have something to do."""
        return any(each.figures.get("passesLeft") for each in self.reports)

    @property
    def summary(self) -> str:
        return "; ".join(f"{each.strategy}: {each.summary}" for each in self.reports)
