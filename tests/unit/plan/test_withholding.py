"""What a copy has to lack, and what that changes: labels of the selector, and rules that go by the
hash of a template.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.model.moves import Way
from rescheduler.model.snapshot import Gap, Snapshot
from tests.unit.plan.support.movable_scenes import (
    Object,
    movable,
    owned_by,
    pod,
    replica_set,
    row,
    snapshot,
    stateful_set,
    why,
)

HASH = "pod-template-hash"
NONE_TO_LACK = "there is no label that a copy could lack: "


def service(*, name: str = "web", namespace: str = "shop", **labels: str) -> Object:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"selector": labels}}


def budget(selector: Object, *, name: str = "guard") -> Object:
    return {
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": 1},
    }


def selecting(labels: Object, *expressions: Object) -> Object:
    found = replica_set()
    found["spec"]["selector"] = {"matchLabels": labels, "matchExpressions": list(expressions)}
    return found


def recreated(of: Snapshot, name: str = "web-1") -> str:
    found = movable(of)
    words = found.why_recreated(row(of, name))
    assert (found.way(row(of, name)) is Way.RECREATE) == bool(words)
    return words


LABELS = {"app": "web", "tier": "front"}
POD = pod(metadata={"labels": LABELS})
GATED = pod(metadata={"labels": LABELS}, readinessGates=[{"conditionType": "example.com/lb"}])
MAY_WAIT = ", whose endpoint its readiness gates may wait for"


@pytest.mark.parametrize(
    ("selector", "services", "budgets", "told"),
    [
        ({"app": "web"}, [], [], ""),
        ({"app": "web"}, [service(app="web")], [], ""),
        ({"app": "web"}, [service(app="web", namespace="other")], [], ""),
        ({"app": "web"}, [service(app="other")], [], ""),
        ({"app": "web"}, [service(tier="front")], [], ""),
        ({"app": "web"}, [service()], [], ""),
        (
            {"app": "web"},
            [],
            [budget({"matchLabels": {"app": "web"}})],
            "PodDisruptionBudget guard selects by app",
        ),
        (
            {"app": "web"},
            [],
            [budget({"matchExpressions": [{"key": "app", "operator": "Exists"}]})],
            "PodDisruptionBudget guard selects by app",
        ),
        ({"app": "web"}, [], [budget({})], ""),
        (LABELS, [service(app="web")], [], ""),
        (
            LABELS,
            [service(app="web")],
            [budget({"matchLabels": {"tier": "front"}})],
            "",
        ),
        (
            LABELS,
            [service(app="web")],
            [budget({"matchLabels": LABELS})],
            "PodDisruptionBudget guard selects by app, PodDisruptionBudget guard selects by tier",
        ),
    ],
)
def test_a_copy_has_to_lack_a_label_that_nobody_else_goes_by(
    selector: dict[str, str], services: list[Object], budgets: list[Object], told: str
) -> None:
    cluster = snapshot(
        POD,
        replicasets=[selecting(selector)],
        services=services,
        poddisruptionbudgets=budgets,
    )
    assert recreated(cluster) == (f"{NONE_TO_LACK}{told}" if told else "")
    assert bool(why(cluster)) == bool(told)
    assert why(cluster, asked=True) == ()


def test_with_readiness_gates_services_must_not_go_by_it_either() -> None:
    """Who opens them may do so for endpoints only, and the copy would be none until it is Ready."""
    guard = budget({"matchLabels": {"tier": "front"}})
    more: dict[str, Any] = {"services": [service(app="web")], "poddisruptionbudgets": [guard]}
    by_app = f"{NONE_TO_LACK}Service web selects by app{MAY_WAIT}"
    assert recreated(snapshot(GATED, replicasets=[selecting({"app": "web"})], **more)) == by_app
    both = snapshot(GATED, replicasets=[selecting(LABELS)], **more)
    assert recreated(both) == f"{by_app}, PodDisruptionBudget guard selects by tier"
    more["poddisruptionbudgets"] = []
    assert recreated(snapshot(GATED, replicasets=[selecting(LABELS)], **more)) == ""


def test_a_set_that_asks_for_no_single_label() -> None:
    expression = {"key": "app", "operator": "Exists"}
    cluster = snapshot(POD, replicasets=[selecting({}, expression)])
    assert recreated(cluster) == f"{NONE_TO_LACK}its ReplicaSet asks for no single label"


@pytest.mark.parametrize("label", [HASH, "rollouts-pod-template-hash"])
def test_what_a_controller_has_put_there_can_be_lacked(label: str) -> None:
    hashed = pod(metadata={"labels": {"app": "web", label: "1"}})
    sets = [selecting({"app": "web", label: "1"})]
    assert recreated(snapshot(hashed, replicasets=sets, services=[service(app="web")])) == ""


def test_also_where_services_select_by_it_as_those_of_argo_rollouts_do() -> None:
    label = "rollouts-pod-template-hash"
    hashed = pod(metadata={"labels": {"app": "web", label: "1"}})
    sets = [selecting({"app": "web", label: "1"})]
    active = service(**{"app": "web", label: "1"})
    assert recreated(snapshot(hashed, replicasets=sets, services=[active])) == ""
    gated = pod(
        metadata={"labels": {"app": "web", label: "1"}},
        readinessGates=[{"conditionType": "example.com/lb"}],
    )
    told = f"Service web selects by app{MAY_WAIT}, Service web selects by {label}{MAY_WAIT}"
    cluster = snapshot(gated, replicasets=sets, services=[active])
    assert recreated(cluster) == f"{NONE_TO_LACK}{told}"
    preview = service(**{"app": "web", label: "2"})
    assert recreated(snapshot(gated, replicasets=sets, services=[preview])) == ""


def test_but_not_where_a_budget_does() -> None:
    hashed = pod(metadata={"labels": {"app": "web", HASH: "1"}})
    sets = [selecting({"app": "web", HASH: "1"})]
    guard = budget({"matchLabels": {"app": "web", HASH: "1"}})
    told = f"PodDisruptionBudget guard selects by app, PodDisruptionBudget guard selects by {HASH}"
    cluster = snapshot(hashed, replicasets=sets, poddisruptionbudgets=[guard])
    assert recreated(cluster) == f"{NONE_TO_LACK}{told}"


WHOSE = (
    "its own",
    "a sibling's copy's",
    "another's",
    "of one with its labels",
    "of nobody's",
    "of another namespace",
)


def asking(
    owner: Object | None,
    rules: Object,
    labels: dict[str, str],
    annotations: dict[str, str] | None = None,
    namespace: str = "shop",
) -> Object:
    metadata = {"namespace": namespace, "labels": labels, "annotations": annotations or {}}
    return pod("asks", owner=owner, metadata=metadata, **rules)


def preferred(term: Object) -> Object:
    [required] = term["podAntiAffinity"].values()
    weighed = [{"weight": 1, "podAffinityTerm": each} for each in required]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighed}}


def near(term: Object) -> Object:
    return {"podAffinity": term["podAntiAffinity"]}


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (lambda: {"affinity": apart()}, "anti-affinity of another workload selects by app"),
        (
            lambda: {"affinity": preferred(apart())},
            "anti-affinity of another workload selects by app",
        ),
        (lambda: {"affinity": near(apart())}, "affinity of another workload selects by app"),
        (
            lambda: {"topologySpreadConstraints": spread()},
            "topology spread of another workload selects by app",
        ),
        (lambda: {"affinity": apart(labelSelector={"matchLabels": {"app": "other"}})}, ""),
        (lambda: {"affinity": apart(labelSelector=None)}, ""),
    ],
)
@pytest.mark.parametrize("whose", WHOSE)
def test_nor_may_a_pod_of_others_go_by_it_that_asks_for_company(
    rules: Callable[[], Object], told: str, whose: str
) -> None:
    own = pod(metadata={"labels": LABELS}, **rules())
    told_of_original = {"scheduler.alpha.kubernetes.io/original-pod": "uid-web-1"}
    pods = {
        "its own": [own],
        "a sibling's copy's": [own, asking(None, rules(), {"tier": "front"}, told_of_original)],
        "another's": [POD, asking(owned_by("ReplicaSet", "asks"), rules(), {"app": "asks"})],
        "of one with its labels": [POD, asking(owned_by("ReplicaSet", "asks"), rules(), LABELS)],
        "of nobody's": [POD, asking(None, rules(), LABELS)],
        "of another namespace": [
            POD,
            asking(owned_by("ReplicaSet", "asks"), rules(), {"app": "asks"}, namespace="other"),
        ],
    }
    cluster = snapshot(*pods[whose], replicasets=[selecting({"app": "web"})])
    is_of_others = told and whose in ("another's", "of one with its labels", "of nobody's")
    assert recreated(cluster) == (f"{NONE_TO_LACK}{told}" if is_of_others else "")


@pytest.mark.parametrize("left_out", [True, False])
def test_while_services_are_not_known_what_is_known_counts(*, left_out: bool) -> None:
    gap = Gap(source="services", reason="not seen", left_out=left_out)
    sets = [selecting({"app": "web"})]
    told = f"{NONE_TO_LACK}PodDisruptionBudget guard selects by app"
    for unknown in ({"gaps": [gap]}, {"unseen": ["services"]}):
        more: dict[str, Any] = {"replicasets": sets, **unknown}
        assert recreated(snapshot(POD, **more)) == ""
        more["poddisruptionbudgets"] = [budget({"matchLabels": {"app": "web"}})]
        assert recreated(snapshot(POD, **more)) == told


# ------------------------------------------------------------------ the hash of a template


def spread(**changes: Any) -> list[Object]:  # noqa: ANN401
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            **changes,
        }
    ]


def revision(name: str, number: str, **spec: Any) -> Object:  # noqa: ANN401
    return pod(name, metadata={"labels": {"app": "web", HASH: number}}, **spec)


def apart(**changes: Any) -> Object:  # noqa: ANN401
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **changes,
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


BY_HASH: list[tuple[Object, bool]] = [
    ({"topologySpreadConstraints": spread(matchLabelKeys=[HASH])}, False),
    ({"affinity": apart(matchLabelKeys=[HASH])}, False),
    ({"affinity": near(apart(mismatchLabelKeys=[HASH]))}, False),
    ({"affinity": preferred(apart(mismatchLabelKeys=[HASH]))}, False),
    ({"affinity": apart(mismatchLabelKeys=["app"])}, False),
    ({"affinity": apart(mismatchLabelKeys=[HASH])}, True),
]


@pytest.mark.parametrize(("rule", "keeps_away"), BY_HASH)
@pytest.mark.parametrize("other", ["1", "2"])
def test_a_copy_without_its_hash_is_kept_away_where_other_hashes_are(
    rule: Object, other: str, *, keeps_away: bool
) -> None:
    """A copy says in its selectors what its siblings say by the hash; what it is, it cannot say."""
    told = recreated(snapshot(revision("web-1", "1", **rule), revision("web-2", other)))
    assert bool(told) == keeps_away
    assert not keeps_away or told.startswith("a copy lacks the hash of its template")


def test_as_the_server_merges_keys_into_selectors() -> None:
    merged = {"key": HASH, "operator": "NotIn", "values": ["1"]}
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [merged]}
    rule = apart(mismatchLabelKeys=[HASH], labelSelector=selector)
    assert recreated(snapshot(revision("web-1", "1", affinity=rule)))


# ------------------------------------------------------------------ a node in the template


def test_a_template_that_names_a_node_keeps_its_pods_there() -> None:
    template = {"spec": {"nodeName": "a"}}
    for kind, source, made in (
        ("ReplicaSet", "replicasets", replica_set()),
        ("StatefulSet", "statefulsets", stateful_set()),
    ):
        owner = owned_by(kind) if kind == "StatefulSet" else None
        found = pod(owner=owner) if owner else pod()
        objects: dict[str, Any] = {source: [made]}
        cluster = snapshot(found, **objects)
        assert why(cluster, asked=True) == ()
        key = "shop", "web"
        raw = cluster.objects[source][key]
        nailed = {**raw, "spec": {**raw["spec"], "template": template}}
        seen = replace(cluster, objects={**cluster.objects, source: {key: nailed}})
        assert why(seen, asked=True) == (
            f"its {kind} puts its pods on a, whatever a scheduler says (nodeName)",
        )
