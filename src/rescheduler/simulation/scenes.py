"""What an onlooker sees of a cluster at one moment: nodes, moves, and how well it goes. Values."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.model.podmigration import Way


class PodLook(enum.Enum):
    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


class NodeLook(enum.Enum):
    """The one that says the most."""

    PLAIN = ""
    CORDONED = "cordoned"
    MAINTENANCE = "maintenance"
    NOT_READY = "not ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScene:
    """Loads are in per cent of what the node has for pods."""

    name: str
    requested: float
    """Of its cpu."""
    used: Mapping[str, float]
    """By resource."""
    pods: tuple[PodLook, ...]
    """In the order in which they came."""
    look: NodeLook = NodeLook.PLAIN
    movable: int = 0
    """Of its pods: those that do not end with the node, as a DaemonSet's do."""

    @property
    def takes_pods(self) -> bool:
        return self.look is NodeLook.PLAIN


class MoveLook(enum.Enum):
    WAITING = "waiting"
    UNDER_WAY = "under way"
    MOVED = "moved"
    PUT_OFF = "put off"
    """Its turn came, and it would not have fitted: nothing was begun, and it is planned anew."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveScene:
    """One PodMigration."""

    pod: str
    """namespace/name"""
    source: str
    target: str
    strategy: str
    reason: str
    look: MoveLook = MoveLook.WAITING
    way: Way | None = None
    step: str = ""
    """In the words of the record: Check, Create, WaitReady, ..."""
    outcome: str = ""
    """Why it ended as it did."""
    seconds: float = 0.0
    """Since it began, or what it took."""
    changed: int = 0
    """Of two moves, the one with the higher number was heard of later."""

    @property
    def is_recreated(self) -> bool:
        """It had to end before its successor began."""
        goes_first = self.way is not None and not self.way.makes_a_copy
        return self.look is MoveLook.MOVED and goes_first


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """Of a story that is told to people."""

    number: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    at: datetime
    """By the cluster's own clock."""
    nodes: tuple[NodeScene, ...]
    moves: tuple[MoveScene, ...] = ()
    """In the order in which they were asked for: all that have not ended, and the last that have.
    """
    moved: int = 0
    """Of all moves, ever."""
    failed: int = 0
    dips: int = 0
    """Workloads that were ever below what they have to have."""
    imbalance: Mapping[str, float] = field(default_factory=dict)
    """By resource: the most minus the least used of the nodes that take pods, in points."""

    @property
    def pods(self) -> int:
        return sum(len(each.pods) for each in self.nodes)

    @property
    def under_way(self) -> int:
        return sum(each.look is MoveLook.UNDER_WAY for each in self.moves)
