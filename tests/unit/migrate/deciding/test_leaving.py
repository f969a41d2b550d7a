"""Originals that leave their Services before they are told to end: who, for how long, and back."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.config import Migration
from rescheduler.migrate.deciding import leaving, timeouts
from rescheduler.migrate.deciding.actions import Action, Evict, SetReady, Wait, describe
from rescheduler.migrate.deciding.facts import Progress
from rescheduler.model import conditions, names
from rescheduler.model.podmigration import Step
from tests.unit.migrate.deciding.surge.surge_scenes import LOOKS, problems
from tests.unit.migrate.driving import Drive, Event
from tests.unit.migrate.toy_cluster import SETTINGS, ToyCluster
from tests.unit.migrate.toy_objects import is_ready, set_ready, touch

LONG = replace(SETTINGS, linger_seconds=25)
HOOK = {"preStop": {"sleep": {"seconds": 1}}}


def driven(cluster: ToyCluster, *events: Event) -> Drive:
    return Drive(cluster, events).to_the_end()


def times(drive: Drive, words: str) -> int:
    return sum(describe(action) == words for action in drive.actions)


def leaves(drive: Drive) -> int:
    return times(drive, "takes the original out of its Services")


def comes_back(drive: Drive) -> int:
    return times(drive, "gives the original back to its Services")


# ---------------------------------------------------------------------- who


def _original(cluster: ToyCluster) -> dict[str, Any]:
    return cluster.pods[cluster.original_uid]


def _with_hooks(cluster: ToyCluster) -> None:
    for container in _original(cluster)["spec"]["containers"]:
        container["lifecycle"] = HOOK


def _gated(cluster: ToyCluster) -> None:
    _original(cluster)["spec"]["readinessGates"] = [{"conditionType": "example.com/in"}]


def _in_no_time(cluster: ToyCluster) -> None:
    _original(cluster)["spec"]["terminationGracePeriodSeconds"] = 0


def _annotated(told: str) -> Any:  # noqa: ANN401
    def act(cluster: ToyCluster) -> None:
        _original(cluster)["metadata"]["annotations"][names.LINGER] = told

    return act


@pytest.mark.parametrize(
    ("happens", "does"),
    [
        pytest.param(lambda _: None, True, id="any"),
        pytest.param(_with_hooks, False, id="looks-after-itself"),
        pytest.param(_gated, False, id="readiness-gates"),
        pytest.param(_in_no_time, False, id="no-grace-period"),
        pytest.param(_annotated("0s"), False, id="annotated"),
        pytest.param(_annotated("soon"), True, id="annotated-with-nonsense"),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_who_leaves(happens: Any, *, does: bool, alone: bool) -> None:  # noqa: ANN401
    cluster = ToyCluster(alone=alone, replicas=1)
    happens(cluster)
    drive = driven(cluster)
    assert drive.outcome.moved
    assert bool(leaves(drive)) is does
    assert (Step.LEAVE in drive.steps) is does


def test_one_container_that_does_not_look_after_itself_is_enough() -> None:
    cluster = ToyCluster(alone=True, replicas=1)
    app = {"name": "app"}
    _original(cluster)["spec"]["containers"] = [app, {"name": "mesh", "lifecycle": HOOK}]
    assert leaves(driven(cluster))


def test_not_where_the_copy_serves_only_once_it_is_adopted() -> None:
    drive = driven(ToyCluster(by_hash=True))
    assert drive.outcome.moved
    assert leaves(drive) == 0


def test_not_for_a_service_to_which_ready_means_nothing() -> None:
    cluster = ToyCluster()
    service = cluster._service()  # noqa: SLF001
    service["spec"]["publishNotReadyAddresses"] = True
    cluster._service = lambda: service  # type: ignore[method-assign]  # noqa: SLF001
    drive = driven(cluster)
    assert drive.outcome.moved
    assert leaves(drive) == 0


def test_not_against_one_who_gives_it_back_all_the_time() -> None:
    def give_back(cluster: ToyCluster) -> None:
        original = cluster.original
        if original and conditions.has_left(original):
            set_ready(original, ready=True)
            touch(original)

    drive = driven(ToyCluster(), *(Event(look, give_back) for look in range(60)))
    assert drive.outcome.moved
    assert 1 < leaves(drive) < 6
    assert list(problems(drive)) == []


# ---------------------------------------------------------------------- for how long


@pytest.mark.parametrize(
    ("told", "grace", "seconds"),
    [
        pytest.param(None, 30, 12, id="the-setting"),
        pytest.param(None, 5, 5, id="no-longer-than-its-grace-period"),
        pytest.param("20s", 30, 20, id="its-annotation"),
        pytest.param("5m", 30, 30, id="its-annotation-and-its-grace-period"),
        pytest.param("-1s", 30, 0, id="never-less-than-none"),
        pytest.param("x", 30, 12, id="nonsense"),
    ],
)
def test_how_long(told: str | None, grace: int, seconds: float) -> None:
    annotations = {} if told is None else {names.LINGER: told}
    pod = {
        "metadata": {"annotations": annotations},
        "spec": {"terminationGracePeriodSeconds": grace},
    }
    assert timeouts.linger(pod, Migration()) == seconds


def test_its_kubelet_may_say_what_it_likes() -> None:
    """It leaves again each time, and has been away for a while when it is told to end."""
    cluster = ToyCluster(settings=LONG)
    away: list[int] = []

    def count(cluster: ToyCluster) -> None:
        original = cluster.original
        is_out = original is not None and not is_ready(original)
        away.append(away[-1] + 1 if is_out and away else int(is_out))

    drive = driven(cluster, *(Event(look, count) for look in range(100)))
    assert drive.outcome.moved
    assert leaves(drive) in (3, 4)
    assert max(away) >= leaving.QUIET_SECONDS
    assert list(problems(drive)) == []


def test_a_process_that_takes_it_up_counts_anew() -> None:
    """It may have been back in between."""
    drive = Drive(ToyCluster(settings=LONG))
    drive.start()
    while drive.status.step is not Step.LEAVE or not isinstance(drive.actions[-1], Wait):
        drive.look()
        drive.tick(1)
    drive.start()
    drive.look()
    while not isinstance(action := drive.actions[-1], Wait):
        drive.look()
    assert action.seconds == LONG.linger_seconds


@pytest.mark.parametrize(("seconds", "number"), [(1, 1), (8, 2), (12, 2), (25, 4)])
def test_its_kubelet_is_put_off_for_as_long(seconds: int, number: int) -> None:
    """And for the hand-over. It looks every ten seconds, and the admission policy counts down."""
    cluster = ToyCluster(settings=replace(SETTINGS, linger_seconds=seconds))
    said = {
        condition["message"].partition(" times its kubelet is put off; ")[0]
        for action in driven(cluster).actions
        if isinstance(action, SetReady) and not action.is_ready
        for condition in action.conditions
        if condition["type"] == "Ready"
    }
    assert said == {str(number)}


# ---------------------------------------------------------------------- and back


@pytest.mark.parametrize("alone", [False, True])
def test_while_its_copy_does_not_serve_it_does(*, alone: bool) -> None:
    had_left = []

    def fail(cluster: ToyCluster) -> None:
        if cluster.copy:
            cluster.turn_unready(cluster.copy["metadata"]["uid"], for_seconds=6)
        had_left.append(bool(cluster.original and conditions.has_left(cluster.original)))

    for look in LOOKS:
        drive = driven(ToyCluster(alone=alone, replicas=1, settings=LONG), Event(look, fail))
        assert drive.outcome.moved
        assert comes_back(drive) == had_left[-1], look
    assert any(had_left)


def test_taken_back_it_is_given_back_first() -> None:
    def cordon(cluster: ToyCluster) -> None:
        assert cluster.target
        cluster.target["spec"]["unschedulable"] = True

    drive = driven(ToyCluster(settings=LONG), Event(12, cordon))
    assert not drive.outcome.moved
    taken_back = [describe(action) for action in drive.actions[12:] if not isinstance(action, Wait)]
    assert taken_back[:4] == [
        "gives up",
        "gives the original back to its Services",
        "takes the marks off the original",
        "evicts the copy",
    ]
    assert list(problems(drive)) == []


def test_it_comes_back_as_it_was() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    scheduled = {"type": "PodScheduled", "status": "True"}
    since = ready["lastTransitionTime"]
    words = f"web-2 serves in its place; it was Ready since {since}"
    told = {
        "reason": names.LEAVING,
        "message": words,
        "status": "False",
        "lastProbeTime": "2026-01-02T00:00:00Z",
        "lastTransitionTime": "2026-01-02T00:00:08Z",
    }
    pod = {"metadata": {}, "status": {"conditions": [scheduled, {**ready, **told}]}}
    assert leaving.back_again(pod) == [scheduled, ready]


def test_a_budget_that_refuses_gets_it_back() -> None:
    cluster = ToyCluster()
    original = _original(cluster)
    original["metadata"]["labels"][names.MIGRATION_STATUS] = names.STATUS_IN_PROGRESS
    original["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "reason": names.LEAVING}
    ]
    asks: Action = Evict("asks", original, 1, dry_run=True)
    refused, view = Progress(now=cluster.now, budget_refused_seconds=1), cluster.view()
    assert isinstance(leaving.or_come_back(asks, view, original, refused), SetReady)
    assert leaving.or_come_back(asks, view, original, Progress(now=cluster.now)) is asks
    forbidden = replace(refused, cannot_leave=True)
    assert leaving.or_come_back(asks, view, original, forbidden) is asks


NOT_READY = {"type": "ContainersReady", "status": "False"}


@pytest.mark.parametrize(
    ("told", "containers", "comes"),
    [
        pytest.param("True", [], True, id="well"),
        pytest.param("Unknown", [], False, id="its-node-is-lost"),
        pytest.param("", [], False, id="its-node-is-gone"),
        pytest.param("True", [NOT_READY], False, id="its-containers-fail"),
    ],
)
def test_who_would_not_be_ready_is_not_told_to_be(
    told: str, containers: list[Any], *, comes: bool
) -> None:
    """Nobody else would say otherwise any more: a node's pods are marked when it is lost."""
    cluster = ToyCluster()
    if told and cluster.source is not None:
        cluster.source["status"]["conditions"][0]["status"] = told
    else:
        cluster.source = None
    original = _original(cluster)
    original["metadata"]["labels"][names.MIGRATION_STATUS] = names.STATUS_IN_PROGRESS
    out = {"type": "Ready", "status": "False", "reason": names.LEAVING}
    original["status"]["conditions"] = [out, *containers]
    action = leaving.or_come_back(Wait("."), cluster.view(), original, Progress(now=cluster.now))
    assert isinstance(action, SetReady) == comes


