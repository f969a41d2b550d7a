"""Alike happenings are one Event that counts; of one object not too many are told."""

from datetime import UTC, datetime

from rescheduler.controller.events.happenings import NORMAL, Happening, Regarding
from rescheduler.controller.events.ledger import Ledger, body_of

NOW = datetime(2026, 11, 18, 3, 0, 0, tzinfo=UTC)


def happening(message: str = "moved", uid: str = "1", namespace: str = "shop") -> Happening:
    pod = Regarding(api_version="v1", kind="Pod", namespace=namespace, name="web-0", uid=uid)
    return Happening(regarding=pod, type=NORMAL, reason="Moved", message=message)


def test_alike_ones_are_told_once_in_a_while() -> None:
    ledger = Ledger()
    assert ledger.admits(happening(), 0.0)
    assert not ledger.admits(happening(), 1.0)
    assert ledger.admits(happening("another"), 1.0)
    assert ledger.admits(happening(), 900.0)
    assert not ledger.admits(happening(), 1000.0)


def test_one_that_could_not_be_written_is_told_again() -> None:
    ledger = Ledger()
    assert ledger.admits(happening(), 0.0)
    ledger.forget(happening())
    assert ledger.admits(happening(), 1.0)


def test_of_one_object_a_few_and_later_more() -> None:
    ledger = Ledger()
    assert sum(ledger.admits(happening(str(each)), 0.0) for each in range(100)) == 25
    assert ledger.admits(happening("x", uid="2"), 0.0)
    assert ledger.admits(happening("late"), 300.0)
    assert not ledger.admits(happening("later"), 301.0)


def test_memory_is_bounded() -> None:
    ledger = Ledger()
    for each in range(10_000):
        ledger.admits(happening(str(each), uid=str(each)), 0.0)
    assert len(ledger._told_at) == len(ledger._tokens) == 2000  # noqa: SLF001


def test_an_event_is_on_its_object() -> None:
    body = body_of(happening(), NOW)
    assert body["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web-0",
        "uid": "1",
    }
    assert body["metadata"]["namespace"] == "shop"
    assert body["firstTimestamp"] == body["lastTimestamp"] == "2026-11-18T03:00:00Z"
    assert body_of(happening("another"), NOW)["metadata"]["name"] != body["metadata"]["name"]


def test_what_is_in_no_namespace_has_its_events_in_the_default_one() -> None:
    body = body_of(happening(namespace=""), NOW)
    assert body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["involvedObject"]
