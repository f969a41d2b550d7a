"""TopologySpread: rules that hold no longer are repaired, with few moves, and told where not."""

import random
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration, PodRules
from rescheduler.model import names
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Report
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.strategies import topology_spread
from tests.unit.plan.support.small_clusters import (
    REQUIRED,
    apart,
    assert_every_step_fits,
    desk,
    moves,
    node,
    pod,
    refusals,
    spread,
)


def decide(at: Desk) -> Report:
    at.strategy = "TopologySpread"
    before = at.placement.broken()
    report = topology_spread.STRATEGY.decide(at)
    assert report.strategy == "TopologySpread"
    assert report.acted == bool(at.moves)
    assert not any(each.asked for each in at.moves)
    assert_every_step_fits(at)
    after = at.placement.broken()
    assert after.keys() <= before.keys()
    assert report.figures["broken"] <= len(before)
    assert report.figures["brokenAfter"] + report.figures["settling"] <= len(after)
    return report


ZONES = [node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("c1", zone="c")]


def web(name: str, where: str, *, skew: int = 1, key: str = "zone", **more: Any) -> Pod:  # noqa: ANN401
    more = {"cpu": 100, **more}
    constraints = spread("web", key, skew)
    return pod(name, where, labels={"app": "web"}, topologySpreadConstraints=constraints, **more)


def webs(*placed: str, **more: Any) -> list[Pod]:  # noqa: ANN401
    return [web(f"w{n}", where, **more) for n, where in enumerate(placed)]


def in_zones(at: Desk) -> dict[str, int]:
    found = {"a": 0, "b": 0, "c": 0}
    for row in at.snapshot.rows.tolist():
        if at.name(row).startswith("shop/w"):
            found[at.nodes[at.placement.place[row]].labels["zone"]] += 1
    return found


def test_it_rests_while_all_rules_hold() -> None:
    at = desk(ZONES, [*webs("a1", "b1", "c1"), pod("x", "a1", affinity=apart("y"))])
    assert decide(at).summary == "the rules of all pods hold where they are"
    assert moves(at) == []
    assert not topology_spread.STRATEGY.by_load


# ---------------------------------------------------------------------- topology spread


def test_a_spread_is_repaired_from_the_fullest_domain_to_the_emptiest() -> None:
    at = desk(ZONES, webs("a1", "a1", "a2", "a2", "a2", "b1"))
    report = decide(at)
    assert in_zones(at) == {"a": 2, "b": 2, "c": 2}
    assert len(at.moves) == 3
    assert moves(at)[0] == ("w0", "a1", "c1")
    assert report.summary == (
        "rules of 5 pods do not hold where they are (5 topology spread): 3 move, then all hold"
    )


def test_no_more_pods_move_than_it_takes() -> None:
    at = desk(ZONES, webs("a1", "a1", "a2", "a2", "a2", "b1", skew=4))
    decide(at)
    assert moves(at) == [("w0", "a1", "c1")]


def test_of_two_full_domains_the_fuller_one_gives_first() -> None:
    nodes = [node(name, zone=name) for name in ("a", "b", "c")]
    at = desk(nodes, webs(*["a"] * 10, *["b"] * 8, "c"))
    decide(at)
    # 10, 8 and 1: five moves are the fewest, and the first three come from a.
    assert sorted(in_zones(at).values()) == [6, 6, 7]
    assert len(at.moves) == 5


def test_a_move_within_a_domain_does_not_help() -> None:
    # b1 and c1 are full, a2 is not.
    fillers = [pod("on-b", "b1", cpu=4000), pod("on-c", "c1", cpu=4000)]
    at = desk(ZONES, [*webs("a1", "a1"), *fillers])
    report = decide(at)
    assert moves(at) == []
    assert report.summary.startswith(
        "rules of 2 pods do not hold where they are (2 topology spread): 0 move; "
        "those of 2 pods still do not: shop/w0 (no node takes it: "
    )
    assert "not enough cpu: requests 100m, at most 0 free (2 nodes)" in refusals(at)["w0"][0]


def test_where_the_emptiest_domain_is_full_the_next_one_takes_it() -> None:
    at = desk(ZONES, [*webs("a1", "a1", "a1", "a1", "b1", skew=2), pod("on-c", "c1", cpu=4000)])
    decide(at)
    assert {target for _, _, target in moves(at)} <= {"b1"}


def test_spread_over_nodes_is_repaired_too() -> None:
    nodes = [node(name) for name in ("a", "b", "c", "d")]
    at = desk(nodes, webs("a", "a", "a", "b", key="kubernetes.io/hostname"))
    decide(at)
    assert sorted(target for _, _, target in moves(at)) == ["c", "d"]


