"""Conditions in the status of an object."""

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
