"""Records of migrations: who is on its way, and who is held back since its moves failed."""

from typing import Any

import pytest

from rescheduler.config import Configuration, Cooldown, Migration, Retry, Stability
from rescheduler.model.podmigration import reasons
from rescheduler.model.snapshot import Gap
from rescheduler.plan import needs, plan
from tests.unit.plan.support.movable_scenes import (
    NOW,
    OWNER,
    Object,
    owned_by,
    pod,
    replica_set,
    snapshot,
    stateful_set,
    why,
)

MOVING = "it is being moved already"
RETRY = Configuration(migration=Migration(retry=Retry(attempts=3, back_off_seconds=60)))


def record(name: str = "r-1", *, attempt: int = 1, uid: str = "uid-web-1", **status: Any) -> Object:  # noqa: ANN401
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"namespace": "shop", "name": name, "creationTimestamp": at(3600)},
        "spec": {
            "pod": {"name": "web-1", "uid": uid},
            "source": "a",
            "target": "b",
            "attempt": attempt,
        },
        **({"status": status} if status else {}),
    }


def failed(name: str, attempt: int, ago: int, **status: Any) -> Object:  # noqa: ANN401
    ended: Object = {"phase": "Failed", "reason": "NotReadyInTime", "completionTime": at(ago)}
    return record(name, attempt=attempt, **{**ended, **status})


def at(ago: int) -> str:
    """So many seconds before now."""
    hours, rest = divmod(8 * 3600 - ago, 3600)
    return f"2027-01-15T{hours:02}:{rest // 60:02}:{rest % 60:02}Z"


def told(
    *records: Object,
    asked: bool = False,
    found: Object | None = None,
    **objects: Any,  # noqa: ANN401
) -> tuple[str, ...]:
    cluster = snapshot(found or pod(), podmigrations=records, taken_at=NOW, **objects)
    answers = {why(cluster, RETRY, asked=asked), why(cluster, RETRY, asked=not asked)}
    # Asking makes no difference.
    (answer,) = answers
    return answer


# ------------------------------------------------------------------ on its way


@pytest.mark.parametrize("status", [{}, {"phase": "Pending"}, {"phase": "InProgress"}])
def test_who_has_a_record_that_is_not_finished_is_on_its_way(status: Object) -> None:
    assert told(record(**status)) == (MOVING,)
    assert told(record(uid="another", **status)) == ()


def test_a_move_that_was_completed_holds_nobody() -> None:
    assert told(record(phase="Completed", completionTime=at(1))) == ()


def test_on_its_way_is_said_once() -> None:
    labels = {"app": "web", "scheduler.alpha.kubernetes.io/migration-status": "in-progress"}
    assert told(record(), found=pod(metadata={"labels": labels})) == (MOVING,)


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("records", "rest"),
    [
        ([failed("r-1", 1, 67)], 68),
        ([failed("r-1", 1, 68)], 0),
        ([failed("r-1", 1, 900), failed("r-2", 2, 135)], 135),
        ([failed("r-1", 1, 900), failed("r-2", 2, 136)], 0),
        # The first record is gone, as records are not kept for ever.
        ([failed("r-2", 2, 135)], 135),
        # The last is the one of the last attempt, whatever it is called.
        ([failed("z-1", 1, 900), failed("r-2", 2, 135)], 135),
    ],
)
def test_a_failure_is_followed_by_a_rest_that_doubles(records: list[Object], rest: int) -> None:
    last = records[-1]["metadata"]["name"]
    length = f"{rest // 60}m{rest % 60}s"
    words = f"its move failed as NotReadyInTime (pmig {last}): back-off of {length}"
    assert told(*records) == ((words,) if rest else ())


def test_what_failed_together_is_not_tried_together() -> None:
    """And no later than a quarter of the back-off after the first."""
    uids = [f"uid-{number}" for number in range(40)]

    def resting(ago: int) -> int:
        return sum(
            bool(
                told(
                    failed("r-1", 1, ago) | {"spec": {"pod": {"name": "web-1", "uid": uid}}},
                    found=pod(metadata={"uid": uid}),
                )
            )
            for uid in uids
        )

    assert resting(59) == len(uids)
    assert 0 < resting(67) < len(uids)
    assert resting(75) == 0


