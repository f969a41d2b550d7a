"""What does not run on both clusters is named, with its reason: see tests/cluster/only_real.py."""

from pathlib import Path

from tests.cluster.only_real import ONLY_REAL

TESTS = Path(__file__).parents[1]


def test_the_list_is_complete_and_true() -> None:
    there = {path.stem for path in (TESTS / "cluster").rglob("test_*.py")}
    assert set(ONLY_REAL) == there
    assert all(ONLY_REAL.values())


def test_no_scenario_leaves_a_cluster_out() -> None:
    """By the way pytest-asyncio has for it."""
    for path in (TESTS / "scenarios").glob("*.py"):
        assert "loop_factories=" not in path.read_text(), path
