"""The pin that holds a copy on its target: required node affinity on the node's name.

It goes through the scheduler, which still checks every rule, where `spec.nodeName` would check
none. It stays in the moved pod for life, so whoever reads such a pod takes it out first.
"""

import copy
from collections.abc import Mapping
from typing import Any

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELD = "metadata.name"


def add(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The specification, pinned. Terms are OR-ed: the pin goes into every one of them, for a term
    of its own would widen what the user asked for. So would an empty one, which matches no node.
    """
    pinned = copy.deepcopy(dict(spec))
    affinity = pinned.setdefault("affinity", {}) or {}
    pinned["affinity"] = affinity
    node_affinity = affinity.get("nodeAffinity") or {}
    affinity["nodeAffinity"] = node_affinity
    if not node_affinity.get(_REQUIRED):
        node_affinity[_REQUIRED] = {"nodeSelectorTerms": [{"matchFields": [_pin(node)]}]}
        return pinned
    for term in node_affinity[_REQUIRED]["nodeSelectorTerms"]:
        if term.get("matchExpressions") or term.get("matchFields"):
            term["matchFields"] = [*(term.get("matchFields") or []), _pin(node)]
    return pinned


def remove(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification as it was before `add`. Only for pods that carry our migration labels."""
    free = copy.deepcopy(dict(spec))
    node_affinity = ((free.get("affinity") or {}).get("nodeAffinity")) or {}
    required = node_affinity.get(_REQUIRED)
    if not required:
        return free
    for term in required["nodeSelectorTerms"]:
        fields = term.get("matchFields") or []
        if not (fields and fields[-1].get("key") == _FIELD and fields[-1].get("operator") == "In"):
            continue
        term["matchFields"] = fields[:-1]
        if not term["matchFields"]:
            del term["matchFields"]
        if not term:
            # Nothing but the pin: the user had no required node affinity.
            node_affinity.pop(_REQUIRED, None)
    if not node_affinity:
        free["affinity"].pop("nodeAffinity")
    if not free["affinity"]:
        del free["affinity"]
    return free


def target(spec: Mapping[str, Any]) -> str | None:
    """The node that a pinned specification names."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity")) or {}
    for term in (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms", []):
        fields = term.get("matchFields") or []
        if fields and fields[-1].get("key") == _FIELD:
            return str(fields[-1]["values"][0])
    return None


def _pin(node: str) -> dict[str, Any]:
    return {"key": _FIELD, "operator": "In", "values": [node]}
