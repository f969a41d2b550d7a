"""What more moves would gain, as people read it."""

import pytest

from rescheduler.cli.render.curve_tables import as_text
from rescheduler.cli.render.layout import Page
from rescheduler.plan.curve import Curve, Point


def point(limit: int, moves: int, cpu: float, hot: int = 0, **by_strategy: int) -> Point:
    return Point(
        limit=limit,
        moves=moves,
        asked=0,
        by_strategy=by_strategy,
        imbalances={"cpu": cpu, "memory": 8.0},
        overloaded=hot,
    )


NOW = point(0, 0, 80.0, 2)


def drawn(*points: Point, page: Page | None = None, chosen: int | None = 2, **how: int) -> str:
    found = Curve(
        now=NOW,
        points=points,
        chosen=chosen,
        in_flight=how.get("in_flight", 0),
        is_whole=not how.get("cut", 0),
        word="usage",
    )
    return as_text(found, page or Page(), about="3 nodes")


def test_a_row_for_each_limit_and_the_one_in_force_is_marked() -> None:
    said = drawn(
        point(1, 1, 40.0, 1, ResourceOptimization=1),
        point(2, 2, 20.0, 0, ResourceOptimization=1, LoadBalancing=1),
    )
    heading, table, picture, notes = said.split("\n\n")
    assert heading.startswith("3 nodes: what moves would gain (loads by usage), each limit planned")
    assert [line.split(maxsplit=7) for line in table.splitlines()[1:]] == [
        ["now", "0", "80.0", "8.0", "2", "0", "0"],
        ["1", "1", "40.0", "8.0", "1", "1", "0"],
        ["2", "2", "20.0", "8.0", "0", "1", "1", "in force"],
    ]
    assert picture.splitlines() == [
        "cpu imbalance    |███ ▄▄▄ ▂▂▂| 80.0 → 20.0",
        "memory imbalance |███ ███ ███| 8.0 → 8.0",
        "overloaded       |███ ▄▄▄    | 2.0 → 0.0",
        "                  now  1   2",
        "                           ^",
    ]
    assert notes == "Note: the limit of 2 is not reached: nothing more would be moved\n"


def test_on_a_terminal_without_blocks() -> None:
    said = drawn(point(1, 1, 40.0, LoadBalancing=1), page=Page(plain=True))
    assert "cpu imbalance    |@@@ ===| 80.0 -> 40.0" in said
    assert said.isascii()


@pytest.mark.parametrize("width", [40, 60, 100])
def test_on_a_narrow_terminal_names_give_way(width: int) -> None:
    said = drawn(point(1, 1, 40.0, ResourceOptimization=1, LoadBalancing=1), page=Page(width=width))
    assert "40.0" in said
    assert ("ResourceOptimization" in said) == (width == 100)


def test_the_default_is_marked_beside_another_that_is_in_force() -> None:
    lines = drawn(point(2, 2, 40.0), point(10, 10, 20.0)).splitlines()
    assert lines[4].endswith("  in force")
    assert lines[5].endswith("  the default")
    assert drawn(point(10, 10, 20.0), chosen=10).splitlines()[4].endswith("in force, the default")


def test_what_else_is_to_be_known() -> None:
    said = drawn(point(1, 1, 40.0), chosen=None, cut=1, in_flight=3)
    assert "the limit of 1 is reached: more would be moved" in said
    assert "maxReschedulePods is 0, no limit" in said
    assert "3 moves of earlier passes count against every limit" in said


def test_nothing_to_move() -> None:
    assert drawn(point(1, 0, 80.0)).startswith(
        "3 nodes: nothing to move, whatever maxReschedulePods is\n"
    )