def test_of_one_that_fails_nobody_says_that_it_leaves() -> None:
    """Or it would count as well, and be given back what it never was."""

    def fails(cluster: ToyCluster) -> None:
        if cluster.copy is not None and cluster.original is not None:
            set_ready(cluster.original, ready=False)
            touch(cluster.original)

    cluster = ToyCluster(asked=True)
    drive = driven(cluster, *(Event(look, fails) for look in range(60)))
    assert leaves(drive) == comes_back(drive) == 0


@pytest.mark.parametrize("policy", ["internalTrafficPolicy", "externalTrafficPolicy"])
def test_not_where_only_pods_of_the_same_node_are_asked(policy: str) -> None:
    cluster = ToyCluster()
    service = cluster._service()  # noqa: SLF001
    service["spec"][policy] = "Local"
    cluster._service = lambda: service  # type: ignore[method-assign]  # noqa: SLF001
    drive = driven(cluster)
    assert drive.outcome.moved
    assert leaves(drive) == 0


# ---------------------------------------------------------------------- beside its siblings


def _out(pod: dict[str, Any], *, left: float, away: float, cluster: ToyCluster) -> None:
    def text(seconds: float) -> str:
        return (cluster.now - timedelta(seconds=seconds)).isoformat()

    pod["metadata"]["labels"][names.MIGRATION_STATUS] = names.STATUS_IN_PROGRESS
    told = {"lastProbeTime": text(left), "lastTransitionTime": text(away)}
    out = {"type": "Ready", "status": "False", "reason": names.LEAVING, **told}
    pod["status"]["conditions"] = [out]


