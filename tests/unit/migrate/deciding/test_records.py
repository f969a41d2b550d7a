"""The record of a migration as a document: what is written is read back, and bad input is named."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.config import Migration, TemporaryBudget
from rescheduler.migrate.deciding import naming, records
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.migrate.deciding.records import InvalidRecord, MigrationStatus
from rescheduler.model import names, podmigration
from rescheduler.model.moves import Move, Way
from rescheduler.model.podmigration import Phase, Reason, Step
from tests.unit.migrate.documents import move, record

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC)


@given(st.text(alphabet="abcxyz0189-.", min_size=1, max_size=253), st.integers(1, 99))
def test_its_name_is_one_that_kubernetes_takes_and_that_a_label_holds(
    pod: str, attempt: int
) -> None:
    pod = "p" + pod
    name = naming.record_name(pod, "some-uid", attempt)
    assert len(name) <= 63
    assert name.endswith(f"-{attempt}")
    assert name.strip("-.") == name
    assert name == naming.record_name(pod, "some-uid", attempt)


def test_another_pod_or_attempt_has_another_record_and_another_id() -> None:
    cases = [("a", "1", 1), ("a", "1", 2), ("a", "2", 1)]
    assert len({naming.record_name(*each) for each in cases}) == 3
    assert len({naming.migration_id(uid, attempt) for _, uid, attempt in cases}) == 3


def test_what_is_asked_for_is_what_is_read() -> None:
    settings = replace(
        Migration(),
        ready_timeout_seconds=90.0,
        fallback="Never",
        temporary_budget=TemporaryBudget(max_unavailable="25%"),
    )
    asked = move(reason="cpu 91 %", asked=True, way=Way.RECREATE)
    body = records.build(asked, settings, attempt=2, group="abc", group_size=3)
    body["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
    intent = records.intent_of(json.loads(json.dumps(body)), Migration())
    assert (intent.pod, intent.uid, intent.source, intent.target) == (
        "web-1",
        "uid-of-web-1",
        "node-a",
        "node-b",
    )
    assert intent.way is podmigration.Way.RECREATE
    assert intent.may_recreate
    assert intent.asked
    assert (intent.attempt, intent.group, intent.group_size) == (2, "abc", 3)
    assert intent.reason == "cpu 91 %"
    assert intent.requested_at == NOW
    assert intent.settings == settings


def _read(asked: Move) -> Intent:
    body = records.build(asked, Migration(), attempt=1)
    body["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
    return records.intent_of(json.loads(json.dumps(body)), Migration())


def test_the_record_says_which_pass_decided_it_and_a_further_attempt_by_hand_does_not() -> None:
    body = records.build(move(planned_at="2026-01-02T03:04:05+00:00"), Migration(), attempt=1)
    assert podmigration.pass_of(body) == "2026-01-02T03:04:05+00:00"
    assert podmigration.pass_of(records.again(body)) == ""
    assert podmigration.pass_of(records.build(move(), Migration(), attempt=1)) == ""


def test_what_a_command_forces_travels_with_the_record() -> None:
    assert "forced" not in records.build(move(asked=True), Migration(), attempt=1)["spec"]
    assert not _read(move(asked=True)).forced
    assert _read(move(asked=True, forced=True)).forced


def test_how_one_that_is_not_ready_moves_is_chosen_when_its_turn_comes() -> None:
    intent = _read(move(asked=True, way=Way.RECREATE, is_ready=False))
    assert (intent.way, intent.may_recreate) == (None, False)


def test_a_migration_keeps_the_settings_of_when_it_was_asked_for() -> None:
    asked = record()
    now = replace(Migration(), ready_timeout_seconds=1.0, workers=77)
    settings = records.intent_of(asked, now).settings
    assert settings.ready_timeout_seconds == Migration().ready_timeout_seconds
    assert settings.workers == 77


def test_a_person_may_leave_out_what_has_a_default() -> None:
    written = {
        "metadata": {
            "name": "mine",
            "namespace": "shop",
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {"pod": {"name": "web-1", "uid": "u"}, "target": "node-b"},
    }
    settings = replace(Migration(), settle_seconds=7.0)
    intent = records.intent_of(written, settings)
    assert intent.settings == settings
    assert intent.way is None
    assert not intent.may_recreate
    assert intent.strategy == "Manual"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": "node-a"}, "spec.target"),
        ({"settings": {"readyTimeout": "soon"}}, "spec.settings.readyTimeout"),
        ({"settings": {"readyTimeOut": "5m"}}, "readyTimeout"),
        ({"settings": {"fallback": "Pray"}}, "spec.settings.fallback"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(change: dict[str, object], said: str) -> None:
    wrong = record()
    wrong["spec"] |= change
    with pytest.raises(InvalidRecord, match=said):
        records.intent_of(wrong, Migration())


def test_again_is_the_same_request_with_the_next_attempt() -> None:
    first = record(group="g", group_size=2, phase="Failed")
    second = records.again(first)
    assert second["spec"]["attempt"] == 2
    assert "group" not in second["spec"]
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert second["metadata"]["labels"] == {names.POD_UID: "uid-of-web-1"}
    same = {"attempt", "group"}
    assert {k: v for k, v in second["spec"].items() if k not in same} == {
        k: v for k, v in first["spec"].items() if k not in same
    }


STATUS = MigrationStatus(
    phase=Phase.IN_PROGRESS,
    step=Step.WAIT_READY,
    way=podmigration.Way.SURGE,
    message="the copy is not Ready",
    started_at=NOW,
    owner=Owner("apps/v1", "ReplicaSet", "web", "rs"),
    old_node="node-a",
    new_pod="web-x",
    new_uid="n",
    new_node="node-b",
    budget="web-rescheduler-pdb",
    siblings=("a", "b"),
    fallback="NotServed",
    holder="me",
    fence=4,
)


def test_a_status_is_read_back() -> None:
    before = record()
    document = records.status_document(before, STATUS, NOW)
    assert records.read_status({**before, "status": document}) == STATUS
    assert records.read_status(before) == MigrationStatus()


def test_who_resumes_goes_on_taking_back() -> None:
    giving_up = replace(STATUS, step=Step.TAKE_BACK, reason=Reason.COPY_FAILED, message="no")
    document = records.status_document(record(), giving_up, NOW)
    found = records.read_status({**record(), "status": document})
    assert found.giving_up == Outcome(moved=False, reason=Reason.COPY_FAILED, message="no")
    assert STATUS.giving_up is None


def test_times_of_step_and_condition_change_only_with_them() -> None:
    first = {**record(), "status": records.status_document(record(), STATUS, NOW)}
    same = records.status_document(first, replace(STATUS, message="else"), LATER)
    assert same["stepTime"] == "2026-01-02T03:04:05Z"
    assert same["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:05Z"
    ended = replace(
        STATUS, step=Step.DONE, phase=Phase.COMPLETED, reason="Completed", ended_at=LATER
    )
    other = records.status_document(first, ended, LATER)
    assert other["stepTime"] == "2026-01-02T03:05:00Z"
    [condition] = other["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "Completed")
    assert condition["lastTransitionTime"] == "2026-01-02T03:05:00Z"


def test_long_texts_are_cut() -> None:
    document = records.status_document(record(), replace(STATUS, message="x" * 5000), NOW)
    assert len(document["message"]) == 1024
    assert len(
        records.build(move(reason="y" * 5000), Migration(), attempt=1)["spec"]["reason"]
    ) == (1024)


@pytest.mark.parametrize(
    ("phase", "unfinished"),
    [("", True), ("Pending", True), ("InProgress", True), ("Completed", False), ("Failed", False)],
)
def test_what_is_unfinished(phase: str, *, unfinished: bool) -> None:
    assert podmigration.is_unfinished(record(phase=phase)) is unfinished
