"""The rules that a class of alike pods brings along, read once from its specification."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from rescheduler.model import node_affinity, selectors
from rescheduler.model.columns import PodClass, Template
from rescheduler.model.objects import Object
from rescheduler.model.selectors import Operator, Requirement, Selector
from rescheduler.model.taints import Toleration
from rescheduler.plan.fitting.exclusives import Disk, Port, exclusives

TEMPLATE_HASHES: Final = frozenset({"pod-template-hash", "rollouts-pod-template-hash"})
"""Labels by which controllers, Kubernetes' own and Argo's, tell the revisions of a workload apart.
A copy lacks them until it is adopted.
"""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Where:
    """A requirement on nodes, and the key by which equal ones are known as equal."""

    key: bytes
    required: node_affinity.Required = field(compare=False)

    @classmethod
    def of(cls, spec: Object) -> "Where":
        affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
        key = msgspec.json.encode([spec.get("nodeSelector") or {}, affinity], order="sorted")
        return cls(key, node_affinity.required(spec))

    @property
    def asks_for_something(self) -> bool:
        """It asks for something at all."""
        return bool(self.required.selector) or self.required.terms is not None

    @classmethod
    def of_terms(cls, node_selector: Object) -> "Where":
        """Of a NodeSelector, as PersistentVolumes have it."""
        return cls.of({"affinity": {"nodeAffinity": {_REQUIRED: node_selector}}})


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods a rule speaks of."""

    namespaces: frozenset[str]
    namespace_selector: Selector | None
    """Of labels of namespaces: those count too. None: no others than the named ones."""
    selector: Selector
    hashed: int = field(init=False, repr=False, compare=False)
    """Computed once: thousands of them are looked up in every plan."""

    def __post_init__(self) -> None:
        parts = (self.namespaces, self.namespace_selector, self.selector)
        object.__setattr__(self, "hashed", hash(parts))

    def __hash__(self) -> int:
        return self.hashed


@dataclass(frozen=True, slots=True)
class Term:
    """Of an inter-pod affinity or anti-affinity: pods, and how near is near."""

    selection: Selection
    topology_key: str

    def __str__(self) -> str:
        return f"{self.selection.selector or 'any pod'} per {self.topology_key}"


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint that is a must."""

    selection: Selection
    topology_key: str
    max_skew: int
    min_domains: int
    honours_affinity: bool
    """Domains are those of nodes that the pod's node affinity allows."""
    honours_taints: bool
    """Domains are those of nodes whose taints the pod tolerates."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rules:
    required: Where
    tolerations: tuple[Toleration, ...]
    tolerations_key: bytes
    """By which equal ones are known as equal."""
    apart_from: tuple[Term, ...]
    """Required anti-affinity: each of these keeps it away."""
    near_to: tuple[Term, ...]
    """Required affinity: a pod that all of these select must be near, in each of their keys."""
    spreads: tuple[Spread, ...]
    exclusives: tuple[Port | Disk, ...]
    priority: int
    may_preempt: bool
    problem: str
    """What makes no sense in the specification, so that no node is known to be right."""

    def keeps_copies_away(self, labels: Mapping[str, str]) -> bool:
        """Whether pods with these rules and labels keep away one like them that lacks the hash of
        its template, as a copy does for a while: those of another hash are meant.
        """
        lacking = {key: each for key, each in labels.items() if key not in TEMPLATE_HASHES}
        away = [term.selection.selector for term in self.apart_from]
        return any(each.matches(lacking) and not each.matches(labels) for each in away)

    def domains_key(self, spread: Spread) -> tuple[object, ...]:
        """By which constraints with the same domains are known: of the nodes that count, all have
        every key, and those with a taint or against its affinity may be left out.
        """
        return (
            tuple(sorted({each.topology_key for each in self.spreads})),
            spread.topology_key,
            self.required.key if spread.honours_affinity else b"",
            self.tolerations_key if spread.honours_taints else b"",
        )


def read(pod_class: PodClass, template: Template) -> Rules:
    spec = template.spec()
    affinity = spec.get("affinity") or {}
    problem = ""
    apart: tuple[Term, ...] = ()
    near: tuple[Term, ...] = ()
    spreads: tuple[Spread, ...] = ()
    try:
        apart = _terms(affinity.get("podAntiAffinity"), pod_class)
        near = _terms(affinity.get("podAffinity"), pod_class)
        spreads = tuple(_spreads(spec, pod_class))
    except selectors.InvalidSelectorError as error:
        problem = f"a selector in its specification is not valid: {error}"
    return Rules(
        required=Where.of(spec),
        tolerations=tuple(spec.get("tolerations") or ()),
        tolerations_key=msgspec.json.encode(spec.get("tolerations") or [], order="sorted"),
        apart_from=apart,
        near_to=near,
        spreads=spreads,
        exclusives=exclusives(spec),
        priority=template.priority,
        may_preempt=spec.get("preemptionPolicy") != "Never",
        problem=problem,
    )


def _terms(kind: Mapping[str, Any] | None, pod_class: PodClass) -> tuple[Term, ...]:
    return tuple(
        Term(_selection(term, pod_class), term.get("topologyKey") or "")
        for term in (kind or {}).get(_REQUIRED) or ()
    )


def _selection(term: Mapping[str, Any], pod_class: PodClass) -> Selection:
    chosen = term.get("namespaceSelector")
    named = frozenset(term.get("namespaces") or ())
    if chosen is None and not named:
        named = frozenset({pod_class.namespace})
    return Selection(
        named,
        None if chosen is None else selectors.from_object(chosen),
        _narrowed(
            selectors.from_object(term.get("labelSelector")),
            pod_class.labels,
            alike=term.get("matchLabelKeys") or (),
            unlike=term.get("mismatchLabelKeys") or (),
        ),
    )


def _spreads(spec: Object, pod_class: PodClass) -> Iterable[Spread]:
    for each in spec.get("topologySpreadConstraints") or ():
        if each.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        yield Spread(
            selection=_counted(each, pod_class),
            topology_key=each.get("topologyKey") or "",
            max_skew=each.get("maxSkew") or 1,
            min_domains=each.get("minDomains") or 1,
            honours_affinity=(each.get("nodeAffinityPolicy") or "Honor") == "Honor",
            honours_taints=(each.get("nodeTaintsPolicy") or "Ignore") == "Honor",
        )


def _counted(constraint: Mapping[str, Any], pod_class: PodClass) -> Selection:
    selector = _narrowed(
        selectors.from_object(constraint.get("labelSelector")),
        pod_class.labels,
        alike=constraint.get("matchLabelKeys") or (),
    )
    return Selection(frozenset({pod_class.namespace}), None, _of_spread(selector))


def _of_spread(selector: Selector) -> Selector:
    """The plugin counts no pods for an empty one."""
    return selectors.NOTHING if selector == selectors.EVERYTHING else selector


def _narrowed(
    selector: Selector,
    labels: Mapping[str, str],
    *,
    alike: Iterable[str] = (),
    unlike: Iterable[str] = (),
) -> Selector:
    """With matchLabelKeys and mismatchLabelKeys. Newer API servers have put them into the selector
    already: then this says the same once more.
    """
    added = [
        Requirement(key, operator, frozenset({labels[key]}))
        for keys, operator in ((alike, Operator.IN), (unlike, Operator.NOT_IN))
        for key in keys
        if key in labels
    ]
    if selector == selectors.NOTHING or not added:
        return selector
    return Selector.of({*selector.requirements, *added})
