"""Whether a copy of a pod can lack a label, so that its ReplicaSet does not see it and nobody else
misses it. As migrating chooses that label, but for what planning does not follow.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from rescheduler.model import company, selectors
from rescheduler.model.cluster import Owner
from rescheduler.model.objects import Object, spec
from rescheduler.model.selectors import Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import budgets
from rescheduler.plan.fitting.rules import TEMPLATE_HASHES

SOURCE: Final = "services"

_COMPANY: Final = tuple(f'"{key}":'.encode() for key in company.FIELDS)
"""Most specifications have none of them, and need not be decoded to see that."""


class Withholding:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._selecting: dict[str, list[tuple[str, Selector]]] = {}

    def why_none(self, namespace: str, owner: Owner | None, labels: Mapping[str, str]) -> str:
        """Empty: there is one, as far as is known who selects what."""
        if owner is None or owner.kind != "ReplicaSet":
            return ""
        replica_set = self._snapshot.find("replicasets", namespace, owner.name)
        selector = spec(replica_set).get("selector") if replica_set else None
        if not selector:
            return ""
        asked = selector.get("matchLabels") or {}
        # What a controller has put there means nothing to anybody else.
        if not asked.keys().isdisjoint(TEMPLATE_HASHES):
            return ""
        missed = []
        for label in sorted(asked):
            without = {key: value for key, value in labels.items() if key != label}
            who = self._who_tells_apart(namespace, labels, without)
            if not who:
                return ""
            missed.append(f"{who} selects by {label}")
        told = ", ".join(missed) or "its ReplicaSet asks for no single label"
        return f"there is no label that a copy could lack: {told}"

    def _who_tells_apart(
        self, namespace: str, labels: Mapping[str, str], without: Mapping[str, str]
    ) -> str:
        if namespace not in self._selecting:
            self._selecting[namespace] = list(self._who_selects(namespace))
        return next(
            (
                who
                for who, selector in self._selecting[namespace]
                if selector.matches(labels) != selector.matches(without)
            ),
            "",
        )

    def _who_selects(self, namespace: str) -> Iterable[tuple[str, Selector]]:
        for who, asked in (*self._holders(namespace), *self._company(namespace)):
            try:
                yield who, selectors.from_object(asked)
            except selectors.InvalidSelectorError:
                continue  # as the server has it, it selects nothing

    def _holders(self, namespace: str) -> Iterable[tuple[str, Object | None]]:
        for kind, source in (("Service", SOURCE), ("PodDisruptionBudget", budgets.SOURCE)):
            for (where, name), raw in sorted(self._snapshot.objects.get(source, {}).items()):
                if where != namespace:
                    continue
                asked = spec(raw).get("selector")
                if kind == "Service":
                    # One without a selector has its endpoints written by somebody else.
                    asked = {"matchLabels": asked} if asked else None
                yield f"{kind} {name}", asked

    def _company(self, namespace: str) -> Iterable[tuple[str, Object | None]]:
        """What pods ask of the company they keep: a copy has to count there as the pod does."""
        snapshot = self._snapshot
        numbers = {
            each.template for each in snapshot.classes if each and each.namespace == namespace
        }
        for number in sorted(numbers):
            template = snapshot.templates[number]
            if template and any(key in template.spec_json for key in _COMPANY):
                for rule, asked in company.asked_for(template.spec()):
                    yield f"{rule} of a pod", asked
