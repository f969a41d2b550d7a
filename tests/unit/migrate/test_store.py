"""All records, whoever wrote them."""

from typing import Any, cast

from rescheduler.clock import SystemClock
from rescheduler.kube import KubeApi
from rescheduler.migrate.store import Store
from tests.unit.migrate.documents import record


def store() -> Store:
    return Store(cast("KubeApi", None), SystemClock(), lambda: None)


def test_a_record_that_cannot_be_read_is_left_alone() -> None:
    known = store()
    wrong: list[dict[str, Any]] = [
        {"step": "Jump"},
        {"method": "Fly"},
        {"startTime": "soon"},
        {"owner": "me"},
    ]
    for number, status in enumerate(wrong):
        known.learn(record(f"p{number}", status=status))
    assert list(known.all()) == []
    half = record("half", status={"phase": "InProgress", "owner": {"uid": "u"}})
    known.learn(half)
    assert list(known.all()) == [half]


def test_the_end_of_a_namesake_does_not_remove_its_successor() -> None:
    known, before, now = store(), record("a"), record("a")
    now["metadata"]["uid"] = "another"
    known.learn(now)
    known.forget(before)
    assert known.has(now)
    known.forget(now)
    assert not known.has(now)
