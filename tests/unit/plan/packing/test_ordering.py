import numpy as np

from rescheduler.plan.packing.ordering import Order, settle, tidy, untangle_by_numbers
from rescheduler.plan.packing.problem import Problem, Whole
from tests.unit.plan.packing.problems import by_chance, problem, solve


def order(given: Problem, place: Whole) -> Order:
    return Order(given, place, lambda _pod, _node: True, lambda _pod, _node: None)


def test_who_waits_for_room_goes_when_it_is_there() -> None:
    given = problem([[10], [10], [10]], [([8], 0), ([8], 1)])
    carried = order(given, np.array([1, 2]))
    assert carried.run() == []
    assert carried.moves == [(1, 2), (0, 1)]


def test_a_circle_has_no_order() -> None:
    given = problem([[10], [10]], [([8], 0), ([9], 1)])
    carried = order(given, np.array([1, 0]))
    assert len(carried.run()) == 1


def test_in_a_circle_another_node_will_do() -> None:
    given = problem([[10], [10], [12]], [([8], 0), ([9], 1), ([1], 2)])
    carried = order(given, np.array([1, 0, 2]))
    assert carried.run() == []
    assert len(carried.moves) == 2


def test_who_waits_in_a_circle_changes_places_with_one_who_can_wait() -> None:
    """Nodes 0 and 1 exchange pods and have no room to; node 3 is emptied, and its pod is like
    one of them.
    """
    given = problem(
        [[10], [10], [8], [10]],
        [([8], 0), ([9], 1), ([8], 3)],
        allowed=[[0, 1, 2], [0, 1], [0, 1, 2]],
    )
    target = np.array([1, 0, 2])
    assert order(given, target).run()
    place, stuck = untangle_by_numbers(given, target)
    assert stuck == []
    assert place.tolist() == [2, 0, 1]


def test_each_move_of_an_order_fits_when_its_turn_comes() -> None:
    given = by_chance(11, nodes=20, resources=3)
    found = solve(given, steps=800)
    carried = order(given, found.place)
    assert carried.run() == []
    place = given.home.copy()
    broken_before = given.broken(place)
    for pod, node in carried.moves:
        both = given.used(place)
        both[node] += given.scaled_asks[given.kind[pod]]
        assert (both[node] <= given.scaled_capacity[node]).all()
        place[pod] = node
        assert not (given.broken(place) & ~broken_before).any()
    assert place.tolist() == found.place.tolist()


def test_a_refused_pod_stays_and_its_node_is_not_emptied() -> None:
    given = problem([[10], [10]], [([2], 0), ([3], 0), ([4], 1)])
    carried = Order(
        given, np.array([1, 1, 1]), lambda pod, _node: pod != 1, lambda _pod, _node: None
    )
    stuck = carried.run()
    assert stuck == [1]
    assert settle(given, np.array([1, 1, 1]), stuck).tolist() == [0, 0, 1]


def test_guests_go_home_when_their_room_is_needed() -> None:
    given = problem([[10], [10]], [([8], 0), ([9], 1), ([1], 0)])
    assert settle(given, np.array([1, 0, 0]), [0]).tolist() == [0, 1, 0]


def test_moves_without_a_purpose_are_taken_back() -> None:
    given = problem([[10], [10]], [([2], 0), ([3], 0), ([4], 1)])
    assert tidy(given, np.array([1, 0, 1])).tolist() == [0, 0, 1]
