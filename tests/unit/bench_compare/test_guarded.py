"""The figures and goals of scene (f) of `make compare` from results written by hand."""

from typing import Any

import pytest

from bench.compare import guarding
from bench.compare.guard_tables import figures, goals
from bench.compare.guarding import ALONE, GUARDED, LETTER, SCENARIOS
from bench.compare.running import Result, chosen

ONE_NODE, BUDGETS, TWO_NODES = SCENARIOS
BESIDE_OURS = f"kubectl drain {GUARDED}"


def result(contender: str, **other: Any) -> Result:  # noqa: ANN401
    plain: dict[str, Any] = {
        "scenario": ONE_NODE,
        "is_done": True,
        "workloads": 24,
        "pods": 42,
        "moved": 42,
        "ever_below": 0,
        "pod_seconds_missing": 0.0,
        "seconds": 10.0,
        "objects_changed": 0,
        "spread_before": 0.0,
        "spread_after": 0.0,
        "overloaded_before": 0,
        "overloaded_after": 0,
        "command_seconds": 15.04,
        "exit_code": 0,
    }
    return Result(contender=contender, **{**plain, **other})


def test_a_row() -> None:
    assert figures(result(BESIDE_OURS)) == (
        *("42 of 42", "0 of 24", "0.0"),
        *("10.0", "15.0 s", "0", "0"),
    )
    gave_up = result(ALONE, is_done=False, moved=0, command_seconds=None, exit_code=None)
    assert figures(gave_up)[3:6] == ("never", "did not end", "")


def test_goals_are_those_of_the_guarded() -> None:
    alone = result(ALONE, ever_below=24, seconds=8.0)
    [told] = goals([alone, result(BESIDE_OURS, seconds=10.0)])
    assert told.startswith(f"(f) {BESIDE_OURS}, {ONE_NODE.title}: ")
    assert "0 of 24 below, goal 0: yes" in told
    assert "exit code 0, goal 0: yes" in told
    assert "empty after 10.0 s, goal 10.0 s: yes" in told


@pytest.mark.parametrize(
    ("other", "missed"),
    [
        ({"ever_below": 1}, "1 of 24 below, goal 0: NO"),
        ({"moved": 41}, "all pods moved: NO"),
        ({"exit_code": 1}, "exit code 1, goal 0: NO"),
        ({"exit_code": None}, "exit code None, goal 0: NO"),
        ({"seconds": 10.1}, "empty after 10.1 s, goal 10.0 s: NO"),
    ],
    ids=str,
)
def test_what_is_missed_is_told(other: dict[str, Any], missed: str) -> None:
    [told] = goals([result(ALONE, seconds=8.0), result(BESIDE_OURS, **other)])
    assert missed in told
    assert told.count(": NO") == 1


def test_times_are_compared_with_the_same_scenario() -> None:
    """Who never emptied its node is nobody's measure."""
    refused = result(ALONE, scenario=BUDGETS, is_done=False)
    alone = result(ALONE, scenario=TWO_NODES, seconds=20.0)
    ours = [result(BESIDE_OURS, scenario=each) for each in (BUDGETS, TWO_NODES)]
    budgets, nodes = goals([refused, alone, *ours])
    assert "empty after" not in budgets
    assert "goal 25.0 s: yes" in nodes


def test_a_scene_is_chosen_by_its_letter() -> None:
    names = [contender for _, contender in chosen(LETTER, guarding.SCENARIOS)]
    assert names.count(ALONE) == names.count(BESIDE_OURS) == len(SCENARIOS)
    assert chosen("a", guarding.SCENARIOS) == []
    # A comma would part it from itself.
    assert not any("," in name for name in names)
