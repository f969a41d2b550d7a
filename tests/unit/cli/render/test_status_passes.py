"""Which records are of one pass."""

from typing import Any

from rescheduler.cli.render.status_passes import LastPass, last_passes
from tests.unit.migrate.documents import record


def made(of: str, phase: str = "Completed", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """By a pass that began then."""
    at = f"2026-01-01T00:{of}+00:00" if of else ""
    return dict(record(phase=phase, planned_at=at, **fields))


def told(each: LastPass) -> tuple[str, int, int, int]:
    return f"{each.at:%M:%S.%f}"[:-3], each.moves, each.moved, each.ended


def test_records_are_of_the_pass_that_they_name_whenever_they_were_made() -> None:
    """An early pass follows after a second, and the later waves of a plan after minutes."""
    passes = last_passes(
        [
            made("01:00.100", created="2026-01-01T00:01:00Z"),
            made("01:00.900", "InProgress", created="2026-01-01T00:01:01Z"),
            made("01:00.100", "Failed", created="2026-01-01T00:05:00Z"),
        ]
    )
    assert [told(each) for each in passes] == [("01:00.900", 1, 0, 0), ("01:00.100", 2, 1, 2)]


def test_what_a_maintenance_asks_for_is_of_a_pass_and_what_people_ask_for_is_not() -> None:
    """A label is seen by a pass; `migrate`, `retry`, kubectl and `drain` are of none of the
    controller's.
    """
    assert [told(each) for each in last_passes([made("01:00", asked=True)])] == [
        ("01:00.000", 1, 1, 1)
    ]
    assert last_passes([made(""), made("", asked=True), made("01:00", forced=True)]) == ()


def test_what_somebody_wrote_by_hand_is_of_no_pass() -> None:
    for words in ("yesterday", "2026-01-01T00:01:00"):
        assert last_passes([record(planned_at=words)]) == ()


def test_the_last_three_are_told() -> None:
    passes = last_passes([made(f"{minute:02}:00") for minute in range(9)])
    assert [each.at.minute for each in passes] == [8, 7, 6]
