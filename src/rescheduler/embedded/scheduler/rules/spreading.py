"""Topology spread that must hold: no domain may have so many pods more than the emptiest one."""

from collections.abc import Callable, Iterable
from typing import Final

from rescheduler.embedded.scheduler.pods import Pod, Spread, spreads
from rescheduler.embedded.scheduler.rules import node_affinity
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model import taints

NAME: Final = "PodTopologySpread"
_WORDS: Final = "node(s) didn't match pod topology spread constraints"
_UNEVEN: Final = Refusal(NAME, (_WORDS,))
_NO_DOMAIN: Final = Refusal(NAME, (f"{_WORDS} (missing required label)",), is_final=True)
_MOST: Final = 2**31 - 1


def _ask(pod: Pod, state: State) -> Answer:
    constraints = spreads(pod, "DoNotSchedule")
    if not constraints:
        return None
    limits = [(each.key, *_limit(each, constraints, pod, state)) for each in constraints]

    def question(node: Node) -> Refusal | None:
        for key, counts, most in limits:
            domain = node.labels.get(key)
            if domain is None:
                return _NO_DOMAIN
            if counts.get(domain, 0) > most:
                return _UNEVEN
        return None

    return question


def _limit(
    constraint: Spread, constraints: Iterable[Spread], pod: Pod, state: State
) -> tuple[dict[str, int], int]:
    """How many there are in each domain, and with how many it can take one more."""
    takes_part = participation(constraint, pod)
    counts: dict[str, int] = {}
    counted: dict[str, str] = {}
    for node in state.order:
        if all(each.key in node.labels for each in constraints) and takes_part(node):
            domain = node.labels[constraint.key]
            counts.setdefault(domain, 0)
            counted[node.name] = domain
    for name, number in present(constraint, pod, state).items():
        if name in counted:
            counts[counted[name]] += number
    least = min(counts.values(), default=_MOST)
    if len(counts) < constraint.min_domains:
        least = 0
    itself = int(constraint.selector.matches(pod.labels))
    return counts, constraint.max_skew + least - itself


def present(constraint: Spread, pod: Pod, state: State) -> dict[str, int]:
    """Node -> how many pods of this namespace count there. Those that leave do not."""
    counts: dict[str, int] = {}
    if not constraint.selector.requirements:
        # As the scheduler does it: an empty selector counts nobody.
        return counts
    for kind in state.selected(pod.namespace, constraint.selector):
        for name, number in kind.places.items():
            counts[name] = counts.get(name, 0) + number - kind.leaving.get(name, 0)
    return counts


def participation(constraint: Spread, pod: Pod) -> Callable[[Node], bool]:
    """Whether a node is among those over which they are spread."""
    required = node_affinity.wanted(pod) if constraint.honors_affinity else None
    tolerations = pod.tolerations

    def takes_part(node: Node) -> bool:
        if required is not None and not required.allows(node.labels, node.name):
            return False
        if not constraint.honors_taints or not node.taints:
            return True
        return taints.untolerated(node.taints, tolerations) is None

    return takes_part


RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT | News.POD_CAME | News.POD_CHANGED)
