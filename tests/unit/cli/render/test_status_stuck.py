"""What is stuck, why, and what to do: who waits for hours, and what nobody tries again."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.cli.render.status_figures import Seen, Status, of
from rescheduler.config import Configuration, Migration
from tests.unit.migrate.documents import record

NOW = datetime(2026, 1, 1, 6, tzinfo=UTC)
LEADER = "rescheduler-scheduler-5d4f8c-x7k2p_0c4e0c9a"
ANYWHERE = "laptop_0c4e0c9a"


def lease(holder: str = LEADER, renewed: str = "2026-01-01T06:00:00Z") -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    return {"metadata": {}, "spec": spec}


def status(*records: dict[str, Any], **seen: Any) -> Status:  # noqa: ANN401
    configuration = seen.pop("configuration", Configuration())
    return of(Seen(records=records, **{"lease": lease(), **seen}), configuration, NOW)


def waiting(pod: str = "web-1", since: str = "01:00", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return dict(record(pod, phase="Pending", created=f"2026-01-01T{since}:00Z", **fields))


def failed(pod: str = "web-1", *, ended: str = "05:00", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    told = {"reason": "NotReadyInTime", "message": "not Ready after 5m", **fields.pop("told", {})}
    at = f"2026-01-01T{ended}:00Z"
    return dict(record(pod, phase="Failed", ended=at, status=told, **fields))


def told(found: Status) -> list[tuple[str, str, str]]:
    return [(each.what, each.why, each.todo) for each in found.stuck]


def test_who_waits_for_hours_is_stuck_although_a_leader_lives() -> None:
    first = waiting("web-1")
    found = status(first, waiting("web-2", "02:00"), waiting("web-3", "05:30"))
    [(what, why, todo)] = told(found)
    assert what == "2 PodMigrations in namespace shop, waiting for 5h"
    assert why == f"{LEADER} has not begun them, and its log says why"
    pod = "rescheduler-scheduler-5d4f8c-x7k2p"
    assert todo == f"kubectl -n kube-system logs {pod} | grep {first['metadata']['name']}"
    assert found.next_step == todo


def test_of_a_leader_that_runs_elsewhere_the_record_is_what_can_be_looked_at() -> None:
    found = waiting()
    [(_, why, todo)] = told(status(found, lease=lease(ANYWHERE)))
    assert why.startswith(ANYWHERE)
    name = found["metadata"]["name"]
    assert todo == f"rescheduler get migrations {name} -n shop -o wide"


def test_each_namespace_has_its_own_line() -> None:
    found = status(waiting(), waiting("db-1", namespace="bank"))
    assert [what for what, _, _ in told(found)] == [
        "1 PodMigration in namespace bank, waiting for 5h",
        "1 PodMigration in namespace shop, waiting for 5h",
    ]


def test_who_waits_because_others_failed_is_told_so() -> None:
    five = [failed(f"web-{number}", ended=f"05:0{number}") for number in range(5)]
    # It says nothing of others, and the breaker takes no notice.
    of_one = failed("web-9", ended="05:09", told={"reason": "BudgetRefused"})
    why = "the last 5 failed, so a single one is tried every 5m (circuitBreaker)"
    todo = "rescheduler get migrations -A -o wide"
    assert told(status(waiting(), of_one, *five))[0][1:] == (why, todo)
    moved = record("web-8", phase="Completed", ended="2026-01-01T05:08:00Z")
    assert "log says why" in told(status(waiting(), *five, moved))[0][1]


def test_who_waits_behind_others_is_told_behind_whom() -> None:
    begun = {"startTime": "2026-01-01T05:59:00Z"}
    here = record("web-2", phase="InProgress", status=begun)
    elsewhere = record("db-1", phase="InProgress", status=begun, namespace="bank")
    one = replace(Configuration(), migration=replace(Migration(), workers=1))
    [(_, why, _)] = told(status(waiting(), elsewhere, configuration=one))
    assert why == "1 under way, and no more may be (migration.workers)"
    [(_, why, todo)] = told(status(waiting(), here))
    assert why == "1 under way there, for which they may wait"
    assert todo == "rescheduler get migrations -n shop -o wide"
    [(_, why, _)] = told(status(waiting(), elsewhere))
    assert "log says why" in why


def test_who_waits_while_it_is_paused_or_for_minutes_is_not_stuck() -> None:
    assert told(status(waiting(since="05:30"))) == []
    paused = {**lease(), "metadata": {"annotations": {"rescheduler.io/paused": "not now"}}}
    [(what, _, todo)] = told(status(waiting(), lease=paused))
    assert (what, todo) == ("everything new", "rescheduler resume")


@pytest.mark.parametrize("asked", [False, True])
def test_what_strategies_have_given_up_is_stuck(asked: bool) -> None:  # noqa: FBT001
    attempts = [failed(attempt=number, asked=asked) for number in (1, 2, 3)]
    [(what, why, todo)] = told(status(*attempts))
    assert what == "shop/web-1"
    assert why == (
        "failed 3 times, and no strategy tries again: NotReadyInTime: not Ready after 5m"
    )
    last = attempts[-1]["metadata"]["name"]
    assert last.endswith("-3")
    assert todo == f"rescheduler retry {last} -n shop"
    # Older records may be gone.
    assert told(status(attempts[-1])) == [(what, why, todo)]


def test_what_strategies_try_again_is_not_stuck() -> None:
    assert told(status(failed(attempt=1), failed(attempt=2))) == []
    gave_way = {"reason": "WorkloadChanged"}
    assert told(status(*(failed(attempt=number, told=gave_way) for number in (1, 2, 3)))) == []
    three = [failed(attempt=number) for number in (1, 2, 3)]
    again = waiting(since="05:59", attempt=4)
    assert told(status(*three, again)) == []
    assert told(status(*three, pods={"of-another"})) == []
    assert len(told(status(*three, pods={"uid-of-web-1"}))) == 1


def test_without_an_election_nobody_is_said_not_to_run() -> None:
    election = replace(Configuration().leader_election, leader_elect=False)
    without = replace(Configuration(), leader_election=election)
    begun = record(phase="InProgress", status={"startTime": "2026-01-01T05:59:00Z"})
    found = status(begun, waiting("web-2", "05:50"), lease=None, configuration=without)
    assert (found.is_led, found.leader, told(found)) == (None, None, [])
    assert found.next_step == "rescheduler plan"
    long = status(waiting(), lease=None, configuration=without)
    assert told(long)[0][1] == "whoever runs has not begun them, and its log says why"
