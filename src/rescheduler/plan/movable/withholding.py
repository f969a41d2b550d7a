"""Whether a copy of a pod can lack a label, so that its ReplicaSet does not see it and nobody else
misses it. As migrating chooses that label.

Services may miss it until it is adopted, being Ready by then; unless it has readiness gates, which
somebody may open for endpoints only.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.model import company, names, pins, selectors
from rescheduler.model.columns import NONE
from rescheduler.model.objects import Object, spec
from rescheduler.model.selectors import Operator, Requirement, Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import budgets
from rescheduler.plan.fitting.rules import TEMPLATE_HASHES

SOURCE: Final = "services"
POLICIES: Final = "networkpolicies"

_COMPANY: Final = tuple(f'"{key}":'.encode() for key in company.FIELDS)
"""Most specifications have none of them, and need not be decoded to see that."""

_GATES: Final = b'"readinessGates":'
_MAY_WAIT: Final = ", whose endpoint its readiness gates may wait for"
_SERVICE: Final = "Service"


@dataclass(frozen=True, slots=True)
class _Selecting:
    who: str
    selector: Selector
    owner: int | None
    """Whose pods ask for that company, as a row of `Snapshot.owners`."""

    @property
    def is_service(self) -> bool:
        return self.who.startswith(_SERVICE)


class Withholding:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_namespace: dict[str, _Index] = {}

    def why_none(self, row: int) -> str:
        """Empty: there is one, as far as is known who selects what."""
        snapshot = self._snapshot
        number = int(snapshot.pods.owner[row])
        owner = snapshot.owners[number] if number != NONE else None
        if owner is None or owner.kind != "ReplicaSet":
            return ""
        pod_class = snapshot.class_of(row)
        replica_set = snapshot.find("replicasets", pod_class.namespace, owner.name)
        selector = spec(replica_set).get("selector") if replica_set else None
        if not selector:
            return ""
        asked = selector.get("matchLabels") or {}
        # What a controller has put there means nothing to anybody else, as a rule.
        if not asked.keys().isdisjoint(TEMPLATE_HASHES) and (
            pod_class.namespace not in self._going_by_hashes
        ):
            return ""
        labels = {**pod_class.labels, **snapshot.own_labels_of(row)}
        is_gated = _GATES in snapshot.template_of(row).spec_json
        missed = []
        for label in sorted(asked):
            who = self._who_misses(label, labels, pod_class.namespace, number, is_gated=is_gated)
            if who is None:
                return ""
            more = _MAY_WAIT if who.is_service else ""
            missed.append(f"{who.who} selects by {label}{more}")
        told = ", ".join(missed) or "its ReplicaSet asks for no single label"
        return f"there is no label that a copy could lack: {told}"

    @cached_property
    def _going_by_hashes(self) -> frozenset[str]:
        """Namespaces in which a Service, a budget or a NetworkPolicy selects by the hash of a
        template, as the Services of Argo Rollouts do.
        """
        return frozenset(
            namespace
            for source in (SOURCE, budgets.SOURCE, POLICIES)
            for (namespace, _), raw in self._snapshot.objects.get(source, {}).items()
            if any(label in str(spec(raw)) for label in TEMPLATE_HASHES)
        )

    def _who_misses(
        self,
        label: str,
        labels: Mapping[str, str],
        namespace: str,
        owner: int,
        *,
        is_gated: bool,
    ) -> _Selecting | None:
        """Not siblings. What they ask of each other is asked of a move with all labels, when it is
        planned and when it begins; who comes from elsewhere could be led astray by what a copy
        lacks.
        """
        if namespace not in self._by_namespace:
            self._by_namespace[namespace] = _Index(self._who_selects(namespace))
        without = {key: value for key, value in labels.items() if key != label}
        return next(
            (
                each
                for each in self._by_namespace[namespace].by(label, labels.get(label, ""))
                if each.owner != owner
                and (is_gated or not each.is_service)
                and each.selector.matches(labels) != each.selector.matches(without)
            ),
            None,
        )

    def _who_selects(self, namespace: str) -> Iterator[_Selecting]:
        for who, asked, owner in (
            *self._holders(namespace),
            *self._policies(namespace),
            *self._company(namespace),
        ):
            try:
                yield _Selecting(who, selectors.from_object(asked), owner)
            except selectors.InvalidSelectorError:
                continue  # as the server has it, it selects nothing

    def _holders(self, namespace: str) -> Iterator[tuple[str, Object | None, None]]:
        for kind, source in ((_SERVICE, SOURCE), ("PodDisruptionBudget", budgets.SOURCE)):
            for (where, name), raw in sorted(self._snapshot.objects.get(source, {}).items()):
                if where != namespace:
                    continue
                asked = spec(raw).get("selector")
                if kind == _SERVICE:
                    # One without a selector has its endpoints written by somebody else.
                    asked = {"matchLabels": asked} if asked else None
                yield f"{kind} {name}", asked, None

    def _policies(self, namespace: str) -> Iterator[tuple[str, Object, None]]:
        for (where, name), raw in sorted(self._snapshot.objects.get(POLICIES, {}).items()):
            if where == namespace:
                for asked in selectors.of_network_policy(raw):
                    yield f"NetworkPolicy {name}", asked, None

    def _company(self, namespace: str) -> Iterator[tuple[str, Object | None, int]]:
        """What pods ask of the company they keep: a copy has to count there as the pod does."""
        for number, each in enumerate(self._snapshot.classes):
            if each is None or each.namespace != namespace:
                continue
            template = self._snapshot.templates[each.template]
            if template and any(key in template.spec_json for key in _COMPANY):
                owners = self._owners_of(number)
                for rule, asked in company.asked_for(template.spec()):
                    for owner in owners:
                        yield f"{rule} of another workload", asked, owner

    def _owners_of(self, number: int) -> list[int]:
        """Of pods of this class, but for copies on their way, who are their ReplicaSet's soon."""
        pods, rows = self._snapshot.pods, self._snapshot.rows_of_class(number)
        owners = pods.owner[rows]
        found: list[int] = np.unique(owners[owners != NONE]).tolist()
        is_alone = any(not self._is_on_its_way(row) for row in rows[owners == NONE].tolist())
        return [*found, NONE] if is_alone else found

    def _is_on_its_way(self, row: int) -> bool:
        pods = self._snapshot.pods
        is_copy = names.ORIGINAL_POD in pods.annotations.get(row, {})
        return is_copy and not pins.is_name_of_copy(pods.names[row].rpartition("/")[2], "")


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
