"""What is learnt from the days before: of loads that repeat, and of no others."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from rescheduler.model.usage import HOURS, Ahead
from rescheduler.observe.usage.rhythms import SLOT_SECONDS, SLOTS, Rhythms

MIDNIGHT = 1_700_006_400.0
"""A whole number of days since 1970."""
DAY = 24 * 3600.0

Load = Callable[[float], float]
"""By hours since the first midnight: thousandths of a core."""


def daily(hours: float) -> float:
    """100 at night, 500 at noon."""
    return 300 - 200 * math.cos(2 * math.pi * hours / 24)


def learnt(load: Load, hours: float, *, days: int = 7, gap: range = range(0)) -> Rhythms:
    """Asked every ten minutes; in the hours of the gap nobody was there to ask."""
    rhythms = Rhythms(days)
    for step in range(round(hours * 6)):
        now = step / 6
        if int(now) not in gap:
            figures = np.array([[load(now), 1e6]])
            rhythms.add(["shop/Deployment/web"], figures, MIDNIGHT + 3600 * now)
    return rhythms


def ahead(rhythms: Rhythms, hours: float, cpu: float) -> Ahead | None:
    """Of two pods, one of the workload and one of none."""
    figures = np.array([cpu, cpu])
    at, memory = np.array([0, -1]), np.array([1e6, 1e6])
    now = MIDNIGHT + 3600 * hours
    return rhythms.ahead(["shop/Deployment/web"], at, figures, memory, now)


def test_a_load_that_repeats_is_foretold() -> None:
    found = ahead(learnt(daily, 48), 48, daily(48))
    assert found is not None
    assert found.days == 2
    expected = [daily(48 + hours) - daily(48) for hours in HOURS]
    assert found.cpu[:, 0] == pytest.approx(expected, abs=30)  # means of half an hour
    assert not found.cpu[:, 1].any()
    assert not found.memory.any()


def test_a_pod_that_uses_twice_as_much_does_so_all_day() -> None:
    rhythms = learnt(daily, 60)
    one, two = ahead(rhythms, 60, daily(60)), ahead(rhythms, 60, 2 * daily(60))
    assert one is not None
    assert two is not None
    assert two.cpu[:, 0] == pytest.approx(1.9 * one.cpu[:, 0], rel=0.06)


def test_nobody_uses_less_than_nothing() -> None:
    found = ahead(learnt(daily, 60), 60, 10)
    assert found is not None
    assert (found.cpu >= -10).all()


@pytest.mark.parametrize("hours", [1, 24, 41])
def test_most_of_two_days_have_to_pass(hours: float) -> None:
    assert ahead(learnt(daily, hours), hours, daily(hours)) is None


def test_most_of_two_days_are_enough() -> None:
    found = ahead(learnt(daily, 43), 43, daily(43))
    assert found is not None
    assert found.days == 2


def test_luck_is_no_rhythm() -> None:
    luck = random.Random(7)  # noqa: S311
    hourly = [luck.uniform(100, 500) for _ in range(24 * 7)]
    assert ahead(learnt(lambda hours: hourly[int(hours)], 24 * 7), 24 * 7, 300) is None


def test_a_peak_that_comes_at_another_time_each_day_is_no_rhythm() -> None:
    assert ahead(learnt(lambda hours: daily(hours + 7 * int(hours / 24)), 96), 96, 300) is None


def test_what_is_the_same_all_day_needs_no_rhythm() -> None:
    assert ahead(learnt(lambda _: 300.0, 72), 72, 300) is None


def test_a_rhythm_that_ends_is_given_up_within_hours() -> None:
    """At noon it does not rise."""
    changed = learnt(lambda hours: daily(hours) if hours < 102 else 300.0, 106)
    assert ahead(changed, 106, 300) is None
    assert ahead(learnt(daily, 106), 106, daily(106)) is not None


def test_it_is_given_up_by_the_whole_day_too() -> None:
    changed = learnt(lambda hours: daily(hours) if hours < 78 else 100.0, 97)
    assert ahead(changed, 97, 100) is None


def test_a_day_that_was_like_no_other_is_passed_over() -> None:
    def load(hours: float) -> float:
        return 1000.0 if int(hours / 24) == 2 else daily(hours)

    found, expected = ahead(learnt(load, 144), 144, daily(0)), ahead(learnt(daily, 144), 144, 100)
    assert found is not None
    assert expected is not None
    assert found.cpu == pytest.approx(expected.cpu)


def test_hours_that_nobody_saw_are_known_from_other_days() -> None:
    found = ahead(learnt(daily, 96, gap=range(60, 90)), 96, daily(96))
    assert found is None  # of the last 24 hours too little is known
    found = ahead(learnt(daily, 110, gap=range(60, 90)), 110, daily(110))
    assert found is not None
    expected = [daily(110 + hours) - daily(110) for hours in HOURS]
    assert found.cpu[:, 0] == pytest.approx(expected, abs=40)


def test_after_a_long_rest_nothing_is_known() -> None:
    rhythms = learnt(daily, 72)
    assert ahead(rhythms, 72 + 24 * 9, 300) is None
    rhythms.add(["shop/Deployment/web"], np.array([[1.0, 1.0]]), MIDNIGHT + DAY * 13)
    assert ahead(rhythms, 24 * 13 + 1, 300) is None


def test_workloads_that_are_gone_are_forgotten() -> None:
    rhythms = learnt(daily, 48, days=2)
    for hours in range(48, 24 * 6):
        rhythms.add(["shop/Deployment/other"], np.array([[1.0, 1.0]]), MIDNIGHT + 3600 * hours)
    assert rhythms.workloads == ["shop/Deployment/other"]


def test_unknown_figures_count_for_nothing() -> None:
    rhythms = learnt(daily, 48)
    rhythms.add(["shop/Deployment/web"], np.array([[np.nan, 1.0]]), MIDNIGHT + 48 * 3600)
    assert ahead(rhythms, 48.5, daily(48.5)) is not None


def test_what_others_remember_fills_what_we_did_not_see() -> None:
    rhythms, now = Rhythms(3), MIDNIGHT + 3 * DAY
    first = int(MIDNIGHT // SLOT_SECONDS)
    slots = list(range(first, first + 3 * SLOTS + 9))
    figures = np.array([daily((slot - first) / 2 + 0.25) for slot in slots])
    rhythms.fill("shop/Deployment/web", 0, slots, figures, now)
    found = ahead(rhythms, 72, daily(72))
    assert found is not None
    assert found.days == 3
    expected = [daily(72 + hours) - daily(72) for hours in HOURS]
    assert found.cpu[:, 0] == pytest.approx(expected, abs=40)


def test_what_we_saw_ourselves_counts_more() -> None:
    rhythms = learnt(daily, 48)
    expected = ahead(rhythms, 48, 100)
    first = int(MIDNIGHT // SLOT_SECONDS)
    wrong = np.full(2 * SLOTS, 7000.0)
    rhythms.fill(
        "shop/Deployment/web", 0, range(first, first + 2 * SLOTS), wrong, MIDNIGHT + 2 * DAY
    )
    found = ahead(rhythms, 48, 100)
    assert found is not None
    assert expected is not None
    assert found.cpu == pytest.approx(expected.cpu)


def test_it_says_whose_load_repeats() -> None:
    rhythms = learnt(daily, 72)
    assert rhythms.with_rhythm() == ["shop/Deployment/web"]
    assert learnt(lambda _: 300.0, 72).with_rhythm() == []
