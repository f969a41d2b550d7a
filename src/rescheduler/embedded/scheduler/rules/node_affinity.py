"""The nodeSelector and the required node affinity of a pod."""

from collections.abc import Iterable
from typing import Final

from rescheduler.embedded.scheduler.pods import REQUIRED, Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.kube import Object
from rescheduler.model import node_affinity

NAME: Final = "NodeAffinity"
_ELSEWHERE: Final = Refusal(
    NAME, ("node(s) didn't match Pod's node affinity/selector",), is_final=True
)


def _ask(pod: Pod, _: State) -> Answer:
    required = wanted(pod)
    if required is None:
        return None

    def question(node: Node) -> Refusal | None:
        return None if required.allows(node.labels, node.name) else _ELSEWHERE

    return question


def wanted(pod: Pod) -> node_affinity.Required | None:
    required = node_affinity.required(pod.spec)
    return required if required.selector or required.terms is not None else None


def named(pod: Pod) -> frozenset[str] | None:
    """The only nodes that it can be on, where all of its terms name one: nobody else is asked."""
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
    if not terms:
        return None
    found: set[str] = set()
    for term in terms:
        names = _named(term.get("matchFields") or ())
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _named(fields: Iterable[Object]) -> set[str] | None:
    found: set[str] | None = None
    for each in fields:
        if each.get("key") == "metadata.name" and each.get("operator") == "In":
            names = set(each.get("values") or ())
            found = names if found is None else found & names
    return found


RULE: Final = Rule(NAME, _ask, News.NODE)
