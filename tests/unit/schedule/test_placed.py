import numpy as np

from rescheduler.schedule import PlacedSince
from tests.unit.schedule.tables import MI, pod, table


def test_counts_until_a_table_has_heard_of_it() -> None:
    since = PlacedSince()
    before = table({"a": (0, 0), "b": (0, 0)}, taken_at=10.0)
    since.note(pod("one"), "a", before, 10.5)
    other = pod("other")
    assert since.on(before, besides=other).tolist() == [[100.0, 100.0 * MI], [0.0, 0.0]]
    soon = table({"b": (0, 0), "a": (0, 0)}, taken_at=11.0)
    assert since.on(soon, besides=other).tolist() == [[0.0, 0.0], [100.0, 100.0 * MI]]
    later = table({"a": (0, 0)}, taken_at=11.6)
    assert not since.on(later, besides=other).any()
    assert len(since) == 0


def test_who_has_arrived_is_not_counted_twice() -> None:
    """Of a fast burst, all that was placed in the last second would be."""
    since = PlacedSince()
    other = pod("other")
    first = table({"a": (0, 0), "b": (0, 0)}, taken_at=10.0)
    since.note(pod("one"), "a", first, 10.9)
    since.note(pod("two"), "b", first, 10.9)
    soon = table({"a": (100, 100), "b": (0, 0)}, arrived=["one", "unasked"], taken_at=11.0)
    assert since.on(soon, besides=other).tolist() == [[0.0, 0.0], [100.0, 100.0 * MI]]
    later = table({"a": (100, 100), "b": (100, 100)}, arrived=["two"], taken_at=11.5)
    assert not since.on(later, besides=other).any()
    assert len(since) == 0


def test_a_pod_that_is_asked_about_again_counts_once_and_not_for_itself() -> None:
    since = PlacedSince()
    known = table({"a": (0, 0), "b": (0, 0)}, taken_at=10.0)
    for node in ("a", "b"):
        since.note(pod("one"), node, known, 10.1)
    assert since.sum_on("a", known) == (0.0, 0.0)
    assert since.sum_on("b", known) == (100.0, 100.0 * MI)
    assert not since.on(known, besides=pod("one")).any()


def test_a_node_that_is_gone_and_many_pods() -> None:
    since = PlacedSince()
    known = table({"a": (0, 0)}, taken_at=10.0)
    since.note(pod("gone"), "elsewhere", known, 10.0)
    for number in range(10_005):
        since.note(pod(f"p{number}"), "a", known, 10.0)
    assert len(since) == 10_000
    assert np.isclose(since.sum_on("a", known)[0], 10_000 * 100.0)