def test_a_spread_that_may_be_broken_is_left_alone() -> None:
    constraints = [{**spread("web")[0], "whenUnsatisfiable": "ScheduleAnyway"}]
    pods = [
        pod(f"w{n}", "a1", labels={"app": "web"}, topologySpreadConstraints=constraints)
        for n in range(4)
    ]
    at = desk(ZONES, pods)
    decide(at)
    assert moves(at) == []


# ---------------------------------------------------------------------- anti-affinity


def pair(**priorities: int) -> list[Pod]:
    """On a1, each of which wants to be apart from the other."""
    return [
        pod(name, "a1", priority=priority, labels={"app": "db"}, affinity=apart("db"))
        for name, priority in priorities.items()
    ]


@pytest.mark.parametrize(("x", "y", "mover"), [(1, 2, "x"), (2, 1, "y"), (0, 0, "x")])
def test_of_two_that_must_be_apart_the_less_important_leaves(x: int, y: int, mover: str) -> None:
    at = desk(ZONES, pair(x=x, y=y))
    report = decide(at)
    assert [name for name, _, _ in moves(at)] == [mover]
    assert at.moves[0].reason.startswith("anti-affinity: app=db per kubernetes.io/hostname; ")
    assert report.summary == (
        "rules of 2 pods do not hold where they are (2 anti-affinity): 1 moves, then all hold"
    )


def test_the_one_without_the_rule_leaves_if_it_is_less_important() -> None:
    at = desk(ZONES, [pod("x", "a1", priority=5, affinity=apart("y")), pod("y", "a1")])
    decide(at)
    assert [name for name, _, _ in moves(at)] == ["y"]
    assert at.moves[0].reason.startswith("for shop/x: anti-affinity: app=y per ")


def test_the_one_with_the_rule_leaves_if_the_other_is_not_less_important() -> None:
    at = desk(ZONES, [pod("x", "a1", affinity=apart("y")), pod("y", "a1")])
    decide(at)
    assert [name for name, _, _ in moves(at)] == ["x"]


def test_one_move_is_better_than_two_of_others() -> None:
    others = [pod(name, "a1", labels={"app": "y"}) for name in ("y1", "y2")]
    at = desk(ZONES, [pod("x", "a1", priority=5, affinity=apart("y")), *others])
    decide(at)
    assert [name for name, _, _ in moves(at)] == ["x"]


def test_who_is_in_the_way_of_most_leaves_first() -> None:
    # b and c get along, a gets along with neither: one move repairs all three.
    pods = [
        pod("b", "a1", labels={"app": "x"}, affinity=apart("y")),
        pod("c", "a1", labels={"app": "x"}, affinity=apart("y")),
        pod("d", "a1", labels={"app": "y"}, affinity=apart("x")),
    ]
    at = desk(ZONES, pods)
    decide(at)
    assert [name for name, _, _ in moves(at)] == ["d"]


def test_if_one_cannot_leave_the_others_do() -> None:
    stays = pod("x", "a1", labels={names.RESCHEDULING: "disabled"}, affinity=apart("y"))
    others = [pod(name, "a1", labels={"app": "y"}) for name in ("y1", "y2")]
    at = desk(ZONES, [stays, *others])
    report = decide(at)
    assert sorted(name for name, _, _ in moves(at)) == ["y1", "y2"]
    assert report.summary.endswith("2 move, then all hold")


def test_others_leave_all_or_not_at_all() -> None:
    stays = pod("x", "a1", labels={names.RESCHEDULING: "disabled"}, affinity=apart("y"))
    others = [
        pod("y1", "a1", labels={"app": "y"}),
        pod("y2", "a1", labels={"app": "y", names.RESCHEDULING: "disabled"}),
    ]
    at = desk(ZONES, [stays, *others])
    report = decide(at)
    assert moves(at) == []
    label = f"its label {names.RESCHEDULING} keeps it out"
    assert refusals(at)["x"] == [
        label,
        f"shop/y2, which it must not be near to, stays: {label}",
    ]
    assert report.summary == (
        "rules of 1 pod do not hold where they are (1 anti-affinity): 0 move; "
        f"those of 1 pod still do not: shop/x ({label})"
    )


def test_replicas_on_one_node_are_spread_out_but_for_one() -> None:
    pods = [pod(f"d{n}", "a1", cpu=100, labels={"app": "d"}, affinity=apart("d")) for n in range(4)]
    at = desk(ZONES, pods)
    decide(at)
    assert sorted(target for _, _, target in moves(at)) == ["a2", "b1", "c1"]


