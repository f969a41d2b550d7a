"""Which other pods the specification of a pod goes by: affinity, anti-affinity, topology spread."""

from collections.abc import Iterator
from typing import Any, Final

from rescheduler.model.objects import Object

_AFFINITY: Final = {"podAffinity": "affinity", "podAntiAffinity": "anti-affinity"}
_SPREAD: Final = "topologySpreadConstraints"

FIELDS: Final = (*_AFFINITY, _SPREAD)

LABEL_KEYS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
"""Fields of a rule with keys of labels, and by which operator the API server puts the pod's own
values of those into the selector of the rule, once, as the pod is created.
"""


def rules(spec: Object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every such rule, after what kind of rule it is."""
    affinity = spec.get("affinity") or {}
    for field, rule in _AFFINITY.items():
        for terms in (affinity.get(field) or {}).values():
            for each in terms or ():
                # Those that are only preferred have a weight beside them.
                yield rule, each.get("podAffinityTerm") or each
    for each in spec.get(_SPREAD) or ():
        yield "topology spread", each


def asked_for(spec: Object) -> Iterator[tuple[str, Object | None]]:
    """The label selector of every such rule, after what kind of rule it is."""
    for rule, each in rules(spec):
        yield rule, each.get("labelSelector")
