"""Taints and tolerations, with the rules of k8s.io/api/core/v1/toleration.go."""

from collections.abc import Iterable, Mapping
from typing import Any

Taint = Mapping[str, Any]
Toleration = Mapping[str, Any]

KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute"})
"""The effects that keep a pod off a node. PreferNoSchedule is a wish."""
REMOVING: Mapping[str, str] = {
    "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
    "karpenter.sh/disrupted": "karpenter",
    "karpenter.sh/disruption": "karpenter",  # before its 1.0
}
"""By which an autoscaler of nodes says that it has begun to remove one: it empties it."""


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations away."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.get("effect") in KEEPS_AWAY and not is_tolerated(taint, tolerations):
            return taint
    return None


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """An empty effect or key stands for all of them, and no operator for Equal."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool((toleration.get("value") or "") == (taint.get("value") or ""))
    # Lt and Gt: their gate, TaintTolerationComparisonOperators, is off by default in 1.36, and then
    # they tolerate nothing.
    return False
