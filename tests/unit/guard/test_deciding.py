"""Each rule about an eviction, in its order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration, PodRules, Scope
from rescheduler.guard import Eviction, Guard, GuardTable, Hold, Pass, Verdict, Why
from rescheduler.guard.memory import Memory
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Owner, Pod
from rescheduler.model.columns import Flag
from tests.unit.guard.tables import DB, US, WEB, at, evict, of, record, table
from tests.unit.plan.support.small_clusters import node

WEB_1, WEB_2 = of(WEB, "web-1"), of(WEB, "web-2")


def judged(known: GuardTable | None, asked: Eviction | None = None, now: float = 1.0) -> Verdict:
    return Guard().judge(asked or evict(), known, at(now))


def passed(known: GuardTable | None, asked: Eviction | None = None, now: float = 1.0) -> Why:
    found = judged(known, asked, now)
    assert isinstance(found, Pass), found
    return found.why


def held(found: Verdict) -> Hold:
    assert isinstance(found, Hold), found
    return found


# ---------------------------------------------------------------------- none of ours


def test_dry_runs_pass_even_when_all_else_would_be_held() -> None:
    assert passed(table([WEB_1]), evict(is_dry_run=True)) is Why.DRY_RUN


def test_our_own_evictions_pass() -> None:
    assert passed(table([WEB_1]), evict(user=US)) is Why.OURSELVES


def test_what_is_not_known_passes() -> None:
    assert passed(None) is Why.NOT_SYNCED
    assert isinstance(judged(table([WEB_1]), now=30.0), Hold)
    assert passed(table([WEB_1]), now=30.1) is Why.NOT_SYNCED


@pytest.mark.parametrize(
    ("pods", "asked"),
    [
        ([], evict()),
        ([WEB_1], evict("web-2")),
        ([WEB_1], evict(namespace="elsewhere")),
        ([WEB_1], evict(uid="another")),
        ([replace(WEB_1, terminating=True)], evict()),
    ],
    ids=["empty", "name", "namespace", "uid", "terminating"],
)
def test_pods_that_are_gone_pass(pods: Sequence[Pod], asked: Eviction) -> None:
    assert passed(table(pods), asked) is Why.GONE


def test_the_pod_that_is_meant_is_held() -> None:
    assert isinstance(judged(table([WEB_1]), evict(uid="uid-web-1")), Hold)


def test_a_row_that_holds_another_pod_by_now_is_not_believed() -> None:
    known = replace(table([WEB_1, WEB_2]), find=lambda _: 1)
    assert passed(known) is Why.GONE
    assert passed(replace(known, find=lambda _: 7)) is Why.GONE


JOB = Owner(kind="Job", name="job", uid="job")
DAEMON = Owner(kind="DaemonSet", name="agent", uid="ds")
CLONE = Owner(kind="CloneSet", name="web", uid="clone")


@pytest.mark.parametrize(
    ("each", "configuration"),
    [
        (replace(WEB_1, owner=None), {}),
        (replace(WEB_1, owner=DAEMON), {}),
        (replace(WEB_1, owner=Owner(kind="Node", name="a", uid="n")), {}),
        (replace(WEB_1, annotations={names.MIRROR_POD: "x"}), {}),
        (replace(WEB_1, node=""), {}),
        (replace(WEB_1, owner=JOB), {}),
        (replace(WEB_1, owner=CLONE), {"pods": PodRules(other_controllers="Never")}),
        (WEB_1, {"scope": Scope(namespaces=("elsewhere",))}),
        (WEB_1, {"scope": Scope(node_selector=selectors.parse("pool=b"))}),
        (WEB_1, {"excluded_namespaces": ("shop",)}),
        (WEB_1, {"excluded_pod_selector": selectors.parse("app=web-1")}),
        (replace(WEB_1, labels={names.RESCHEDULING: "disabled"}), {}),
    ],
    ids=[
        "bare",
        "DaemonSet",
        "Node",
        "mirror",
        "no node",
        "Job",
        "other controller",
        "namespace out of scope",
        "node out of scope",
        "excluded namespace",
        "excluded pod",
        "rescheduling disabled",
    ],
)
def test_what_is_not_moved_passes(each: Pod, configuration: dict[str, Any]) -> None:
    known = table([each], configuration=Configuration(**configuration))
    assert passed(known) is Why.NOT_MOVED


def test_a_namespace_that_is_left_alone_passes() -> None:
    disabled = {"annotations": {names.RESCHEDULING: "disabled"}}
    assert passed(table([WEB_1], namespace=disabled)) is Why.NOT_MOVED


def test_jobs_are_held_where_they_may_be_moved() -> None:
    allowed = Configuration(pods=PodRules(jobs="WhenAsked"))
    assert isinstance(judged(table([replace(WEB_1, owner=JOB)], configuration=allowed)), Hold)


@pytest.mark.parametrize("kind", ["annotations", "labels"])
@pytest.mark.parametrize("place", ["pod", "namespace", "node"])
@pytest.mark.parametrize(("value", "is_off"), [("off", True), ("Off", True), ("on", False)])
def test_who_opts_out_passes(place: str, kind: str, value: str, is_off: bool) -> None:  # noqa: FBT001
    told = {kind: {names.GUARD: value}}
    known = table(
        [replace(WEB_1, **told) if place == "pod" else WEB_1],  # type: ignore[arg-type]
        namespace=told if place == "namespace" else None,
        nodes=[replace(node("a"), **told)] if place == "node" else None,  # type: ignore[arg-type]
    )
    found = judged(known)
    assert isinstance(found, Pass) == is_off
    assert found.why is (Why.OPTED_OUT if is_off else Why.ASKED)


def test_a_pod_that_is_not_ready_passes() -> None:
    assert passed(table([replace(WEB_1, ready=False)])) is Why.NOT_READY


# ---------------------------------------------------------------------- moved first


@pytest.mark.parametrize("owner", [WEB, DB, CLONE], ids=lambda each: each.kind)
def test_the_first_eviction_asks_for_a_move(owner: Owner) -> None:
    found = held(judged(table([of(owner, "web-1")])))
    assert found.why is Why.ASKED
    assert found.is_first
    assert found.wanted is not None
    assert (found.wanted.namespace, found.wanted.pod) == ("shop", "web-1")
    assert (found.wanted.uid, found.wanted.node) == ("uid-web-1", "a")
    assert (found.wanted.user, found.wanted.attempt) == ("alice", 1)
    assert found.words == (
        "kube-rescheduler moves it first: a migration has been asked for; "
        "the eviction passes in 5m00s at the latest"
    )


def test_it_is_not_asked_for_again_at_once() -> None:
    guard, known = Guard(), table([WEB_1])
    assert held(guard.judge(evict(), known, at(1))).wanted
    second = held(guard.judge(evict(), known, at(2)))
    assert second.wanted is None
    assert not second.is_first
    assert held(guard.judge(evict(), known, at(6))).wanted


def test_what_could_not_be_asked_for_is_asked_for_at_the_next_eviction() -> None:
    guard, known = Guard(), table([WEB_1])
    first = held(guard.judge(evict(), known, at(1)))
    assert first.wanted is not None
    guard.not_asked(first.wanted)
    assert held(guard.judge(evict(), known, at(1.1))).wanted


@pytest.mark.parametrize("by", ["alice", None], ids=["by an eviction", "by a strategy"])
def test_while_it_moves_it_is_held(by: str | None) -> None:
    moving = record("web-1", step="WaitReady", by=by)
    found = held(judged(table([WEB_1], moving, taken_at=48), now=48.0))
    assert found.why is Why.MOVING
    assert found.wanted is None
    left = "4m12s" if by else "5m00s"
    assert found.words == (
        "kube-rescheduler moves it first: migration shop/mig-web-1-1 to b, waiting until the copy "
        f"is Ready; the eviction passes in {left} at the latest"
    )


def test_the_target_may_still_be_chosen() -> None:
    found = held(judged(table([WEB_1], record("web-1", "Pending", target=""))))
    assert "to a node that is being chosen, waiting for its turn" in found.words


def test_one_that_has_left_its_services_is_held() -> None:
    known = table([WEB_1], record("web-1", step="Leave"))
    flags = known.snapshot.pods.flags.copy()
    flags[0] = int(Flag.LEFT)
    pods = replace(known.snapshot.pods, flags=flags)
    assert isinstance(judged(replace(known, snapshot=replace(known.snapshot, pods=pods))), Hold)


def test_one_that_has_moved_is_held_until_it_ends_but_not_for_long() -> None:
    moved = record("web-1", "Completed", ended=10.0)
    assert held(judged(table([WEB_1], moved, taken_at=20), now=20)).why is Why.ENDING
    again = held(judged(table([WEB_1], moved, taken_at=41), now=41))
    assert again.why is Why.ASKED
    assert again.wanted is not None
    assert again.wanted.attempt == 2


def test_a_failure_that_no_eviction_asked_for_does_not_let_it_go() -> None:
    failed = record("web-1", "Failed", ended=0.5, by=None)
    found = held(judged(table([WEB_1], failed)))
    assert found.wanted is not None
    assert found.wanted.attempt == 2


def test_what_failed_because_the_moment_was_wrong_is_asked_for_again_soon() -> None:
    first = record("web-1", "Failed", ended=10, reason="NotNow", message="it is rolled out")
    waits = held(judged(table([WEB_1], first, taken_at=11), now=11))
    assert (waits.why, waits.wanted) == (Why.AGAIN, None)
    assert waits.words == (
        "kube-rescheduler moves it first, and tries again soon: migration shop/mig-web-1-1 failed: "
        "it is rolled out; the eviction passes in 4m49s at the latest"
    )
    again = held(judged(table([WEB_1], first, taken_at=12), now=12))
    assert again.wanted is not None
    assert again.wanted.attempt == 2
    # Each time it rests twice as long; its patience counts from the first.
    second = record("web-1", "Failed", attempt=2, created=12, ended=20, reason="NotNow")
    assert held(judged(table([WEB_1], first, second, taken_at=23), now=23)).why is Why.AGAIN
    assert held(judged(table([WEB_1], first, second, taken_at=24), now=24)).wanted is not None
    assert passed(table([WEB_1], first, second, taken_at=300), now=300) is Why.PATIENCE


def test_of_several_failures_the_last_one_counts() -> None:
    passing = record("web-1", "Failed", ended=10, reason="NotNow")
    lasting = record("web-1", "Failed", attempt=2, created=12, ended=20, reason="NoTarget")
    assert passed(table([WEB_1], passing, lasting, taken_at=21), now=21) is Why.FAILED


# ---------------------------------------------------------------------- patience


def test_when_its_patience_is_over_it_passes() -> None:
    moving = record("web-1", step="WaitReady")
    assert isinstance(judged(table([WEB_1], moving, taken_at=299), now=299.0), Hold)
    assert passed(table([WEB_1], moving, taken_at=300), now=300.0) is Why.PATIENCE


def test_without_a_record_a_replica_counts_from_the_first_hold() -> None:
    guard = Guard()
    for now in range(1, 301, 5):
        assert isinstance(guard.judge(evict(), table([WEB_1], taken_at=now), at(now)), Hold)
    over = guard.judge(evict(), table([WEB_1], taken_at=301), at(301))
    assert isinstance(over, Pass)
    assert over.why is Why.PATIENCE
    assert over.held_seconds == 300.0
    # A budget refused it: the next one is not held anew.
    again = guard.judge(evict(), table([WEB_1], taken_at=306), at(306))
    assert isinstance(again, Pass)
    assert again.held_seconds is None


def test_a_record_of_others_may_be_old_already() -> None:
    guard, moving = Guard(), record("web-1", step="WaitReady", by=None, created=-1000)
    for now in (1, 100, 200, 300):
        assert isinstance(guard.judge(evict(), table([WEB_1], moving, taken_at=now), at(now)), Hold)
    late = guard.judge(evict(), table([WEB_1], moving, taken_at=302), at(302))
    assert late.why is Why.PATIENCE


def test_after_a_long_silence_it_is_another_eviction() -> None:
    guard = Guard()
    assert isinstance(guard.judge(evict(), table([WEB_1]), at(1)), Hold)
    late = guard.judge(evict(), table([WEB_1], taken_at=602), at(602))
    assert held(late).is_first


@pytest.mark.parametrize(
    ("on_pod", "on_namespace", "seconds"),
    [
        ("10s", "20s", 10),
        ("", "20s", 20),
        ("nonsense", "20s", 20),
        ("", "", 300),
        ("-1s", "", 300),
        ("0s", "", 0),
    ],
)
def test_annotations_count_before_the_setting(
    on_pod: str, on_namespace: str, seconds: float
) -> None:
    one = replace(WEB_1, annotations={names.GUARD_PATIENCE: on_pod} if on_pod else {})
    told = {"annotations": {names.GUARD_PATIENCE: on_namespace}} if on_namespace else {}
    before, after = max(seconds - 1, 0), seconds
    known = table([one], record("web-1"), namespace=told, taken_at=before)
    if seconds:
        assert isinstance(judged(known, now=before), Hold)
    assert passed(replace(known, taken_at=after), now=after) is Why.PATIENCE


# ---------------------------------------------------------------------- paused, and full


def test_while_we_are_paused_only_what_is_under_way_is_held() -> None:
    assert passed(table([WEB_1], is_paused=True)) is Why.PAUSED
    waiting = record("web-1", "Pending")
    assert passed(table([WEB_1], waiting, is_paused=True)) is Why.PAUSED
    begun = record("web-1", step="WaitReady")
    assert isinstance(judged(table([WEB_1], begun, is_paused=True)), Hold)


def test_more_than_can_be_remembered_pass() -> None:
    guard, known = Guard(Memory(most=1)), table([WEB_1, WEB_2])
    assert isinstance(guard.judge(evict("web-1"), known, at(1)), Hold)
    assert guard.judge(evict("web-2"), known, at(1)).why is Why.TOO_MANY
    assert isinstance(guard.judge(evict("web-1"), known, at(2)), Hold)


def test_one_that_is_gone_leaves_its_place_and_says_how_long_it_was_held() -> None:
    guard = Guard(Memory(most=1))
    assert isinstance(guard.judge(evict("web-1"), table([WEB_1, WEB_2]), at(1)), Hold)
    gone = guard.judge(evict("web-1"), table([WEB_2], taken_at=12), at(12))
    assert isinstance(gone, Pass)
    assert (gone.why, gone.held_seconds) == (Why.AWAY, 11.0)
    assert guard.judge(evict("web-1"), table([WEB_2], taken_at=12), at(12)).why is Why.GONE
    assert isinstance(guard.judge(evict("web-2"), table([WEB_2], taken_at=12), at(12)), Hold)
