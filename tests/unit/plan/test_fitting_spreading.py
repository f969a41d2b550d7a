"""Topology spread constraints: with both pods there, with one gone, and those of others."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.model.cluster import Pod
from rescheduler.model.moves import Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting import Placement
from tests.unit.plan.support.small_clusters import REQUIRED, node, pod, spread
from tests.unit.plan.support.snapshots import snapshot

ZONES = [node(f"{zone}{number}", zone=zone) for zone in "abc" for number in (1, 2)]


def row_of(taken: Snapshot, name: str) -> int:
    return list(taken.pods.names).index(f"shop/{name}")


def web(name: str, where: str, **more: Any) -> Pod:  # noqa: ANN401
    constraints = [{**spread("web")[0], **more}]
    return pod(name, where, labels={"app": "web"}, topologySpreadConstraints=constraints)


def zones(pods: list[Pod], name: str, way: Way = Way.SURGE) -> str:
    taken = snapshot(ZONES, pods)
    placement, row = Placement(taken), row_of(taken, name)
    found = placement.targets(row, way)
    for number in range(len(ZONES)):
        assert placement.fits(row, number, way) is bool(found[number])
        assert (not placement.why_not(row, number, way)) is bool(found[number])
    return "".join(
        sorted({each.labels["zone"] for each, ok in zip(ZONES, found, strict=True) if ok})
    )


def test_it_goes_where_fewest_are() -> None:
    assert zones([web("1", "a1"), web("2", "b1"), web("3", "a2")], "1") == "c"


def test_within_its_domain_it_goes_when_the_skew_holds_with_both() -> None:
    one_each = [web("1", "a1"), web("2", "b1"), web("3", "c1")]
    assert zones(one_each, "1") == "a"
    # Twice in a for a while would be two more than in c.
    assert zones([web("1", "a1"), web("2", "b1"), web("3", "a2")], "1") == "c"
    assert zones([web("1", "a1"), web("2", "b1")], "1", Way.RECREATE) == "ac"


def test_its_leaving_must_not_empty_a_domain_of_others() -> None:
    """b has two and c would have none: the skew would be two."""
    pods = [web("1", "c1"), web("2", "b1"), web("3", "b2"), web("4", "a1"), web("5", "a2")]
    assert zones(pods, "1") == "c"


def test_what_is_broken_may_get_better_and_not_worse() -> None:
    pods = [web("1", "a1"), web("2", "a1"), web("3", "a2"), web("4", "b1")]
    assert zones(pods, "1") == "c"
    assert zones(pods, "4") == "c"  # none in b then, as there was none in c


def test_terminating_pods_are_not_counted() -> None:
    pods = [web("1", "a1"), replace(web("2", "c1"), terminating=True), web("3", "b1")]
    assert "c" in zones(pods, "1")


@pytest.mark.parametrize(("domains", "found"), [(3, "abc"), (4, "")])
def test_too_few_domains_count_as_an_empty_one(domains: int, found: str) -> None:
    pods = [web(str(number), where, minDomains=domains) for number, where in enumerate(("a1",))]
    pods += [web("b", "b1", minDomains=domains), web("c", "c1", minDomains=domains)]
    # With three the lowest is 1; with four wanted it is 0, so nobody may be second.
    assert (zones(pods, "b") != "") is (found != "")


def test_a_pinned_copy_sees_one_domain_only() -> None:
    """So that of minDomains there are too few, and the lowest counts as none."""
    pods = [
        web("1", "a1", minDomains=2),
        web("2", "b1", minDomains=2),
        web("3", "c1", minDomains=2),
    ]
    taken = snapshot(ZONES, pods)
    placement = Placement(taken)
    row = row_of(taken, "1")
    assert not placement.fits(row, taken.node_numbers["b1"])
    assert placement.fits(row, taken.node_numbers["a2"])


def test_nodes_that_its_affinity_excludes_are_no_domains() -> None:
    only: dict[str, Any] = {"nodeSelector": {"zone": "a"}}
    constraint = spread("web")
    pods = [
        pod("1", "a1", labels={"app": "web"}, topologySpreadConstraints=constraint, **only),
        pod("2", "a1", labels={"app": "web"}, topologySpreadConstraints=constraint, **only),
    ]
    assert zones(pods, "1") == "a"


def test_a_constraint_of_others_that_speaks_of_it_holds_it_back() -> None:
    plain = pod("plain", "c1", labels={"app": "web"})
    pods = [plain, web("2", "b1"), web("3", "b2"), web("4", "a1"), web("5", "a2")]
    assert zones(pods, "plain") == "c"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_equal_constraints_of_others_with_other_domains_all_count(order: tuple[int, int]) -> None:
    """One of them sees zones a and c only, whichever came first."""
    zone = {"key": "zone", "operator": "NotIn", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    affinity = {"nodeAffinity": {REQUIRED: terms}}
    constraints = spread("web")
    there = [
        pod("1", "a1", labels={"app": "web"}, topologySpreadConstraints=constraints),
        pod(
            "2",
            "c2",
            labels={"app": "web"},
            topologySpreadConstraints=constraints,
            affinity=affinity,
        ),
    ]
    others = [pod("b", "b1", labels={"app": "web"}), pod("c", "c1", labels={"app": "web"})]
    pods = [
        *(there[number] for number in order),
        *others,
        pod("plain", "a2", labels={"app": "web"}),
    ]
    assert zones(pods, "plain") == "ab"


def test_a_node_without_the_label_is_refused() -> None:
    taken = snapshot([*ZONES, node("z")], [web("1", "a1")])
    placement = Placement(taken)
    reasons = placement.why_not(row_of(taken, "1"), taken.node_numbers["z"])
    assert "the node has no such label" in " ".join(reasons)
