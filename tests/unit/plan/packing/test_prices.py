import numpy as np
import pytest

from rescheduler.plan.packing.knapsack import Table, chunks_of, make_grid
from rescheduler.plan.packing.prices import find_prices
from rescheduler.plan.packing.simplex import Master
from tests.unit.plan.packing.problems import by_chance, cheapest, problem


def never() -> bool:
    return False


def test_the_master_finds_the_cheapest_cover() -> None:
    """Two items, and two columns: one has both for 3, one has the first alone for 1."""
    master = Master(np.array([4.0, 2.0]), np.array([10.0]), np.array([50.0, 50.0]))
    assert master.offer(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([3.0, 1.0]))
    value, rent = master.solve(never)
    assert master.objective == pytest.approx(8, rel=1e-5)
    assert value == pytest.approx([1, 2], rel=1e-5)
    assert rent == pytest.approx([0], abs=1e-9)


def test_the_knapsack_keeps_to_copies_and_tells_what_it_took() -> None:
    grid = make_grid(np.array([[10]]), np.array([[4], [3]]), np.array([5.0, 5.0]), 1_000)
    asks, copies = np.array([[4.0], [3.0]]), np.array([1, 5])
    table = Table(grid, chunks_of(grid, asks, copies, [0, 1], down=True))
    value = table.fill(np.array([9.0, 4.0]))
    assert value[10] == 17
    assert table.patterns(np.array([10]), 2).tolist() == [[1], [2]]


def test_pods_that_fit_two_by_two_need_half_as_many_nodes() -> None:
    given = problem([[10]] * 6, [([5], node) for node in range(6)])
    assert find_prices(given, 50, never).bound == pytest.approx(300, rel=1e-4)


def test_the_bound_knows_limits_of_groups() -> None:
    pods = [([1], node) for node in range(6)]
    given = problem([[10]] * 6, pods, groups=[(0,)] * 6, limit=[2])
    assert find_prices(given, 50, never).bound == pytest.approx(300, rel=1e-4)


@pytest.mark.parametrize("rounds", [0, 1, 60])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_never_above_the_optimum(seed: int, rounds: int) -> None:
    given = by_chance(seed, nodes=3, resources=2, fill=0.35)
    assert find_prices(given, rounds, never).bound <= cheapest(given)


def test_sizes_beyond_counting_are_grouped_and_the_bound_holds() -> None:
    chance = np.random.default_rng(1)
    pods = [
        (chance.integers(1_000_003, 9_000_017, 2).tolist(), node)
        for node in range(60)
        for _ in "ab"
    ]
    given = problem([[40_000_001, 40_000_003]] * 60, pods)
    prices = find_prices(given, 60, never)
    least = given.asks.sum(axis=0).max() / 40_000_003 * 100
    assert least * 0.98 <= prices.bound
    assert prices.bound <= 100 * 60
