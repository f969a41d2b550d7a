"""A place for a pod, or for all of its group at once: every one of them moves, or none."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.config import ALLOWED, Configuration, Groups, PodRules
from rescheduler.model.cluster import Pod
from rescheduler.plan.desk import Desk
from rescheduler.plan.loads import Figures
from rescheduler.plan.relocating import IN_VAIN, STEPS, relocate
from rescheduler.wire import RESOURCE_QUOTAS
from tests.unit.plan.support.small_clusters import (
    apart,
    assert_every_step_fits,
    desk,
    in_maintenance,
    moves,
    node,
    number_of,
    pod,
    row_of,
    state_of,
)

GANG = {"scheduling.x-k8s.io/pod-group": "gang"}


def test_a_pod_goes_where_the_load_is_lowest_with_it() -> None:
    at = desk(
        [node("a"), node("b", cpu=2000), node("c"), node("d")],
        [pod("x", "a"), pod("on-c", "c", cpu=100), pod("on-d", "d", cpu=200)],
    )
    assert relocate(at, row_of(at, "x"), "why") == ""
    # 27.5 per cent of c, 30 of d, and 50 of b, which is empty but small.
    assert moves(at) == [("x", "a", "c")]
    assert at.moves[0].reason == "why"
    assert not at.moves[0].asked


def test_nodes_of_unknown_load_come_last_in_order_of_what_is_asked_of_them() -> None:
    nodes = [node("a"), node("b"), node("c"), node("d")]
    pods = [pod("x", "a"), pod("on-b", "b", cpu=500), pod("on-d", "d", cpu=3000)]
    at = desk(nodes, pods, cpu_used={"a": 1000, "d": 2900})
    assert relocate(at, row_of(at, "x"), "") == ""
    assert moves(at) == [("x", "a", "d")]
    at = desk(nodes, pods, outage="nobody measures")
    assert relocate(at, row_of(at, "x"), "") == ""
    assert moves(at) == [("x", "a", "c")]


def test_who_calls_may_prefer_other_nodes_and_exclude_some() -> None:
    at = desk([node("a"), node("b"), node("c"), node("d")], [pod("x", "a")])

    def prefer(_: int) -> Figures:
        return np.array([0.0, np.inf, 2.0, 1.0])

    assert relocate(at, row_of(at, "x"), "", prefer=prefer) == ""
    assert moves(at) == [("x", "a", "d")]


def test_a_pod_stays_when_no_node_that_takes_it_is_wanted() -> None:
    at = desk([node("a"), node("b")], [pod("x", "a")])
    why = relocate(at, row_of(at, "x"), "", prefer=lambda _: np.full(2, np.inf))
    assert why == "no node that would help takes it"
    assert moves(at) == []


def test_the_reason_may_depend_on_the_target() -> None:
    at = desk([node("a"), node("b")], [pod("x", "a")])
    relocate(at, row_of(at, "x"), lambda row, target: f"{at.name(row)} to {at.nodes[target].name}")
    assert [each.reason for each in at.moves] == ["shop/x to b"]


def test_a_pod_without_a_place_stays_and_is_told_why() -> None:
    at = desk([node("a"), node("b", cpu=500), in_maintenance(node("c"))], [pod("x", "a")])
    before = state_of(at)
    why = relocate(at, row_of(at, "x"), "")
    assert "not enough cpu: requests 1, at most 500m free (1 node)" in why
    assert "it is in maintenance (1 node)" in why
    assert state_of(at) == before


def test_a_limit_that_is_reached_is_a_reason_unless_somebody_asked() -> None:
    configuration = Configuration(max_reschedule_pods=1)
    at = desk([node("a"), node("b")], [pod("x", "a"), pod("y", "a")], configuration)
    assert relocate(at, row_of(at, "x"), "") == ""
    assert relocate(at, row_of(at, "y"), "") == "maxReschedulePods is reached"
    assert relocate(at, row_of(at, "y"), "", asked=True) == ""


def test_a_move_that_is_taken_back_leaves_no_trace() -> None:
    # Where a pod of lower priority is, a higher one needs its room twice.
    pods = [pod("low", "a"), pod("vip", "a", cpu=2000, priority=5), pod("other", "c", priority=9)]
    at = desk([node("a"), node("b", cpu=3000), node("c")], pods)
    before = state_of(at)
    mark = at.mark()
    at.move(row_of(at, "low"), number_of(at, "b"), "")
    assert not at.targets(row_of(at, "vip"))[number_of(at, "b")]
    at.rewind(mark)
    assert at.targets(row_of(at, "vip"))[number_of(at, "b")]
    assert state_of(at) == before


# ---------------------------------------------------------------------- groups


def gang(*placed: str, cpu: int = 1000) -> list[Pod]:
    return [pod(f"g{n}", where, cpu=cpu, labels=GANG) for n, where in enumerate(placed)]


def test_all_of_a_group_move_each_to_another_node() -> None:
    at = desk([node("a"), node("b"), node("c")], gang("a", "b", "b"))
    assert relocate(at, row_of(at, "g1"), "") == ""
    assert sorted(name for name, _, _ in moves(at)) == ["g0", "g1", "g2"]
    assert all(source != target for _, source, target in moves(at))
    assert {each.group for each in at.moves} == {"shop/gang"}
    assert_every_step_fits(at)


def test_none_of_a_group_moves_when_one_finds_no_place() -> None:
    members = [*gang("a", "b"), pod("big", "c", cpu=4000, labels=GANG)]
    small = [node(name, cpu=3000) for name in ("a", "b", "d")]
    at = desk([*small, node("c")], members)
    before = state_of(at)
    why = relocate(at, row_of(at, "g0"), "")
    assert why.startswith("shop/big of its group: no node takes it: not enough cpu: requests 4")
    assert state_of(at) == before


def test_a_group_without_room_for_all_of_them_at_once_stays() -> None:
    # Each of them alone would find room on c.
    at = desk([node("a", cpu=8000), node("c")], gang("a", "a", cpu=2500))
    before = state_of(at)
    why = relocate(at, row_of(at, "g0"), "")
    assert "of its group: no place beside the others" in why
    assert state_of(at) == before


@pytest.mark.parametrize(("cpu", "has_room"), [(3000, False), (2000, True)])
def test_none_of_a_group_takes_the_place_that_another_is_to_leave(
    cpu: int, *, has_room: bool
) -> None:
    # g0 fits on b only. All copies are there before the first original goes.
    members = [
        pod("g0", "a", cpu=cpu, labels=GANG),
        pod("g1", "b", cpu=2000, labels=GANG),
    ]
    at = desk([node("a"), node("b"), node("c", cpu=2000)], members)
    before = state_of(at)
    prefer = {"g0": "b", "g1": "c"}
    why = relocate(at, row_of(at, "g0"), "", prefer=lambda row: only(at, prefer[name_of(at, row)]))
    if has_room:
        assert why == ""
        assert {(name, target) for name, _, target in moves(at)} == set(prefer.items())
        assert_every_step_fits(at)
    else:
        assert why.startswith("shop/g0 of its group: no node takes it: not enough cpu: requests 3")
        assert state_of(at) == before


def only(at: Desk, name: str) -> Figures:
    return np.array([0.0 if each.name == name else np.inf for each in at.nodes])


def name_of(at: Desk, row: int) -> str:
    return at.name(row).removeprefix("shop/")


def test_what_a_rule_keeps_from_one_of_its_group_it_keeps_until_that_one_has_left() -> None:
    members = [
        pod("g0", "a", labels=GANG, affinity=apart("g1")),
        pod("g1", "b", labels=GANG),
    ]
    at = desk([node("a"), node("b"), node("c")], members)
    at.move(row_of(at, "g1"), number_of(at, "c"), "")
    assert at.placement.fits(row_of(at, "g0"), number_of(at, "b"))
    assert not at.targets(row_of(at, "g0")).any()
    at.rewind(0)
    assert at.targets(row_of(at, "g0")).tolist() == [False, False, True]


def tied_to(*nodes: str) -> dict[str, Any]:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_a_choice_that_leaves_another_without_a_place_is_taken_back() -> None:
    nodes = [node("a"), *(node(name, cpu=1000) for name in ("x", "y", "z"))]
    members = [
        pod("g0", "a", labels=GANG, affinity=tied_to("x", "y")),
        pod("g1", "a", labels=GANG, affinity=tied_to("x", "z")),
        pod("g2", "a", labels=GANG, affinity=tied_to("y", "z")),
    ]
    at = desk(nodes, members)
    worst = np.zeros(4)
    worst[number_of(at, "x")] = 1.0  # by preference alone g0 goes to y, g1 to z, and g2 nowhere
    assert relocate(at, row_of(at, "g0"), "", prefer=lambda _: worst) == ""
    assert len({target for _, _, target in moves(at)}) == 3
    assert_every_step_fits(at)


@pytest.mark.parametrize("allowed", [True, False])
def test_a_group_that_cannot_surge_stays_unless_it_may_be_recreated(*, allowed: bool) -> None:
    members = [*gang("a", "a"), pod("g2", "a", labels=GANG, hostNetwork=True)]
    configuration = Configuration(
        groups=Groups(allow_recreate=allowed), pods=PodRules(recreate=ALLOWED)
    )
    at = desk([node("a"), node("b")], [*members, pod("other", "a")], configuration)
    words = "shop/g2 of its group would be recreated, and groups.allowRecreate is off: "
    words += "it uses ports of its node"
    for name in ("g0", "g1", "g2"):
        for asked in (False, True):
            stays = at.why_it_stays(row_of(at, name), asked=asked)
            assert stays == (() if allowed else (words,))
    assert at.why_it_stays(row_of(at, "other")) == ()


def test_a_quota_needs_room_for_all_copies_of_a_group() -> None:
    quota = {
        "metadata": {"namespace": "shop", "name": "q"},
        "spec": {"hard": {"pods": "4"}},
        "status": {"used": {"pods": "2"}},
    }
    words = "the ResourceQuotas of shop have no room for all copies of its group"
    for members, stays in ((gang("a", "a"), ()), (gang("a", "a", "a"), (words,))):
        at = desk([node("a"), node("b")], members, others={RESOURCE_QUOTAS: [quota]})
        assert at.why_it_stays(row_of(at, "g0")) == stays


def test_a_group_larger_than_what_is_left_of_the_limit_stays() -> None:
    configuration = Configuration(max_reschedule_pods=2)
    at = desk([node("a"), node("b"), node("c")], gang("a", "b", "c"), configuration)
    why = relocate(at, row_of(at, "g0"), "")
    assert why == "its group moves as a whole: 3 pods, and maxReschedulePods leaves 2"
    assert moves(at) == []
    assert relocate(at, row_of(at, "g0"), "", asked=True) == ""
    assert at.left == 2


WAITING = {"node": "", "phase": "Pending", "ready": False}
RECREATED = (
    "shop/g1 of its group would be recreated, and groups.allowRecreate is off: it is not Ready"
)


@pytest.mark.parametrize(
    ("changed", "reason", "asked"),
    [
        (WAITING, "shop/g1 of its group stays: it is not Running and Ready", False),
        (WAITING, "shop/g1 of its group stays: it has no node yet", True),
        ({"terminating": True}, "shop/g1 of its group stays: it is terminating", False),
        ({"terminating": True}, "shop/g1 of its group stays: it is terminating", True),
        ({"ready": False}, "shop/g1 of its group stays: it is not Running and Ready", False),
        ({"ready": False}, RECREATED, True),
    ],
)
def test_a_group_that_is_not_complete_stays(
    changed: dict[str, Any], reason: str, *, asked: bool
) -> None:
    first, second = gang("a", "b")
    at = desk([node("a"), node("b"), node("c")], [first, replace(second, **changed)])
    assert at.why_it_stays(row_of(at, "g0"), asked=asked) == (reason,)


def many_that_cannot(members: int) -> Desk:
    """Room for all but one of them."""
    pods = [
        pod(f"g{n}", "a", labels={**GANG, "app": "g"}, affinity=apart("g", "rack"))
        for n in range(members)
    ]
    nodes = [node("a", cpu=64000), *(node(f"n{n:02}", rack=str(n)) for n in range(members - 1))]
    return desk(nodes, pods)


def test_a_search_without_end_is_given_up() -> None:
    at = many_that_cannot(12)
    before = state_of(at)
    assert "no place beside the others" in relocate(at, row_of(at, "g0"), "", asked=True)
    assert STEPS < at.steps <= 4 * (STEPS + 13)
    assert state_of(at) == before


def test_a_group_that_took_many_steps_in_vain_is_not_searched_for_much_longer() -> None:
    at = many_that_cannot(12)
    taken = []
    for _ in range(10):
        first = at.steps
        relocate(at, row_of(at, "g0"), "", asked=True)
        taken.append(at.steps - first)
    assert sum(taken[:4]) > IN_VAIN
    assert max(taken[4:]) <= 2 * 12
    assert at.steps <= 2000


def test_a_group_that_was_searched_for_in_vain_still_finds_places_that_are_there() -> None:
    at = desk([node(name) for name in "abc"], gang("a", "a", "b"))
    at.in_vain["shop/gang"] = IN_VAIN
    assert relocate(at, row_of(at, "g0"), "", asked=True) == ""
    assert len(at.moves) == 3


def test_a_group_one_of_which_no_node_would_ever_take_is_not_searched_for() -> None:
    members = [*gang("a", "b"), pod("odd", "a", labels=GANG, nodeSelector={"disk": "none"})]
    at = desk([node("a"), node("b"), node("c")], members)
    why = relocate(at, row_of(at, "g0"), "", asked=True)
    assert why.startswith("shop/odd of its group: no node takes it: its nodeSelector asks for")
    assert at.steps <= len(members)


def test_a_large_group_finds_its_places_at_once() -> None:
    places = [f"n{n:02}" for n in range(40)]
    at = desk([node(name) for name in places], gang(*places * 8, cpu=10))
    assert relocate(at, row_of(at, "g0"), "", asked=True) == ""
    assert len(at.moves) == 320
    # To look whom to place first, and to place each.
    assert at.steps == 2 * 320
    assert at.in_vain["shop/gang"] == 0
    assert_every_step_fits(at)


def test_the_same_question_gets_the_same_answer() -> None:
    def answer() -> list[tuple[str, str, str]]:
        at = desk([node(name) for name in "abcdef"], gang("a", "b", "c", "a", cpu=1500))
        relocate(at, row_of(at, "g3"), "", asked=True)
        return moves(at)

    assert answer() == answer() != []


def can_all_move(at: Desk, waiting: tuple[int, ...]) -> bool:
    """Every order, every target: slow, and never wrong."""
    if not waiting:
        return True
    for row in waiting:
        rest = tuple(each for each in waiting if each != row)
        for target in np.flatnonzero(at.targets(row)).tolist():
            mark = at.mark()
            at.move(row, target, "")
            found = can_all_move(at, rest)
            at.rewind(mark)
            if found:
                return True
    return False


def random_group(seed: int) -> Desk:
    chance = random.Random(seed)  # noqa: S311 - no secret
    nodes = [node(f"n{n}", cpu=chance.choice([2000, 3000, 4000])) for n in range(5)]
    left = {each.name: each.allocatable["cpu"] for each in nodes}
    pods = []
    for n in range(7):
        cpu = chance.choice([500, 1000, 1500, 2000])
        where = chance.choice([name for name, free in left.items() if free >= cpu] or ["n0"])
        left[where] -= cpu
        rules: dict[str, Any] = {"affinity": apart("x")} if chance.random() < 0.2 else {}
        if chance.random() < 0.3:
            rules = {"affinity": tied_to(*chance.sample(sorted(left), 3))}
        labels = {**GANG, "app": chance.choice("xyz")} if n < 4 else {}
        pods.append(pod(f"p{n}", where, cpu=cpu, labels=labels, **rules))
    return desk(nodes, pods)


def test_a_group_finds_its_places_whenever_there_are_any() -> None:
    found = 0
    for seed in range(150):
        at = random_group(seed)
        row = row_of(at, "p0")
        before = state_of(at)
        expected = can_all_move(at, at.unit(row))
        why = relocate(at, row, "", asked=True)
        assert (why == "") == expected, seed
        assert len(at.moves) == (4 if expected else 0)
        if not expected:
            assert state_of(at) == before
        assert_every_step_fits(at)
        found += expected
    assert 30 < found < 120
