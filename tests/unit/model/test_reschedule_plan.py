"""What becomes of a plan: by people's words, by time, by how its moves stand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rescheduler.model import names, reschedule_plan
from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan
from rescheduler.model.reschedule_plan import (
    Decision,
    Gains,
    Made,
    Origin,
    Phase,
    Progress,
    Reason,
    Standing,
    State,
)

NOW = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)
HOUR = 3600.0


def move(number: int = 1, **fields: Any) -> Move:  # noqa: ANN401
    known: dict[str, Any] = {
        "namespace": "shop",
        "pod": f"web-{number}",
        "uid": f"uid-{number}",
        "source": "a",
        "target": "b",
        "strategy": "LoadBalancing",
        "reason": "cpu 80 % to 60 %",
    }
    return Move(**known | fields)


def plan(
    *moves: Move,
    said: str = "",
    age: float = 0.0,
    origin: Origin = Origin.PASS,
    **status: Any,  # noqa: ANN401
) -> dict[str, Any]:
    made = Made(origin=origin, mode="Approve", at=NOW)
    found = reschedule_plan.build("kube-system", moves or (move(),), Gains(summary="why"), made)
    created = NOW - timedelta(seconds=age)
    found["metadata"] |= {
        "uid": f"plan-{age}",
        "creationTimestamp": f"{created:%Y-%m-%dT%H:%M:%SZ}",
        "annotations": {names.APPROVAL: said} if said else {},
        "generation": 1,
    }
    return {**found, "status": status} if status else found


def record(phase: str, uid: str = "uid-1", **status: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "metadata": {"name": f"m-{uid}", "namespace": "shop", "labels": {}},
        "spec": {"pod": {"name": "web-1", "uid": uid}, "source": "a", "target": "b"},
        "status": {"phase": phase, **status},
    }


def waiting(found: dict[str, Any], **more: Any) -> Standing:  # noqa: ANN401
    given: dict[str, Any] = {
        "now": NOW,
        "expire_after_seconds": HOUR,
        "newest": found,
        "moves_pods": True,
    }
    return reschedule_plan.of_waiting(found, **given | more)


# ------------------------------------------------------------------ what is written


def test_the_same_moves_in_the_same_moment_have_the_same_name() -> None:
    assert reschedule_plan.name_of(plan()) == reschedule_plan.name_of(plan())
    others = (plan(move(2)), plan(move(target="c")), plan(origin=Origin.UNDO))
    assert len({reschedule_plan.name_of(each) for each in (plan(), *others)}) == 4
    assert reschedule_plan.name_of(plan()).startswith("pass-20261118-093000-")


def test_moves_come_back_as_they_were_written() -> None:
    written = move(wave=2, group="g", asked=True)
    [read] = reschedule_plan.moves_of(plan(written))
    assert read.plan
    assert (read.uid, read.source, read.target, read.wave, read.group, read.asked) == (
        ("uid-1", "a", "b", 2, "g", True)
    )


@pytest.mark.parametrize(
    ("origin", "asked"), [(Origin.PASS, False), (Origin.APPLY, True), (Origin.UNDO, True)]
)
def test_what_people_made_is_asked_for(origin: Origin, asked: bool) -> None:  # noqa: FBT001
    assert [each.asked for each in reschedule_plan.moves_of(plan(origin=origin))] == [asked]


def test_a_plan_is_bounded() -> None:
    many = [move(number, reason="x" * 5000) for number in range(reschedule_plan.MOST_MOVES + 3)]
    found = plan(*many)
    assert len(found["spec"]["moves"]) == found["spec"]["total"] == reschedule_plan.MOST_MOVES
    assert found["spec"]["leftOut"] == 3
    assert max(len(each["reason"]) for each in found["spec"]["moves"]) == 200
    [alone] = plan(many[0])["spec"]["moves"]
    assert len(alone["reason"]) == 1024


def test_gains_are_of_the_nodes_that_are_touched() -> None:
    nodes = [
        NodeLoad(
            node=name,
            before={"cpu": before, "memory": 10.0},
            after={"cpu": after, "memory": 10.0},
            pods_before=2,
            pods_after=1,
            eligible=True,
        )
        for name, before, after in (("a", 90.0, 60.04), ("b", 10.0, 40.0), ("c", 50.0, 50.0))
    ]
    uneven = Imbalance(resource="cpu", before=80.0, after=20.0, most="a", least="b")
    decided = Plan(moves=(move(),), nodes=tuple(nodes), imbalances=(uneven,))
    gains = reschedule_plan.gains_of(decided, [move()], {"cpu": 80.0, "memory": 80.0})
    made = Made(origin=Origin.PASS, mode="Auto", at=NOW)
    spec = reschedule_plan.build("kube-system", [move()], gains, made)["spec"]
    assert [each["name"] for each in spec["nodes"]] == ["a", "b"]
    assert spec["nodes"][0]["after"] == {"cpu": "60.0", "memory": "10.0", "pods": 1}
    assert spec["overloaded"] == {"before": 1, "after": 0}
    assert spec["imbalance"] == [{"resource": "cpu", "before": "80.0", "after": "20.0"}]


# ------------------------------------------------------------------ that waits


def test_it_waits_until_it_expires() -> None:
    assert waiting(plan(age=HOUR - 1)).phase is Phase.WAITING
    assert waiting(plan(age=HOUR)).phase is Phase.EXPIRED
    assert waiting(plan(age=HOUR, said="approved")).phase is Phase.EXPIRED


@pytest.mark.parametrize("said", ["approved", " Approved ", "APPROVED"])
def test_a_yes_in_time_begins_it(said: str) -> None:
    assert reschedule_plan.is_to_begin(plan(said=said), HOUR, NOW)
    assert not reschedule_plan.is_to_begin(plan(said=said, age=HOUR), HOUR, NOW)
    assert not reschedule_plan.is_to_begin(plan(said=said, phase="Running"), HOUR, NOW)
    assert not reschedule_plan.is_to_begin(plan(said="rejected"), HOUR, NOW)
    assert not reschedule_plan.is_to_begin(plan(), HOUR, NOW)


def test_a_no_ends_it() -> None:
    standing = waiting(plan(said="rejected"))
    assert (standing.phase, standing.reason) == (Phase.REJECTED, Reason.REJECTED)


def test_what_nobody_understands_is_told() -> None:
    standing = waiting(plan(said="yes"))
    assert standing.phase is Phase.WAITING
    assert standing.message == "its annotation says 'yes': write approved or rejected"


def test_only_the_youngest_proposal_stands() -> None:
    old, young = plan(age=60.0), plan(move(2), age=30.0)
    newest = reschedule_plan.standing_proposal([young, old])
    assert newest is young
    standing = waiting(old, newest=newest)
    assert (standing.phase, standing.superseded_by) == (
        Phase.SUPERSEDED,
        reschedule_plan.name_of(young),
    )
    assert waiting(young, newest=newest).phase is Phase.WAITING
    # What somebody has said yes to, or made, is not pushed aside.
    assert waiting(plan(age=60.0, said="approved"), newest=newest).phase is Phase.WAITING
    assert waiting(plan(age=60.0, origin=Origin.APPLY), newest=newest).phase is Phase.WAITING


def test_in_dry_run_a_yes_is_answered() -> None:
    standing = waiting(plan(said="approved"), moves_pods=False)
    assert standing.message == "approved, but in mode DryRun nothing is moved"


def test_pods_of_a_rejected_plan_rest_for_a_while() -> None:
    ended = f"{NOW - timedelta(minutes=59):%Y-%m-%dT%H:%M:%SZ}"
    rejected = plan(move(1), move(2), phase="Rejected", completionTime=ended)
    assert reschedule_plan.refused_uids([rejected], HOUR, NOW) == {"uid-1", "uid-2"}
    assert not reschedule_plan.refused_uids([rejected], HOUR, NOW + timedelta(minutes=1))
    assert not reschedule_plan.refused_uids(
        [plan(phase="Expired", completionTime=ended)], HOUR, NOW
    )


def test_nor_are_they_proposed_before_somebodys_word_is_taken_up() -> None:
    for said in ("approved", "rejected"):
        assert reschedule_plan.refused_uids([plan(said=said)], HOUR, NOW) == {"uid-1"}
    assert not reschedule_plan.refused_uids([plan()], HOUR, NOW)


def test_of_one_that_has_ended_little_has_to_be_known() -> None:
    ended = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    moves = [move(each) for each in range(500)]
    over = plan(*moves, phase="Completed", reason="AllMoved", completionTime=ended)
    rejected = plan(*moves, phase="Rejected", completionTime=ended)
    kept = reschedule_plan.remains_of(over)
    assert "moves" not in kept["spec"]
    assert reschedule_plan.is_over(kept)
    assert reschedule_plan.order_of(kept) == reschedule_plan.order_of(over)
    of_both = [reschedule_plan.remains_of(each) for each in (over, rejected)]
    asked = reschedule_plan.refused_uids(of_both, HOUR, NOW)
    assert asked == reschedule_plan.refused_uids([over, rejected], HOUR, NOW)
    assert len(asked) == 500
    waits = plan(*moves)
    assert reschedule_plan.remains_of(waits) is waits


# ------------------------------------------------------------------ that runs


def running(found: dict[str, Any], *records: dict[str, Any], **more: Any) -> Standing:  # noqa: ANN401
    by_uid = {each["spec"]["pod"]["uid"]: each for each in records}
    given: dict[str, Any] = {"skipped": {}, "goes_on": True}
    return reschedule_plan.of_running(found, by_uid, **given | more)


def states(standing: Standing) -> dict[str, State]:
    return {each.uid: each.state for each in standing.moves or ()}


def test_it_is_over_when_each_move_has_ended() -> None:
    two = plan(move(1), move(2), phase="Running")
    done = record("Completed", newPod={"name": "web-9", "uid": "u9", "node": "b"})
    first = running(two, done)
    assert (first.phase, states(first)) == (Phase.RUNNING, {"uid-1": State.MOVED})
    under_way = running(two, done, record("InProgress", "uid-2"))
    assert states(under_way)["uid-2"] is State.RUNNING
    over = running(two, done, record("Failed", "uid-2", reason="CopyFailed", message="no"))
    assert (over.phase, over.reason) == (Phase.COMPLETED, Reason.SOME_MOVED)
    assert over.message == "1 of 2 moved, 1 failed"
    [moved, failed] = over.moves or ()
    assert moved.successor == {"name": "web-9", "uid": "u9", "node": "b"}
    assert (failed.migration, failed.reason, failed.message) == ("m-uid-2", "CopyFailed", "no")


def test_what_gave_way_before_it_began_is_skipped() -> None:
    gone = record("Failed", reason="NotMovable", message="it says no")
    standing = running(plan(phase="Running"), gone)
    assert states(standing) == {"uid-1": State.SKIPPED}
    assert standing.reason == Reason.NONE_MOVED


def test_what_has_ended_stays_so_when_its_record_is_gone() -> None:
    ended = [{"uid": "uid-1", "state": "Moved", "migration": "m"}]
    standing = running(plan(phase="Running", moves=ended))
    assert (standing.phase, states(standing)) == (Phase.COMPLETED, {"uid-1": State.MOVED})


def test_a_record_that_vanishes_in_the_middle_has_failed() -> None:
    begun = [{"uid": "uid-1", "state": "Running", "migration": "m"}]
    [move_] = running(plan(phase="Running", moves=begun)).moves or ()
    assert (move_.state, move_.message) == (State.FAILED, "its record was deleted")


def test_what_was_not_begun_is_skipped_when_it_does_not_go_on() -> None:
    found = plan(move(1), move(2), phase="Running")
    assert running(found).moves == []
    standing = running(found, skipped={"uid-1": "no room"}, goes_on=False)
    assert [(each.uid, each.message) for each in standing.moves or ()] == [
        ("uid-1", "no room"),
        ("uid-2", reschedule_plan.NOT_BEGUN),
    ]
    assert standing.message == "0 of 2 moved, 2 not made"


def test_only_an_approved_one_is_gone_on_with() -> None:
    approval = {"decision": "approved", "by": "ann"}
    assert reschedule_plan.is_to_go_on(plan(phase="Running", approval=approval))
    assert not reschedule_plan.is_to_go_on(plan(phase="Running"))
    assert not reschedule_plan.is_to_go_on(plan(phase="Completed", approval=approval))


# ------------------------------------------------------------------ its status


def test_a_status_written_twice_is_the_same() -> None:
    found = plan(said="approved")
    progress = [Progress(uid="uid-1", state=State.MOVED)]
    standing = Standing(phase=Phase.COMPLETED, reason=Reason.ALL_MOVED, moves=progress)
    document = reschedule_plan.status_document(found, standing, NOW)
    written = {**found, "status": document}
    later = reschedule_plan.status_document(written, standing, NOW + timedelta(hours=1))
    assert later == document
    assert reschedule_plan.says_the_same(written, later)
    assert not reschedule_plan.says_the_same(found, document)
    assert (document["moved"], document["approval"]["decision"]) == (1, "approved")
    assert document["conditions"][0]["status"] == "True"


def test_an_approval_stays_whatever_becomes_of_the_annotation() -> None:
    standing = Standing(phase=Phase.RUNNING, reason=Reason.APPROVED)
    kept = {"decision": "approved", "by": "ann", "time": "2026-11-18T09:00:00Z"}
    found = plan(said="rejected", phase="Running", approval=kept)
    assert reschedule_plan.status_document(found, standing, NOW)["approval"] == kept
    assert reschedule_plan.was_approved(found)


def test_the_oldest_of_those_that_ended_are_outdated() -> None:
    ended = [plan(move(n), age=float(n), phase="Completed") for n in range(4)]
    open_ = [plan(move(9), age=99.0), plan(move(8), age=98.0, phase="Running")]
    found = reschedule_plan.outdated([*open_, *ended], 2)
    assert [each["metadata"]["uid"] for each in found] == ["plan-2.0", "plan-3.0"]


def test_an_approval_by_command_says_who_and_when() -> None:
    said = reschedule_plan.approval(Decision.APPROVED, "ann", NOW)
    assert said == {
        names.APPROVAL: "approved",
        names.APPROVAL_BY: "ann",
        names.APPROVAL_TIME: "2026-11-18T09:30:00Z",
    }
