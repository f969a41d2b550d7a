"""LoadBalancing, a thin slice: one pod from the most to the least loaded node."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rescheduler.config import Configuration
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Move, Plan, Refusal
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import why_it_does_not_fit, why_not_a_target
from rescheduler.plan.loads import RESOURCES, Loads, load_of, loads_of
from rescheduler.plan.movable import why_it_stays

STRATEGY = "LoadBalancing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """The widest gap between two nodes, of one resource, in percentage points of allocatable."""

    word: str
    """What it is an imbalance of: `requests` or `usage`."""
    resource: str
    most: Node
    least: Node
    percents: Mapping[str, tuple[float, float]]
    """Of either node, the most loaded first, by resource."""

    @property
    def points(self) -> float:
        most, least = self.percents[self.resource]
        return most - least

    def __str__(self) -> str:
        most, least = self.percents[self.resource]
        return (
            f"{self.resource} {self.word}: {self.most.name} {most:.1f} %, "
            f"{self.least.name} {least:.1f} %, imbalance {self.points:.1f} points"
        )


def plan(snapshot: Snapshot, configuration: Configuration) -> Plan:
    if STRATEGY not in configuration.enabled_strategies:
        return _rest(f"{STRATEGY} is not among enabledStrategies")
    selector = configuration.scope.node_selector
    in_scope = [node for node in snapshot.nodes if selector.matches(node.labels)]
    nodes = [node for node in in_scope if not why_not_a_target(node)]
    if len(nodes) < 2:  # noqa: PLR2004
        return _rest(f"{len(nodes)} of {len(in_scope)} nodes in scope can take pods: 2 are needed")
    loads = loads_of(snapshot, nodes)
    if loads.outage:
        return _rest(f"{STRATEGY} rests: usage is unknown: {loads.outage}")
    known = [node for node in nodes if node.name not in loads.unknown]
    if len(known) < 2:  # noqa: PLR2004
        return _rest(f"{len(known)} nodes have known {loads.word}: 2 are needed{loads}")
    imbalance = max(
        (_imbalance(name, known, loads) for name in RESOURCES), key=lambda found: found.points
    )
    threshold = configuration.imbalance_threshold_percent
    if imbalance.points <= threshold:
        return _rest(f"{imbalance}, not above the threshold of {threshold:g}{loads}")
    decided = _relieve(imbalance, snapshot, configuration)
    return replace(decided, summary=f"{decided.summary}{loads}")


def _imbalance(resource: str, nodes: list[Node], loads: Loads) -> Imbalance:
    percent = loads.percents[resource]
    # By name among equals, so that the same snapshot always gives the same plan.
    ordered = sorted(nodes, key=lambda node: (percent[node.name], node.name))
    least, most = ordered[0], ordered[-1]
    percents = {
        each: (loads.percents[each][most.name], loads.percents[each][least.name])
        for each in RESOURCES
    }
    return Imbalance(word=loads.word, resource=resource, most=most, least=least, percents=percents)


def _relieve(imbalance: Imbalance, snapshot: Snapshot, configuration: Configuration) -> Plan:
    target = imbalance.least
    movable: list[Pod] = []
    refusals: list[Refusal] = []
    for pod in snapshot.pods_on(imbalance.most.name):
        reason = (
            why_it_stays(pod, snapshot, configuration)
            or _why_no_gain(pod, imbalance)
            or why_it_does_not_fit(pod, target, snapshot)
        )
        if reason:
            refusals.append(Refusal(namespace=pod.namespace, pod=pod.name, reason=reason))
        else:
            movable.append(pod)
    if not movable:
        return Plan(moves=(), refusals=tuple(refusals), summary=f"{imbalance}; no pod can be moved")
    best = min(movable, key=lambda pod: _rank(pod, imbalance))
    move = Move(
        namespace=best.namespace,
        pod=best.name,
        uid=best.uid,
        source=imbalance.most.name,
        target=target.name,
        strategy=STRATEGY,
        reason=f"{imbalance}; {_gap_after(best, imbalance):.1f} points after the move",
    )
    return Plan(moves=(move,), refusals=tuple(refusals), summary=str(imbalance))


def _rank(pod: Pod, imbalance: Imbalance) -> tuple[int, float, float, str]:
    """Low priority first, then the narrowest gap, then the name: the same plan every time."""
    own_gap = _gap_of(imbalance.resource, pod, imbalance)
    return pod.priority, _gap_after(pod, imbalance), own_gap, pod.full_name


def _why_no_gain(pod: Pod, imbalance: Imbalance) -> str:
    after = _gap_after(pod, imbalance)
    if after < imbalance.points:
        return ""
    return (
        f"moving it would leave a gap of {after:.1f} points where there are {imbalance.points:.1f}"
    )


def _gap_after(pod: Pod, imbalance: Imbalance) -> float:
    """The wider gap of the two resources, or a pod that helps one and harms the other would be
    moved there and back for ever.
    """
    return max(_gap_of(resource, pod, imbalance) for resource in RESOURCES)


def _gap_of(resource: str, pod: Pod, imbalance: Imbalance) -> float:
    most, least = imbalance.percents[resource]
    added = 100 * load_of(pod, resource)
    most -= added / imbalance.most.allocatable[resource]
    least += added / imbalance.least.allocatable[resource]
    return abs(most - least)


def _rest(summary: str) -> Plan:
    return Plan(moves=(), refusals=(), summary=summary)
