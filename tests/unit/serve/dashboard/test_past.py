"""What the history counts of plans that are over."""

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
