"""Required affinity and anti-affinity to other pods, that of the others included."""

from collections.abc import Iterable, Iterator
from typing import Final

from rescheduler.embedded.scheduler.pods import Pod, Term
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Alike, Node, State

NAME: Final = "InterPodAffinity"
_NOT_NEAR: Final = Refusal(NAME, ("node(s) didn't match pod affinity rules",), is_final=True)
_NOT_FAR: Final = Refusal(NAME, ("node(s) didn't match pod anti-affinity rules",))
_KEPT_AWAY: Final = Refusal(NAME, ("node(s) didn't satisfy existing pods anti-affinity rules",))
_Domain = tuple[str, str]
"""Key of a label of nodes, and its value."""


def _ask(pod: Pod, state: State) -> Answer:
    near, far = pod.neighbours.near, pod.neighbours.far
    keep_away = set(_kept_away(pod, state))
    not_there = {
        domain
        for term in far
        for kind in selected(term, state)
        for domain in _at(kind, term, state)
    }
    if not near and not keep_away and not far:
        return None
    wanted = _wanted(near, state)
    is_first = not wanted and all(_selects(term, pod, state) for term in near)

    def question(node: Node) -> Refusal | None:
        own = node.labels
        if near and not _is_near(node, near, wanted, is_first=is_first):
            return _NOT_NEAR
        if any((term.key, own.get(term.key)) in not_there for term in far):
            return _NOT_FAR
        if any(own.get(key) == value for key, value in keep_away):
            return _KEPT_AWAY
        return None

    return question


def _is_near(node: Node, near: Iterable[Term], wanted: set[_Domain], *, is_first: bool) -> bool:
    own = node.labels
    if any(term.key not in own for term in near):
        return False
    return is_first or all((term.key, own[term.key]) in wanted for term in near)


def _wanted(near: tuple[Term, ...], state: State) -> set[_Domain]:
    """Where pods are that match all of the terms: only those count."""
    if not near:
        return set()
    return {
        domain
        for kind in selected(near[0], state)
        if all(selects(term, kind, state) for term in near)
        for term in near
        for domain in _at(kind, term, state)
    }


def _kept_away(pod: Pod, state: State) -> Iterator[_Domain]:
    for kind in state.interested_in(pod):
        for term in kind.neighbours.far:
            if _selects(term, pod, state):
                yield from _at(kind, term, state)


def _at(kind: Alike, term: Term, state: State) -> Iterator[_Domain]:
    for name in kind.places:
        value = state.nodes[name].labels.get(term.key)
        if value is not None:
            yield term.key, value


def _selects(term: Term, pod: Pod, state: State) -> bool:
    return term.selects(pod.namespace, pod.labels, state.namespace_labels(pod.namespace))


def selects(term: Term, kind: Alike, state: State) -> bool:
    return term.selects(kind.namespace, kind.labels, state.namespace_labels(kind.namespace))


def selected(term: Term, state: State) -> Iterator[Alike]:
    """The pods that it means, by kind."""
    for namespace in (
        state.alike if term.namespace_selector is not None else sorted(term.namespaces)
    ):
        if term.looks_into(namespace, state.namespace_labels(namespace)):
            yield from state.selected(namespace, term.selector)


RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT | News.POD_CAME | News.POD_CHANGED)