@pytest.mark.parametrize(
    ("left", "away", "lingered", "waits"),
    [
        pytest.param(30, 20, 0, False, id="finished"),
        pytest.param(5, 5, 0, True, id="at-it"),
        pytest.param(30, 2, 0, True, id="given-back-a-moment-ago"),
        pytest.param(30, 6, 0, False, id="given-back-a-while-ago"),
        pytest.param(30, 2, 37, False, id="again-and-again"),
    ],
)
def test_a_sibling_that_proxies_may_still_know_is_waited_for(
    left: float, away: float, lingered: float, *, waits: bool
) -> None:
    """It might be the one that its ReplicaSet removes."""
    cluster = ToyCluster(settings=replace(SETTINGS, linger_seconds=12))
    sibling = next(pod for uid, pod in cluster.pods.items() if uid != cluster.original_uid)
    _out(sibling, left=left, away=away, cluster=cluster)
    progress = Progress(now=cluster.now, lingering_seconds=lingered)
    action = leaving.wait_for_siblings(cluster.intent, cluster.view(), progress)
    assert isinstance(action, Wait) == waits


def test_a_sibling_moved_by_a_newer_version_holds_up_nobody() -> None:
    cluster = ToyCluster(moving=2)
    other = [*cluster.records.values()][1]
    other["status"] = {"phase": "InProgress", "step": "AStepOfTomorrow"}
    progress = Progress(now=cluster.now)
    assert leaving.wait_for_siblings(cluster.intent, cluster.view(), progress) is None
