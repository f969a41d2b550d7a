"""Where a pod may go: taints, node affinity and room."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import names
from rescheduler.model.cluster import Node, Pod
from rescheduler.plan.fitting import Placement
from rescheduler.plan.fitting.nodes import who_removes, why_no_target
from tests.unit.plan.support.snapshots import snapshot

NODE = Node(
    name="b",
    labels={"zone": "x", "cores": "16", "odd": "1_0", "empty": ""},
    taints=(),
    allocatable={"cpu": 1000, "memory": 1000, "pods": 3, "example.com/gpu": 1},
    ready=True,
    unschedulable=False,
)
POD = Pod(
    namespace="shop",
    name="web-1",
    uid="pod-uid",
    node="a",
    phase="Running",
    ready=True,
    terminating=False,
    labels={},
    annotations={},
    owner=None,
    requests={"cpu": 100, "memory": 100, "pods": 1},
    priority=0,
    spec={},
)


SOURCE = replace(NODE, name="a", labels={}, allocatable={"cpu": 10**6, "memory": 10**6, "pods": 99})


def fits(spec: dict[str, Any], node: Node = NODE) -> bool:
    return why_it_does_not_fit(replace(POD, spec=spec), node) == ""


def why_it_does_not_fit(pod: Pod, node: Node, present: Iterable[Pod] = ()) -> str:
    """With these on the node, each one by itself. All three answers must agree."""
    there = [
        replace(each, node=node.name, name=f"there-{number}", uid=f"uid-{number}")
        for number, each in enumerate(present)
    ]
    taken = snapshot([SOURCE, node], [pod, *there])
    placement = Placement(taken)
    row = list(taken.pods.names).index(pod.full_name)
    number = taken.node_numbers[node.name]
    reasons = placement.why_not(row, number)
    assert placement.fits(row, number) is (not reasons)
    assert placement.targets(row)[number] == (not reasons)
    return "; ".join(reasons)


# ---------------------------------------------------------------------- the node alone


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (NODE, ""),
        (replace(NODE, ready=False), "it is not Ready"),
        (replace(NODE, unschedulable=True), "it is cordoned"),
        (replace(NODE, labels={names.CONTROL_PLANE[0]: ""}), "it is a control-plane node"),
        (replace(NODE, labels={names.CONTROL_PLANE[1]: "true"}), "it is a control-plane node"),
        (replace(NODE, allocatable={}), "it reports no allocatable cpu or memory"),
        (replace(NODE, allocatable={"cpu": 1}), "it reports no allocatable cpu or memory"),
        (replace(NODE, allocatable={"cpu": 0, "memory": 1}), "it reports no allocatable cpu"),
    ],
)
def test_a_node_as_a_target(node: Node, reason: str) -> None:
    found = why_no_target(node)
    assert bool(found) == bool(reason)
    assert all(each.startswith(reason) for each in found)


@pytest.mark.parametrize(
    ("taint", "reason", "remover"),
    [
        (
            {"key": "ToBeDeletedByClusterAutoscaler", "value": "1763", "effect": "NoSchedule"},
            "cluster-autoscaler is about to remove it",
            "cluster-autoscaler",
        ),
        (
            {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"},
            "cluster-autoscaler is about to remove it",
            "",
        ),
        (
            {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
            "karpenter is about to remove it",
            "karpenter",
        ),
        (
            {"key": "karpenter.sh/disruption", "value": "disrupting", "effect": "NoSchedule"},
            "karpenter is about to remove it",
            "karpenter",
        ),
    ],
    ids=lambda each: each["key"] if isinstance(each, dict) else "",
)
def test_who_removes_nodes_says_so_by_a_taint(
    taint: dict[str, Any], reason: str, remover: str
) -> None:
    node = replace(NODE, taints=(taint,))
    assert why_no_target(node) == (reason,)
    assert who_removes(node) == remover
    # Whoever tolerates it, such as one that tolerates everything, is not moved there either.
    assert not fits({"tolerations": [{"operator": "Exists"}]}, node)


def test_every_rule_that_a_node_breaks_is_told() -> None:
    taint = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
    labels = {names.CONTROL_PLANE[0]: "", names.MAINTENANCE: "true"}
    node = replace(NODE, unschedulable=True, ready=False, labels=labels, deleted_at="2026-01-01")
    assert len(why_no_target(replace(node, taints=(taint, {**taint, "key": "x"})))) == 6


# ---------------------------------------------------------------------- taints

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists", "effect": ""}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "team", "operator": "Equal", "value": "a"}, True),
        ({"key": "team", "operator": "Equal", "value": "b"}, False),
        ({"key": "team", "value": "a"}, True),
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "a", "effect": "NoExecute"}, False),
        ({"key": "team"}, False),
        ({"key": "", "operator": "Exists"}, True),
        ({"key": "team", "operator": "Gt", "value": "0"}, False),
        ({"key": "team", "operator": "Exists", "tolerationSeconds": 5}, True),
    ],
    ids=str,
)
def test_a_taint_is_tolerated(toleration: dict[str, Any], *, tolerated: bool) -> None:
    node = replace(NODE, taints=(TAINT,))
    assert fits({"tolerations": [{"key": "x"}, toleration]}, node) is tolerated


@pytest.mark.parametrize(
    ("taint", "fit"),
    [
        ({"key": "k", "effect": "NoSchedule"}, False),
        ({"key": "k", "effect": "NoExecute"}, False),
        ({"key": "k", "effect": "PreferNoSchedule"}, True),
    ],
)
def test_without_tolerations(taint: dict[str, Any], *, fit: bool) -> None:
    assert fits({"tolerations": None}, replace(NODE, taints=(taint,))) is fit


def test_an_empty_value_equals_a_missing_one() -> None:
    node = replace(NODE, taints=({"key": "k", "effect": "NoSchedule"},))
    assert fits({"tolerations": [{"key": "k", "operator": "Equal", "value": ""}]}, node)


def test_every_taint_must_be_tolerated() -> None:
    node = replace(NODE, taints=(TAINT, {**TAINT, "key": "other"}))
    pod = replace(POD, spec={"tolerations": [{"key": "team", "operator": "Exists"}]})
    reason = "it does not tolerate the taint other=a:NoSchedule"
    assert why_it_does_not_fit(pod, node) == reason
    both = why_it_does_not_fit(replace(POD, spec={}), node)
    assert both.count("it does not tolerate the taint") == 2


# ---------------------------------------------------------------------- labels of the node


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "fit"),
    [
        (_expression("zone", "In", "x", "y"), True),
        (_expression("zone", "In", "y"), False),
        (_expression("none", "In", "x"), False),
        (_expression("zone", "NotIn", "y"), True),
        (_expression("zone", "NotIn", "x"), False),
        (_expression("none", "NotIn", "x"), True),
        (_expression("zone", "Exists"), True),
        (_expression("empty", "Exists"), True),
        (_expression("none", "Exists"), False),
        (_expression("none", "DoesNotExist"), True),
        (_expression("zone", "DoesNotExist"), False),
        (_expression("empty", "DoesNotExist"), False),
        (_expression("cores", "Gt", "15"), True),
        (_expression("cores", "Gt", "16"), False),
        (_expression("cores", "Lt", "17"), True),
        (_expression("cores", "Lt", "16"), False),
        (_expression("zone", "Gt", "1"), False),
        (_expression("none", "Lt", "1"), False),
        (_expression("odd", "Gt", "5"), False),
        (_expression("cores", "Gt", "abc"), False),
        (_expression("cores", "Gt"), False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["b"]}]}, False),
        ({}, False),
        ({"matchExpressions": [], "matchFields": None}, False),
    ],
    ids=str,
)
def test_required_node_affinity(term: dict[str, Any], *, fit: bool) -> None:
    assert fits(_affinity(term)) is fit


YES, NO = _expression("zone", "Exists"), _expression("zone", "DoesNotExist")


@pytest.mark.parametrize(
    ("spec", "fit"),
    [
        (_affinity(NO, YES), True),
        (_affinity(NO, NO), False),
        (_affinity({}, NO), False),
        (_affinity({}, YES), True),
        (_affinity({**YES, "matchFields": [{"key": "metadata.name", "operator": "In"}]}), False),
        ({"affinity": None}, True),
        ({"affinity": {"nodeAffinity": None}}, True),
        ({"nodeSelector": {"zone": "x"}}, True),
        ({"nodeSelector": {"zone": "x", "none": ""}}, False),
        ({"nodeSelector": {"zone": "y"}}, False),
        ({"nodeSelector": {"zone": "x"}, **_affinity(NO)}, False),
        ({"nodeSelector": None}, True),
    ],
    ids=str,
)
def test_terms_are_alternatives_and_all_else_is_needed(spec: dict[str, Any], *, fit: bool) -> None:
    assert fits(spec) is fit


# ---------------------------------------------------------------------- room


def _taking(**changes: Any) -> Pod:  # noqa: ANN401
    return replace(POD, **changes)


@pytest.mark.parametrize(
    ("requests", "present", "reason"),
    [
        ({"cpu": 1000, "memory": 1000, "pods": 1}, [], ""),
        ({"cpu": 1001}, [], "not enough cpu: requests 1001m, 1 free"),
        ({"cpu": 901}, [_taking()], "not enough cpu: requests 901m, 900m free"),
        ({"cpu": 900}, [_taking()], ""),
        ({"pods": 1}, [_taking(), _taking()], ""),
        ({"pods": 1}, [_taking()] * 3, "not enough pods: requests 1, 0 free"),
        ({"example.com/gpu": 1}, [], ""),
        ({"example.com/gpu": 2}, [], "not enough example.com/gpu: requests 2, 1 free"),
        ({"example.com/fpga": 1}, [], "not enough example.com/fpga: no node has any"),
        ({"cpu": 901}, [_taking(terminating=True)], "not enough cpu: requests 901m, 900m free"),
        ({"cpu": 1000}, [_taking(phase="Succeeded"), _taking(phase="Failed")], ""),
        ({"cpu": 0}, [_taking(requests={"cpu": 5000})], ""),
        ({"cpu": 1}, [_taking(requests={"cpu": 5000})], "not enough cpu: requests 1m, 0 free"),
    ],
)
def test_room(requests: dict[str, int], present: list[Pod], reason: str) -> None:
    assert why_it_does_not_fit(replace(POD, requests=requests), NODE, present) == reason


@given(st.integers(0, 1200), st.lists(st.integers(0, 400), max_size=2))
def test_it_fits_exactly_when_the_sum_does(asked: int, taken: list[int]) -> None:
    present = [_taking(requests={"cpu": each, "pods": 1}) for each in taken]
    pod = replace(POD, requests={"cpu": asked})
    reason = why_it_does_not_fit(pod, NODE, present)
    assert (reason == "") == (asked == 0 or asked + sum(taken) <= 1000)


# ---------------------------------------------------------------------- who is there already


def _anti_affinity(**term: Any) -> dict[str, Any]:  # noqa: ANN401
    selector = {"matchLabels": {"app": "web"}}
    whole = {"topologyKey": "zone", "labelSelector": selector, **term}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [whole]}
    return {"affinity": {"podAntiAffinity": required}}


@pytest.mark.parametrize(
    ("term", "kept_away"),
    [
        ({}, True),
        ({"topologyKey": "rack"}, False),
        ({"labelSelector": {"matchLabels": {"app": "db"}}}, False),
        ({"namespaces": ["other"]}, False),
        ({"namespaceSelector": {}}, True),
        ({"labelSelector": None}, False),
    ],
    ids=["matches", "no-such-domain", "another-app", "another-namespace", "all-namespaces", "none"],
)
def test_the_anti_affinity_of_others(term: dict[str, Any], *, kept_away: bool) -> None:
    pod = replace(POD, labels={"app": "web"})
    neighbour = replace(POD, spec=_anti_affinity(**term))
    reason = why_it_does_not_fit(pod, NODE, [neighbour])
    assert ("keeps it away" in reason) is kept_away


@pytest.mark.parametrize(
    ("priority", "policy", "asked", "could"),
    [
        (0, None, 600, False),
        (1, None, 600, True),
        (1, None, 450, False),
        (1, "Never", 600, False),
        (-1, None, 600, False),
    ],
)
def test_who_could_push_out_another_needs_its_room_twice(
    priority: int, policy: str | None, asked: int, *, could: bool
) -> None:
    requests = {"cpu": asked, "memory": 1, "pods": 1}
    pod = replace(POD, priority=priority, requests=requests, spec={"preemptionPolicy": policy})
    reason = why_it_does_not_fit(pod, NODE, [POD])
    assert ("could push out" in reason) is could
