"""Whether a copy of a pod can lack a label, so that its ReplicaSet does not see it and nobody else
misses it. As migrating chooses that label, but for what planning does not follow.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.model import company, selectors
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import PodClass
from rescheduler.model.objects import Object, spec
from rescheduler.model.selectors import Operator, Requirement, Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import budgets
from rescheduler.plan.fitting.rules import TEMPLATE_HASHES

SOURCE: Final = "services"

_COMPANY: Final = tuple(f'"{key}":'.encode() for key in company.FIELDS)
"""Most specifications have none of them, and need not be decoded to see that."""


@dataclass(frozen=True, slots=True)
class _Selecting:
    who: str
    selector: Selector
    asking: PodClass | None
    """Whose pods keep that company."""


class Withholding:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_namespace: dict[str, _Index] = {}

    def why_none(self, pod: PodClass, owner: Owner | None, labels: Mapping[str, str]) -> str:
        """Empty: there is one, as far as is known who selects what. `labels`: all that it has."""
        if owner is None or owner.kind != "ReplicaSet":
            return ""
        replica_set = self._snapshot.find("replicasets", pod.namespace, owner.name)
        selector = spec(replica_set).get("selector") if replica_set else None
        if not selector:
            return ""
        asked = selector.get("matchLabels") or {}
        # What a controller has put there means nothing to anybody else.
        if not asked.keys().isdisjoint(TEMPLATE_HASHES):
            return ""
        missed = []
        for label in sorted(asked):
            who = self._who_misses(label, pod, asked, labels)
            if not who:
                return ""
            missed.append(f"{who} selects by {label}")
        told = ", ".join(missed) or "its ReplicaSet asks for no single label"
        return f"there is no label that a copy could lack: {told}"

    def _who_misses(
        self, label: str, pod: PodClass, asked: Mapping[str, str], labels: Mapping[str, str]
    ) -> str:
        if pod.namespace not in self._by_namespace:
            self._by_namespace[pod.namespace] = _Index(self._who_selects(pod.namespace))
        without = {key: value for key, value in labels.items() if key != label}
        return next(
            (
                each.who
                for each in self._by_namespace[pod.namespace].by(label, labels.get(label, ""))
                if not (each.asking and _is_sibling(each.asking, pod, asked))
                and each.selector.matches(labels) != each.selector.matches(without)
            ),
            "",
        )

    def _who_selects(self, namespace: str) -> Iterator[_Selecting]:
        for who, asked, asking in (*self._holders(namespace), *self._company(namespace)):
            try:
                yield _Selecting(who, selectors.from_object(asked), asking)
            except selectors.InvalidSelectorError:
                continue  # as the server has it, it selects nothing

    def _holders(self, namespace: str) -> Iterator[tuple[str, Object | None, None]]:
        for kind, source in (("Service", SOURCE), ("PodDisruptionBudget", budgets.SOURCE)):
            for (where, name), raw in sorted(self._snapshot.objects.get(source, {}).items()):
                if where != namespace:
                    continue
                asked = spec(raw).get("selector")
                if kind == "Service":
                    # One without a selector has its endpoints written by somebody else.
                    asked = {"matchLabels": asked} if asked else None
                yield f"{kind} {name}", asked, None

    def _company(self, namespace: str) -> Iterator[tuple[str, Object | None, PodClass]]:
        """What pods ask of the company they keep: a copy has to count there as the pod does."""
        for each in self._snapshot.classes:
            if each is None or each.namespace != namespace:
                continue
            template = self._snapshot.templates[each.template]
            if template and any(key in template.spec_json for key in _COMPANY):
                for rule, asked in company.asked_for(template.spec()):
                    yield f"{rule} of another workload", asked, each


class _Index:
    """By the labels that are asked for: a namespace may have hundreds of workloads, each with rules
    that are about itself alone.
    """

    def __init__(self, all_of_them: Iterable[_Selecting]) -> None:
        self._found: dict[tuple[str, str | None], list[_Selecting]] = {}
        for each in all_of_them:
            for key in {key for asked in each.selector.requirements for key in _keys(asked)}:
                self._found.setdefault(key, []).append(each)

    def by(self, label: str, value: str) -> Iterator[_Selecting]:
        """Whoever this label could matter to."""
        yield from self._found.get((label, value), ())
        yield from self._found.get((label, None), ())


def _keys(asked: Requirement) -> Iterator[tuple[str, str | None]]:
    if asked.operator not in (Operator.IN, Operator.EQUALS):
        yield asked.key, None
        return
    for value in asked.values:
        yield asked.key, value


def _is_sibling(other: PodClass, pod: PodClass, asked: Mapping[str, str]) -> bool:
    """Whether it is a replica like the pod, or the copy of one, which lacks a label for a while.
    What replicas ask of each other is asked of a move with all labels, when it is planned and when
    it begins; only who comes from elsewhere could be led astray by what a copy lacks.
    """
    if all(other.labels.get(key) == value for key, value in asked.items()):
        return True
    is_alike = other.template == pod.template
    return is_alike and all(other.labels.get(key, value) == value for key, value in asked.items())
