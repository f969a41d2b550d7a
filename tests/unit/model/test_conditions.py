"""Conditions in the status of an object."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.model import conditions

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z"}
NOT_SCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}


@pytest.mark.parametrize(
    ("raw", "holds"),
    [
        ({"status": {"conditions": [NOT_SCHEDULED, READY]}}, True),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False),
        ({"status": {"conditions": [NOT_SCHEDULED]}}, False),
        ({"status": {"conditions": None}}, False),
        ({"status": {}}, False),
        ({"status": None}, False),
        ({}, False),
    ],
    ids=["true", "false", "unknown", "absent", "null", "empty", "null-status", "no-status"],
)
def test_holds(raw: dict[str, Any], *, holds: bool) -> None:
    assert conditions.holds(raw, "Ready") is holds


def test_found_by_its_type() -> None:
    raw = {"status": {"conditions": [READY, NOT_SCHEDULED]}}
    assert conditions.find(raw, "PodScheduled") == NOT_SCHEDULED
    assert conditions.find(raw, "Initialized") is None


def test_since_when() -> None:
    raw = {"status": {"conditions": [READY, NOT_SCHEDULED]}}
    assert conditions.since(raw, "Ready") == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert conditions.since(raw, "PodScheduled") is None
    assert conditions.since(raw, "Initialized") is None
