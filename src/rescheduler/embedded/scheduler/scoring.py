"""Which of the nodes where a pod can go it should go to: kube-scheduler's scores and weights.

Each score gives every node 0 to 100; those with a weight count so many times.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rescheduler import wire
from rescheduler.embedded.scheduler.pods import (
    Pod,
    Spread,
    Term,
    preferences,
    spreads,
    usual_spread,
)
from rescheduler.embedded.scheduler.rules import neighbours, spreading
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model import resources, selectors, taints
from rescheduler.model.objects import controller
from rescheduler.model.selectors import Operator, Requirement, Selector

_MOST: Final = 100
_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_REQUIRED_AFFINITY_WEIGHT: Final = 1

Scores = list[int]
"""In the order of the nodes."""


def totals(pod: Pod, nodes: Sequence[Node], state: State) -> Scores:
    sums = _least_allocated(pod, nodes)
    for weight, score in _SCORES:
        found = score(pod, nodes, state)
        if found is not None:
            sums = [total + weight * each for total, each in zip(sums, found, strict=True)]
    return sums


# ---------------------------------------------------------------------- resources


def _least_allocated(pod: Pod, nodes: Sequence[Node]) -> Scores:
    cpu, memory = pod.usual_cpu, pod.usual_memory
    scores = []
    for node in nodes:
        total = parts = 0
        if node.cpu:
            parts += 1
            total += max(node.cpu - node.usual_cpu - cpu, 0) * _MOST // node.cpu
        if node.memory:
            parts += 1
            total += max(node.memory - node.usual_memory - memory, 0) * _MOST // node.memory
        scores.append(total // parts if parts else 0)
    return scores


def _balanced(pod: Pod, nodes: Sequence[Node], _: State) -> Scores | None:
    """By how much the pod makes cpu and memory more, or less, equally used."""
    cpu = pod.requests.get(resources.CPU, 0)
    memory = pod.requests.get(resources.MEMORY, 0)
    if not cpu and not memory:
        return None
    scores = []
    for node in nodes:
        has_cpu = node.requested.get(resources.CPU, 0)
        has_memory = node.requested.get(resources.MEMORY, 0)
        after = _balance(node, has_cpu + cpu, has_memory + memory)
        before = _balance(node, has_cpu, has_memory)
        half = _MOST // 2
        # As Go divides: towards zero.
        scores.append(half + int((half + after - before) / 2))
    return scores


def _balance(node: Node, cpu: int, memory: int) -> int:
    if not node.cpu or not node.memory:
        return _MOST
    deviation = abs(min(cpu / node.cpu, 1.0) - min(memory / node.memory, 1.0)) / 2
    return int((1 - deviation) * _MOST)


# ---------------------------------------------------------------------- nodes


def _preferred_nodes(pod: Pod, nodes: Sequence[Node], _: State) -> Scores | None:
    wanted = preferences(pod)
    if not wanted:
        return None
    scores = [
        sum(each.weight for each in wanted if each.wanted.allows(node.labels, node.name))
        for node in nodes
    ]
    most = max(scores)
    return [score * _MOST // most for score in scores] if most else scores


def _soft_taints(pod: Pod, nodes: Sequence[Node], _: State) -> Scores | None:
    if not any(node.soft_taints for node in nodes):
        return None
    tolerations = [
        each for each in pod.tolerations if each.get("effect") in (None, "", "PreferNoSchedule")
    ]
    counts = [
        sum(not taints.is_tolerated(taint, tolerations) for taint in node.soft_taints)
        for node in nodes
    ]
    most = max(counts)
    return [_MOST - count * _MOST // most if most else _MOST for count in counts]


# ---------------------------------------------------------------------- other pods


def _preferred_neighbours(pod: Pod, nodes: Sequence[Node], state: State) -> Scores | None:
    weights: dict[tuple[str, str], int] = {}
    for term, weight, places in (*_own_wishes(pod, state), *_wishes_of_others(pod, state)):
        for name, number in places.items():
            value = state.nodes[name].labels.get(term.key)
            if value is not None:
                domain = term.key, value
                weights[domain] = weights.get(domain, 0) + weight * number
    if not weights:
        return None
    keys = sorted({key for key, _ in weights})
    scores = [
        sum(weights.get((key, node.labels.get(key, "")), 0) for key in keys) for node in nodes
    ]
    least, most = min(scores), max(scores)
    if least == most:
        return [0] * len(scores)
    return [int(_MOST * ((score - least) / (most - least))) for score in scores]


_Wish = tuple[Term, int, dict[str, int]]
"""What is wished for, how much, and how many pods it is about on each node."""


def _own_wishes(pod: Pod, state: State) -> Iterator[_Wish]:
    for terms, sign in ((pod.neighbours.rather_near, 1), (pod.neighbours.rather_far, -1)):
        for term in terms:
            for kind in neighbours.selected(term, state):
                yield term, sign * term.weight, kind.places


def _wishes_of_others(pod: Pod, state: State) -> Iterator[_Wish]:
    own = state.namespace_labels(pod.namespace)
    for kind in state.interested_in(pod):
        theirs = kind.neighbours
        hard = ((term, _REQUIRED_AFFINITY_WEIGHT) for term in theirs.near)
        near = ((term, term.weight) for term in theirs.rather_near)
        far = ((term, -term.weight) for term in theirs.rather_far)
        for term, weight in (*hard, *near, *far):
            if term.selects(pod.namespace, pod.labels, own):
                yield term, weight, kind.places


def _spread(pod: Pod, nodes: Sequence[Node], state: State) -> Scores | None:
    """Over the domains of its wishes, else over hosts and zones with those of its owner."""
    has_own = bool(pod.spec.get("topologySpreadConstraints"))
    wishes = spreads(pod, "ScheduleAnyway") if has_own else _usual(pod, state)
    if not wishes:
        return None
    keys = {each.key for each in wishes}
    counted = [not has_own or keys <= node.labels.keys() for node in nodes]
    qualified = [node for node, counts in zip(nodes, counted, strict=True) if counts]
    sums = [0.0] * len(nodes)
    needs = keys if has_own else set()
    present: dict[Selector, dict[str, int]] = {}
    for wish in wishes:
        if wish.selector not in present:
            present[wish.selector] = spreading.present(wish, pod, state)
        around = present[wish.selector]
        counts, size = _domain_counts(wish, pod, qualified, state, around=around, needs=needs)
        weight = math.log(size + 2)
        for place, node in enumerate(nodes):
            domain = node.name if wish.key == _HOST else node.labels.get(wish.key)
            if counted[place] and wish.key in node.labels and domain is not None:
                sums[place] += counts.get(domain, 0) * weight + wish.max_skew - 1
    # As Go rounds: halves away from zero.
    scores = [math.floor(each + 0.5) for each in sums]
    of_qualified = [score for score, counts in zip(scores, counted, strict=True) if counts]
    most, least = max(of_qualified, default=0), min(of_qualified, default=0)
    return [
        0 if not counts else _MOST if not most else _MOST * (most + least - score) // most
        for score, counts in zip(scores, counted, strict=True)
    ]


def _domain_counts(
    wish: Spread,
    pod: Pod,
    nodes: Sequence[Node],
    state: State,
    *,
    around: dict[str, int],
    needs: set[str],
) -> tuple[dict[str, int], int]:
    """How many pods like it are in each domain, by host on each node; and how many domains."""
    if wish.key == _HOST:
        return around, len(nodes)
    domains = {node.labels.get(wish.key, "") for node in nodes}
    counts: dict[str, int] = {}
    takes_part = spreading.participation(wish, pod)
    for name, number in around.items():
        node = state.nodes[name]
        domain = node.labels.get(wish.key, "")
        if domain in domains and node.is_there and needs <= node.labels.keys() and takes_part(node):
            counts[domain] = counts.get(domain, 0) + number
    return counts, len(domains)


def _usual(pod: Pod, state: State) -> tuple[Spread, ...]:
    selector = _selector_of_its_kind(pod, state)
    if not selector.requirements:
        return ()
    return tuple(
        usual_spread(key, skew)._replace(selector=selector)
        for key, skew in ((_HOST, 3), (_ZONE, 5))
    )


def _selector_of_its_kind(pod: Pod, state: State) -> Selector:
    """What selects it: the services, and its ReplicaSet or StatefulSet."""
    wanted: dict[str, str] = {}
    for service in state.services_of(pod):
        wanted |= service["spec"]["selector"]
    found = [Requirement(key, Operator.EQUALS, frozenset({each})) for key, each in wanted.items()]
    owner = controller(pod.raw)
    resource = _OWNERS.get(owner["kind"]) if owner else None
    if owner is not None and resource is not None:
        known = state.store.find(resource, pod.namespace, owner["name"])
        if known is not None:
            found += selectors.from_object(known["spec"].get("selector")).requirements
    return Selector.of(found)


_OWNERS: Final = {"ReplicaSet": wire.REPLICA_SETS, "StatefulSet": wire.STATEFUL_SETS}
_Score = Callable[[Pod, Sequence[Node], State], Scores | None]
_SCORES: Final[tuple[tuple[int, _Score], ...]] = (
    (1, _balanced),
    (2, _preferred_nodes),
    (3, _soft_taints),
    (2, _preferred_neighbours),
    (2, _spread),
)
"""None: it makes no difference. The least allocated counts once."""