# ---------------------------------------------------------------------- affinity


def near(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
    return {"podAffinity": {REQUIRED: [term]}}


def test_a_pod_goes_to_whom_it_must_be_near_to() -> None:
    at = desk(ZONES, [pod("x", "a1", affinity=near("y")), pod("y", "b1")])
    report = decide(at)
    assert moves(at) == [("x", "a1", "b1")]
    assert "(1 affinity)" in report.summary


def test_a_pod_whose_node_has_been_labelled_anew_goes_where_it_belongs() -> None:
    nodes = [node("a", disk="hdd"), node("b", disk="hdd"), node("c", disk="ssd")]
    at = desk(nodes, [pod("x", "a", nodeSelector={"disk": "ssd"})])
    report = decide(at)
    assert moves(at) == [("x", "a", "c")]
    assert at.moves[0].reason == (
        "node affinity: its nodeSelector asks for disk=ssd; "
        "c then has cpu at 25.0 %, memory at 6.2 %"
    )
    assert "(1 node affinity)" in report.summary


def test_of_several_nodes_the_least_loaded_takes_it() -> None:
    nodes: list[Node] = [node("a"), *(node(name, disk="ssd") for name in ("b", "c", "d"))]
    pods = [pod("x", "a", nodeSelector={"disk": "ssd"}), pod("on-b", "b"), pod("on-d", "d")]
    at = desk(nodes, pods)
    decide(at)
    assert moves(at) == [("x", "a", "c")]


def test_nobody_has_such_a_node() -> None:
    at = desk([node("a"), node("b")], [pod("x", "a", nodeSelector={"disk": "ssd"})])
    report = decide(at)
    assert refusals(at)["x"] == [
        "no node takes it: its nodeSelector asks for disk=ssd (1 node)",
    ]
    assert report.figures == {"broken": 1, "moves": 0, "brokenAfter": 1, "settling": 0}


# ---------------------------------------------------------------------- what settles by itself


def leaving(each: Pod, copy_on: str) -> list[Pod]:
    """The pod, and the copy that takes its place."""
    copy = replace(
        each,
        name=f"{each.name}-copy",
        uid=f"{each.uid}-copy",
        node=copy_on,
        annotations={names.ORIGINAL_POD: each.uid, names.ORIGINAL_POD_NAME: each.name},
        labels={**each.labels, names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS},
    )
    return [each, copy]


def test_nobody_moves_for_a_neighbour_that_is_leaving_already() -> None:
    x, y = pair(x=0, y=0)
    at = desk(ZONES, [x, replace(y, terminating=True)])
    report = decide(at)
    assert moves(at) == []
    assert report.summary == (
        "the rules of all pods hold where they are; "
        "those of 1 pod will when pods are gone that are leaving already"
    )
    assert report.figures["settling"] == 1


def test_a_move_in_flight_is_not_made_twice() -> None:
    w0, w1, w2 = webs("a1", "a1", "a2")
    at = desk(ZONES, [w1, w2, *leaving(w0, "b1"), web("w3", "c1")])
    assert at.placement.broken() == {}
    decide(at)
    assert moves(at) == []


def test_what_a_move_in_flight_does_not_repair_is_repaired() -> None:
    w0, *others = webs(*["a1"] * 5)
    at = desk(ZONES, [*leaving(w0, "b1"), *others])
    decide(at)
    assert len(at.moves) == 2
    # The third of a is the one that is leaving.
    assert in_zones(at) == {"a": 3, "b": 2, "c": 1}


# ---------------------------------------------------------------------- nobody is overlooked


def random_cluster(seed: int) -> Desk:
    chance = random.Random(seed)  # noqa: S311
    hostname = "kubernetes.io/hostname"
    nodes = [node(f"n{n}", zone=chance.choice("ab")) for n in range(5)]
    pods = []
    for n in range(12):
        app, key = chance.choice("xyz"), chance.choice(["zone", hostname, "none"])
        rules: list[dict[str, Any]] = [
            {},
            {"nodeSelector": {"zone": "a"}},
            {"affinity": apart(app, key)},
            {"affinity": near(app)},
            {"topologySpreadConstraints": spread(app, key, chance.choice([1, 2]))},
            {"topologySpreadConstraints": spread(app), "affinity": apart(app)},
        ]
        labels = {"app": chance.choice("xyz")}
        if chance.random() < 0.2:
            labels["statefulset.kubernetes.io/pod-name"] = "x-0"
        where = f"n{chance.randrange(5)}"
        pods.append(pod(f"p{n}", where, cpu=10, labels=labels, **chance.choice(rules)))
    return desk(nodes, pods, Configuration(max_reschedule_pods=0))


def test_all_that_is_broken_is_found_and_nothing_breaks() -> None:
    repaired = 0
    for seed in range(80):
        at = random_cluster(seed)
        before = at.placement.broken()
        assert before == at.placement.broken(at.snapshot.rows.tolist())
        report = decide(at)
        assert at.placement.broken().keys() <= at.refused.keys()
        repaired += report.figures["broken"] > report.figures["brokenAfter"]
        again = Desk(at.snapshot, at.configuration)
        for each in at.moves:
            again.placement.move(each.row, each.target)
            after = again.placement.broken()
            assert after.keys() <= before.keys()
            before = after
    assert repaired > 20


# ---------------------------------------------------------------------- limits


def test_the_limit_of_a_pass_holds_it() -> None:
    configuration = Configuration(max_reschedule_pods=2)
    at = desk(ZONES, webs("a1", "a1", "a2", "a2", "a2", "b1"), configuration)
    report = decide(at)
    assert len(at.moves) == 2
    assert in_zones(at) == {"a": 3, "b": 2, "c": 1}
    assert report.figures["brokenAfter"] == 3
    assert "(maxReschedulePods is reached)" in report.summary


def test_age_and_cooldown_hold_it() -> None:
    configuration = Configuration(pods=PodRules(min_pod_age_seconds=3600.0))
    moved = {names.MIGRATION_TIME: "2026-03-01T11:59:00Z"}
    pods = [replace(each, annotations=moved) for each in pair(x=1, y=2)]
    at = desk(ZONES, pods, configuration)
    at = Desk(replace(at.snapshot, taken_at=1_772_366_400.0), configuration)  # a minute later
    decide(at)
    assert moves(at) == []
    assert refusals(at).keys() == {"x", "y"}


def test_a_group_moves_as_a_whole_or_not_at_all() -> None:
    gang = {"scheduling.x-k8s.io/pod-group": "gang"}
    nodes = [node("a"), node("b", disk="ssd"), node("c")]
    first = pod("x", "a", labels=gang, nodeSelector={"disk": "ssd"})
    at = desk(nodes, [first, pod("y", "c", labels=gang)])
    decide(at)
    assert sorted(name for name, _, _ in moves(at)) == ["x", "y"]
    at = desk(nodes, [first, pod("y", "c", labels=gang)], Configuration(max_reschedule_pods=1))
    decide(at)
    assert moves(at) == []
    assert refusals(at)["x"] == [
        "its group moves as a whole: 2 pods, and maxReschedulePods leaves 1"
    ]


def test_low_priority_comes_first() -> None:
    nodes = [node("a"), node("b", disk="ssd")]
    pods = [
        pod(name, "a", cpu=100, priority=priority, nodeSelector={"disk": "ssd"})
        for name, priority in (("x", 7), ("y", -1), ("z", 3))
    ]
    at = desk(nodes, pods)
    decide(at)
    assert [name for name, _, _ in moves(at)] == ["y", "z", "x"]


def test_alike_pods_are_told_the_same_without_being_searched_for_again() -> None:
    pods = [
        pod(f"x{n}", "a", labels={"app": "x"}, nodeSelector={"disk": "ssd"}, cpu=10)
        for n in range(20)
    ]
    at = desk([node("a"), node("b", disk="ssd", cpu=5)], pods)
    decide(at)
    assert len({tuple(each) for each in refusals(at).values()}) == 1
    assert len(at.refused) == 20


def test_what_was_said_while_another_had_moved_does_not_count_when_it_is_back() -> None:
    """For `aa` both have to leave, and there is room for one of them; on its own r1 fits."""
    held = {names.RESCHEDULING: "disabled"}
    pods = [
        pod("aa", "a", cpu=100, labels=held, affinity=apart("r")),
        *(pod(f"r{n}", "a", labels={"app": "r"}, affinity=apart("aa")) for n in (1, 2)),
    ]
    at = desk([node("a"), node("b", cpu=1000)], pods)
    decide(at)
    assert moves(at) == [("r1", "a", "b")]
    assert "not enough cpu" in refusals(at)["r2"][0]


def test_that_time_was_up_is_told() -> None:
    at = desk(ZONES, webs("a1", "a1", "a2", "a2", "a2", "b1"))
    at.search = Search(steps=2)
    report = decide(at)
    assert len(at.moves) == 1
    assert "shop/w1 (the search was ended after 2 steps)" in report.summary
