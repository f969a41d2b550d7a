"""What becomes of plans is counted, and told by Events, once and by one word."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rescheduler.controller.events import Regarding
from rescheduler.controller.events.happenings import WARNING, Happening
from rescheduler.controller.plan_counts import PlanCounts
from rescheduler.controller.plans import Tidings
from rescheduler.controller.plans.tidings import what_became
from rescheduler.model.published import Now, Role
from rescheduler.model.reschedule_plan import Cause, Failing
from rescheduler.serve import Board

OURSELVES = Regarding(
    api_version="v1", kind="Lease", namespace="kube-system", name="rescheduler", uid=""
)


def plan(origin: str = "Pass", **status: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "metadata": {"name": "pass-1", "namespace": "kube-system", "uid": "u"},
        "spec": {"origin": origin, "summary": "evens out", "moves": [{"uid": "1"}, {"uid": "2"}]},
        "status": status,
    }


WAITS = plan(phase="Waiting", reason="NeedsApproval")
BY_ITSELF = plan(phase="Running", reason="ByItself")
YES = {"decision": "approved", "by": "ann"}


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [
        (plan(), WAITS, "proposed"),
        (WAITS, plan(phase="Waiting", reason="DryRun"), ""),
        (plan("Apply"), plan("Apply", phase="Waiting", reason="NeedsApproval"), ""),
        (WAITS, plan(phase="Running", reason="Approved", approval=YES), "approved"),
        (plan(), BY_ITSELF, ""),
        (BY_ITSELF, plan(phase="Completed", reason="AllMoved"), "completed"),
        (BY_ITSELF, plan(phase="Completed", reason="SomeMoved"), "incomplete"),
        (WAITS, plan(phase="Rejected", reason="Rejected"), "rejected"),
        (WAITS, plan(phase="Expired", reason="Expired"), "expired"),
        (WAITS, plan(phase="Superseded", reason="NewerPlan"), "superseded"),
        (BY_ITSELF, BY_ITSELF, ""),
    ],
)
def test_each_is_told_in_one_word(
    before: dict[str, Any], after: dict[str, Any], event: str
) -> None:
    assert what_became(before, after) == event
    told: list[Happening] = []
    board = Board([])
    Tidings(PlanCounts(board.record), told.extend).stood(before, after)
    assert counted(board, "rescheduler_plans_total", event=event) == (1.0 if event else None)
    assert [each.reason for each in told] == ([f"Plan{event.capitalize()}"] if event else [])
    for each in told:
        assert each.regarding.kind == "ReschedulePlan"
        assert (each.type == WARNING) == (event in ("expired", "incomplete"))
        assert each.message


def counted(board: Board, name: str, **labels: str) -> float | None:
    for family in text_string_to_metric_families(board.metrics().decode()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value or None
    return None


def test_how_wrong_predictions_were_is_counted_by_strategy() -> None:
    board = Board([])
    counts = PlanCounts(board.record)
    tidings = Tidings(counts)
    known = {"name": "LoadBalancing", "judged": 2, "error": "12.5", "failed": True}
    nobody = {"name": "TopologySpread", "judged": 0, "error": "0.0", "failed": False}
    tidings.observed(plan(), {"strategies": [known, nobody]})
    tidings.bounced(3)
    total = "rescheduler_prediction_error_ratio_sum"
    assert counted(board, total, strategy="LoadBalancing") == 0.125
    assert counted(board, total, strategy="TopologySpread") is None
    assert counted(board, "rescheduler_bounced_pods_total") == 3.0


def test_who_is_wrong_again_and_again_is_told_once_and_shown_as_long_as_it_is_so() -> None:
    told: list[Happening] = []
    board = Board([])
    counts = PlanCounts(board.record)
    tidings = Tidings(counts, told.extend, OURSELVES)
    failing = {
        "LoadBalancing": Failing(strategy="LoadBalancing", failed=3, of=5, cause=Cause.LOAD_CHANGED)
    }
    for _ in range(3):
        tidings.failing(failing)
    [event] = told
    assert (event.reason, event.type, event.regarding) == ("PredictionsFail", WARNING, OURSELVES)
    assert "usage moves with the time of day" in event.message
    board.publish(Now(role=Role.LEADING, plans=counts.now))
    gauge = "rescheduler_predictions_failing"
    assert counted(board, gauge, strategy="LoadBalancing") == 1.0
    assert counted(board, gauge, strategy="TopologySpread") is None
    tidings.failing({})
    assert not any(counts.now.failing.values())


def test_those_that_wait_for_a_word_are_counted() -> None:
    counts = PlanCounts(Board([]).record)
    waits = plan(phase="Waiting", reason="OutsideWindow")
    Tidings(counts).known([WAITS, waits, BY_ITSELF])
    assert counts.now.waiting == 1
