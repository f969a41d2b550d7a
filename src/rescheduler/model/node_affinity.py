"""Which nodes a pod may go to by its nodeSelector and its required node affinity.

Follows k8s.io/component-helpers/scheduling/corev1/nodeaffinity: terms are alternatives, a term
without requirements matches no node, and neither does one with a requirement that is not valid.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rescheduler.model.selectors import InvalidSelectorError, Operator, Requirement

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
_NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class _Term:
    """All of its requirements must hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Callable[[str], bool], ...]
    """Of the name of a node, the only field that there is."""

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        return all(each.matches(labels) for each in self.labels) and all(
            holds(name) for holds in self.fields
        )


@dataclass(frozen=True, slots=True)
class Required:
    """What a specification requires of a node, ready to be asked about many."""

    selector: Mapping[str, str]
    terms: tuple[_Term, ...] | None
    """None where there is no required affinity; an empty one matches no node."""

    def allows(self, labels: Mapping[str, str], name: str) -> bool:
        return not self.why_not(labels, name)

    def why_not(self, labels: Mapping[str, str], name: str) -> str:
        for key, value in self.selector.items():
            if labels.get(key) != value:
                return f"its nodeSelector asks for {key}={value}"
        if self.terms is not None and not any(term.matches(labels, name) for term in self.terms):
            return "its required node affinity does not match"
        return ""

    @property
    def keys(self) -> frozenset[str]:
        """The labels that it looks at: nodes that are alike in them are alike to it."""
        terms = self.terms or ()
        return frozenset(self.selector) | {each.key for term in terms for each in term.labels}

    @property
    def asks_for_names(self) -> bool:
        return any(term.fields for term in self.terms or ())


def required(spec: Mapping[str, Any]) -> Required:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    wanted = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if wanted is None else tuple(_terms(wanted.get("nodeSelectorTerms") or ()))
    return Required(spec.get("nodeSelector") or {}, terms)


def _terms(given: Iterable[Mapping[str, Any]]) -> Iterable[_Term]:
    for term in given:
        labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not labels and not fields:
            continue
        try:
            yield _Term(tuple(map(_of_labels, labels)), tuple(map(_of_a_field, fields)))
        except InvalidSelectorError:
            continue


def _of_labels(requirement: Mapping[str, Any]) -> Requirement:
    operator = _OPERATORS.get(requirement.get("operator") or "")
    if operator is None:
        raise InvalidSelectorError(f"unknown operator {requirement.get('operator')!r}")
    values = frozenset(requirement.get("values") or ())
    return Requirement(requirement.get("key") or "", operator, values)


def _of_a_field(requirement: Mapping[str, Any]) -> Callable[[str], bool]:
    key, operator = requirement.get("key"), requirement.get("operator")
    values: list[str] = requirement.get("values") or []
    if operator not in ("In", "NotIn") or len(values) != 1:
        raise InvalidSelectorError("a field is In or NotIn exactly one value")
    wanted, is_in = values[0], operator == "In"

    def holds(name: str) -> bool:
        # A field that does not exist is empty.
        return ((name if key == _NAME else "") == wanted) is is_in

    return holds
