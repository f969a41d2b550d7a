"""Everything there is to say about one pod: may it move, how, where to, and does the plan move it.

The words of each rule come from whoever judges by it; here they are gathered, all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rescheduler.config import Configuration
from rescheduler.model.cluster import Pod
from rescheduler.model.columns import NONE
from rescheduler.model.moves import Move, Plan, Report, Way
from rescheduler.model.names import SYSTEM_NAMESPACE
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.cooldowns import UNSETTLED
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import RESOURCES
from rescheduler.plan.spare import LEFT_ALONE
from rescheduler.plan.whatif import Remedy, World, remedies, why_none


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Of one node about the pod."""

    node: str
    reasons: tuple[str, ...]
    """Every rule that keeps the pod from it; none: it would take the pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    pod: Pod
    claims: tuple[str, ...]
    """PersistentVolumeClaims that it mounts."""
    usage: Mapping[str, float]
    """By resource; empty where nobody measures."""
    share: Mapping[str, float]
    """Of its node, by resource, in points of what loads are judged by; empty while it has none."""
    word: str
    """What loads are judged by: `requests` or `usage`."""
    stays: tuple[str, ...]
    """Every rule that holds it, whatever the target; none: it may move."""
    stays_when_asked: tuple[str, ...]
    """The same when a person or a maintenance wants it away."""
    way: Way
    recreated: str
    """Why it has to end before its successor begins; empty: both can be there."""
    group: tuple[str, ...]
    """Names of pods that have to move with it."""
    verdicts: tuple[Verdict, ...]
    """Of every node but its own, by name, as the cluster is now."""
    move: Move | None
    """What the plan does with it."""
    refusals: tuple[str, ...]
    """What the strategies found against moving it, when they looked at it."""
    reports: tuple[Report, ...]
    """Why each strategy acted or rested."""
    remedies: tuple[Remedy, ...] = ()
    """What would have to change so that it may move: any of these, the smallest first. None: it may
    move already, or nothing that is known would let it.
    """
    nothing_helps: str = ""
    """Why there is none, in words; empty: there is, or it may move already."""


def cluster_of(snapshot: Snapshot) -> str:
    """What tells a cluster from others, the UID of kube-system; empty: it was not seen."""
    found = snapshot.find("namespaces", "", SYSTEM_NAMESPACE)
    return str(found["metadata"].get("uid") or "") if found else ""


def row_of(snapshot: Snapshot, full_name: str) -> int | None:
    """Of the pod of this namespace/name, if it is there."""
    try:
        row = list(snapshot.pods.names).index(full_name)
    except ValueError:
        return None
    return row if snapshot.pods.pod_class[row] != NONE else None


def explain(
    snapshot: Snapshot, configuration: Configuration, row: int, decided: Plan
) -> Explanation:
    """`decided` is the plan of the same snapshot and configuration."""
    desk = Desk(snapshot, configuration)
    pod = snapshot.pod(row)
    usage, helping = snapshot.usage, what_would_help(desk, row)
    measured = usage is not None and not usage.outage and bool(usage.pod_measured[row])
    moves = {move.full_name: move for move in decided.moves}
    refusals = (each.reasons for each in decided.refusals if each.full_name == pod.full_name)
    return Explanation(
        pod=pod,
        claims=snapshot.pods.claims.get(row, ()),
        usage=pod.usage if measured else {},
        share=share_of(desk, row),
        word=desk.loads.word,
        stays=tuple(map(str, desk.why_it_stays(row))),
        stays_when_asked=tuple(map(str, desk.why_it_stays(row, asked=True))),
        way=desk.way(row),
        recreated=desk.movable.why_recreated(row),
        group=tuple(desk.name(each) for each in desk.unit(row) if each != row),
        verdicts=tuple(_verdicts(desk, row)),
        move=moves.get(pod.full_name),
        refusals=tuple(reason for reasons in refusals for reason in reasons),
        reports=decided.reports,
        remedies=helping.remedies,
        nothing_helps=helping.nothing_helps,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    remedies: tuple[Remedy, ...] = ()
    nothing_helps: str = ""
    """Why there is none, in words."""


def what_would_help(desk: Desk, row: int, *, asked: bool = False) -> Help:
    """Of a pod that is on a node: one that is a part of it leaves it never."""
    if desk.placement.place[row] == NONE or desk.is_part_of_its_node(row):
        return Help()
    world = World(desk.snapshot, desk.configuration, row, asked=asked)
    found = remedies(world)
    return Help(remedies=found, nothing_helps="" if found else why_none(world))


def share_of(desk: Desk, row: int) -> Mapping[str, float]:
    """Of its node, by resource, in points; empty while it has none, or its load is unknown."""
    node = int(desk.placement.place[row])
    if node == NONE or not desk.loads.known[node]:
        return {}
    points = desk.loads.percent_of(row)[node]
    return dict(zip(RESOURCES, points.tolist(), strict=True))


def _verdicts(desk: Desk, row: int) -> Iterable[Verdict]:
    own, way = int(desk.placement.place[row]), desk.way(row)
    fits = desk.placement.targets(row, way)
    for number, node in enumerate(desk.nodes):
        if number == own:
            continue
        reasons = () if fits[number] else desk.placement.why_not(row, number, way)
        if not desk.in_scope[number]:
            reasons = (*reasons, "it is not in scope.nodeSelector")
        elif desk.movable.cooldowns.resting_nodes[number]:
            reasons = (*reasons, f"it {UNSETTLED}")
        elif desk.left_alone[number]:
            reasons = (*reasons, f"it {LEFT_ALONE}")
        yield Verdict(node=node.name, reasons=reasons)
