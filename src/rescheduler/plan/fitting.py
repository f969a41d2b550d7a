"""Where a pod may go: the hard rules of one node for one pod."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.model import names, node_affinity, resources, selectors, taints
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.snapshot import Snapshot


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
    return (
        _taints(pod, node)
        or _selectors(pod, node)
        or _room(pod, node, snapshot)
        or _kept_away(pod, node, snapshot)
        or _would_preempt(pod, snapshot.pods_on(node.name))
    )


def _taints(pod: Pod, node: Node) -> str:
    taint = taints.untolerated(node.taints, pod.spec.get("tolerations") or ())
    return f"it does not tolerate the taint {taint['key']}" if taint else ""


def _selectors(pod: Pod, node: Node) -> str:
    return node_affinity.required(pod.spec).why_not(node.labels, node.name)


def _room(pod: Pod, node: Node, snapshot: Snapshot) -> str:
    number = snapshot.node_numbers[node.name]
    # Terminating pods still hold their room.
    left = snapshot.room[number] - snapshot.requested[number] - snapshot.promised[number]
    free = dict(zip(snapshot.resource_names, left.tolist(), strict=True))
    for name, asked in pod.requests.items():
        # Who asks for nothing fits on an overcommitted node too.
        if asked > max(free.get(name, 0), 0):
            return f"{name}: {asked} asked, {free.get(name, 0)} free"
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
        for other in snapshot.keepers_away
        if other.node in labels
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
    lower = [other.full_name for other in present if other.priority < pod.priority]
    return f"its copy could push out {min(lower)}, whose priority is lower" if lower else ""
