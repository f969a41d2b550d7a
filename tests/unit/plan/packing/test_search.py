import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.plan.packing.ordering import Order, untangle_by_numbers
from rescheduler.plan.packing.problem import NO_LIMIT, Problem
from rescheduler.plan.packing.search import search
from tests.unit.plan.packing.problems import by_chance, cheapest, problem, solve


def nodes_in_use(given: Problem, place: np.ndarray) -> set[int]:
    return set(place.tolist()) | set(np.flatnonzero(given.always_open).tolist())


def test_two_half_empty_nodes_become_one() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)])
    found = solve(given)
    assert found.cost == 101
    assert len(set(found.place.tolist())) == 1


def test_the_dearer_node_is_emptied() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)], cost=[100.0, 300.0])
    assert solve(given).place.tolist() == [0, 0]


def test_a_node_that_is_paid_for_anyway_takes_the_others() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)], always_open=[1])
    assert solve(given).place.tolist() == [1, 1]


def test_nothing_moves_when_moves_cost_more_than_a_node() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)], move_cost=200.0)
    found = solve(given)
    assert found.place.tolist() == [0, 1]


def test_who_is_not_allowed_elsewhere_stays() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)], allowed=[[0], [1]])
    assert solve(given).place.tolist() == [0, 1]


def test_a_limit_of_a_group_keeps_pods_apart() -> None:
    given = problem([[10], [10]], [([4], 0), ([4], 1)], groups=[(0,), (0,)], limit=[1])
    assert sorted(solve(given).place.tolist()) == [0, 1]


def test_pods_are_exchanged_when_that_empties_a_node() -> None:
    """Only together do the shapes fit: two wide and two tall pods on each of two nodes."""
    wide, tall = [4, 1], [1, 4]
    homes = [(wide, 0), (wide, 0), (tall, 1), (tall, 1), (wide, 2), (tall, 2), (wide, 2)]
    given = problem([[10, 10]] * 3, homes)
    found = solve(given)
    assert found.cost == cheapest(given)
    assert len(set(found.place.tolist())) == 2


def test_too_full_nodes_are_repaired_even_without_any_step() -> None:
    given = problem([[10], [10]], [([6], 0), ([6], 0), ([2], 1)])
    found = solve(given, steps=0)
    assert not given.broken(found.place).any()


def test_crowded_groups_are_repaired_even_without_any_step() -> None:
    given = problem([[10], [10]], [([1], 0), ([1], 0)], groups=[(0,), (0,)], limit=[1])
    found = solve(given, steps=0)
    assert not given.broken(found.place).any()


def test_what_cannot_be_repaired_is_left_and_the_bound_still_holds() -> None:
    given = problem([[10], [3]], [([6], 0), ([6], 0), ([2], 1)])
    found = solve(given)
    assert given.broken(found.place).tolist() == [True, False]
    assert found.bound <= found.cost


def test_nobody_leaves_for_those_who_cannot_move() -> None:
    given = problem([[-2], [10]], [([1], 0), ([1], 1)], always_open=[0, 1])
    assert solve(given).place.tolist() == [0, 1]


def test_no_pods_and_one_node_are_no_problem() -> None:
    assert solve(problem([[10]], [])).place.tolist() == []
    assert solve(problem([[10]], [([4], 0)])).place.tolist() == [0]


@pytest.mark.parametrize("seed", range(12))
def test_small_clusters_reach_the_optimum(seed: int) -> None:
    given = by_chance(seed, nodes=3, resources=2, fill=0.5)
    if given.pods > 9:
        given = by_chance(seed, nodes=3, resources=2, fill=0.35)
    found = solve(given, steps=1_500)
    assert found.cost == pytest.approx(cheapest(given), rel=0.02)


def test_the_same_seed_and_steps_give_the_same() -> None:
    given = by_chance(5, nodes=12, resources=3)
    one, other = solve(given, seed=3), solve(given, seed=3)
    assert one.place.tolist() == other.place.tolist()
    assert one.steps == other.steps


@pytest.mark.parametrize("asked", [0, 1, 7, 30, 90, 250])
def test_a_stop_gives_what_as_many_steps_give(asked: int) -> None:
    given = by_chance(8, nodes=15, resources=2)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > asked

    stopped = search(
        given,
        seed=0,
        steps=10_000,
        stop=stop,
        check=lambda place, _final: untangle_by_numbers(given, place),
    )
    again = solve(given, steps=stopped.steps)
    assert again.place.tolist() == stopped.place.tolist()
    assert again.steps == stopped.steps


@pytest.mark.parametrize("most", [0, 1, 3, 6, 10])
def test_no_more_moves_than_allowed_and_each_serves_an_emptied_node(most: int) -> None:
    given = by_chance(2, nodes=12, resources=2, fill=0.5)
    found = solve(given, most_moves=most)
    moves = int(np.count_nonzero(found.place != given.home))
    assert moves <= most
    emptied = nodes_in_use(given, given.home) - nodes_in_use(given, found.place)
    assert bool(emptied) == bool(moves)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    nodes=st.integers(1, 12),
    resources=st.integers(1, 5),
    fill=st.sampled_from([0.3, 0.7, 1.0, 1.3]),
    steps=st.sampled_from([0, 5, 60, 250]),
    most=st.sampled_from([0, 4, NO_LIMIT]),
)
def test_any_result_is_valid_and_not_below_the_bound(
    seed: int, nodes: int, resources: int, fill: float, steps: int, most: int
) -> None:
    instance = by_chance(seed, nodes=nodes, resources=resources, fill=fill)
    found = solve(instance, steps=steps, most_moves=most)
    before, after = instance.broken(instance.home), instance.broken(found.place)
    assert not (after & ~before).any()
    assert found.bound <= found.cost + 1e-6
    moves = int(np.count_nonzero(found.place != instance.home))
    assert moves <= most
    if not before.any():
        assert found.cost <= instance.cost(instance.home) + 1e-6
    carried = Order(instance, found.place, lambda _pod, _node: True, lambda _pod, _node: None)
    assert carried.run() == []
    assert len(carried.moves) == moves
