"""Specifications in the one form by which alike pods are known as alike.

Two pods of one Deployment differ in their node and in what was pinned for them; a moved pod carries
our own pin for life. With it, it could never move again, and would be like no other pod.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from rescheduler.model import company
from rescheduler.model.objects import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELD = "metadata.name"
_LABEL_KEYS = b"atchLabelKeys"
"""Of matchLabelKeys and mismatchLabelKeys: few specifications have any."""


def encode(spec: Object) -> bytes:
    """Equal bytes for equal specifications, whichever format they came in."""
    encoded = msgspec.json.encode(_without_empty_affinity(spec), order="sorted")
    if _LABEL_KEYS not in encoded:
        return encoded
    found: Object = msgspec.json.decode(encoded)
    for _, rule in company.rules(found):
        _take_out_merged_keys(rule)
    return msgspec.json.encode(found, order="sorted")


def take_out_our_pin(spec: Any) -> str:  # noqa: ANN401 - a view
    """As `model.pins.remove`, on a view: the last field of each term, and terms of nothing else.
    Gives the node that it named; empty when there was none.
    """
    terms, target = _terms(spec), ""
    for index in reversed(range(len(terms))):
        term = terms[index]
        fields = term.matchFields
        if not (fields and fields[-1].key == _FIELD and fields[-1].operator == "In"):
            continue
        target = fields[-1].values[0] if fields[-1].values else ""
        del fields[-1]
        if not fields and not term.matchExpressions:
            # Nothing but the pin: the user had no required node affinity.
            del terms[:]
            break
    return target


def take_out_daemon_pin(spec: Any) -> None:  # noqa: ANN401
    """The DaemonSet controller pins each of its pods to its node. They never move, so that what is
    left, which may be a term of nothing, is not asked.
    """
    for term in _terms(spec):
        if term.matchFields:
            del term.matchFields[:]


def _take_out_merged_keys(rule: dict[str, Any]) -> None:
    """Keys that the API server, or we for a copy, have put into the selector with their values."""
    selector = rule.get("labelSelector") or {}
    said = selector.get("matchExpressions") or []
    for field, operator in company.LABEL_KEYS:
        merged = {each["key"] for each in said if each["operator"] == operator}
        left = [key for key in rule.pop(field, ()) if key not in merged]
        if left:
            rule[field] = left
    # The order in which they were put there means nothing.
    said.sort(key=lambda each: (each["key"], each["operator"], each.get("values") or []))


def _terms(spec: Any) -> Any:  # noqa: ANN401
    node_affinity = spec.affinity.nodeAffinity
    return getattr(node_affinity, _REQUIRED).nodeSelectorTerms


def _without_empty_affinity(spec: Object) -> Object:
    affinity = spec.get("affinity")
    if affinity is None:
        return spec
    node_affinity = affinity.get("nodeAffinity")
    if node_affinity is not None:
        required = node_affinity.get(_REQUIRED)
        if required is not None and not required.get("nodeSelectorTerms"):
            node_affinity = _without(node_affinity, [_REQUIRED])
        affinity = {**affinity, "nodeAffinity": node_affinity}
    affinity = {kind: rules for kind, rules in affinity.items() if rules}
    return {**spec, "affinity": affinity} if affinity else _without(spec, ["affinity"])


def _without(mapping: Object, keys: Iterable[str]) -> Object:
    return {key: value for key, value in mapping.items() if key not in keys}
