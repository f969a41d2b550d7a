"""Carries a plan out on plain objects, one move after the other, and tells every rule it breaks.

Naive on purpose, and without a line of `rescheduler.plan`: what the plan counts in arrays is
counted here again from the objects, for every move. What the scheduler asks is in
`scheduler_rules`, which is held against the real one.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rescheduler.model import quantities, resources, selectors
from rescheduler.model.moves import Move, Way
from tests.unit.plan.support import scheduler_rules
from tests.unit.plan.support.cluster_objects import Cluster, Object, asked_by, key_of, labels_of

Key = tuple[str, ...]

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
OPT_OUT = "scheduler.alpha.kubernetes.io/rescheduling"
ROLES = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
REMOVERS = (
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupted",
)
CRITICAL = 2_000_000_000


def violations(
    objects: Iterable[Object], moves: Sequence[Move], *, of_anybody: bool = False
) -> list[str]:
    """Of every prefix of the plan. Of anybody: who may move is not asked, only where to."""
    cluster = Cluster.of(copy.deepcopy(list(objects)))
    found: list[str] = []
    moved: set[str] = set()
    for number, move in enumerate(moves):
        before = broken(cluster)
        problems = list(_before(cluster, move))
        pod = cluster.pods.get((move.namespace, move.pod))
        if pod is not None and not of_anybody:
            problems += why_it_stays(cluster, pod, move)
            problems += _quota(cluster, pod) if move.way is Way.SURGE else ()
            problems += ["it moves twice"] if move.uid in moved else []
        moved.add(move.uid)
        if pod is None or problems:
            found += _told(number, move, problems)
            break
        pod["spec"]["nodeName"] = move.target
        after = broken(cluster)
        problems += [
            f"afterwards {' '.join(key)}: {worse}, before {before.get(key, 0)}"
            for key, worse in after.items()
            if worse > before.get(key, 0)
        ]
        found += _told(number, move, problems)
    return found


def waits(objects: Iterable[Object], moves: Sequence[Move]) -> list[str]:
    """Moves that fit only when another one of the same wave is done, which nobody waits for: all
    copies of a wave beside all of their originals.
    """
    cluster = Cluster.of(copy.deepcopy(list(objects)))
    found: list[str] = []
    for wave in sorted({move.wave for move in moves}):
        together = [move for move in moves if move.wave == wave]
        for move in together:
            pod = cluster.pods[move.namespace, move.pod]
            others = [each for each in together if each is not move and each.way is Way.SURGE]
            copies = [_copy(cluster.pods[each.namespace, each.pod], each) for each in others]
            crowd = Cluster.of([*cluster.nodes.values(), *cluster.pods.values(), *copies])
            crowd.others = cluster.others
            found += [f"{move.full_name}: {problem}" for problem in _refused(crowd, pod, move)]
        for move in together:
            cluster.pods[move.namespace, move.pod]["spec"]["nodeName"] = move.target
    return found


def _copy(pod: Object, move: Move) -> Object:
    made = copy.deepcopy(pod)
    made["metadata"]["name"] += "-copy"
    made["spec"]["nodeName"] = move.target
    return made


def _told(number: int, move: Move, problems: Iterable[str]) -> list[str]:
    what = f"move {number} ({move.strategy}, {move.full_name} from {move.source} to {move.target})"
    return [f"{what}: {problem}" for problem in problems]


# ---------------------------------------------------------------------- while it moves


def _before(cluster: Cluster, move: Move) -> Iterator[str]:
    pod = cluster.pods.get((move.namespace, move.pod))
    if pod is None or pod["metadata"]["uid"] != move.uid:
        yield "there is no such pod"
        return
    if pod["spec"]["nodeName"] != move.source:
        yield f"it is on {pod['spec']['nodeName']}"
    if move.source == move.target:
        yield "it is there already"
    yield from why_no_target(cluster.nodes[move.target])
    yield from _refused(cluster, pod, move)


def _refused(cluster: Cluster, pod: Object, move: Move) -> Iterator[str]:
    """A copy beside the pod, or its successor when it has gone."""
    successor = copy.deepcopy(pod)
    del successor["spec"]["nodeName"]
    without = {key: each for key, each in cluster.pods.items() if each is not pod}
    others = without if move.way is Way.RECREATE else cluster.pods
    there = Cluster(nodes=cluster.nodes, pods=others, others=cluster.others)
    for rule in scheduler_rules.why_not(there, successor, move.target):
        yield f"the scheduler would refuse it: {rule}"


def _quota(cluster: Cluster, pod: Object) -> Iterator[str]:
    """Room for a second pod. Amounts of cpu are in thousandths, all others whole."""
    asked = {"pods": 1} | {f"requests.{name}": amount for name, amount in asked_by(pod).items()}
    for quota in cluster.all("ResourceQuota"):
        if quota["metadata"]["namespace"] != pod["metadata"]["namespace"]:
            continue
        for name, hard in quota["spec"]["hard"].items():
            used = quantities.parse(quota["status"]["used"][name])
            unit = 1000 if name == "requests.cpu" else 1
            if (used * unit) + asked.get(name, 0) > quantities.parse(hard) * unit:
                yield f"no room in the quota of {name}"


# ---------------------------------------------------------------------- who and where


def why_it_stays(cluster: Cluster, pod: Object, move: Move) -> Iterator[str]:
    """Who may never move, asked for or not."""
    yield from _of_its_owner(pod, move)
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations") or {}
    problems = {
        "it is terminating": "deletionTimestamp" in metadata,
        "it is not Ready": not _is_ready(pod),
        "it is a static pod": "kubernetes.io/config.mirror" in annotations,
        "its namespace is excluded": metadata["namespace"] in ("kube-system", "kube-public"),
        "it opted out": labels_of(pod).get(OPT_OUT) == "disabled",
        "it is critical": (spec.get("priority") or 0) >= CRITICAL,
        "it has local storage": any(
            each.keys() & {"emptyDir", "hostPath"} for each in spec.get("volumes") or ()
        ),
        "there cannot be two of its ports": move.way is Way.SURGE
        and bool(scheduler_rules.ports_of(pod)),
        "nobody asked to recreate it": move.way is Way.RECREATE and not move.asked,
    }
    yield from (problem for problem, holds in problems.items() if holds)
    yield from _budgets(cluster, pod, move)


def _of_its_owner(pod: Object, move: Move) -> Iterator[str]:
    references = pod["metadata"].get("ownerReferences") or [{"kind": "nobody"}]
    kind = references[0]["kind"]
    if kind == "nobody" and move.asked:
        return
    if kind not in ("ReplicaSet", "StatefulSet"):
        yield f"it belongs to {kind}"
    if kind == "StatefulSet" and move.way is Way.SURGE:
        yield "there cannot be two of a StatefulSet's pod"


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _budgets(cluster: Cluster, pod: Object, move: Move) -> Iterator[str]:
    found = [
        each
        for each in cluster.all("PodDisruptionBudget")
        if each["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and selectors.from_object(each["spec"].get("selector")).matches(labels_of(pod))
    ]
    if len(found) > 1:
        yield "it has two budgets"
    for budget in found:
        status = budget["status"]
        if status["disruptionsAllowed"] > 0:
            continue
        if move.way is Way.RECREATE:
            yield "its budget allows no disruption"
        elif status["currentHealthy"] < status["desiredHealthy"]:
            yield "its budget has less than it wants"


def why_no_target(node: Object) -> Iterator[str]:
    labels = labels_of(node)
    conditions = node["status"].get("conditions") or ()
    if not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        yield "the target is not Ready"
    if node["spec"].get("unschedulable"):
        yield "the target is cordoned"
    if any(role in labels for role in ROLES):
        yield "the target is a control-plane node"
    if labels.get(MAINTENANCE) == "true":
        yield "the target is in maintenance"
    if any(taint["key"] in REMOVERS for taint in node["spec"].get("taints") or ()):
        yield "the target is about to be removed"


# ---------------------------------------------------------------------- what does not hold


def broken(cluster: Cluster) -> dict[Key, int]:
    """Every rule that does not hold in this state -> by how much."""
    found: dict[Key, int] = {}
    for pod, node in cluster.present():
        name = "/".join(key_of(pod))
        found |= {(rule, name): amount for rule, amount in _broken_for(cluster, pod, node)}
    for node in cluster.nodes.values():
        found |= {
            ("room", node["metadata"]["name"], resource): amount
            for resource, amount in _overcommitted(cluster, node).items()
        }
    return {key: amount for key, amount in found.items() if amount > 0}


def _overcommitted(cluster: Cluster, node: Object) -> Mapping[str, int]:
    has = resources.read(node["status"].get("allocatable"))
    pods = cluster.pods_on(node["metadata"]["name"])
    taken = resources.add(*map(asked_by, pods))
    return {name: amount - has.get(name, 0) for name, amount in taken.items()}


def _broken_for(cluster: Cluster, pod: Object, node: Object) -> Iterator[tuple[str, int]]:
    """What it asks for itself, where it is."""
    without = {key: each for key, each in cluster.pods.items() if each is not pod}
    others = Cluster(nodes=cluster.nodes, pods=without, others=cluster.others)
    if not scheduler_rules.matches_node_affinity(others, pod, node):
        yield "node affinity", 1
    if not scheduler_rules.has_free_ports(others, pod, node):
        yield "ports", 1
    if not scheduler_rules.keeps_away_from_others(others, pod, node):
        yield "anti-affinity", 1
    if not scheduler_rules.is_near_others(others, pod, node):
        yield "affinity", 1
    constraints = scheduler_rules.hard_constraints(pod)
    for each in constraints:
        yield f"spread over {each['topologyKey']}", _too_skew(cluster, pod, each, constraints)


def _too_skew(
    cluster: Cluster,
    pod: Object,
    constraint: Mapping[str, object],
    constraints: Sequence[Mapping[str, object]],
) -> int:
    """By how much the fullest domain has more above the emptiest than it may."""
    counts = scheduler_rules.counted_domains(cluster, pod, constraint, constraints)
    least = min(counts.values(), default=0)
    if len(counts) < int(str(constraint.get("minDomains") or 1)):
        least = 0
    return max(counts.values(), default=0) - least - int(str(constraint["maxSkew"]))
