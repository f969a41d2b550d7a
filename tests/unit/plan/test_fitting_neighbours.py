"""Inter-pod affinity and anti-affinity: of who comes, of those there, and of those left behind."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import Placement
from rescheduler.wire import NAMESPACES
from tests.unit.plan.support.small_clusters import REQUIRED, apart, node, pod
from tests.unit.plan.support.snapshots import snapshot

ZONES = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("c1")]


def row_of(taken: Snapshot, name: str) -> int:
    return list(taken.pods.names).index(f"shop/{name}")


def near(app: str, key: str = "zone", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    return {"podAffinity": {REQUIRED: [term]}}


def targets(
    pods: list[Pod], name: str, way: Way = Way.SURGE, nodes: list[Node] = ZONES
) -> list[str]:
    taken = snapshot(nodes, pods)
    placement, row = Placement(taken), row_of(taken, name)
    found = [node.name for node, fits in zip(taken.nodes, placement.targets(row, way)) if fits]  # noqa: B905
    for number, each in enumerate(taken.nodes):
        # However it is asked, and in words, the answer is the same.
        assert placement.fits(row, number, way) is (each.name in found)
        assert (not placement.why_not(row, number, way)) is (each.name in found)
    return found


def test_anti_affinity_keeps_it_out_of_a_whole_domain() -> None:
    web = pod("web", "c1", affinity=apart("db", "zone"))
    assert targets([web, pod("db", "a1")], "web") == ["b1"]


def test_a_node_without_the_label_is_in_no_domain() -> None:
    web = pod("web", "a1", affinity=apart("db", "zone"))
    assert "c1" in targets([web, pod("db", "b1")], "web")


def test_the_anti_affinity_of_others_counts_as_well() -> None:
    db = pod("db", "a1", affinity=apart("web", "zone"))
    assert targets([pod("web", "c1"), db], "web") == ["b1"]


def test_its_own_twin_keeps_it_away_as_long_as_both_are_there() -> None:
    web = pod("web", "a1", affinity=apart("web", "zone"))
    assert targets([web], "web") == ["b1", "c1"]
    assert targets([web], "web", Way.RECREATE) == ["a2", "b1", "c1"]


@pytest.mark.parametrize(
    ("selector", "found"),
    [({"matchLabels": {"team": "red"}}, ["b1"]), ({"matchLabels": {"team": "blue"}}, ["a2", "b1"])],
)
def test_namespaces_are_selected_by_label(selector: dict[str, Any], found: list[str]) -> None:
    affinity = apart("db", "zone")
    affinity["podAntiAffinity"][REQUIRED][0]["namespaceSelector"] = selector
    nodes = ZONES[:3]
    pods = [pod("web", "a1", affinity=affinity), pod("stock/db", "a1")]
    namespaces = [{"metadata": {"name": "stock", "labels": {"team": "red"}}}]
    taken = snapshot(nodes, pods, others={NAMESPACES: namespaces})
    placement = Placement(taken)
    allowed = placement.targets(row_of(taken, "web"))
    assert [each.name for each, fits in zip(nodes, allowed, strict=True) if fits] == found


def test_match_label_keys_narrow_it_to_pods_with_the_same_value() -> None:
    affinity = apart("web")
    affinity["podAntiAffinity"][REQUIRED][0]["matchLabelKeys"] = ["version"]
    new = pod("new", "c1", labels={"app": "web", "version": "2"}, affinity=affinity)
    old = pod("old", "a1", labels={"app": "web", "version": "1"})
    same = pod("same", "b1", labels={"app": "web", "version": "2"})
    assert targets([new, old, same], "new") == ["a1", "a2"]


def test_affinity_asks_for_a_domain_with_such_a_pod() -> None:
    web = pod("web", "a1", affinity=near("db"))
    assert targets([web, pod("db", "a2")], "web") == ["a2"]


def test_an_affinity_of_two_terms_asks_for_one_pod_that_is_both() -> None:
    both = near("db")
    both["podAffinity"][REQUIRED].append(
        {"labelSelector": {"matchLabels": {"tier": "fast"}}, "topologyKey": "zone"}
    )
    web = pod("web", "c1", affinity=both)
    slow, fast = pod("slow", "a1", labels={"app": "db"}), pod("fast", "a1", labels={"tier": "fast"})
    assert targets([web, slow, fast], "web") == []
    one = pod("one", "b1", labels={"app": "db", "tier": "fast"})
    assert targets([web, slow, fast, one], "web") == ["b1"]


def test_the_first_of_its_kind_may_begin_anywhere_that_has_the_label() -> None:
    web = pod("web", "a1", affinity=near("web"))
    # Two at once: the copy has to be near to the original.
    assert targets([web], "web") == ["a2"]
    assert targets([web], "web", Way.RECREATE) == ["a2", "b1"]


def test_it_does_not_leave_those_behind_that_need_it_near() -> None:
    db, web = pod("db", "a1"), pod("web", "a2", affinity=near("db"))
    assert targets([db, web], "db") == ["a2"]
    another = pod("another", "a2", labels={"app": "db"})
    assert targets([db, web, another], "db") == ["a2", "b1", "c1"]


def test_terminating_pods_keep_away_until_they_are_gone() -> None:
    web = pod("web", "c1", affinity=apart("db", "zone"))
    assert targets([web, replace(pod("db", "a1"), terminating=True)], "web") == ["b1"]


def test_counts_follow_the_moves_and_come_back() -> None:
    pods = [pod("web", "c1", affinity=apart("db", "zone")), pod("db", "a1")]
    taken = snapshot(ZONES, pods)
    placement = Placement(taken)
    web, db = row_of(taken, "web"), row_of(taken, "db")
    before = placement.targets(web).tolist()
    placement.move(db, taken.node_numbers["b1"])
    assert placement.targets(web).tolist() == [True, True, False, False]
    placement.move(db, taken.node_numbers["a1"])
    assert placement.targets(web).tolist() == before


def test_labels_of_one_pod_only_are_seen() -> None:
    """As a StatefulSet gives them: alike pods differ in them."""
    key = "statefulset.kubernetes.io/pod-name"
    affinity = apart("db", "zone")
    affinity["podAntiAffinity"][REQUIRED][0]["labelSelector"] = {"matchLabels": {key: "db-1"}}
    pods = [
        pod("web", "c1", affinity=affinity),
        pod("db-0", "a1", labels={"app": "db", key: "db-0"}),
        pod("db-1", "b1", labels={"app": "db", key: "db-1"}),
    ]
    assert targets(pods, "web") == ["a1", "a2"]