@pytest.mark.parametrize("ago", [1, 20_000])
def test_who_failed_too_often_waits_for_a_person(ago: int) -> None:
    words = (
        "3 moves of it failed, the last as NotReadyInTime (pmig r-3): it stays until "
        "`rescheduler retry r-3`"
    )
    everything = [failed("r-1", 1, 25_000), failed("r-2", 2, 22_000), failed("r-3", 3, ago)]
    assert told(*everything) == (words,)
    assert told(everything[-1]) == (words,)
    # Three that say that they were the first were three.
    assert told(*(failed(f"r-{n}", 1, ago) for n in (1, 2, 3))) == (words,)


def test_for_want_of_a_target_nothing_was_tried_and_nobody_rests() -> None:
    assert told(*(failed(f"r-{n}", n, 1, reason="NoTarget") for n in (1, 2, 3, 4))) == ()


@pytest.mark.parametrize("reason", sorted(reasons.GAVE_WAY - {"NoTarget"}))
def test_giving_way_is_no_attempt_and_only_rests(reason: str) -> None:
    gave_way = [failed(f"r-{n}", n, 9000 - n, reason=reason) for n in (1, 2, 3, 4)]
    assert told(*gave_way) == ()
    # Also when the older ones are gone.
    assert told(gave_way[-1]) == ()
    (words,) = told(*gave_way, failed("r-5", 5, 300, reason=reason))
    assert words == f"its move failed as {reason} (pmig r-5): back-off of 9m2s"
    # It rests no longer with each, as those rest that count.
    assert told(*gave_way, failed("r-5", 5, 600, reason=reason)) == ()


def test_attempts_are_counted_among_those_that_gave_way() -> None:
    mixed = [
        failed("r-1", 1, 9000),
        failed("r-2", 2, 8000, reason="NotNow"),
        failed("r-3", 3, 7000),
        failed("r-4", 4, 6000, reason="WorkloadChanged"),
    ]
    assert told(*mixed) == ()
    (words,) = told(*mixed, failed("r-5", 5, 5000))
    assert words.startswith("3 moves of it failed, the last as NotReadyInTime (pmig r-5)")


def test_who_several_budgets_select_is_not_counted_as_failing() -> None:
    """Nobody can evict it, as when it is not movable for another reason."""
    assert told(*(failed(f"r-{n}", n, 9000 - n, reason="SeveralBudgets") for n in (1, 2, 3))) == ()


def test_a_single_attempt_may_be_all() -> None:
    once = Configuration(migration=Migration(retry=Retry(attempts=1)))
    cluster = snapshot(pod(), podmigrations=[failed("r-1", 1, 9000)], taken_at=NOW)
    (words,) = why(cluster, once, asked=True)
    assert words.startswith("its only move failed, the last as NotReadyInTime")


def test_somebody_who_tries_again_by_hand_is_on_the_way() -> None:
    assert told(failed("r-3", 3, 1), record("r-4", attempt=4, phase="Pending")) == (MOVING,)


@pytest.mark.parametrize(
    ("changed", "rests"),
    [
        ({"completionTime": "2027-01-15T09:59:30+02:00"}, True),
        ({"completionTime": None}, False),  # the record was made an hour ago
        ({"completionTime": "soon"}, False),
        ({"completionTime": "2027-01-15T07:59:30"}, False),
    ],
)
def test_times_that_are_odd(changed: Object, *, rests: bool) -> None:
    assert bool(told(failed("r-1", 1, 30, **changed))) == rests


def test_without_a_clock_nobody_rests() -> None:
    assert why(snapshot(pod(), podmigrations=[failed("r-1", 1, 1)])) == ()


# ------------------------------------------------------------------ workloads that were left short

SHORT = {"reason": "ReplacementNotReady", "owner": {"uid": "rs-uid", "name": "web"}}


def of_another(ago: int, **status: Any) -> Object:  # noqa: ANN401
    return failed("r-9", 1, ago, **{**SHORT, **status}) | {
        "spec": {"pod": {"name": "web-0", "uid": "gone"}, "attempt": 1}
    }


