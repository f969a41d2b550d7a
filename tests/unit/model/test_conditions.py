"""Conditions in the status of an object."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.model import conditions, names

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


LEFT = {"type": "Ready", "status": "False", "reason": names.LEAVING}
MOVING = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}


@pytest.mark.parametrize(
    ("ready", "labels", "has_left"),
    [
        pytest.param(LEFT, MOVING, True, id="by-our-hand"),
        pytest.param(LEFT, {}, False, id="nobody-moves-it"),
        pytest.param({**LEFT, "status": "True"}, MOVING, False, id="given-back"),
        pytest.param({**LEFT, "reason": "ContainersNotReady"}, MOVING, False, id="by-itself"),
        pytest.param(READY, MOVING, False, id="ready"),
    ],
)
def test_who_has_left_its_services(
    ready: dict[str, Any], labels: dict[str, str], *, has_left: bool
) -> None:
    pod = {"metadata": {"labels": labels}, "status": {"conditions": [NOT_SCHEDULED, ready]}}
    assert conditions.has_left(pod) is has_left
    assert conditions.is_well(pod) is (has_left or ready["status"] == "True")


def test_since_when_it_has_left() -> None:
    out = {"type": "Ready", "status": "False", "reason": names.LEAVING}
    told = {"lastProbeTime": "2026-01-01T00:00:00Z"}

    def pod(ready: dict[str, str]) -> dict[str, Any]:
        marked = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}
        return {"metadata": {"labels": marked}, "status": {"conditions": [ready]}}

    assert conditions.left_at(pod({**out, **told})) == datetime(2026, 1, 1, tzinfo=UTC)
    assert conditions.left_at(pod(out)) is None
    assert conditions.left_at(pod({**out, **told, "status": "True"})) is None
