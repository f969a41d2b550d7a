"""Who may move: one case for each rule about the pod itself, and about the configuration."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import (
    ALLOWED,
    MOVE,
    NEVER,
    WHEN_ASKED,
    Configuration,
    Forced,
    NodeMaintenanceSettings,
    PodRules,
    Scope,
)
from rescheduler.model import names, selectors
from rescheduler.model.columns import Flag
from rescheduler.model.moves import Way
from rescheduler.plan.movable import Movable
from tests.unit.plan.support.movable_scenes import (
    NOW,
    Object,
    movable,
    owned_by,
    pod,
    replica_set,
    row,
    snapshot,
    why,
)

OFF = names.RESCHEDULING
DRAIN = ", or use rescheduler drain"
MOVE_THEM = "set nodeMaintenance.excludedNamespaces to Move"


def test_an_ordinary_pod_may_move() -> None:
    assert why(pod()) == ()


def _labelled(key: str, value: str) -> Object:
    return pod(metadata={"labels": {"app": "web", key: value}})


def _annotated(key: str, value: str) -> Object:
    return pod(metadata={"annotations": {key: value}})


STAYS = [
    (pod(metadata={"namespace": "kube-system"}), "its namespace is in excludedNamespaces"),
    (pod(priority=2_000_000_000), "it is critical to the system"),
    (_labelled(OFF, "disabled"), f"its label {OFF} keeps it out"),
    (_labelled(OFF, "no"), f"its label {OFF} keeps it out"),
    (_labelled(OFF, ""), f"its label {OFF} keeps it out"),
    (_annotated(names.MIRROR_POD, "x"), "it is a static pod"),
    (
        _annotated(names.SAFE_TO_EVICT, "false"),
        f"its annotation {names.SAFE_TO_EVICT} keeps it out",
    ),
    (_annotated(names.DO_NOT_DISRUPT, "true"), f"its annotation {names.DO_NOT_DISRUPT} keeps it"),
    (_labelled(names.MIGRATION_STATUS, "in-progress"), "it is being moved already"),
    (pod(metadata={"deletionTimestamp": "2026-03-01T12:00:00Z"}), "it is terminating"),
    (pod(nodeName="gone"), "its node is not there"),
    (pod(nodeName="", status={"phase": "Pending"}), "it is not Running and Ready"),
    (pod(owner=owned_by("Job")), "it belongs to a Job, and pods.jobs is Never"),
    (pod(owner=owned_by("DaemonSet")), "it belongs to a DaemonSet"),
    (pod(owner=owned_by("Node")), "it is a static pod"),
    (pod(schedulerName="volcano"), "another scheduler places it: volcano"),
    (pod(resourceClaims=[{"name": "gpu"}]), "it has resource claims"),
    (pod(schedulingGates=[{"name": "wait"}]), "it has scheduling gates"),
]


@pytest.mark.parametrize(("found", "reason"), STAYS, ids=[each[1][:40] for each in STAYS])
def test_it_stays_for_what_it_is(found: Object, reason: str) -> None:
    told = why(found)
    assert [each for each in told if reason in each], told
    # Nor does anybody get it away by asking.
    assert why(found, asked=True)


@pytest.mark.parametrize(
    "found",
    [
        _labelled(OFF, "enabled"),
        _labelled(names.MIGRATION_STATUS, names.STATUS_COMPLETED),
        _annotated(names.SAFE_TO_EVICT, "true"),
        _annotated(names.DO_NOT_DISRUPT, "false"),
        _annotated(names.DO_NOT_DISRUPT, ""),
        _annotated(names.DO_NOT_DISRUPT, "0s"),
        pod(schedulerName=""),
        pod(priority=1_999_999_999),
    ],
)
def test_that_does_not_keep_it(found: Object) -> None:
    assert why(found) == ()


@pytest.mark.parametrize("value", ["true", "", "false"])
def test_who_prefers_no_eviction_stays_unless_somebody_asks(value: str) -> None:
    """The descheduler looks for the annotation, whatever its value."""
    found = _annotated(names.PREFER_NO_EVICTION, value)
    assert why(found) == (f"its annotation {names.PREFER_NO_EVICTION} keeps it out",)
    assert why(found, asked=True) == ()


def test_every_reason_is_told() -> None:
    found = pod(
        owner=None,
        metadata={
            "namespace": "kube-system",
            "labels": {OFF: "disabled"},
            "annotations": {names.MIRROR_POD: "x", names.SAFE_TO_EVICT: "false"},
        },
        priority=2_000_001_000,
        schedulerName="other",
        volumes=[{"name": "tmp", "emptyDir": {}}, {"name": "disk", "iscsi": {}}],
        status={"phase": "Pending"},
    )
    assert why(found) == (
        "its namespace is in excludedNamespaces",
        "it is critical to the system",
        f"its label {OFF} keeps it out",
        "it is a bare pod, and pods.barePods is WhenAsked",
        (
            "it has local storage, which would stay behind (volume tmp), and pods.localStorage is "
            "WhenAsked"
        ),
        "another scheduler places it: other",
        "one pod at a time may have its volume disk",
        "it is not Running and Ready",
        "it is a static pod",
        f"its annotation {names.SAFE_TO_EVICT} keeps it out",
    )


NOT_READY = [
    pod(status={"phase": "Pending"}),
    pod(status={"phase": "Unknown"}),
    pod(status={"conditions": [{"type": "Ready", "status": "False"}]}),
    pod(status={"conditions": []}),
]


@pytest.mark.parametrize("found", NOT_READY)
def test_who_is_not_ready_goes_when_somebody_asks(found: Object) -> None:
    """Nobody misses it, so no setting about that holds it, nor does its workload."""
    assert why(found) == ("it is not Running and Ready",)
    never = _pods(recreate=NEVER)
    cluster = snapshot(found, replicasets=[replica_set(ready=0)])
    assert why(cluster, never, asked=True) == ()
    assert movable(cluster).way(row(cluster)) is Way.RECREATE
    assert not movable(cluster).is_ready(row(cluster))
    bare = snapshot({**found, "metadata": {**found["metadata"], "ownerReferences": []}})
    assert movable(bare).way(row(bare)) is Way.SURGE
    assert why(bare, never, asked=True) == ()


def test_a_reason_is_told_once() -> None:
    static = pod(owner=owned_by("Node"), metadata={"annotations": {names.MIRROR_POD: "x"}})
    assert why(static) == ("it is a static pod",)


def test_a_pod_whose_copy_is_there_stays_and_so_does_the_copy() -> None:
    label = {"app": "web", names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}
    told = {names.ORIGINAL_POD: "uid-web-1", names.ORIGINAL_POD_NAME: "web-1"}
    copy = pod("web-2", metadata={"labels": label, "annotations": told}, nodeName="b")
    cluster = snapshot(pod(), copy)
    assert why(cluster) == ("a copy is taking its place",)
    assert why(cluster, name="web-2") == ("it is being moved already",)


def test_a_pod_whose_copy_is_to_come_stays_and_so_does_the_copy() -> None:
    cluster = snapshot(pod(), assumed="b")
    copy = next(each for each in cluster.rows.tolist() if cluster.pods.flags[each] & Flag.ASSUMED)
    assert why(cluster) == ("a copy is taking its place",)
    assert movable(cluster).why_it_stays(copy) == ("it is a copy that is not there yet",)


def test_others_may_need_it_where_it_is() -> None:
    class Needed:
        def why_stuck(self, which: int) -> tuple[str, ...]:
            return ("shop/web-2 must be near it",) if which == row(cluster) else ()

        def why_no_copy(self, _row: int) -> str:
            return ""

    cluster = snapshot(pod(), pod("web-2"))
    found = Movable(cluster, Configuration(), Needed())
    assert found.why_it_stays(row(cluster)) == ("shop/web-2 must be near it",)
    assert found.why_it_stays(row(cluster, "web-2")) == ()


# ------------------------------------------------------------------ the configuration


def _pods(**rules: Any) -> Configuration:  # noqa: ANN401
    return Configuration(pods=PodRules(**rules))


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (Configuration(scope=Scope(namespaces=("other",))), "its namespace is not in scope.name"),
        (Configuration(scope=Scope(namespaces=("shop",))), ""),
        (Configuration(excluded_namespaces=("shop",)), "its namespace is in excludedNamespaces"),
        (Configuration(excluded_pod_selector=selectors.parse("app=web")), "excludedPodSelector"),
        (Configuration(excluded_pod_selector=selectors.parse("app=db")), ""),
        (_pods(priority_threshold=7), "its priority is not below pods.priorityThreshold: 7"),
        (_pods(priority_threshold=-1), "its priority is not below pods.priorityThreshold: 7"),
        (_pods(priority_threshold=8), ""),
        (_pods(min_replicas=2), "its workload is smaller than pods.minReplicas: 1"),
        (_pods(min_replicas=1), ""),
        (_pods(min_pod_age_seconds=61), "it is younger than pods.minPodAge"),
        (_pods(min_pod_age_seconds=60), ""),
    ],
)
def test_it_stays_for_the_configuration(configuration: Configuration, reason: str) -> None:
    young = pod(priority=7, status={"startTime": "2027-01-15T07:59:00Z"})
    told = why(snapshot(young, taken_at=NOW), configuration)
    assert len(told) == bool(reason)
    assert reason in "".join(told)


def test_a_selector_may_speak_of_a_label_that_only_this_pod_has() -> None:
    index = "apps.kubernetes.io/pod-index"
    first, second = (
        pod(f"web-{each}", metadata={"labels": {"app": "web", index: str(each)}}) for each in (1, 2)
    )
    configuration = Configuration(excluded_pod_selector=selectors.parse(f"{index}=2"))
    cluster = snapshot(first, second)
    assert why(cluster, configuration) == ()
    assert why(cluster, configuration, name="web-2") == ("excludedPodSelector matches it",)


OLD, YOUNG = "2027-01-15T06:00:00Z", "2027-01-15T07:59:30Z"


@pytest.mark.parametrize(
    ("changes", "taken_at", "stays"),
    [
        ({"status": {"startTime": YOUNG}}, NOW, True),
        ({"status": {"startTime": OLD}}, NOW, False),
        ({"metadata": {"creationTimestamp": YOUNG}}, NOW, True),
        ({"metadata": {"creationTimestamp": OLD}, "status": {"startTime": YOUNG}}, NOW, True),
        ({"status": {"startTime": YOUNG}}, 0.0, False),
        ({}, NOW, False),
    ],
    ids=["young", "old", "created", "begun-late", "no-clock", "no-time"],
)
def test_a_young_pod_stays_until_somebody_asks(
    changes: Object, taken_at: float, *, stays: bool
) -> None:
    cluster = snapshot(pod(**changes), taken_at=taken_at)
    configuration = _pods(min_pod_age_seconds=3600)
    assert bool(why(cluster, configuration)) == stays
    assert why(cluster, configuration, asked=True) == ()


@pytest.mark.parametrize(
    ("told", "began", "taken_at", "stays"),
    [
        ("1h", YOUNG, NOW, True),
        ("1h", OLD, NOW, False),
        ("30s", YOUNG, NOW, False),
        ("31s", YOUNG, NOW, True),
        ("1h", YOUNG, 0.0, True),
        ("1h", None, NOW, True),
        ("soon", YOUNG, NOW, False),
    ],
)
def test_a_pod_may_be_left_alone_for_some_time(
    told: str, began: str | None, taken_at: float, *, stays: bool
) -> None:
    status = {"startTime": began} if began else {}
    left_alone = pod(metadata={"annotations": {names.DO_NOT_DISRUPT: told}}, status=status)
    assert bool(why(snapshot(left_alone, taken_at=taken_at), asked=True)) == stays


def test_what_we_asked_karpenter_for_keeps_nobody_else() -> None:
    """Not a drain, and not another pass: that one has rules of its own for what was moved."""
    told = {names.DO_NOT_DISRUPT: "1h", names.OWN_DO_NOT_DISRUPT: "1h"}
    moved = pod(metadata={"annotations": told}, status={"startTime": YOUNG})
    assert why(snapshot(moved, taken_at=NOW), asked=True) == ()
    # Its user says something else of it by now.
    told[names.DO_NOT_DISRUPT] = "true"
    held = pod(metadata={"annotations": told}, status={"startTime": YOUNG})
    assert why(snapshot(held, taken_at=NOW), asked=True)


def test_pods_of_our_own_profiles_are_ours_to_place() -> None:
    ours = pod(schedulerName="ours")
    assert why(ours) == ("another scheduler places it: ours",)
    assert why(ours, Configuration(scheduler_names=("ours",))) == ()


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_bare_pods(policy: str) -> None:
    bare = pod(owner=None, restartPolicy=policy)
    anew = f"its work would begin anew (restartPolicy {policy}), and pods.jobs is Never"
    expected = () if policy == "Always" else (anew,)
    assert why(bare) == ("it is a bare pod, and pods.barePods is WhenAsked", *expected)
    assert why(bare, _pods(bare_pods=ALLOWED)) == expected
    assert why(bare, _pods(bare_pods=ALLOWED, jobs=ALLOWED)) == ()
    assert why(bare, _pods(bare_pods=ALLOWED, jobs=ALLOWED, min_replicas=2)) == (
        "its workload is smaller than pods.minReplicas: 1",
    )
    assert why(bare, _pods(jobs=WHEN_ASKED), asked=True) == ()
    (never,) = why(bare, _pods(bare_pods=NEVER, jobs=WHEN_ASKED), asked=True)
    assert never == f"it is a bare pod, and pods.barePods is Never: set it to WhenAsked{DRAIN}"


# ------------------------------------------------------------------ the system

MOVED = NodeMaintenanceSettings(excluded_namespaces=MOVE)
OF_THE_SYSTEM = [
    (pod(owner=None, metadata={"namespace": "kube-system"}), "its namespace is kube-system"),
    (pod(priority=2_000_000_000), "it is critical to the system"),
]


@pytest.mark.parametrize(("found", "reason"), OF_THE_SYSTEM)
def test_the_system_stays_unless_a_maintenance_may_move_it(found: Object, reason: str) -> None:
    for settings in (NodeMaintenanceSettings(), MOVED):
        everywhere = replace(_pods(bare_pods=ALLOWED), excluded_namespaces=())
        assert why(found, replace(everywhere, node_maintenance=settings)) == (reason,)
    stays = Configuration(excluded_namespaces=())
    assert why(found, stays, asked=True) == (f"{reason}: {MOVE_THEM}{DRAIN}",)
    assert why(found, Configuration(node_maintenance=MOVED), asked=True) == ()


def test_a_maintenance_may_move_what_is_excluded() -> None:
    reason = "its namespace is in excludedNamespaces"
    shop = Configuration(excluded_namespaces=("shop",))
    assert why(pod(), shop, asked=True) == (f"{reason}: {MOVE_THEM}{DRAIN}",)
    moved = Configuration(excluded_namespaces=("shop",), node_maintenance=MOVED)
    assert why(pod(), moved, asked=True) == ()
    assert why(pod(), moved) == (reason,)


# ------------------------------------------------------------------ by command

EVERYTHING = Configuration(
    excluded_namespaces=("shop",),
    excluded_pod_selector=selectors.parse("app=web"),
    pods=PodRules(
        priority_threshold=0,
        min_replicas=2,
        empty_dir=NEVER,
        local_storage=NEVER,
        jobs=NEVER,
        bare_pods=NEVER,
        recreate=NEVER,
    ),
)
LOCAL = [{"name": "tmp", "emptyDir": {}}, {"name": "host", "hostPath": {}}]
TAKEN = [
    pod(priority=2_000_000_000, volumes=LOCAL, hostNetwork=True),
    pod(owner=None, restartPolicy="Never", volumes=LOCAL),
    pod(owner=None, metadata={"namespace": "kube-system"}),
]


@pytest.mark.parametrize("found", TAKEN)
def test_a_command_takes_what_the_configuration_keeps(found: Object) -> None:
    assert len(why(found, EVERYTHING, asked=True)) > 1
    assert why(found, replace(EVERYTHING, forced=Forced()), asked=True) == ()


@pytest.mark.parametrize(
    ("skipped", "reasons"),
    [
        (
            Forced(skip_bare_pods=True, skip_jobs=True),
            (
                "it is a bare pod, and --skip-bare-pods leaves it",
                "its work would begin anew (restartPolicy Never), and --skip-jobs leaves it",
            ),
        ),
        (
            Forced(skip_local_storage=True),
            (
                "it would lose what is in its emptyDir tmp, and --skip-local-storage leaves it",
                (
                    "it has local storage, which would stay behind (volume tmp, host), and "
                    "--skip-local-storage leaves it"
                ),
            ),
        ),
        (Forced(skip_namespaces=("shop", "x")), ("--skip-namespace leaves its namespace",)),
        (
            Forced(skip_system=True),
            ("it is critical to the system, and --skip-system leaves it",),
        ),
    ],
)
def test_a_command_skips_what_it_is_told_to(skipped: Forced, reasons: tuple[str, ...]) -> None:
    found = pod(owner=None, restartPolicy="Never", volumes=LOCAL, priority=2_000_000_000)
    assert why(found, Configuration(forced=skipped), asked=True) == reasons


def test_a_command_may_skip_the_system() -> None:
    found = pod(owner=None, metadata={"namespace": "kube-system"})
    skipped = Configuration(forced=Forced(skip_system=True))
    assert why(found, skipped, asked=True) == ("--skip-system leaves kube-system",)


def test_what_a_pod_says_of_itself_holds_against_a_command() -> None:
    forced = Configuration(forced=Forced())
    for key, value in ((names.SAFE_TO_EVICT, "false"), (names.DO_NOT_DISRUPT, "true")):
        reason = f"its annotation {key} keeps it out: take it off"
        assert why(_annotated(key, value), forced, asked=True) == (reason,)
    out = f"its label {OFF} keeps it out: take it off"
    assert why(_labelled(OFF, "disabled"), forced, asked=True) == (out,)
    elsewhere = replace(forced, scope=Scope(namespaces=("other",)))
    reason = "its namespace is not in scope.namespaces: add it there"
    assert why(pod(), elsewhere, asked=True) == (reason,)
    assert why(pod(owner=owned_by("DaemonSet")), forced, asked=True)
