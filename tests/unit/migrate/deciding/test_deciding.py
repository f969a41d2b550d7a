"""In which way a pod is moved."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from rescheduler.migrate.deciding import deciding
from rescheduler.migrate.deciding.actions import End
from rescheduler.migrate.deciding.facts import Intent, Owner, Progress, View
from rescheduler.migrate.deciding.surge import withholding
from rescheduler.migrate.deciding.two_or_none import is_missed
from rescheduler.model import names
from rescheduler.model.podmigration import Way
from tests.unit.migrate.toy_cluster import ToyCluster

Change = Callable[[ToyCluster], None]


def scene(
    change: Change | None = None,
    *,
    alone: bool = False,
    **of_view: Any,  # noqa: ANN401
) -> tuple[Intent, View]:
    cluster = ToyCluster(alone=alone)
    if change:
        change(cluster)
    return cluster.intent, replace(cluster.view(), **of_view)


def choose(intent: Intent, view: View) -> Way | End:
    return deciding.choose(intent, view, Progress(now=intent.requested_at))


def why_not(intent: Intent, view: View) -> str:
    """It ends, and says why."""
    chosen = choose(intent, view)
    assert isinstance(chosen, End)
    assert not chosen.outcome.moved
    return f"{chosen.outcome.reason}: {chosen.outcome.message}"


def _spec(**changes: Any) -> Change:  # noqa: ANN401
    def change(cluster: ToyCluster) -> None:
        cluster.pods[cluster.original_uid]["spec"] |= changes

    return change


def _annotated(**annotations: str) -> Change:
    def change(cluster: ToyCluster) -> None:
        told = {"way": names.WAY, "mirror": names.MIRROR_POD}
        metadata = cluster.pods[cluster.original_uid]["metadata"]
        metadata["annotations"] |= {told[key]: value for key, value in annotations.items()}

    return change


def _claim(*modes: str) -> dict[str, Any]:
    return {"metadata": {"name": "data"}, "spec": {"accessModes": list(modes)}}


ON_A_CLAIM = _spec(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])


def _owned(intent: Intent, kind: str) -> Intent:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return replace(intent, owner=Owner(version, kind, "x", "x"))


# ---------------------------------------------------------------------- by kind of owner


def test_a_pod_of_a_replica_set_surges() -> None:
    assert choose(*scene()) is Way.SURGE


def test_a_pod_that_nobody_controls_is_copied() -> None:
    assert choose(*scene(alone=True)) is Way.COPY


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "Widget"])
def test_others_are_evicted_and_steered_where_they_may_be_recreated(kind: str) -> None:
    intent, view = scene()
    intent = _owned(intent, kind)
    assert choose(replace(intent, may_recreate=True), view) is Way.RECREATE
    assert why_not(intent, view) == f"NotMovable: its move would recreate it: it is one of a {kind}"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("DaemonSet", "it belongs to a DaemonSet"),
        ("Node", "it is a static pod"),
    ],
)
def test_some_cannot_be_moved_at_all(kind: str, reason: str) -> None:
    intent, view = scene()
    forced = replace(_owned(intent, kind), may_recreate=True, way=Way.RECREATE)
    assert why_not(forced, view) == f"NotMovable: {reason}"


def test_a_static_pod_is_not_moved_whoever_owns_it() -> None:
    assert why_not(*scene(_annotated(mirror="x"), alone=True)) == "NotMovable: it is a static pod"


def _own_without_controlling(cluster: ToyCluster) -> None:
    reference = {"kind": "Widget", "name": "w", "uid": "w"}
    cluster.pods[cluster.original_uid]["metadata"]["ownerReferences"] = [reference]


def test_only_pods_without_any_owner_are_copied() -> None:
    reason = "it is owned, without being controlled, by a Widget"
    assert why_not(*scene(_own_without_controlling, alone=True)) == f"NotMovable: {reason}"


def test_nothing_is_chosen_for_a_pod_that_is_gone_or_going() -> None:
    assert why_not(*scene(original=None)) == "NotNow: the pod is gone"
    stop: Change = lambda cluster: cluster.stop(cluster.original_uid)  # noqa: E731
    assert why_not(*scene(stop)) == "NotNow: the pod is terminating"
    assert why_not(*scene(replica_set=None)) == "NotNow: its ReplicaSet is gone"


# ---------------------------------------------------------------------- who serves nobody


def _unready(cluster: ToyCluster) -> None:
    cluster.turn_unready(cluster.original_uid, for_seconds=60)


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_who_is_not_ready_is_evicted_when_somebody_asks(kind: str) -> None:
    """Though nobody allowed it to be recreated: nobody misses it."""
    intent, view = scene(_unready)
    if kind != "ReplicaSet":
        intent = _owned(intent, kind)
    assert choose(replace(intent, asked=True), view) is Way.RECREATE
    assert choose(intent, view) is not Way.RECREATE
    told = replace(intent, asked=True, way=Way.SURGE)
    assert why_not(told, view).startswith("NotMovable: its move would recreate it, and Surge is")


def test_who_is_not_ready_and_has_no_controller_is_copied_all_the_same() -> None:
    intent, view = scene(_unready, alone=True)
    assert choose(replace(intent, asked=True), view) is Way.COPY


def test_work_begins_anew_when_somebody_asks() -> None:
    intent, view = scene(_spec(restartPolicy="OnFailure"), alone=True)
    assert "its work would be done twice" in why_not(intent, view)
    assert choose(replace(intent, asked=True), view) is Way.COPY


# ---------------------------------------------------------------------- where there cannot be two


def _recreate(cluster: ToyCluster) -> None:
    assert cluster.deployment
    cluster.deployment["spec"]["strategy"] = {"type": "Recreate"}


def _names_a_node(cluster: ToyCluster) -> None:
    cluster.replica_sets["rs-1"]["spec"]["template"]["spec"]["nodeName"] = "node-1"


def _sibling_goes_first(cluster: ToyCluster) -> None:
    cost = {names.DELETION_COST: names.LOWEST_DELETION_COST}
    cluster.siblings[0]["metadata"]["annotations"] |= cost


def _policy(cluster: ToyCluster) -> dict[str, Any]:
    return {"spec": {"podSelector": cluster.replica_sets["rs-1"]["spec"]["selector"]}}


HOST_PORT = _spec(containers=[{"name": "app", "ports": [{"containerPort": 1, "hostPort": 1}]}])
HOST_NETWORK = _spec(hostNetwork=True, containers=[{"name": "a", "ports": [{"containerPort": 1}]}])
DISK = _spec(volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "x"}}])
DAEMON_SET = {"metadata": {"name": "greedy"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
NO_SURGE: list[tuple[Change | None, dict[str, Any], str]] = [
    (_recreate, {}, "its Deployment has strategy Recreate: two of its pods must not run at once"),
    (_names_a_node, {}, "its template names a node, past the scheduler"),
    (HOST_PORT, {}, "it uses ports of its node"),
    (HOST_NETWORK, {}, "it uses ports of its node"),
    (_spec(hostNetwork=True), {}, "it uses ports of its node"),
    (DISK, {}, "one pod at a time may have its volume d"),
    (ON_A_CLAIM, {}, "one node at a time may have its PersistentVolumeClaim data"),
    (
        ON_A_CLAIM,
        {"claims": (_claim("ReadWriteOnce"),)},
        "one node at a time may have its PersistentVolumeClaim data",
    ),
    (
        None,
        {"network_policies": (_policy(ToyCluster()),)},
        withholding.NO_LABEL_TO_LACK,
    ),
    (
        _sibling_goes_first,
        {},
        "its sibling web-1 has the lowest deletion cost there is: it would be removed instead",
    ),
    (None, {"daemon_sets": (DAEMON_SET,)}, "another DaemonSet would adopt the copy: greedy"),
]


@pytest.mark.parametrize(("change", "of_view", "reason"), NO_SURGE)
def test_where_there_cannot_be_two_it_is_steered_or_stays(
    change: Change | None, of_view: dict[str, Any], reason: str
) -> None:
    intent, view = scene(change, **of_view)
    assert why_not(intent, view) == f"NotMovable: its move would recreate it: {reason}"
    assert choose(replace(intent, may_recreate=True), view) is Way.RECREATE


def test_only_others_are_led_astray_by_what_a_copy_lacks() -> None:
    cluster = ToyCluster()
    selector = cluster.replica_sets["rs-1"]["spec"]["selector"]
    spread = {"topologySpreadConstraints": [{"labelSelector": selector}]}
    for sibling in cluster.siblings:
        sibling["spec"] |= spread
    assert choose(cluster.intent, cluster.view()) is Way.SURGE
    stranger = {"metadata": {"name": "other", "uid": "other"}, "spec": spread}
    view = replace(cluster.view(), neighbours=(*cluster.view().neighbours, stranger))
    assert withholding.NO_LABEL_TO_LACK in why_not(cluster.intent, view)
    ended = stranger | {"status": {"phase": "Succeeded"}}
    view = replace(cluster.view(), neighbours=(*cluster.view().neighbours, ended))
    assert choose(cluster.intent, view) is Way.SURGE


def _gate(cluster: ToyCluster) -> None:
    gates = [{"conditionType": "example.com/lb"}]
    cluster.replica_sets["rs-1"]["spec"]["template"]["spec"]["readinessGates"] = gates


def test_services_may_miss_the_label_until_the_adoption() -> None:
    cluster = ToyCluster(by_hash=True)
    assert choose(cluster.intent, cluster.view()) is Way.SURGE


def test_unless_a_readiness_gate_may_wait_for_the_copy_to_be_an_endpoint() -> None:
    cluster = ToyCluster(by_hash=True)
    _gate(cluster)
    assert withholding.NO_GATE_WOULD_OPEN in why_not(cluster.intent, cluster.view())
    cluster.by_hash = False
    assert choose(cluster.intent, cluster.view()) is Way.SURGE
    # What hinders without gates, too, is named.
    cluster.by_hash = True
    view = replace(cluster.view(), network_policies=(_policy(cluster),))
    assert withholding.NO_LABEL_TO_LACK in why_not(cluster.intent, view)


@pytest.mark.parametrize("kind", ["budgets", "network_policies"])
def test_who_counts_or_guards_pods_must_not_miss_the_label(kind: str) -> None:
    cluster = ToyCluster(by_hash=True)
    selector = cluster.replica_sets["rs-1"]["spec"]["selector"]
    holder = {"metadata": {"name": "x"}, "spec": {"selector": selector, "podSelector": selector}}
    changed: dict[str, Any] = {kind: (holder,)}
    assert withholding.NO_LABEL_TO_LACK in why_not(
        cluster.intent, replace(cluster.view(), **changed)
    )


def test_best_is_a_label_that_nobody_misses() -> None:
    cluster = ToyCluster(by_hash=True)
    view, original = cluster.view(), cluster.original
    replica_set = cluster.replica_sets["rs-1"]
    assert original
    assert withholding.withheld_label(view, original, replica_set) == "pod-template-hash"
    hashed = {"metadata": {"name": "web"}, "spec": {"selector": {"pod-template-hash": "hash-1"}}}
    view = replace(view, services=(hashed,))
    assert withholding.withheld_label(view, original, replica_set) == "app"


def test_a_service_that_would_not_select_the_copy_even_then_forbids() -> None:
    """Such as one that goes by a label which somebody has set by hand."""
    cluster = ToyCluster(by_hash=True)
    cluster.pods[cluster.original_uid]["metadata"]["labels"]["canary"] = "yes"
    canary = {"metadata": {"name": "canary"}, "spec": {"selector": {"canary": "yes"}}}
    view = replace(cluster.view(), services=(canary,))
    assert withholding.NO_LABEL_TO_LACK in why_not(cluster.intent, view)


@pytest.mark.parametrize(
    ("change", "of_view"),
    [
        (ON_A_CLAIM, {"claims": (_claim("ReadWriteMany"),)}),
        (_spec(volumes=[{"name": "c", "configMap": {"name": "c"}}]), {}),
        (_spec(volumes=[{"name": "e", "emptyDir": {}}]), {}),
    ],
    ids=["shared-claim", "config", "local"],
)
def test_what_two_can_have_does_not_hinder(change: Change, of_view: dict[str, Any]) -> None:
    assert choose(*scene(change, **of_view)) is Way.SURGE


def test_a_stateful_set_adopts_only_what_has_the_name_of_one_of_its_pods() -> None:
    intent, view = scene()
    parent = intent.copy.rpartition("-")[0]
    selector = {"selector": {"matchLabels": {"app": "web"}}}
    view = replace(view, stateful_sets=({"metadata": {"name": parent}, "spec": selector},))
    assert choose(replace(intent, id="abcdefabcdef"), view) is Way.SURGE
    # Hexadecimal digits may all be decimal ones.
    reason = f"its move would recreate it: another StatefulSet would adopt the copy: {parent}"
    assert why_not(replace(intent, id="123456789012"), view) == f"NotMovable: {reason}"


# ---------------------------------------------------------------------- pods without an owner


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"restartPolicy": "Never"}, "its restartPolicy is Never, so its work would be done twice"),
        (
            {"restartPolicy": "OnFailure"},
            "its restartPolicy is OnFailure, so its work would be done twice",
        ),
        ({"activeDeadlineSeconds": 60}, "it has activeDeadlineSeconds, which would begin anew"),
    ],
)
def test_work_that_would_begin_anew_is_left_alone_unless_it_may_be(
    changes: dict[str, Any], reason: str
) -> None:
    intent, view = scene(_spec(**changes), alone=True)
    assert why_not(intent, view) == f"NotMovable: {reason}"
    assert choose(replace(intent, may_recreate=True), view) is Way.COPY


def test_a_pod_without_an_owner_on_a_disk_cannot_be_moved() -> None:
    intent, view = scene(ON_A_CLAIM, alone=True)
    reason = "one node at a time may have its PersistentVolumeClaim data"
    assert why_not(replace(intent, may_recreate=True), view) == f"NotMovable: {reason}"


# ---------------------------------------------------------------------- as somebody wants it


def test_the_record_has_the_first_word() -> None:
    intent, view = scene(_annotated(way="Surge"))
    assert choose(replace(intent, way=Way.RECREATE), view) is Way.RECREATE


def test_then_the_annotation_of_the_pod() -> None:
    intent, view = scene(_annotated(way="Recreate"))
    wants_surge = replace(intent.settings, way="Surge")
    assert choose(replace(intent, settings=wants_surge), view) is Way.RECREATE


def test_then_the_setting() -> None:
    intent, view = scene()
    wants_recreate = replace(intent.settings, way="Recreate")
    assert choose(replace(intent, settings=wants_recreate), view) is Way.RECREATE


@pytest.mark.parametrize("change", [_annotated(way="Surge"), None])
def test_by_surge_or_not_at_all(change: Change | None) -> None:
    def both(cluster: ToyCluster) -> None:
        _recreate(cluster)
        if change:
            change(cluster)

    intent, view = scene(both)
    settings = replace(intent.settings, way="Surge")
    intent = replace(intent, may_recreate=True, settings=settings)
    assert why_not(intent, view).startswith(
        "NotMovable: its move would recreate it, and Surge is asked for: its Deployment has"
    )


def test_another_value_of_the_annotation_is_refused_with_those_there_are() -> None:
    reason = "its annotation rescheduler.io/way is 'surge': it can be Surge or Recreate"
    assert why_not(*scene(_annotated(way="surge"))) == f"NotMovable: {reason}"


def test_a_pod_that_nobody_would_make_anew_is_not_evicted_first() -> None:
    reason = "it cannot be evicted: nobody would make it anew"
    intent, view = scene(_annotated(way="Recreate"), alone=True)
    assert why_not(intent, view) == f"NotMovable: {reason}"
    intent, view = scene(alone=True)
    assert why_not(replace(intent, way=Way.RECREATE), view) == f"NotMovable: {reason}"
    settings = replace(intent.settings, way="Recreate")
    assert choose(replace(intent, settings=settings), view) is Way.COPY


def test_surge_means_a_copy_where_nobody_controls_the_pod() -> None:
    assert choose(*scene(_annotated(way="Surge"), alone=True)) is Way.COPY


def test_a_pod_that_somebody_controls_is_not_copied() -> None:
    intent, view = scene()
    reason = "only pods that nobody controls are copied"
    assert why_not(replace(intent, way=Way.COPY), view) == f"NotMovable: {reason}"


# ------------------------------------------------------------------ who is missed


def seen_unready(since: str, *, state: dict[str, Any] | None = None, restarts: int = 0) -> Any:  # noqa: ANN401
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return {
        "metadata": {"name": "web-1"},
        "status": {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": since}],
            "containerStatuses": [{"state": state or running, "restartCount": restarts}],
        },
    }


@pytest.mark.parametrize(
    ("pod", "missed"),
    [
        (seen_unready("2026-01-01T09:59:58Z"), True),
        (seen_unready("2026-01-01T10:00:05Z"), True),
        (seen_unready("2026-01-01T09:59:30Z"), False),
        (seen_unready("2026-01-01T00:00:00Z"), False),
        (seen_unready("2026-01-01T09:59:58Z", restarts=1), True),
        (
            seen_unready(
                "2026-01-01T09:59:58Z",
                restarts=1,
                state={"waiting": {"reason": "CrashLoopBackOff"}},
            ),
            False,
        ),
        (
            seen_unready(
                "2026-01-01T09:59:58Z", state={"waiting": {"reason": "ContainerCreating"}}
            ),
            False,
        ),
    ],
    ids=[
        "a-moment-ago",
        "since-it-was-asked-for",
        "for-long",
        "never-ready",
        "it-restarts",
        "it-crashes-again-and-again",
        "it-starts",
    ],
)
def test_who_served_until_a_moment_ago_is_missed(pod: Any, *, missed: bool) -> None:  # noqa: ANN401
    intent, _ = scene()
    asked = replace(intent, asked=True, requested_at=datetime.fromisoformat("2026-01-01T10:00:00Z"))
    assert is_missed(asked, pod) == missed
    assert is_missed(replace(asked, asked=False), pod)
