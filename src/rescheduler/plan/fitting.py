"""Where a pod may go: the hard rules of one node for one pod."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.model import names, resources, selectors
from rescheduler.model.cluster import Node, Pod, Snapshot
from rescheduler.model.selectors import InvalidSelectorError, Operator, Requirement


def why_not_a_target(node: Node) -> str:
    """Rules about the node alone."""
    if not node.ready:
        return "it is not Ready"
    if node.unschedulable:
        return "it is cordoned"
    if any(label in node.labels for label in names.CONTROL_PLANE):
        return "it is a control-plane node"
    if not node.allocatable.get(resources.CPU) or not node.allocatable.get(resources.MEMORY):
        return "it reports no allocatable cpu or memory"
    return ""


def why_it_does_not_fit(pod: Pod, node: Node, snapshot: Snapshot) -> str:
    present = snapshot.pods_by_node[node.name]
    return (
        _taints(pod, node)
        or _selectors(pod, node)
        or _room(pod, node, present)
        or _kept_away(pod, node, snapshot)
        or _would_preempt(pod, present)
    )


def _taints(pod: Pod, node: Node) -> str:
    tolerations = pod.spec.get("tolerations") or ()
    for taint in node.taints:
        if taint["effect"] == "PreferNoSchedule":
            continue
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            return f"it does not tolerate the taint {taint['key']}"
    return ""


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key"):
        return bool(operator == "Exists")
    if toleration["key"] != taint["key"]:
        return False
    if operator == "Exists":
        return True
    # Lt and Gt (numeric tolerations) are not judged here yet: not tolerated is the safe answer.
    return bool(
        operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
    )


def _selectors(pod: Pod, node: Node) -> str:
    for key, value in (pod.spec.get("nodeSelector") or {}).items():
        if node.labels.get(key) != value:
            return f"its nodeSelector asks for {key}={value}"
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(_term_matches(term, node) for term in required["nodeSelectorTerms"]):
        return "its required node affinity does not match"
    return ""


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    labels = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not labels and not fields:
        return False
    return all(_requirement_holds(each, node.labels) for each in labels) and all(
        _requirement_holds(each, {"metadata.name": node.name}) for each in fields
    )


def _requirement_holds(requirement: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value = values.get(requirement["key"])
    wanted = requirement.get("values") or ()
    operator = requirement["operator"]
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    return _compares(value, operator, wanted)


def _compares(value: str | None, operator: str, wanted: Any) -> bool:  # noqa: ANN401
    # What is an integer, Kubernetes and Python see differently ("1_0").
    comparison = Operator.GREATER_THAN if operator == "Gt" else Operator.LESS_THAN
    try:
        requirement = Requirement("value", comparison, frozenset(wanted))
    except InvalidSelectorError:
        return False
    return value is not None and requirement.matches({"value": value})


def _room(pod: Pod, node: Node, present: Iterable[Pod]) -> str:
    # Terminating pods still hold their room; finished ones do not.
    taken = resources.add(*(other.requests for other in present if not other.finished))
    for name, asked in pod.requests.items():
        free = node.allocatable.get(name, 0) - taken.get(name, 0)
        # Who asks for nothing fits on an overcommitted node too.
        if asked > max(free, 0):
            return f"{name}: {asked} asked, {free} free"
    return ""


def _kept_away(pod: Pod, node: Node, snapshot: Snapshot) -> str:
    """Required anti-affinity works both ways, and the scheduler pushes out whoever ranks lower."""
    labels = {each.name: each.labels for each in snapshot.nodes}

    def keeps_away(other: Pod, term: Mapping[str, Any]) -> bool:
        domain = labels[other.node].get(term["topologyKey"])
        together = domain is not None and domain == node.labels.get(term["topologyKey"])
        return together and _selects(term, other, pod)

    found = [
        other.full_name
        for other in snapshot.pods
        if not other.finished
        and other.uid != pod.uid
        and any(keeps_away(other, term) for term in _anti_affinity(other))
    ]
    # The first by name: the same snapshot gives the same words, in whatever order it was sent.
    return f"the anti-affinity of {min(found)} keeps it away" if found else ""


def _anti_affinity(pod: Pod) -> Iterable[Mapping[str, Any]]:
    affinity = (pod.spec.get("affinity") or {}).get("podAntiAffinity") or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def _selects(term: Mapping[str, Any], owner: Pod, pod: Pod) -> bool:
    # Namespaces selected by label are not known here: they count as selected, to be safe.
    if "namespaceSelector" not in term:
        namespaces = term.get("namespaces") or [owner.namespace]
        if pod.namespace not in namespaces:
            return False
    return selectors.from_object(term.get("labelSelector")).matches(pod.labels)


def _would_preempt(pod: Pod, present: Iterable[Pod]) -> str:
    """There is room now; should it be taken before the copy comes, the scheduler would push out who
    ranks lower.
    """
    if pod.spec.get("preemptionPolicy") == "Never":
        return ""
    lower = [
        other.full_name for other in present if not other.finished and other.priority < pod.priority
    ]
    return f"its copy could push out {min(lower)}, whose priority is lower" if lower else ""
