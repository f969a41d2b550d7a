"""What came of what a plan promised: judged where nothing else happened, told with its cause."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Made, Origin, Progress, Seen, Standing, State

NOW = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)
ENDED = NOW + timedelta(minutes=2)
LATER = ENDED + timedelta(minutes=6)
LIMITS = {"cpu": 80.0, "memory": 80.0}
HOUR = timedelta(hours=1)


def load(name: str, before: float, after: float, pods: tuple[int, int] = (3, 3)) -> NodeLoad:
    return NodeLoad(
        node=name,
        before={"cpu": before, "memory": 10.0},
        after={"cpu": after, "memory": 10.0},
        pods_before=pods[0],
        pods_after=pods[1],
        eligible=True,
    )


def move(number: int = 1, source: str = "a", target: str = "b", **fields: Any) -> Move:  # noqa: ANN401
    known: dict[str, Any] = {"namespace": "shop", "pod": f"web-{number}", "uid": f"uid-{number}"}
    named = {"source": source, "target": target, "strategy": "LoadBalancing", "reason": "why"}
    return Move(**known | named | fields)


def ended(
    *moves: Move, word: str = "usage", at: datetime = NOW, states: tuple[State, ...] = ()
) -> dict[str, Any]:
    """a gives thirty points to b; c is left alone."""
    kept = moves or (move(),)
    decided = Plan(
        moves=kept,
        nodes=(load("a", 90, 60, (3, 2)), load("b", 10, 40, (1, 2)), load("c", 50, 50)),
        imbalances=(Imbalance(resource="cpu", before=80, after=20, most="a", least="b"),),
        word=word,
    )
    gains = reschedule_plan.gains_of(decided, kept, LIMITS)
    plan = reschedule_plan.build(
        "kube-system", kept, gains, Made(origin=Origin.PASS, mode="Auto", at=at)
    )
    plan["metadata"] |= {
        "uid": plan["metadata"]["name"],
        "creationTimestamp": reschedule_plan.text_of(at),
        "generation": 1,
    }
    progress = [
        Progress(
            uid=each.uid,
            state=state,
            successor={"name": each.pod, "uid": f"new-{each.uid}", "node": each.target},
        )
        for each, state in zip(kept, states or (State.MOVED,) * len(kept), strict=True)
    ]
    standing = Standing(
        phase=reschedule_plan.Phase.COMPLETED,
        reason=reschedule_plan.Reason.ALL_MOVED,
        moves=progress,
    )
    end = at + (ENDED - NOW)
    return {**plan, "status": reschedule_plan.status_document(plan, standing, end)}


def seen(
    a: float = 60.0,
    b: float = 40.0,
    c: float = 50.0,
    *,
    at: datetime = LATER,
    pods: tuple[int, int, int] = (2, 2, 3),
    **more: Any,  # noqa: ANN401
) -> Seen:
    nodes = {
        name: load(name, percent, percent, (number, number))
        for name, percent, number in zip("abc", (a, b, c), pods, strict=True)
    }
    known: dict[str, Any] = {
        "at": at,
        "loads": "usage",
        "nodes": nodes,
        "imbalance": {"cpu": max(a, b, c) - min(a, b, c)},
        "since": dict.fromkeys(nodes, (at - timedelta(minutes=1)).timestamp()),
    }
    return Seen(**known | more)


def look(plan: Object, found: Seen) -> dict[str, Any]:
    observed = reschedule_plan.look(plan, found)
    assert observed is not None
    return observed


def with_status(plan: Object, observed: Object) -> Object:
    status = reschedule_plan.observed_status(plan, observed, LATER)
    return {**plan, "status": {**plan["status"], **status}}


# ------------------------------------------------------------------ loads


def test_what_comes_as_predicted_has_no_error() -> None:
    observed = look(ended(), seen())
    assert observed["verdict"] == "AsPredicted"
    assert observed["error"] == observed["largestError"] == {"cpu": "0.0", "memory": "0.0"}
    assert (observed["judged"], observed["disturbed"], observed["bounces"]) == (2, 0, 0)
    assert observed["imbalance"] == [{"resource": "cpu", "predicted": "20.0", "measured": "20.0"}]
    assert observed["othersChanged"] == {"cpu": "+0.0", "memory": "+0.0"}
    assert observed["bouncesUntil"] == reschedule_plan.text_of(ENDED + HOUR)
    [a, b] = observed["nodes"]
    assert (a["name"], a["predicted"]["cpu"], a["measured"]["cpu"]) == ("a", "60.0", "60.0")
    assert (b["name"], b["predicted"]["pods"], b["measured"]["pods"]) == ("b", 2, 2)


@pytest.mark.parametrize(
    "since",
    [{}, {"a": LATER.timestamp()}, dict.fromkeys("abc", ENDED.timestamp())],
    ids=["nothing", "one node", "in the second in which it ended"],
)
def test_it_waits_for_figures_that_are_younger_than_its_end(since: dict[str, float]) -> None:
    assert reschedule_plan.look(ended(), seen(since=since)) is None
    late = look(ended(), seen(since=since, at=ENDED + HOUR))
    assert late["verdict"] == "NotCovered"
    assert "no fresh figures came of " in late["message"]
    assert "nodes" not in late


def test_what_is_seen_after_the_hour_says_nothing_where_usage_moves() -> None:
    late = look(ended(), seen(at=ENDED + 2 * HOUR))
    assert (late["verdict"], late["message"]) == (
        "NotCovered",
        "nobody looked within an hour after its end",
    )
    known = look(ended(word="requests"), seen(at=ENDED + 2 * HOUR, loads="requests"))
    assert known["verdict"] == "AsPredicted"


def test_requests_are_not_held_against_usage() -> None:
    observed = reschedule_plan.look(ended(word="requests"), seen(at=ENDED + HOUR))
    assert observed is not None
    assert observed["message"] == "it was predicted by requests, and is seen by usage"


@pytest.mark.parametrize(
    "found",
    [seen(90, pods=(3, 2, 3)), seen(90, strangers={"a"})],
    ids=["one more pod", "another pod"],
)
def test_a_node_with_other_pods_is_not_judged(found: Seen) -> None:
    observed = look(ended(), found)
    assert (observed["verdict"], observed["judged"], observed["disturbed"]) == ("AsPredicted", 1, 1)
    [b, a] = observed["nodes"]
    assert (a["name"], a["disturbed"], "disturbed" in b) == ("a", True, False)


def test_a_node_that_is_gone_is_not_waited_for() -> None:
    """Whoever empties nodes has them taken away."""
    found = seen()
    without = {name: each for name, each in found.nodes.items() if name != "a"}
    observed = look(ended(), seen(nodes=without, since={"b": found.since["b"]}))
    assert (observed["verdict"], observed["judged"], observed["disturbed"]) == ("AsPredicted", 1, 1)
    [gone] = [each for each in observed["nodes"] if each["name"] == "a"]
    assert gone["disturbed"]
    assert "measured" not in gone
    nothing = look(ended(), seen(nodes={}, since={}))
    assert nothing["verdict"] == "Disturbed"
    assert "is gone" in nothing["message"]


def test_whatever_strategies_a_file_names_the_status_has_room() -> None:
    moves = [move(number, strategy=f"mine-{number}") for number in range(20)]
    names = [each["name"] for each in look(ended(*moves), seen())["strategies"]]
    assert names == [f"mine-{number}" for number in range(16)]


def test_where_all_are_disturbed_nothing_can_be_said() -> None:
    observed = look(ended(), seen(strangers={"a", "b"}))
    assert observed["verdict"] == "Disturbed"
    assert "error" not in observed


def test_nodes_of_moves_that_were_not_made_are_not_judged() -> None:
    both = (move(1), move(2, "c", "b"))
    plan = ended(*both, states=(State.MOVED, State.FAILED))
    observed = look(plan, seen())
    assert {each["name"]: each.get("disturbed", False) for each in observed["nodes"]} == {
        "a": False,
        "b": True,
        "c": True,
    }


def test_nor_is_one_on_which_a_pod_has_landed_that_was_to_go_elsewhere() -> None:
    plan = ended()
    plan["status"]["moves"][0]["successor"]["node"] = "c"
    observed = look(plan, seen())
    assert {each["name"] for each in observed["nodes"] if each.get("disturbed")} == {"b"}


def test_a_plan_that_moved_nothing_is_not_looked_at() -> None:
    plan = ended(states=(State.FAILED,))
    assert not reschedule_plan.awaits_loads(plan)
    assert not reschedule_plan.awaits_bounces(plan)


# ------------------------------------------------------------------ why


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (seen(85, 65, 75), "LoadChanged"),
        (seen(85, 15), "PodsDiffer"),
        (seen(35, 65), "PodsDiffer"),
        (seen(85, 65), "Unclear"),
        (seen(85, 65, 30), "Unclear"),
    ],
    ids=["all rose", "less was moved", "more was moved", "only these rose", "others fell"],
)
def test_what_may_be_behind_it(found: Seen, cause: str) -> None:
    observed = look(ended(), found)
    assert observed["verdict"] == "NotAsPredicted"
    [strategy] = observed["strategies"]
    assert (strategy["name"], strategy["failed"], strategy["cause"]) == (
        "LoadBalancing",
        True,
        cause,
    )
    words = reschedule_plan.WORDS[reschedule_plan.Cause(cause)]
    assert f"LoadBalancing: {words}" in observed["message"]


def test_noise_is_no_failure() -> None:
    assert look(ended(), seen(66, 33))["verdict"] == "AsPredicted"
    by_requests = look(ended(word="requests"), seen(66, 33, loads="requests"))
    assert by_requests["verdict"] == "NotAsPredicted"


def test_each_strategy_is_judged_by_its_own_nodes() -> None:
    both = (move(1, "a", "a"), move(2, "b", "b", strategy="TopologySpread"))
    observed = look(ended(*both), seen(b=70))
    assert [(each["name"], each["failed"]) for each in observed["strategies"]] == [
        ("LoadBalancing", False),
        ("TopologySpread", True),
    ]


def _one_after_the_other(*loads: float) -> list[Object]:
    found = []
    for number, a in enumerate(loads):
        plan = ended(at=NOW + timedelta(minutes=10 * number))
        shown = seen(a, 100 - a, at=LATER + timedelta(minutes=10 * number))
        found.append(reschedule_plan.remains_of(with_status(plan, look(plan, shown))))
    return found


@pytest.mark.parametrize(
    ("loads", "failed"),
    [
        ((85, 85), 0),
        ((85, 85, 85), 3),
        ((60, 60, 85, 60, 85, 85), 3),
        ((85, 85, 85, 60, 60, 60), 0),
    ],
)
def test_again_and_again_is_three_of_the_last_five(loads: tuple[float, ...], failed: int) -> None:
    plans = _one_after_the_other(*loads)
    found = reschedule_plan.failing(reversed(plans))
    assert {name: each.failed for name, each in found.items()} == (
        {"LoadBalancing": failed} if failed else {}
    )
    if failed:
        assert "requests are far from use" in str(found["LoadBalancing"])


# ------------------------------------------------------------------ bounces


def test_bounces_are_counted_for_an_hour_and_never_fewer() -> None:
    plan = with_status(ended(), look(ended(), seen()))
    assert reschedule_plan.successors_of(plan) == {"new-uid-1"}
    assert reschedule_plan.awaits_bounces(plan)
    once = with_status(plan, reschedule_plan.with_bounces(plan, 1, LATER))
    assert (once["status"]["observed"]["bounces"], "final" in once["status"]["observed"]) == (
        1,
        False,
    )
    done = with_status(once, reschedule_plan.with_bounces(once, 0, ENDED + HOUR))
    assert (done["status"]["observed"]["bounces"], done["status"]["observed"]["final"]) == (1, True)
    assert not reschedule_plan.awaits_bounces(done)
    assert reschedule_plan.is_bounce(plan, ENDED + HOUR)
    assert not reschedule_plan.is_bounce(plan, ENDED + HOUR + timedelta(seconds=1))


def test_what_is_kept_in_memory_shrinks_as_less_is_needed() -> None:
    plan = ended()
    waits = reschedule_plan.remains_of(plan)
    assert reschedule_plan.look(waits, seen()) == reschedule_plan.look(plan, seen())
    looked = with_status(waits, look(waits, seen()))
    counts = reschedule_plan.remains_of(looked)
    assert "nodes" not in counts["spec"]
    assert reschedule_plan.successors_of(counts) == {"new-uid-1"}
    final = with_status(counts, reschedule_plan.with_bounces(counts, 0, ENDED + HOUR))
    least = reschedule_plan.remains_of(final)
    assert "moves" not in {**least["spec"], **least["status"]}
    assert reschedule_plan.verdict_of(least) == "AsPredicted"
    for each in (waits, counts, least):
        assert reschedule_plan.remains_of(each) == each


def test_the_condition_keeps_its_time_and_the_others() -> None:
    plan = with_status(ended(), look(ended(), seen()))
    completed, predicted = plan["status"]["conditions"]
    assert (completed["type"], predicted["type"], predicted["status"]) == (
        "Completed",
        "Predicted",
        "True",
    )
    again = reschedule_plan.observed_status(plan, plan["status"]["observed"], LATER + HOUR)
    assert again["conditions"] == [completed, predicted]


# ------------------------------------------------------------------ history


def test_history_is_of_plans_that_were_carried_out() -> None:
    plan = with_status(ended(), look(ended(), seen(c=75)))
    [entry] = reschedule_plan.history([plan, {**plan, "status": {"phase": "Expired"}}])
    assert (entry.strategies, entry.moved, entry.failed, entry.bounces) == (
        ("LoadBalancing",),
        1,
        0,
        0,
    )
    [cpu] = entry.imbalance
    assert (cpu.before, cpu.predicted, cpu.observed) == ("80.0", "20.0", "35.0")
    assert entry.success is None
    document = reschedule_plan.document_of(entry)
    assert (document["success"], document["verdict"]) == (None, "AsPredicted")
    assert document["imbalance"][0]["observed"] == 35.0
    everything = reschedule_plan.history(
        [plan, {**plan, "status": {"phase": "Expired"}}], completed_only=False
    )
    assert [each.success for each in everything] == [None, False]


@pytest.mark.parametrize(
    ("found", "bounces", "success"),
    [(seen(), 0, True), (seen(), 1, False), (seen(85, 15), 0, False)],
)
def test_success_is_all_of_it(found: Seen, bounces: int, success: bool) -> None:  # noqa: FBT001
    plan = with_status(ended(), look(ended(), found))
    end = ENDED + HOUR
    over = with_status(plan, reschedule_plan.with_bounces(plan, bounces, end))
    assert reschedule_plan.entry_of(over).success is success
