import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers.disruption import DisruptionController
from rescheduler.embedded.controllers.replica_set import ReplicaSetController
from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from tests.unit.embedded.support.controller_cluster import (
    NAMESPACE,
    NEVER,
    ControllerCluster,
    bare_pod,
    deployment,
    replica_set,
    watching,
)

BUDGETS = wire.POD_DISRUPTION_BUDGETS


def budget(**spec: int | str) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": {"name": "budget"}, "spec": {"selector": selector, **spec}}


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(ReplicaSetController, DisruptionController) as shop:
        yield shop


def figures(it: ControllerCluster) -> tuple[int, int, int, int]:
    """Expected, desired, healthy, and how many may go."""
    status = it.get(BUDGETS, "budget")["status"]
    return (
        status["expectedPods"],
        status["desiredHealthy"],
        status["currentHealthy"],
        status["disruptionsAllowed"],
    )


def why(it: ControllerCluster) -> tuple[str, str, str]:
    condition = conditions.find(it.get(BUDGETS, "budget"), "DisruptionAllowed")
    assert condition is not None
    return condition["status"], condition["reason"], condition["message"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maxUnavailable": 1}, (7, 6, 7, 1)),
        ({"maxUnavailable": 0}, (7, 7, 7, 0)),
        ({"maxUnavailable": 9}, (7, 0, 7, 7)),
        # 20 % of 7 is 1.4, and rounded up: two may be missing.
        ({"maxUnavailable": "20%"}, (7, 5, 7, 2)),
        ({"minAvailable": 5}, (7, 5, 7, 2)),
        ({"minAvailable": 9}, (7, 9, 7, 0)),
        # 50 % of 7 is 3.5, and rounded up: four must be there.
        ({"minAvailable": "50%"}, (7, 4, 7, 3)),
        ({"minAvailable": "100%"}, (7, 7, 7, 0)),
    ],
)
async def test_how_many_may_go(
    it: ControllerCluster, spec: dict[str, int | str], expected: tuple[int, ...]
) -> None:
    it.create(wire.REPLICA_SETS, replica_set(replicas=7))
    it.create(BUDGETS, budget(**spec))
    await asyncio.sleep(10)
    assert figures(it) == expected
    allowed = expected[-1] > 0
    status, reason, message = why(it)
    assert status == str(allowed)
    assert reason == ("SufficientPods" if allowed else "InsufficientPods")
    assert message == ""
    assert it.get(BUDGETS, "budget")["status"]["observedGeneration"] == 1


async def test_a_ready_copy_that_nobody_manages_makes_room(it: ControllerCluster) -> None:
    """The surge trick: legal even when none may be missing."""
    labels = {"app": "web", "pod-template-hash": "a"}
    its_template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
    made = it.create(
        wire.REPLICA_SETS,
        replica_set("web", 2, selector={"matchLabels": labels}, template=its_template),
    )
    it.create(BUDGETS, budget(maxUnavailable=0))
    await asyncio.sleep(10)
    original = it.pods(made)[0]["metadata"]["name"]
    with pytest.raises(errors.BudgetRefused):
        it.api.evict(NAMESPACE, original)
    it.create(wire.PODS, bare_pod("copy"))
    await asyncio.sleep(10)
    assert figures(it) == (2, 2, 3, 1)
    it.api.evict(NAMESPACE, original)
    with pytest.raises(errors.BudgetRefused):
        it.api.evict(NAMESPACE, it.pods(made)[1]["metadata"]["name"])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maxUnavailable": 1}, (0, 0, 2, 0)),
        ({"minAvailable": "10%"}, (0, 0, 2, 0)),
        ({"minAvailable": 1}, (2, 1, 2, 1)),
    ],
)
async def test_pods_that_nobody_manages_count_for_a_number_only(
    it: ControllerCluster, spec: dict[str, int | str], expected: tuple[int, ...]
) -> None:
    it.create(BUDGETS, budget(**spec))
    for name in ("one", "two"):
        it.create(wire.PODS, bare_pod(name))
    await asyncio.sleep(10)
    assert figures(it) == expected


