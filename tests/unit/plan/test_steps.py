"""Searches are counted in steps: who is stopped after so many plans the same as who has no more."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from rescheduler.config import Configuration, ResourceOptimizationSettings
from rescheduler.model.cluster import Node, Pod
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import Desk, Search, plan, plan_at
from tests.unit.plan.support.small_clusters import (
    apart,
    assert_every_step_fits,
    desk,
    in_maintenance,
    node,
    pod,
    spread,
)
from tests.unit.plan.support.snapshots import snapshot

GROUP = "scheduling.x-k8s.io/pod-group"
ENDED = "the search was ended after "


def after(calls: int) -> Callable[[], bool]:
    """Says so many times that there is time left, then no more."""
    left = calls

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return stop


def gang(name: str, *placed: str, cpu: int = 300) -> list[Pod]:
    return [
        pod(f"{name}{number}", where, cpu=cpu + number, labels={GROUP: name})
        for number, where in enumerate(placed)
    ]


def maintenance() -> tuple[list[Node], list[Pod]]:
    """Not all have a place, whatever the order."""
    nodes = [in_maintenance(node("a", cpu=20000)), *(node(f"n{n}", cpu=2000) for n in range(4))]
    singles = [pod(f"s{n}", "a", cpu=cpu) for n, cpu in enumerate([500, 700, 1500, 900, 400, 1999])]
    return nodes, [*singles, *gang("x", "a", "a", "n0", cpu=600), *gang("y", "a", "a", cpu=1100)]


def broken() -> tuple[list[Node], list[Pod]]:
    nodes = [node(name, zone=name) for name in "abc"]
    spreading = spread("web")
    webs = [
        pod(f"w{n}", "a", cpu=100, labels={"app": "web"}, topologySpreadConstraints=spreading)
        for n in range(6)
    ]
    rivals = [pod(f"r{n}", "b", cpu=100, labels={"app": "r"}) for n in range(2)]
    loner = pod("loner", "b", cpu=100, priority=5, affinity=apart("r"))
    tied = [
        replace(each, spec={"nodeSelector": {"zone": "c"}}) for each in gang("g", "a", "b", cpu=100)
    ]
    return nodes, [*webs, *rivals, loner, *tied]


def overloaded() -> tuple[list[Node], list[Pod]]:
    nodes = [node(name, cpu=10000) for name in "abcde"]
    singles = [pod(f"p{n}", "ab"[n % 2], cpu=800 + 10 * n) for n in range(18)]
    return nodes, [*singles, *gang("g", "a", "a", "b", cpu=900)]


def unbalanced() -> tuple[list[Node], list[Pod]]:
    nodes = [node(name, cpu=10000) for name in "abcdef"]
    singles = [pod(f"{on}{n}", on, cpu=370 + 70 * n) for on in "abc" for n in range(8)]
    return nodes, [*singles, *gang("g", "a", "a", cpu=700)]


SCENES = {
    "NodeMaintenance": maintenance,
    "TopologySpread": broken,
    "ResourceOptimization": overloaded,
    "LoadBalancing": unbalanced,
}


def ended_early(
    scene: Snapshot, configuration: Configuration, most: int
) -> Iterator[tuple[Desk, Plan]]:
    """Stopped ever later, until the search comes to its end by itself."""
    calls = 0
    while calls <= most:
        at = Desk(scene, configuration, search=Search(stop=after(calls)))
        stopped = plan_at(at)
        if not at.ended:
            return
        yield at, stopped
        calls += 1 + calls // 3


@pytest.mark.parametrize("strategy", SCENES)
def test_stopped_after_some_steps_it_plans_what_so_many_steps_give(strategy: str) -> None:
    configuration = Configuration(enabled_strategies=(strategy,), max_reschedule_pods=0)
    scene = snapshot(*SCENES[strategy]())
    full = plan(scene, configuration)
    assert full.moves
    assert ENDED not in full.summary
    seen = set()
    for at, stopped in ended_early(scene, configuration, full.steps):
        again = plan(scene, configuration, search=Search(steps=stopped.steps))
        assert again == stopped
        assert f"{ENDED}{stopped.steps} step" in stopped.summary
        assert "no pod can be moved" not in stopped.summary
        assert_every_step_fits(at)
        seen.add(stopped.moves)
    assert stopped.steps > full.steps / 3
    assert () in seen
    assert len(seen) > 2


def test_strategies_share_the_steps() -> None:
    nodes, pods = maintenance()
    more = [replace(each, name=f"z-{each.name}") for each in overloaded()[0]]
    hot = [
        replace(each, name=f"z-{each.name}", uid=f"z-{each.uid}", node=f"z-{each.node}")
        for each in overloaded()[1]
    ]
    configuration = Configuration(
        enabled_strategies=tuple(SCENES),
        resource_optimization=ResourceOptimizationSettings(cpu_target_percent=60.0),
    )
    scene = snapshot([*nodes, *more], [*pods, *hot])
    full = plan(scene, configuration)
    assert len({move.strategy for move in full.moves}) > 1
    for at, stopped in ended_early(scene, configuration, full.steps):
        assert plan(scene, configuration, search=Search(steps=stopped.steps)) == stopped
        assert_every_step_fits(at)


def test_without_a_step_nothing_moves_and_that_is_the_reason() -> None:
    for strategy, scene in SCENES.items():
        configuration = Configuration(enabled_strategies=(strategy,))
        decided = plan(snapshot(*scene()), configuration, search=Search(steps=0))
        assert decided.moves == ()
        assert decided.steps == 0
        assert f"{ENDED}0 steps" in decided.summary


def test_time_is_asked_about_once_for_each_step_and_not_again_when_it_was_up() -> None:
    at = desk([node("a")], [])
    answers = iter([False, False, True])
    at.search = Search(stop=lambda: next(answers))
    assert not at.is_over()
    assert at.take_step()
    assert at.take_step()
    assert at.ended == ""
    assert not at.take_step()
    assert not at.take_step()
    assert at.is_over()
    assert at.steps == 2
    assert at.ended == "the search was ended after 2 steps"


# ---------------------------------------------------------------------- what is hard


def hard_groups(groups: int) -> Snapshot:
    """Each nearly fits: of 13 pods of different sizes, two by two, one finds no place."""
    nodes = [in_maintenance(node("m", cpu=100000))]
    pods = []
    for group in range(groups):
        pool = str(group)
        nodes += [node(f"n{pool}-{n:02}", pool=pool) for n in range(12)]
        pods += [pod(f"f{pool}-{n}", f"n{pool}-{n:02}", cpu=1000) for n in range(12)]
        pods += [
            replace(each, spec={"nodeSelector": {"pool": pool}})
            for each in gang(f"g{pool}-", *["m"] * 13, cpu=2000)
        ]
    return snapshot(nodes, pods)


@pytest.mark.parametrize("groups", [1, 3])
def test_a_hard_group_costs_no_more_than_so_many_steps(groups: int) -> None:
    configuration = Configuration(enabled_strategies=("NodeMaintenance",))
    decided = plan(hard_groups(groups), configuration)
    assert decided.moves == ()
    assert 500 < decided.steps / groups <= 2000
    assert ENDED not in decided.summary


def test_a_hard_group_is_left_at_once_when_time_is_up() -> None:
    configuration = Configuration(enabled_strategies=("NodeMaintenance",))
    for calls in (1, 5, 20, 200):
        stopped = plan(hard_groups(3), configuration, search=Search(stop=after(calls)))
        assert stopped.steps == calls
        assert len(stopped.refusals) == 39


def test_many_pods_to_move_are_far_from_the_end_of_the_steps() -> None:
    """Also where a tenth of them has no place, which no order changes."""
    full = [in_maintenance(node(f"m{n:02}", cpu=10000)) for n in range(10)]
    pods = [pod(f"p{n:03}", f"m{n % 10:02}", cpu=480 + n % 40) for n in range(200)]
    nodes = [*full, *(node(f"n{n:02}", cpu=9000) for n in range(10))]
    configuration = Configuration(enabled_strategies=("NodeMaintenance",))
    decided = plan(snapshot(nodes, pods), configuration)
    assert 150 < len(decided.moves) < 200
    assert decided.steps <= Search().steps / 20


def test_the_best_attempt_counts_when_a_later_one_is_stopped() -> None:
    nodes = [in_maintenance(node("a")), node("b", cpu=2000), node("c", cpu=2000)]
    pods = [pod("s1", "a"), pod("s2", "a"), pod("z-big", "a", cpu=2000)]
    configuration = Configuration(enabled_strategies=("NodeMaintenance",))
    placed = [
        len(plan(snapshot(nodes, pods), configuration, search=Search(steps=steps)).moves)
        for steps in range(12)
    ]
    assert placed == sorted(placed)
    assert {0, 1, 2, 3} == set(placed)
