"""Which records are of one pass."""

from typing import Any

from rescheduler.cli.render.status_passes import last_passes
from tests.unit.migrate.documents import record


def made(at: str, phase: str = "Completed", *, asked: bool = False) -> dict[str, Any]:
    ended = "2026-01-01T00:10:00Z" if phase in ("Completed", "Failed") else ""
    return dict(
        record(f"web-{at}", phase=phase, created=f"2026-01-01T00:{at}Z", ended=ended, asked=asked)
    )


def test_records_made_within_seconds_are_of_one_pass() -> None:
    passes = last_passes(
        [made("01:00"), made("01:04", "Failed"), made("02:00", "InProgress"), made("00:00")]
    )
    assert [(each.at.strftime("%M:%S"), each.moves, each.moved, each.ended) for each in passes] == [
        ("02:00", 1, 0, 0),
        ("01:00", 2, 1, 2),
        ("00:00", 1, 1, 1),
    ]


def test_what_people_ask_for_is_of_no_pass() -> None:
    assert last_passes([made("01:00", asked=True)]) == ()


def test_the_last_three_are_told() -> None:
    passes = last_passes([made(f"{minute:02}:00") for minute in range(9)])
    assert [each.at.minute for each in passes] == [8, 7, 6]
