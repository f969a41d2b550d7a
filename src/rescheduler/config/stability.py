"""The sections `stability` and `inFlight`: what keeps moves few and calm."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.kinds import Count, Duration, Percentage
from rescheduler.documents.settings import setting, subsection

_POINTS: Final = Percentage(zero_allowed=True, unit="percentage points")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """How long what has just taken part in a move is left alone at most; 0: not at all. What a
    person or a maintenance asks for does not wait.
    """

    pod_seconds: float = setting("pod", Duration(lowest=0), default=3600.0)
    """Since the pod was moved. Protects it from being sent round: each move is a start with cold
    caches. Default 1 h.
    """

    workload_seconds: float = setting("workload", Duration(lowest=0), default=1800.0)
    """Since any pod of the same workload was moved. Protects it from a move that did it harm being
    repeated: it is left alone while a pod that was moved is not Ready, and where pods must end
    before their successors begin, for the whole time, so that they are not recreated again
    and again.
    Default 30 min.
    """

    node_seconds: float = setting("node", Duration(lowest=0), default=600.0)
    """Since the node gave or took a pod. Protects from moves by figures of before: it is left alone
    until `usage.debounce` samples were taken since; by requests not at all, as they are known at
    once. Default 10 min.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """When a move is worth it. What a person or a maintenance asked for is, always."""

    margin_points: float = setting("margin", _POINTS, default=5.0)
    """By so much a gap between two nodes may be measured too wide, in percentage points of
    allocatable: a move must narrow it even then. Protects from moves that noise alone asks for.
    Default 5.
    """

    move_cost_percent: float = setting("moveCost", Percentage(zero_allowed=True), default=20.0)
    """What a move must bring at least, in per cent of what is at stake: it narrows the gap between
    its two nodes by this part of what its pod weighs on them, and who leaves an overloaded node
    takes this part of what is too much there. Protects pods from being started anew for next to
    nothing, whatever the sizes of pods and nodes. Default 20.
    """

    cooldown: Cooldown = subsection("cooldown", default=Cooldown())


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """How many moves may be under way at the same time. An original that is ending counts for
    nothing: its successor serves already.
    """

    per_node: int = setting("perNode", Count(), default=10)
    """Pods that start on one node at a time, of moves that we chose; 0: no limit. It protects what
    runs there from a burst of image pulls and start-ups. Default 10: as many pulls as a kubelet
    lets through at once (registryBurst). What a person asked for starts as fast as it would after
    `kubectl drain`.
    """

    per_namespace: int = setting("perNamespace", Count(), default=0)
    """In one namespace; 0: no limit. It protects what its pods share beyond their nodes, such as a
    database that each start asks. Default 0.
    """

    per_workload: int = setting("perWorkload", Count(), default=0)
    """Of one workload whose copies are Ready before their originals go; 0: no limit. Default 0:
    such moves take nothing away. What has to stop before it starts elsewhere goes one at a time,
    whatever this says.
    """
