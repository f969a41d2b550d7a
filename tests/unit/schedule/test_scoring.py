from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler import schedule
from rescheduler.schedule import Newcomer, NodeTable, Rules, Scored, Steering
from tests.unit.schedule.tables import RULES, nothing, of_kind, pod, table


def scored(
    known: NodeTable, asking: Newcomer | None = None, rules: Rules = RULES, *more: str
) -> Scored:
    names = [*known.names, *more]
    return schedule.scored(
        known, rules, asking or pod(cpu=0.001, memory=0.001), names, nothing(known)
    )


def test_the_emptier_the_better() -> None:
    known = table({"empty": (0, 0), "half": (500, 500), "full": (1000, 1000)})
    assert list(scored(known).scores) == [10, 2, 0]
    near = table({"a": (500, 500), "b": (560, 560), "c": (620, 620)})
    assert list(scored(near).scores) == [10, 9, 8]
    assert scored(known).best == 0


def test_weights() -> None:
    known = table({"cpu": (1000, 0), "memory": (0, 1000)})
    plain = replace(RULES, balance_bonus=0.0)
    assert list(scored(known, None, plain).scores) == [10, 10]
    assert list(scored(known, None, replace(plain, cpu_weight=3.0)).scores) == [0, 10]
    assert list(scored(known, None, replace(plain, memory_weight=0.0)).scores) == [0, 10]


def test_the_bonus_is_for_balance() -> None:
    known = table({"even": (500, 500), "uneven": (1000, 0)})
    assert list(scored(known, None, replace(RULES, balance_bonus=0.0)).scores) == [10, 10]
    assert list(scored(known, None, replace(RULES, balance_bonus=10.0)).scores) == [10, 0]


def test_unknown_load_is_judged_by_requests_and_an_unknown_node_as_most() -> None:
    nan = float("nan")
    known = table({"a": (nan, nan), "b": (0, 0)}, requested={"a": (1000, 1000)})
    assert list(scored(known).scores) == [0, 10]
    three = table({"a": (0, 0), "b": (500, 500), "c": (1000, 1000)})
    assert list(scored(three, None, RULES, "new").scores) == [10, 2, 0, 2]


def test_a_burst_of_pods_that_ask_for_nothing_spreads() -> None:
    """Where a table is older than the burst."""
    known = table(
        {"a": (0, 0), "b": (0, 0), "c": (0, 0)}, capacity=(4000.0, float(2**33)), taken_at=10.0
    )
    since = schedule.PlacedSince()
    chosen = []
    for number in range(9):
        asking = pod(f"web-{number}", cpu=0, memory=0)
        found = schedule.scored(known, RULES, asking, known.names, since.on(known, besides=asking))
        assert found.best is not None
        chosen.append(known.names[found.best])
        since.note(asking, chosen[-1], known, 10.1)
    assert sorted(chosen) == [*"aaabbbccc"]


# ---------------------------------------------------------------------- steering

STEERING = Steering(pod="db-0", keeps_name=True, source="a", target="c")


def test_the_target_before_all_others() -> None:
    known = table({"a": (0, 0), "b": (0, 0), "c": (900, 900)}, steering={"owner": [STEERING]})
    found = scored(known, pod("db-0"))
    assert list(found.scores) == [0, 0, 10]
    assert found.is_steered
    assert scored(known, pod("db-1")).is_steered is None


def test_a_target_that_was_not_asked_about_is_counted_and_the_source_comes_last() -> None:
    known = table({"a": (0, 0), "b": (1000, 1000), "d": (500, 500)}, steering={"owner": [STEERING]})
    found = scored(known, pod("db-0"))
    assert found.is_steered is False
    assert found.scores[0] == 0
    assert min(found.scores[1:]) >= 1
    assert found.best == 2


@pytest.mark.parametrize("kind", ["belongs_to_its_node", "is_copy"])
def test_who_has_no_choice_makes_no_difference(kind: str) -> None:
    known = table({"a": (990, 0), "b": (0, 0)})
    found = scored(known, of_kind(kind))
    assert list(found.scores) == [0, 0]
    assert found.best is None


AMOUNTS = st.floats(0, 5000) | st.just(float("nan"))


@given(
    used=st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=6),
    cpu=st.floats(0, 9999),
    bonus=st.floats(0, 10),
    cpu_weight=st.floats(0.01, 100),
)
def test_scores_are_whole_and_within_bounds(
    used: list[tuple[float, float]], cpu: float, bonus: float, cpu_weight: float
) -> None:
    known = table({f"n{number}": each for number, each in enumerate(used)})
    rules = replace(RULES, balance_bonus=bonus, cpu_weight=cpu_weight)
    found = scored(known, pod(cpu=cpu), rules, "unheard-of")
    assert all(type(each) is int and 0 <= each <= schedule.MOST for each in found.scores)
    assert len(found.scores) == len(used) + 1