async def test_the_scale_is_that_of_the_deployment_while_there_is_one(
    it: ControllerCluster,
) -> None:
    owner = it.create(wire.DEPLOYMENTS, deployment("web", 5))
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    body = replica_set(replicas=2)
    body["metadata"]["ownerReferences"] = [reference]
    made = it.create(wire.REPLICA_SETS, body)
    it.create(BUDGETS, budget(maxUnavailable=1))
    await asyncio.sleep(10)
    assert figures(it) == (5, 4, 2, 0)
    it.api.delete(wire.DEPLOYMENTS, NAMESPACE, "web")
    it.label(it.pods(made)[0], seen="yes")
    await asyncio.sleep(1)
    assert figures(it) == (2, 1, 2, 1)


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("batch/v1", "Job", "jobs.batch does not implement the scale subresource"),
        ("apps/v1", "DaemonSet", "daemonsets.apps does not implement the scale subresource"),
        ("apps/v1", "StatefulSet", 'found no controllers for pod "odd"'),
        ("x.io/v1", "Thing", 'no matches for kind "Thing" in version "x.io/v1"'),
    ],
)
async def test_nothing_may_go_while_a_scale_cannot_be_known(
    it: ControllerCluster, api_version: str, kind: str, message: str
) -> None:
    it.create(wire.REPLICA_SETS, replica_set(replicas=3))
    it.create(BUDGETS, budget(maxUnavailable=1))
    await asyncio.sleep(10)
    assert figures(it) == (3, 2, 3, 1)
    odd = bare_pod("odd")
    reference = {"apiVersion": api_version, "kind": kind, "name": "x", "uid": "x"}
    odd["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    it.create(wire.PODS, odd)
    await asyncio.sleep(10)
    assert figures(it) == (3, 2, 3, 0)
    assert why(it) == ("False", "SyncFailed", message)
    # A new generation is not believed to have been seen.
    it.patch(BUDGETS, "budget", {"spec": {"maxUnavailable": 2}})
    await asyncio.sleep(1)
    assert it.get(BUDGETS, "budget")["status"]["observedGeneration"] == 1
    with watching(it, BUDGETS) as heard:
        await asyncio.sleep(1000)
    assert not heard
    it.api.delete(wire.PODS, NAMESPACE, "odd", grace_seconds=0)
    await asyncio.sleep(1)
    assert figures(it) == (3, 1, 3, 2)
    assert why(it) == ("True", "SufficientPods", "")


async def test_pods_that_are_to_end_are_expected_and_not_healthy(it: ControllerCluster) -> None:
    it.stop_seconds = NEVER
    for name in ("one", "two", "three"):
        it.create(wire.PODS, bare_pod(name))
    it.create(BUDGETS, budget(minAvailable=1))
    await asyncio.sleep(10)
    it.api.delete(wire.PODS, NAMESPACE, "one")
    it.tell(it.get(wire.PODS, "two"), ready=False)
    await asyncio.sleep(1)
    assert figures(it) == (3, 1, 1, 0)


async def test_an_evicted_pod_does_not_count_and_counts_again_when_it_does_not_go(
    it: ControllerCluster,
) -> None:
    it.create(wire.REPLICA_SETS, replica_set(replicas=3))
    made = it.create(BUDGETS, budget(maxUnavailable=1))
    await asyncio.sleep(10)
    # As when the deletion behind the eviction was refused.
    spared = it.pods()[0]["metadata"]["name"]
    status = it.get(BUDGETS, "budget")["status"]
    it.api.set_status(
        BUDGETS,
        made,
        {**status, "disruptionsAllowed": 0, "disruptedPods": {spared: it.api.stamp()}},
    )
    await asyncio.sleep(1)
    assert figures(it) == (3, 2, 2, 0)
    await asyncio.sleep(118)
    assert figures(it) == (3, 2, 2, 0)
    assert it.get(BUDGETS, "budget")["status"]["disruptedPods"] == status.get(
        "disruptedPods", {}
    ) | {spared: "2026-01-05T00:00:10Z"}
    await asyncio.sleep(2)
    assert figures(it) == (3, 2, 3, 1)
    assert "disruptedPods" not in it.get(BUDGETS, "budget")["status"]


async def test_an_evicted_pod_that_goes_is_forgotten_at_once(it: ControllerCluster) -> None:
    it.stop_seconds = it.start_seconds = 30
    it.create(wire.REPLICA_SETS, replica_set(replicas=3))
    it.create(BUDGETS, budget(maxUnavailable=1))
    await asyncio.sleep(100)
    it.api.evict(NAMESPACE, it.pods()[0]["metadata"]["name"])
    assert len(it.get(BUDGETS, "budget")["status"]["disruptedPods"]) == 1
    await asyncio.sleep(1)
    assert "disruptedPods" not in it.get(BUDGETS, "budget")["status"]
    assert figures(it) == (3, 2, 2, 0)
    await asyncio.sleep(60)
    assert figures(it) == (3, 2, 3, 1)


async def test_hears_of_pods_only() -> None:
    """Neither of what is scaled, nor of a pod that is selected no more: so the real one does."""
    with ControllerCluster(DisruptionController) as it:
        made = it.create(wire.REPLICA_SETS, replica_set(replicas=2))
        for name in ("one", "two"):
            pod = bare_pod(name)
            reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
            uid = made["metadata"]["uid"]
            pod["metadata"]["ownerReferences"] = [{**reference, "uid": uid, "controller": True}]
            it.create(wire.PODS, pod)
        it.create(BUDGETS, budget(maxUnavailable=1))
        await asyncio.sleep(10)
        assert figures(it) == (2, 1, 2, 1)
        it.patch(wire.REPLICA_SETS, "web", {"spec": {"replicas": 9}})
        it.label(it.get(wire.PODS, "one"), app="other")
        await asyncio.sleep(10)
        assert figures(it) == (2, 1, 2, 1)
        it.label(it.get(wire.PODS, "two"), seen="yes")
        await asyncio.sleep(1)
        assert figures(it) == (9, 8, 1, 0)


async def test_a_mark_that_came_to_nothing_is_taken_back(it: ControllerCluster) -> None:
    for name in ("spared", "kubelets"):
        it.create(wire.PODS, bare_pod(name))
    await asyncio.sleep(10)
    for name, reason in (
        ("spared", "EvictionByEvictionAPI"),
        ("kubelets", "TerminationByKubelet"),
    ):
        pod = it.get(wire.PODS, name)
        mark = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "lastTransitionTime": it.api.stamp(),
        }
        known = pod["status"]["conditions"]
        it.api.set_status(wire.PODS, pod, {**pod["status"], "conditions": [*known, mark]})
    await asyncio.sleep(119)
    assert conditions.holds(it.get(wire.PODS, "spared"), "DisruptionTarget")
    await asyncio.sleep(2)
    assert not conditions.holds(it.get(wire.PODS, "spared"), "DisruptionTarget")
    assert conditions.holds(it.get(wire.PODS, "kubelets"), "DisruptionTarget")
