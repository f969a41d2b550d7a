"""Which reasons pass by themselves: whoever empties a node waits for those, and for no others."""

from typing import Any

import pytest

from rescheduler.config import Configuration, Forced, Migration, Retry
from rescheduler.model.moves import Refusal
from rescheduler.model.snapshot import Snapshot
from tests.unit.plan.support.movable_scenes import (
    NOW,
    Object,
    owned_by,
    pod,
    replica_set,
    snapshot,
    stateful_set,
    why,
)

FORCED = Configuration(forced=Forced())
NUMBERED = pod(owner=owned_by("StatefulSet"))
OPTED_OUT = pod(
    metadata={"labels": {"app": "web", "scheduler.alpha.kubernetes.io/rescheduling": "disabled"}}
)


def refusal(cluster: Snapshot, configuration: Configuration = FORCED) -> Refusal:
    return Refusal.of("shop/web-1", why(cluster, configuration, asked=True))


def rolled_out(**spec: Any) -> Snapshot:  # noqa: ANN401
    """Rolled out to another ReplicaSet."""
    above = {"kind": "Deployment", "name": "web", "uid": "d-uid", "controller": True}
    deployment = {
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "uid": "d-uid",
            "annotations": {"deployment.kubernetes.io/revision": "2"},
        },
        "spec": {"replicas": 1, **spec},
    }
    old = replica_set(ownerReferences=[above])
    return snapshot(pod(), replicasets=[old], deployments=[deployment])


def budget(healthy: int, wanted: int, expected: int = 3) -> Object:
    return {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": expected,
        },
    }


def quota(used: str) -> Object:
    return {
        "metadata": {"namespace": "shop", "name": "q"},
        "spec": {"hard": {"pods": "1"}},
        "status": {"used": {"pods": used}},
    }


def record(name: str = "r-1", **status: Any) -> Object:  # noqa: ANN401
    return {
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-{name}"},
        "spec": {"pod": {"name": "web-1", "uid": "uid-web-1"}, "source": "a", "target": "b"},
        "status": status,
    }


def failed(reason: str) -> Object:
    return record(phase="Failed", reason=reason, completionTime="2027-01-15T07:59:59Z")


@pytest.mark.parametrize(
    ("cluster", "passes"),
    [
        (rolled_out(), True),
        (rolled_out(paused=True), False),
        (snapshot(NUMBERED, statefulsets=[stateful_set(status={"readyReplicas": 2})]), True),
        (snapshot(pod(), poddisruptionbudgets=[budget(1, 2)]), True),
        (snapshot(pod(), poddisruptionbudgets=[budget(0, 0, expected=0)]), False),
        (snapshot(NUMBERED, statefulsets=[stateful_set()], resourcequotas=[quota("2")]), True),
        (snapshot(pod(), podmigrations=[record(phase="InProgress")]), True),
        (snapshot(pod(), podmigrations=[failed("TargetLost")], taken_at=NOW), True),
        (snapshot(pod(), podmigrations=[failed("NotReadyInTime")], taken_at=NOW), False),
        (snapshot(OPTED_OUT), False),
        (snapshot(OPTED_OUT, poddisruptionbudgets=[budget(1, 2)]), False),
        (snapshot(pod(schedulerName="volcano")), False),
    ],
    ids=[
        "rolls out",
        "paused",
        "sibling",
        "budget",
        "budget of none",
        "quota",
        "moving",
        "target lost",
        "not Ready elsewhere",
        "opted out",
        "both",
        "another scheduler",
    ],
)
def test_it_is_known_which_reasons_pass(cluster: Snapshot, passes: bool) -> None:  # noqa: FBT001
    found = refusal(cluster)
    assert found.reasons
    assert found.passing == passes, found
    assert {type(each) for each in found.reasons} == {str}


def test_who_is_held_by_nothing_waits_for_nothing() -> None:
    assert not Refusal.of("shop/web-1", ()).passing


# ------------------------------------------------------------------ failures of earlier drains


@pytest.mark.parametrize("attempts", [1, 3])
def test_what_failed_before_it_was_forced_holds_nobody(attempts: int) -> None:
    cluster = snapshot(pod(), podmigrations=[failed("NotReadyInTime")], taken_at=NOW)
    migration = Migration(retry=Retry(attempts=attempts, back_off_seconds=60))
    for forgiven, holds in ((frozenset({"uid-r-1"}), False), (frozenset({"uid-r-0"}), True)):
        forced = Configuration(migration=migration, forced=Forced(forgiven=forgiven))
        assert bool(refusal(cluster, forced).reasons) == holds