@pytest.mark.parametrize(
    ("found", "held"),
    [
        (of_another(1799), True),
        (of_another(1800), False),
        (of_another(1, reason="NotReadyInTime"), False),
        (of_another(1, owner={"uid": "another"}), False),
        (of_another(1, owner=None), False),
        (of_another(1, phase="Completed"), False),
    ],
)
def test_a_workload_that_a_move_left_short_is_left_alone(found: Object, *, held: bool) -> None:
    words = "its workload's last move left it short: look at pmig r-9"
    assert told(found) == ((words,) if held else ())


def test_for_as_long_as_the_workload_rests() -> None:
    short = Configuration(stability=Stability(cooldown=Cooldown(workload_seconds=10)))
    for ago, held in ((9, True), (10, False)):
        cluster = snapshot(pod(), podmigrations=[of_another(ago)], taken_at=NOW)
        assert bool(why(cluster, short, asked=True)) == held


@pytest.mark.parametrize(("ready", "held"), [(1, True), (2, False)])
@pytest.mark.parametrize("rest", [0, 10])
def test_and_until_it_is_whole_again(ready: int, rest: int, *, held: bool) -> None:
    no_rest = Configuration(stability=Stability(cooldown=Cooldown(workload_seconds=rest)))
    owner = {"kind": "ReplicaSet", "uid": "rs-uid", "name": "web"}
    cluster = snapshot(
        pod(),
        podmigrations=[of_another(20_000, owner=owner)],
        replicasets=[replica_set(replicas=2, ready=ready)],
        taken_at=NOW,
    )
    told = why(cluster, no_rest, asked=True)
    assert ("its workload's last move left it short: look at pmig r-9" in told) == held


def test_any_kind_of_workload() -> None:
    owner = {"uid": "StatefulSet-uid", "name": "web"}
    cluster = snapshot(
        pod(owner=owned_by("StatefulSet")),
        pod("bare", owner=None),
        statefulsets=[stateful_set()],
        podmigrations=[of_another(1, owner=owner)],
        taken_at=NOW,
    )
    assert any("left it short" in each for each in why(cluster, asked=True))
    assert not any("left it short" in each for each in why(cluster, name="bare", asked=True))


# ------------------------------------------------------------------ where they are not to be had


@pytest.mark.parametrize("forbidden", [True, False])
def test_who_cannot_see_records_plans_all_the_same(*, forbidden: bool) -> None:
    sets = [replica_set(replicas=4)]
    pods = [pod(f"web-{number}", owner=OWNER) for number in range(4)]
    cluster = snapshot(
        *pods,
        replicasets=sets,
        gaps=[
            Gap(source=source, reason="not there", forbidden=forbidden)
            for source in ("podmigrations", "services")
        ],
        unseen=["podmigrations", "services"],
    )
    found = plan(cluster, Configuration(imbalance_threshold_percent=1))
    assert {"podmigrations", "services"} < needs([])
    assert not any(report.blind for report in found.reports)
    assert len(found.moves) == 2


# ---------------------------------------------------------------------- no copy may be made

SAID = "admission refuses a copy of it: the platform team says no"


@pytest.mark.parametrize("reason", sorted(reasons.NO_COPY))
def test_a_workload_whose_copies_are_refused_is_not_moved_by_surge_for_a_while(reason: str) -> None:
    """Also its other pods, of which none was tried."""
    owner = {"kind": "ReplicaSet", "name": "web", "uid": OWNER["uid"]}
    of_sibling = failed("r-9", 1, 300, reason=reason, message=SAID, owner=owner)
    of_sibling["spec"]["pod"] = {"name": "web-9", "uid": "uid-web-9"}

    def of(found: Object) -> tuple[str, ...]:
        told_of = {**found, "spec": of_sibling["spec"]}
        cluster = snapshot(
            pod(), podmigrations=[told_of], replicasets=[replica_set()], taken_at=NOW
        )
        # Who asks for it gets it moved by eviction.
        assert why(cluster, RETRY, asked=True) == ()
        return why(cluster, RETRY, asked=False)

    (words,) = of(of_sibling)
    assert words.startswith("its move would recreate it")
    assert words.endswith(f"{SAID} (pmig r-9)")
    assert of(failed("r-9", 1, 700, reason=reason, message=SAID, owner=owner)) == ()
    assert of(failed("r-9", 1, 300, reason=reason, owner={**owner, "uid": "other"})) == ()
