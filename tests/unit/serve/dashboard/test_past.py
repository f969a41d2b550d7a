"""What the history counts of records and plans that are over."""

from typing import Any

import pytest

from bench.big_state import BigState
from tests.unit.serve.dashboard.shown import shown, view_of


def _plan(name: str, bounces: int | None) -> dict[str, Any]:
    observed: dict[str, Any] = {} if bounces is None else {"observed": {"verdict": "AsPredicted"}}
    if bounces:
        observed["observed"]["bounces"] = bounces
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulePlan",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"moves": []},
        "status": {"phase": "Completed", **observed},
    }


@pytest.mark.parametrize(
    ("bounces", "counted"), [((), None), ((None,), None), ((None, 0), 0), ((2, None, 1), 3)]
)
def test_pods_that_moved_again_are_counted_from_the_plans(
    bounces: tuple[int | None, ...], counted: int | None
) -> None:
    plans = {f"plan-{number}": _plan(f"plan-{number}", n) for number, n in enumerate(bounces)}
    with shown(view_of(BigState(4, 8), plans=plans)) as site:
        assert site.ask("history").json["bounces"] == counted


def test_moves_are_counted_from_the_records() -> None:
    """Who gave way to somebody else has not failed, and who has not ended is not counted."""
    said = [
        *[{"phase": "Completed"}] * 6,
        *[{"phase": "Failed", "reason": "CopyNotReady"}] * 2,
        {"phase": "Failed", "reason": "NotNow"},
        {"phase": "InProgress", "step": "WaitReady"},
        {"phase": "Pending"},
    ]
    records = {("shop", f"web-{n}"): _record(f"web-{n}", status) for n, status in enumerate(said)}
    with shown(view_of(BigState(4, 8), records=records)) as site:
        found = site.ask("history").json
    assert (found["moved"], found["failed"], found["gaveWay"]) == (6, 2, 1)
    assert found["successPercent"] == 75.0


def _record(name: str, status: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"namespace": "shop", "name": name, "uid": name},
        "spec": {"pod": {"name": name, "uid": f"of-{name}"}},
        "status": status,
    }
