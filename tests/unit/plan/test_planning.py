"""One plan of several strategies: who decides when, who rests, and what is told."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.config import Configuration
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.model.usage import Usage
from rescheduler.plan import Desk, Memory, needs, plan
from rescheduler.plan.desk import NO_LIMIT
from rescheduler.wire import POD_MIGRATIONS
from tests.unit.plan.support import movable_scenes
from tests.unit.plan.support.small_clusters import in_maintenance, node, pod
from tests.unit.plan.support.snapshots import snapshot

ALL = ("LoadBalancing", "CostOptimization", "ResourceOptimization", "TopologySpread")


def uneven() -> Snapshot:
    nodes = [in_maintenance(node("a")), node("b"), node("c")]
    pods = [pod(f"b{number}", "b") for number in range(3)]
    return snapshot(nodes, [pod("a0", "a"), *pods])


def enabling(*strategies: str) -> Configuration:
    return Configuration(enabled_strategies=strategies)


def test_strategies_decide_in_their_own_order_whatever_the_file_says() -> None:
    found = plan(uneven(), enabling("LoadBalancing", "NodeMaintenance", *ALL[1:]))
    assert [report.strategy for report in found.reports] == [
        "NodeMaintenance",
        "TopologySpread",
        "ResourceOptimization",
        "CostOptimization",
        "LoadBalancing",
    ]
    assert found.moves[0].strategy == "NodeMaintenance"
    assert found.moves[0].asked
    assert len({move.uid for move in found.moves}) == len(found.moves)


def test_while_usage_is_unknown_who_goes_by_load_rests_and_the_others_act() -> None:
    taken = uneven()
    nothing = np.full(3, np.nan)
    pods = np.full(len(taken.pods), np.nan)
    usage = Usage(
        source="metrics-server",
        as_of=np.nan,
        node_cpu=nothing,
        node_memory=nothing.copy(),
        pod_cpu=pods,
        pod_memory=pods.copy(),
        pod_measured=np.zeros(len(taken.pods), np.bool_),
        unknown_nodes={},
        node_since=nothing.copy(),
        outage="metrics-server does not answer",
    )
    found = plan(replace(taken, usage=usage), enabling("LoadBalancing", "NodeMaintenance"))
    acting, resting = found.reports
    assert (acting.strategy, acting.acted) == ("NodeMaintenance", True)
    assert (resting.strategy, resting.acted, resting.blind) == ("LoadBalancing", False, True)
    assert "metrics-server does not answer" in resting.summary
    assert [move.pod for move in found.moves] == ["a0"]


def test_what_cannot_be_seen_makes_all_of_them_rest() -> None:
    gap = Gap(source="poddisruptionbudgets", reason="forbidden", forbidden=True)
    found = plan(replace(uneven(), gaps=(gap,)), enabling("LoadBalancing", "NodeMaintenance"))
    assert found.moves == ()
    assert all(report.blind for report in found.reports)
    assert "poddisruptionbudgets cannot be seen: forbidden" in found.summary


def test_what_a_file_leaves_out_is_told_and_taken_as_none() -> None:
    gap = Gap(source="poddisruptionbudgets", reason="the file has none", left_out=True)
    found = plan(replace(uneven(), gaps=(gap,)), enabling("NodeMaintenance"))
    assert len(found.moves) == 1
    assert "not in the file" in found.notes[-1]
    assert "poddisruptionbudgets" in found.notes[-1]


def test_a_gap_that_no_rule_asks_about_makes_nobody_rest() -> None:
    gap = Gap(source="endpointslices", reason="forbidden", forbidden=True)
    assert "endpointslices" not in needs(ALL)
    assert plan(replace(uneven(), gaps=(gap,)), enabling("NodeMaintenance")).moves


def test_maintenance_that_nobody_does_is_told() -> None:
    found = plan(uneven(), enabling("LoadBalancing"))
    assert any("a is labelled for maintenance" in note for note in found.notes)
    assert all(move.target != "a" for move in found.moves)
    told = plan(uneven(), enabling("NodeMaintenance")).notes
    assert not any("is labelled for maintenance" in note for note in told)


def test_loads_before_and_after_and_the_imbalance_between() -> None:
    found = plan(uneven(), enabling("LoadBalancing"))
    by_name = {each.node: each for each in found.nodes}
    assert by_name["b"].before["cpu"] == 75.0
    assert not by_name["a"].eligible
    cpu = found.imbalances[0]
    assert (cpu.resource, cpu.before, cpu.most, cpu.least) == ("cpu", 75.0, "b", "c")
    assert cpu.after == 25.0
    assert sum(each.pods_after for each in found.nodes) == 4


def test_a_memory_makes_no_difference() -> None:
    memory = Memory()
    configuration = enabling(*ALL, "NodeMaintenance")
    first = plan(uneven(), configuration, memory=memory)
    other = snapshot([node("a"), node("b")], [pod("x", "a", cpu=2000), pod("y", "a")])
    plan(other, configuration, memory=memory)
    assert plan(uneven(), configuration, memory=memory) == first == plan(uneven(), configuration)
    assert plan(other, configuration, memory=memory) == plan(other, configuration)


def test_no_strategy_can_move_a_pod_twice() -> None:
    at = Desk(uneven(), enabling())
    at.move(0, 1, "once")
    with pytest.raises(ValueError, match="moves already in this plan"):
        at.move(0, 2, "twice")


def test_an_empty_cluster_has_an_empty_plan() -> None:
    found = plan(snapshot([], []), enabling(*ALL, "NodeMaintenance"))
    assert found.moves == ()
    assert len(found.reports) == 5


# ------------------------------------------------------------------ what is in flight


def record(uid: str, *, asked: bool | None = False, **status: str) -> dict[str, Any]:
    told = {} if asked is None else {"asked": asked}
    return {
        "metadata": {"namespace": "shop", "name": f"of-{uid}"},
        "spec": {"pod": {"name": uid, "uid": uid}, "target": "c", **told},
        "status": status,
    }


@pytest.mark.parametrize(
    ("records", "moves"),
    [
        ([], 2),
        ([record("x", phase="InProgress")], 1),
        ([record("x", phase="Pending"), record("y")], 0),
        ([record("x"), record("y"), record("z")], 0),
        ([record("x", phase="Completed"), record("y", phase="Failed")], 2),
        # What a person asked for is not limited, so it leaves as much to others.
        ([record("x", asked=True), record("y", asked=True)], 2),
        # Who writes one by hand, as in the README, may leave out that he asks.
        ([record("x", asked=None), record("y", asked=None)], 2),
    ],
)
def test_what_is_in_flight_counts_for_the_limit_of_a_pass(
    records: list[dict[str, Any]], moves: int
) -> None:
    pods = [pod(f"b{number}", "b") for number in range(4)]
    taken = snapshot([node("b"), node("c")], pods, others={POD_MIGRATIONS: records})
    configuration = replace(enabling("LoadBalancing"), max_reschedule_pods=2)
    found = plan(taken, configuration)
    assert len(found.moves) == moves
    assert moves or "maxReschedulePods is reached" in found.summary
    assert Desk(taken, replace(configuration, max_reschedule_pods=0)).left == NO_LIMIT


def test_what_is_assumed_counts_once_with_its_record_or_without() -> None:
    for records in ([], [record("uid-web-1", phase="InProgress")]):
        taken = movable_scenes.snapshot(
            movable_scenes.pod(), podmigrations=records, assumed="b", taken_at=movable_scenes.NOW
        )
        assert Desk(taken, Configuration()).in_flight == 1
