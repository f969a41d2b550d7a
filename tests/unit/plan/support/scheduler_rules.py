"""What kube-scheduler 1.36 asks before it puts a pod on a node, in the plainest way there is.

Written after its filter plugins, without any thought of speed, on objects as the API server gives
them. It shares nothing with `rescheduler.plan`, which is judged by it, and is itself held against
the real scheduler, verdict by verdict, by tests/cluster/test_fit_oracle.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rescheduler.model import resources, selectors
from tests.unit.plan.support import scheduler_volumes as volumes
from tests.unit.plan.support.cluster_objects import (
    Cluster,
    Object,
    asked_by,
    labels_of,
    matches_terms,
    name_of,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing is bound to it here
MOST = 2**31 - 1
Port = tuple[str, str, int]


def why_not(cluster: Cluster, pod: Object, node_name: str) -> list[str]:
    """The names of all rules by which the scheduler refuses this pod on this node; the pod itself
    is not there yet.

    Asked twice where others wait to get there who do not rank lower: with them, and without.
    """
    node = cluster.nodes[node_name]
    refused = {name for name, rule in RULES.items() if not rule(cluster, pod, node)}
    if waiting := _nominated(cluster, pod, node_name):
        crowd = Cluster.of([*cluster.nodes.values(), *cluster.pods.values()])
        crowd.others = cluster.others
        for other in waiting:
            crowd.add({**other, "spec": {**other["spec"], "nodeName": node_name}})
        refused |= {name for name, rule in RULES.items() if not rule(crowd, pod, node)}
    return [name for name in RULES if name in refused]


def _nominated(cluster: Cluster, pod: Object, node_name: str) -> list[Object]:
    return [
        other
        for other in cluster.pods.values()
        if not other["spec"].get("nodeName")
        and (other.get("status") or {}).get("nominatedNodeName") == node_name
        and (other["spec"].get("priority") or 0) >= (pod["spec"].get("priority") or 0)
    ]


# ---------------------------------------------------------------------- the node alone


def is_schedulable(_: Cluster, pod: Object, node: Object) -> bool:
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return not node["spec"].get("unschedulable") or tolerates(pod, cordon)


def tolerates_taints(_: Cluster, pod: Object, node: Object) -> bool:
    return all(
        tolerates(pod, taint)
        for taint in node["spec"].get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute")
    )


def tolerates(pod: Object, taint: Mapping[str, Any]) -> bool:
    for each in pod["spec"].get("tolerations") or ():
        if each.get("effect") and each["effect"] != taint["effect"]:
            continue
        if each.get("key") and each["key"] != taint["key"]:
            continue
        operator = each.get("operator") or "Equal"
        same = (each.get("value") or "") == (taint.get("value") or "")
        if operator == "Exists" or (operator == "Equal" and same):
            return True
    return False


def matches_node_affinity(_: Cluster, pod: Object, node: Object) -> bool:
    wanted: Mapping[str, str] = pod["spec"].get("nodeSelector") or {}
    if any(labels_of(node).get(key) != value for key, value in wanted.items()):
        return False
    required = affinity_of(pod, "nodeAffinity").get(REQUIRED)
    return required is None or matches_terms(required["nodeSelectorTerms"], node)


# ---------------------------------------------------------------------- what others hold there


def has_free_ports(cluster: Cluster, pod: Object, node: Object) -> bool:
    taken = [port for other in cluster.pods_on(name_of(node)) for port in ports_of(other)]
    return not any(_clash(one, other) for one in ports_of(pod) for other in taken)


def ports_of(pod: Object) -> list[Port]:
    """Address, protocol and number, of containers that stay."""
    sidecars = [
        each
        for each in pod["spec"].get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    ]
    return [
        (port.get("hostIP") or ANY_ADDRESS, port.get("protocol") or "TCP", port["hostPort"])
        for container in [*sidecars, *pod["spec"]["containers"]]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def _clash(one: Port, other: Port) -> bool:
    addresses = {one[0], other[0]}
    return one[1:] == other[1:] and (len(addresses) == 1 or ANY_ADDRESS in addresses)


def has_room(cluster: Cluster, pod: Object, node: Object) -> bool:
    return not lacking(cluster, pod, node)


def lacking(cluster: Cluster, pod: Object, node: Object) -> list[str]:
    """The resources of which there is not enough."""
    has = resources.read(node["status"].get("allocatable"))
    taken = resources.add(*map(asked_by, cluster.pods_on(name_of(node))))
    return [
        name
        for name, amount in asked_by(pod).items()
        if amount > 0 and amount > has.get(name, 0) - taken.get(name, 0)
    ]


# ---------------------------------------------------------------------- near others


def affinity_of(pod: Object, kind: str) -> Mapping[str, Any]:
    return (pod["spec"].get("affinity") or {}).get(kind) or {}


def required_terms(pod: Object, kind: str) -> Sequence[Mapping[str, Any]]:
    return affinity_of(pod, kind).get(REQUIRED) or ()


def selects(cluster: Cluster, term: Mapping[str, Any], owner: Object, other: Object) -> bool:
    """matchLabelKeys and mismatchLabelKeys stand in the labelSelector since it was created."""
    namespace = other["metadata"]["namespace"]
    chooses = term.get("namespaceSelector")
    named = term.get("namespaces") or ()
    if not named and chooses is None:
        named = (owner["metadata"]["namespace"],)
    known = cluster.find("Namespace", namespace)
    labels = labels_of(known) if known else {}
    if namespace not in named and not selectors.from_object(chooses).matches(labels):
        return False
    return selectors.from_object(term.get("labelSelector")).matches(labels_of(other))


def keeps_away_from_others(cluster: Cluster, pod: Object, node: Object) -> bool:
    return not any(
        selects(cluster, term, pod, other) and _together(term, node, its_node)
        for term in required_terms(pod, "podAntiAffinity")
        for other, its_node in cluster.present()
    )


def others_keep_it_away(cluster: Cluster, pod: Object, node: Object) -> bool:
    return not any(
        selects(cluster, term, other, pod) and _together(term, node, its_node)
        for other, its_node in cluster.present()
        for term in required_terms(other, "podAntiAffinity")
    )


def _together(term: Mapping[str, Any], one: Object, other: Object) -> bool:
    key = term["topologyKey"]
    return key in labels_of(one) and labels_of(one).get(key) == labels_of(other).get(key)


def is_near_others(cluster: Cluster, pod: Object, node: Object) -> bool:
    """Only pods that match all of its terms count. The first of its kind needs nobody."""
    terms = required_terms(pod, "podAffinity")
    if any(term["topologyKey"] not in labels_of(node) for term in terms):
        return False

    def is_wanted(other: Object) -> bool:
        return all(selects(cluster, term, pod, other) for term in terms)

    wanted = [(other, its_node) for other, its_node in cluster.present() if is_wanted(other)]
    if all(any(_together(term, node, its_node) for _, its_node in wanted) for term in terms):
        return True
    counted = any(
        term["topologyKey"] in labels_of(its_node) for _, its_node in wanted for term in terms
    )
    return not counted and is_wanted(pod)


# ---------------------------------------------------------------------- spread


def is_spread(cluster: Cluster, pod: Object, node: Object) -> bool:
    constraints = hard_constraints(pod)
    return all(
        each["topologyKey"] in labels_of(node)
        and skew(cluster, pod, each, constraints, node) <= each["maxSkew"]
        for each in constraints
    )


def hard_constraints(pod: Object) -> list[Mapping[str, Any]]:
    return [
        each
        for each in pod["spec"].get("topologySpreadConstraints") or ()
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    ]


def skew(
    cluster: Cluster,
    pod: Object,
    constraint: Mapping[str, Any],
    constraints: Sequence[Mapping[str, Any]],
    node: Object,
) -> int:
    """With the pod on this node, where it is not counted yet."""
    counts = counted_domains(cluster, pod, constraint, constraints)
    least = min(counts.values(), default=MOST)
    if len(counts) < (constraint.get("minDomains") or 1):
        least = 0
    itself = int(_spread_selector(pod, constraint).matches(labels_of(pod)))
    return counts.get(labels_of(node)[constraint["topologyKey"]], 0) + itself - least


def counted_domains(
    cluster: Cluster,
    pod: Object,
    constraint: Mapping[str, Any],
    constraints: Sequence[Mapping[str, Any]],
) -> dict[str, int]:
    """How many pods like this there are in each domain that takes part."""
    selector = _spread_selector(pod, constraint)
    counts: dict[str, int] = {}
    for node in cluster.nodes.values():
        if not _takes_part(cluster, pod, constraint, constraints, node):
            continue
        domain = labels_of(node)[constraint["topologyKey"]]
        counts.setdefault(domain, 0)
        if not selector.requirements:
            continue
        for other in cluster.pods_on(name_of(node)):
            same = other["metadata"]["namespace"] == pod["metadata"]["namespace"]
            leaves = "deletionTimestamp" in other["metadata"]
            counts[domain] += int(same and not leaves and selector.matches(labels_of(other)))
    return counts


def _takes_part(
    cluster: Cluster,
    pod: Object,
    constraint: Mapping[str, Any],
    constraints: Sequence[Mapping[str, Any]],
    node: Object,
) -> bool:
    if any(each["topologyKey"] not in labels_of(node) for each in constraints):
        return False
    if (constraint.get("nodeAffinityPolicy") or "Honor") == "Honor" and not matches_node_affinity(
        cluster, pod, node
    ):
        return False
    honors_taints = constraint.get("nodeTaintsPolicy") == "Honor"
    return not honors_taints or tolerates_taints(cluster, pod, node)


def _spread_selector(pod: Object, constraint: Mapping[str, Any]) -> selectors.Selector:
    """The API server merges matchLabelKeys into it; where it does not, the scheduler does."""
    selector = selectors.from_object(constraint.get("labelSelector"))
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in labels_of(pod)]
    more = [
        selectors.Requirement(key, selectors.Operator.IN, frozenset({labels_of(pod)[key]}))
        for key in keys
    ]
    return selectors.Selector.of([*selector.requirements, *more])


RULES = {
    "cordon": is_schedulable,
    "taints": tolerates_taints,
    "node affinity": matches_node_affinity,
    "ports": has_free_ports,
    "resources": has_room,
    "claims": volumes.has_its_claims,
    "disks": volumes.shares_no_disk,
    "exclusive claims": volumes.shares_no_exclusive_claim,
    "attach limits": volumes.can_attach,
    "volume affinity": volumes.volumes_reach_the_node,
    "volume zones": volumes.volumes_are_in_its_zone,
    "spread": is_spread,
    "affinity": is_near_others,
    "anti-affinity": keeps_away_from_others,
    "others' anti-affinity": others_keep_it_away,
}
"""In the order in which the scheduler asks."""
