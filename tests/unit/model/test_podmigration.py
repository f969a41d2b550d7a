"""What a record says, also one that a person wrote, or another version."""

from typing import Any

import pytest

from rescheduler.model import podmigration
from rescheduler.model.podmigration import Phase, Reason, Step, Way, reasons, retries


def record(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"metadata": {"name": "r"}, "spec": spec or {}, "status": status}


@pytest.mark.parametrize(
    ("spec", "asked"), [({}, True), ({"asked": True}, True), ({"asked": False}, False)]
)
def test_who_says_nothing_asks(spec: dict[str, Any], *, asked: bool) -> None:
    assert podmigration.is_asked(record(spec)) is asked


def test_what_is_left_out_has_its_default() -> None:
    bare: dict[str, Any] = {"metadata": {"name": "r"}}
    assert podmigration.phase_of(bare) is Phase.PENDING
    assert podmigration.attempt_of(bare) == 1
    assert podmigration.way_of(bare) is None
    assert podmigration.ended_at(bare) is None
    assert podmigration.pod_uid(bare) == podmigration.reason_of(bare) == ""
    assert podmigration.is_unfinished(bare)
    assert not podmigration.is_recreated(bare)
    assert not podmigration.is_taken_over(bare)


def test_what_another_version_wrote_is_under_way_and_a_refusal() -> None:
    assert podmigration.phase_of(record(phase="Paused")) is Phase.IN_PROGRESS
    assert reasons.known("Bored") is Reason.REFUSED


def test_steered_as_wanted_or_as_chosen() -> None:
    assert podmigration.is_recreated(record({"way": "Recreate"}))
    assert podmigration.is_recreated(record(way="Recreate"))
    assert not podmigration.is_recreated(record({"way": "Surge"}, way="Surge"))


@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("way", [None, *Way])
def test_only_a_copy_takes_over(step: Step, way: Way | None) -> None:
    is_so = step is Step.WAIT_GONE and way in (Way.SURGE, Way.COPY)
    assert podmigration.is_taken_over(record(step=step, way=way)) is is_so


@pytest.mark.parametrize("step", list(Step))
def test_no_step_is_both_before_and_after(step: Step) -> None:
    """Who has handed over has left nothing of the beginning, and starts no copy."""
    if step.has_handed_over:
        assert not any((step.is_beginning, step.is_before_the_end, step.is_ready_to_go))
    if step.is_nearly_done:
        assert not step.is_starting(Way.SURGE)
    if step.is_beginning:
        assert all(step.is_starting(way) for way in Way)


def test_what_gives_way_says_nothing_of_others() -> None:
    assert reasons.GAVE_WAY < reasons.OF_ITS_WORKLOAD
    assert Reason.BUDGET_REFUSED not in reasons.GAVE_WAY  # it may refuse every time


def test_a_rest_doubles_with_each_that_counts_and_three_times_for_the_others() -> None:
    def rests(reason: str, times: int) -> int:
        failed = [record({"pod": {"uid": "u"}, "attempt": times}, reason=reason)]
        return retries.failures(failed).doublings

    assert [rests("NotReadyInTime", times) for times in (1, 2, 5, 9)] == [0, 1, 4, 8]
    assert [rests("NotNow", times) for times in (1, 2, 4, 9)] == [0, 1, 3, 3]
    third = retries.Failures("uid", times=3, counted=3)
    assert 240.0 <= third.rest_seconds(60.0) <= 300.0


def test_what_is_gone_counts_as_the_oldest_that_is_there_and_what_is_forgiven_does_not() -> None:
    failed = [
        record({"attempt": 4}, reason="NotReadyInTime"),
        record({"attempt": 5}, reason="NotNow"),
    ]
    assert retries.failures(failed) == ("", 5, 4)
    assert retries.failures(failed, forgiven=3) == ("", 2, 1)
    assert retries.failures(failed, gives_way=lambda _: True).counted == 0
