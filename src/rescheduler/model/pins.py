"""The pin that holds a copy on its target: required node affinity on the node's name.

It goes through the scheduler, which still checks every rule, where `spec.nodeName` would check
none. It stays in the moved pod for life, so whoever reads such a pod takes it out first.
"""

import copy
import re
from collections.abc import Mapping
from typing import Any

_COPY = re.compile(r"(?P<owner>.+)-[0-9a-f]{10}")
_STANDALONE_COPY = re.compile(r"rescheduled-.+-\d{8}t\d{6}z")
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
    """The specification as it was before `add`. Only for pods that we have made."""
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


def is_name_of_copy(pod: str, owner: str) -> bool:
    """Whether a pod of this owner, or of nobody, has a name that only our copies have: it is pinned
    for life, and known as ours even when somebody has taken its history off.
    """
    if not owner:
        return pod.startswith("rescheduled-") and _STANDALONE_COPY.fullmatch(pod) is not None
    # A ReplicaSet itself ends the names of its pods with five characters.
    if pod[-11:-10] != "-":
        return False
    named = _COPY.fullmatch(pod)
    return named is not None and owner.startswith(named["owner"])


def _pin(node: str) -> dict[str, Any]:
    return {"key": _FIELD, "operator": "In", "values": [node]}
