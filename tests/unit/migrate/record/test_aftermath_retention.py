"""Which records have been kept for long enough."""

from datetime import UTC, datetime
from typing import Any

from rescheduler.config import Retention
from rescheduler.migrate.record.aftermath import outdated
from tests.unit.migrate.documents import record

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
RECORDS = [
    record("old", phase="Completed", ended="2026-01-01T09:00:00Z"),
    record("young", phase="Failed", ended="2026-01-01T11:59:00Z"),
    record("middle", phase="Completed", ended="2026-01-01T11:00:00Z"),
    record("running", phase="InProgress", created="2025-01-01T00:00:00Z"),
    record("waiting", created="2025-01-01T00:00:00Z"),
]


def names(limits: Retention) -> list[str]:
    return sorted(each["spec"]["pod"]["name"] for each in outdated(RECORDS, limits, NOW))


def test_by_age() -> None:
    assert names(Retention(max_age_seconds=7200.0, max_count=100)) == ["old"]


def test_by_number_the_oldest_go() -> None:
    assert names(Retention(max_age_seconds=1e6, max_count=1)) == ["middle", "old"]


def test_what_is_unfinished_stays_whatever_its_age() -> None:
    assert names(Retention(max_age_seconds=0.0, max_count=0)) == ["middle", "old", "young"]


def test_who_ended_before_the_rest_of_its_group_stays_until_they_have() -> None:
    ended = record("a", phase="Completed", ended="2026-01-01T09:00:00Z", group="g", group_size=2)
    rest = record("b", phase="InProgress", group="g", group_size=2)
    limits = Retention(max_age_seconds=0.0, max_count=0)
    assert outdated([ended, rest], limits, NOW) == []
    rest["status"] |= {"phase": "Completed", "completionTime": "2026-01-01T11:00:00Z"}
    assert len(outdated([ended, rest], limits, NOW)) == 2


def test_age_does_not_forget_whom_a_controller_that_we_do_not_know_never_made_anew() -> None:
    def lost(kind: str, version: str) -> dict[str, Any]:
        owner = {"apiVersion": version, "kind": kind, "name": "db", "uid": "u"}
        status = {"reason": "ReplacementNotReady", "owner": owner}
        return record("db-0", phase="Failed", ended="2026-01-01T09:00:00Z", status=status)

    known, foreign = lost("StatefulSet", "apps/v1"), lost("StatefulSet", "apps.kruise.io/v1beta1")
    by_age = Retention(max_age_seconds=60.0, max_count=100)
    assert outdated([known, foreign], by_age, NOW) == [known]
    by_number = Retention(max_age_seconds=60.0, max_count=0)
    assert outdated([foreign], by_number, NOW) == [foreign]


def test_a_flood_that_came_to_nothing_does_not_wash_away_what_was_done() -> None:
    moved = record("moved", phase="Completed", ended="2026-01-01T09:00:00Z")
    taken_back = record(
        "back",
        phase="Failed",
        ended="2026-01-01T08:00:00Z",
        status={"newPod": {"name": "b", "uid": "u"}},
    )
    flood = [
        record(f"no-{n}", phase="Failed", ended="2026-01-01T11:00:00Z", asked=True)
        for n in range(5)
    ]
    limits = Retention(max_age_seconds=1e6, max_count=3)
    gone = outdated([moved, taken_back, *flood], limits, NOW)
    assert len(gone) == 4
    assert moved not in gone
    assert taken_back not in gone
