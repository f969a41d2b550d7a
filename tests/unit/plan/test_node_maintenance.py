"""NodeMaintenance: all that may leave a node do, and the plan says who cannot and why."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler import config
from rescheduler.config import (
    NEVER,
    Configuration,
    NodeMaintenanceSettings,
    PodRules,
    Scope,
)
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Owner, Pod
from rescheduler.model.moves import Report, Way
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.strategies import node_maintenance
from rescheduler.wire import STATEFUL_SETS
from tests.unit.config import samples
from tests.unit.plan.support.small_clusters import (
    apart,
    assert_every_step_fits,
    desk,
    in_maintenance,
    moves,
    node,
    pod,
    refusals,
)

A = in_maintenance(node("a"))


def decide(at: Desk) -> Report:
    at.strategy = "NodeMaintenance"
    report = node_maintenance.STRATEGY.decide(at)
    assert report.strategy == "NodeMaintenance"
    assert report.acted == bool(at.moves)
    assert_every_step_fits(at)
    return report


def test_it_rests_while_no_node_is_in_maintenance() -> None:
    at = desk([node("a"), node("b")], [pod("x", "a")])
    assert decide(at).summary == "no node is in maintenance"
    assert moves(at) == []


@pytest.mark.parametrize("value", ["false", "", "True", "done"])
def test_only_the_value_true_is_maintenance(value: str) -> None:
    labelled = replace(node("a"), labels={names.MAINTENANCE: value})
    at = desk([labelled, node("b")], [pod("x", "a")])
    assert decide(at).summary == "no node is in maintenance"


def test_all_pods_leave_low_priority_first() -> None:
    pods = [
        pod("high", "a", priority=10, cpu=100),
        pod("low-2", "a", priority=-5, cpu=100),
        pod("mid", "a", priority=3, cpu=100),
        pod("low-1", "a", priority=-5, cpu=100),
    ]
    at = desk([A, node("b"), node("c")], pods)
    report = decide(at)
    assert [name for name, _, _ in moves(at)] == ["low-1", "low-2", "mid", "high"]
    assert report.summary == "1 node to empty: 4 of 4 pods leave"
    assert report.figures == {"nodes": 1, "leave": 4, "stay": 0, "onTheirWay": 0}
    assert list(at.notes) == ["a is in maintenance: 4 of 4 pods leave"]
    assert all(each.asked and each.strategy == "NodeMaintenance" for each in at.moves)


def test_reasons_are_in_numbers() -> None:
    at = desk([A, node("b")], [pod("x", "a"), pod("y", "b", cpu=1000)])
    decide(at)
    assert at.moves[0].reason == "a is in maintenance; b then has cpu at 50.0 %, memory at 12.5 %"


def test_neither_the_limit_of_a_pass_nor_age_nor_cooldown_holds_them() -> None:
    configuration = Configuration(max_reschedule_pods=1, pods=PodRules(min_pod_age_seconds=3600.0))
    just_moved = {names.MIGRATION_TIME: "2026-03-01T11:59:00Z"}
    pods = [replace(pod(name, "a"), annotations=just_moved) for name in ("x", "y", "z")]
    at = desk([A, node("b")], pods, configuration)
    now = 1_772_366_400.0  # one minute later
    at = Desk(replace(at.snapshot, taken_at=now), configuration)
    assert all(at.why_it_stays(row) for row in at.snapshot.rows.tolist())
    decide(at)
    assert len(at.moves) == 3
    assert at.left == 1


# ---------------------------------------------------------------------- where to


def test_nodes_in_maintenance_take_nobody() -> None:
    at = desk([A, in_maintenance(node("b")), node("c")], [pod("x", "a"), pod("y", "b")])
    report = decide(at)
    assert sorted(moves(at)) == [("x", "a", "c"), ("y", "b", "c")]
    assert report.summary == "2 nodes to empty: 2 of 2 pods leave"


def test_nodes_that_stay_below_the_thresholds_come_first() -> None:
    # With the pod, b is at 50 per cent of cpu, and c at 6 per cent of memory, which is too much.
    configuration = Configuration(cpu_threshold_percent=60.0, memory_threshold_percent=5.0)
    much_memory = {**node("b").allocatable, "memory": 2**36}
    nodes = [A, replace(node("b"), allocatable=much_memory), node("c")]
    at = desk(nodes, [pod("x", "a"), pod("y", "b")], configuration)
    decide(at)
    assert moves(at) == [("x", "a", "b")]


def test_above_the_thresholds_is_better_than_to_stay() -> None:
    configuration = Configuration(cpu_threshold_percent=10.0)
    at = desk([A, node("b")], [pod("x", "a")], configuration)
    decide(at)
    assert moves(at) == [("x", "a", "b")]


def test_nodes_of_unknown_load_come_after_overloaded_ones() -> None:
    pods = [pod("x", "a", cpu=500), pod("y", "a", cpu=500)]
    at = desk([A, node("b"), node("c", cpu=700)], pods, cpu_used={"a": 1000, "c": 690})
    decide(at)
    assert moves(at) == [("x", "a", "c"), ("y", "a", "b")]
    assert at.moves[1].reason == (
        "a is in maintenance; the load of b is unknown, its requests at 12.5 %"
    )


def test_it_works_while_nobody_measures() -> None:
    at = desk([A, node("b"), node("c")], [pod("x", "a"), pod("y", "b")], outage="no metrics")
    decide(at)
    assert moves(at) == [("x", "a", "c")]
    assert not node_maintenance.STRATEGY.by_load


def test_big_pods_choose_first_where_the_small_ones_would_take_their_room() -> None:
    pods = [pod("s1", "a", cpu=1000), pod("s2", "a", cpu=1000), pod("z-big", "a", cpu=2000)]
    at = desk([A, node("b", cpu=2000), node("c", cpu=2000)], pods)
    report = decide(at)
    assert report.figures["stay"] == 0
    # Found for the big one first; still told in order of priority and name, as that works too.
    assert [name for name, _, _ in moves(at)] == ["s1", "s2", "z-big"]


def test_low_priority_comes_first_only_as_far_as_it_works() -> None:
    # Beside a pod of lower priority, `vip` needs its room twice, so it has to come before `low`.
    pods = [pod("low", "a", priority=0, cpu=1000), pod("vip", "a", priority=9, cpu=3000)]
    at = desk([A, node("b")], pods)
    report = decide(at)
    assert report.figures["leave"] == 2
    assert [name for name, _, _ in moves(at)] == ["vip", "low"]


def test_of_two_that_cannot_both_leave_the_more_important_does() -> None:
    pods = [
        pod("low", "a", priority=0, preemptionPolicy="Never"),
        pod("vip", "a", priority=9, preemptionPolicy="Never"),
    ]
    at = desk([A, node("b", cpu=1000)], pods)
    decide(at)
    assert moves(at) == [("vip", "a", "b")]


def test_one_may_leave_only_after_another_of_the_same_domain() -> None:
    # y keeps x out of the rack until it has left for another.
    a, b = (in_maintenance(node(name, rack="1")) for name in ("a", "b"))
    pods = [
        pod("x", "a", affinity=apart("y", "rack"), nodeSelector={"rack": "1"}),
        pod("y", "b", nodeSelector={"disk": "ssd"}),
    ]
    at = desk([a, b, node("c", rack="1"), node("d", rack="2", disk="ssd")], pods)
    decide(at)
    assert moves(at) == [("y", "b", "d"), ("x", "a", "c")]


def test_a_stop_from_outside_ends_the_search_with_what_was_found() -> None:
    pods = [pod("s1", "a"), pod("s2", "a"), pod("z-big", "a", cpu=2000)]
    at = desk([A, node("b", cpu=2000), node("c", cpu=2000)], pods)
    at.search = Search(stop=lambda: at.steps == 3)
    report = decide(at)
    assert report.figures["leave"] == 2
    assert report.summary.endswith("2 of 3 pods leave, 1 stays; the search was ended after 3 steps")
    assert refusals(at)["z-big"] == ["the search was ended after 3 steps"]


# ---------------------------------------------------------------------- who stays


def test_who_cannot_leave_is_told_with_every_rule() -> None:
    stubborn = replace(
        pod("stubborn", "a", labels={names.RESCHEDULING: "disabled"}),
        annotations={names.SAFE_TO_EVICT: "false"},
    )
    pods = [pod("x", "a"), stubborn, pod("big", "a", cpu=3500)]
    nodes = [A, node("b", cpu=2000), node("c", cpu=1500), in_maintenance(node("d"))]
    at = desk(nodes, pods)
    report = decide(at)
    told = refusals(at)
    assert told["stubborn"] == [
        f"its label {names.RESCHEDULING} keeps it out: take it off",
        f"its annotation {names.SAFE_TO_EVICT} keeps it out: take it off",
    ]
    (why,) = told["big"]
    assert why.startswith("no node takes it: not enough cpu: requests 3500m, at most ")
    assert why.endswith("the node cannot be a target: it is in maintenance (1 node)")
    assert report.summary == "2 nodes to empty: 1 of 3 pods leave, 2 stay"
    (note,) = [note for note in at.notes if note.startswith("a is in maintenance")]
    assert note == (
        f"a is in maintenance: 1 of 3 pods leave; stay: shop/big ({why}), "
        f"shop/stubborn ({'; '.join(told['stubborn'])})"
    )
    first, second = at.emptying
    assert (first.node, first.left, first.note) == ("a", 3, note)
    assert {each.full_name: list(each.reasons) for each in first.stay} == {
        "shop/big": [why],
        "shop/stubborn": told["stubborn"],
    }
    assert (second.node, second.left, second.stay) == ("d", 0, ())


def test_pods_of_the_node_itself_do_not_count_as_staying() -> None:
    daemon = replace(pod("daemon", "a"), owner=Owner(kind="DaemonSet", name="d", uid="d"))
    static = replace(pod("static", "a"), annotations={names.MIRROR_POD: "x"}, owner=None)
    at = desk([A, node("b")], [pod("x", "a"), daemon, static])
    report = decide(at)
    assert report.figures["stay"] == 0
    assert list(at.notes) == [
        "a is in maintenance: 1 of 1 pods leave; 2 of DaemonSets or static end with the node"
    ]


def test_pods_that_are_leaving_already_are_told_apart() -> None:
    at = desk([A, node("b")], [pod("x", "a"), replace(pod("y", "a"), terminating=True)])
    report = decide(at)
    assert report.summary == "1 node to empty: 1 of 1 pods leave, 1 on their way out already"
    assert list(at.notes) == [
        "a is in maintenance: 1 of 1 pods leave, 1 are on their way out already"
    ]


def test_a_node_that_is_empty_is_done() -> None:
    at = desk([A, node("b")], [pod("x", "b")])
    report = decide(at)
    assert report.summary == "1 node to empty: no pod is left to move"
    assert not report.acted


def test_a_note_names_ten_and_counts_the_rest() -> None:
    pods = [pod(f"kube-system/p{n:02}", "a", cpu=10) for n in range(13)]
    at = desk([A, node("b")], pods)
    decide(at)
    (note,) = at.notes
    assert note.count("kube-system/p") == 10
    assert note.endswith("and 3 more")
    assert len(at.refused) == 13


# ---------------------------------------------------------------------- which nodes


def test_cordoned_nodes_are_emptied_when_that_is_configured() -> None:
    cordoned = replace(node("a"), unschedulable=True)
    at = desk([cordoned, node("b")], [pod("x", "a")])
    assert decide(at).summary == "no node is in maintenance"
    configuration = Configuration(node_maintenance=NodeMaintenanceSettings(cordoned_nodes=True))
    at = desk([cordoned, node("b")], [pod("x", "a")], configuration)
    decide(at)
    assert moves(at) == [("x", "a", "b")]
    assert at.moves[0].reason.startswith("a is cordoned; ")


@pytest.mark.parametrize("by", ["maintenance", "drain"])
def test_our_own_cordon_is_no_reason_to_empty_a_node(by: str) -> None:
    """Its label has gone, or who drains it has said himself what is to leave."""
    configuration = Configuration(node_maintenance=NodeMaintenanceSettings(cordoned_nodes=True))
    ours = replace(node("a"), unschedulable=True, annotations={names.CORDONED: by})
    at = desk([ours, node("b")], [pod("x", "a")], configuration)
    assert decide(at).summary == "no node is in maintenance"


REMOVED = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}


def test_what_an_autoscaler_removes_is_left_to_it() -> None:
    """Though it cordons the node as well, and cordoned nodes are emptied."""
    configuration = Configuration(node_maintenance=NodeMaintenanceSettings(cordoned_nodes=True))
    removed = replace(node("a"), unschedulable=True, taints=(REMOVED,))
    at = desk([removed, node("b")], [pod("x", "a")], configuration)
    assert decide(at).summary == "no node is in maintenance"
    told = "cluster-autoscaler is removing its node, and empties it"
    assert at.why_it_stays(0) == (told,)
    assert at.why_it_stays(0, asked=True) == ()


def test_what_an_autoscaler_removes_is_emptied_with_our_help_when_that_is_configured() -> None:
    configuration = Configuration(node_maintenance=NodeMaintenanceSettings(removed_nodes=True))
    at = desk([replace(node("a"), taints=(REMOVED,)), node("b")], [pod("x", "a")], configuration)
    decide(at)
    assert moves(at) == [("x", "a", "b")]
    assert at.moves[0].reason.startswith("a is about to be removed by cluster-autoscaler; ")


def test_a_candidate_of_an_autoscaler_is_not_emptied() -> None:
    """It may change its mind."""
    candidate = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"}
    configuration = Configuration(node_maintenance=NodeMaintenanceSettings(removed_nodes=True))
    at = desk([replace(node("a"), taints=(candidate,)), node("b")], [pod("x", "a")], configuration)
    assert decide(at).summary == "no node is in maintenance"
    assert at.why_it_stays(0) == ()


def test_a_node_that_is_labelled_is_emptied_whoever_removes_it() -> None:
    at = desk([replace(A, taints=(REMOVED,)), node("b")], [pod("x", "a")])
    decide(at)
    assert moves(at) == [("x", "a", "b")]


def test_a_node_out_of_scope_is_told_and_left_alone() -> None:
    scope = Scope(node_selector=selectors.parse("pool=ours"))
    at = desk([A, node("b", pool="ours")], [pod("x", "a")], Configuration(scope=scope))
    assert decide(at).summary == "no node is in maintenance"
    assert list(at.notes) == ["a is in maintenance, but not in scope.nodeSelector: its pods stay"]


# ---------------------------------------------------------------------- ways


def stateful(name: str) -> tuple[Pod, dict[str, Any]]:
    owner = Owner(kind="StatefulSet", name="db", uid="db-uid")
    metadata = {"namespace": "shop", "name": "db", "uid": "db-uid"}
    status = {"replicas": 1, "readyReplicas": 1}
    return replace(pod(name, "a"), owner=owner), {
        "metadata": metadata,
        "spec": {"replicas": 1},
        "status": status,
    }


def test_pods_that_cannot_be_there_twice_leave_too() -> None:
    member, its_set = stateful("db-0")
    at = desk([A, node("b")], [member], others={STATEFUL_SETS: [its_set]})
    assert at.why_it_stays(0)
    decide(at)
    assert moves(at) == [("db-0", "a", "b")]
    assert at.moves[0].way is Way.RECREATE


def test_pods_are_not_recreated_where_that_is_forbidden() -> None:
    member, its_set = stateful("db-0")
    configuration = Configuration(pods=PodRules(recreate=NEVER))
    at = desk([A, node("b")], [member], configuration, others={STATEFUL_SETS: [its_set]})
    decide(at)
    assert moves(at) == []
    assert "pods.recreate is Never" in refusals(at)["db-0"][0]


# ---------------------------------------------------------------------- groups


def gang(*placed: str, cpu: int = 1000) -> list[Pod]:
    group = {"scheduling.x-k8s.io/pod-group": "gang"}
    return [pod(f"g{n}", where, cpu=cpu, labels=group) for n, where in enumerate(placed)]


def test_a_group_leaves_as_a_whole_with_those_on_other_nodes() -> None:
    at = desk([A, node("b"), node("c")], gang("a", "a", "b"))
    report = decide(at)
    assert sorted((name, source) for name, source, _ in moves(at)) == [
        ("g0", "a"),
        ("g1", "a"),
        ("g2", "b"),
    ]
    (other,) = [each for each in at.moves if at.name(each.row) == "shop/g2"]
    assert other.reason.startswith("its group moves with shop/g0; ")
    assert report.summary == "1 node to empty: 2 of 2 pods leave"


def test_a_group_that_finds_no_place_as_a_whole_stays_and_others_leave() -> None:
    at = desk([A, node("b"), node("c")], [*gang("a", "a", "b", cpu=3000), pod("x", "a")])
    report = decide(at)
    assert [name for name, _, _ in moves(at)] == ["x"]
    told = refusals(at)
    assert told.keys() == {"g0", "g1"}
    assert all("of its group" in reasons[0] for reasons in told.values())
    assert report.summary == "1 node to empty: 1 of 3 pods leave, 2 stay"


def test_one_that_stays_keeps_its_group() -> None:
    first, second = gang("a", "b")
    held = replace(second, labels={**second.labels, names.RESCHEDULING: "disabled"})
    at = desk([A, node("b"), node("c")], [first, held])
    decide(at)
    assert moves(at) == []
    assert refusals(at)["g0"] == [
        f"shop/g1 of its group stays: its label {names.RESCHEDULING} keeps it out: take it off"
    ]


# ---------------------------------------------------------------------- as our first user has it


def _ten() -> list[Pod]:
    plain = [pod(f"web-{number}", "a", cpu=100) for number in range(6)]
    scratch = pod("scratch", "a", cpu=100, volumes=[{"name": "tmp", "emptyDir": {}}])
    bare = replace(pod("bare", "a", cpu=100), owner=None)
    system = [pod(f"kube-system/dns-{number}", "a", cpu=100) for number in range(2)]
    return [*plain, scratch, bare, *system]


def test_with_the_file_of_our_first_user_all_but_the_system_leave_and_by_command_all() -> None:
    configuration = config.load(samples.EXAMPLES / "kube-scheduler.yaml")
    at = desk([A, node("b")], _ten(), configuration)
    assert decide(at).summary == "1 node to empty: 8 of 10 pods leave, 2 stay"
    assert set(refusals(at)) == {"kube-system/dns-0", "kube-system/dns-1"}
    forced = replace(configuration, forced=config.Forced())
    at = desk([A, node("b")], _ten(), forced)
    assert decide(at).summary == "1 node to empty: 10 of 10 pods leave"
    moved = replace(
        configuration, node_maintenance=NodeMaintenanceSettings(excluded_namespaces=config.MOVE)
    )
    at = desk([A, node("b")], _ten(), moved)
    assert decide(at).summary == "1 node to empty: 10 of 10 pods leave"


def test_who_is_not_ready_is_recreated_and_holds_no_sibling() -> None:
    away = replace(pod("away", "a"), ready=False)
    pending = replace(pod("pending", "a"), ready=False, phase="Pending")
    at = desk([A, node("b")], [away, pending, pod("web", "a")])
    assert decide(at).summary == "1 node to empty: 3 of 3 pods leave"
    ways = {at.name(each.row): each.way for each in at.moves}
    assert ways == {
        "shop/away": Way.RECREATE,
        "shop/pending": Way.RECREATE,
        "shop/web": Way.SURGE,
    }
