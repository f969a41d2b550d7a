"""Whatever is done to a workload: left alone, it comes to rest as its user wants it."""

import asyncio
import random

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers import rolling
from rescheduler.embedded.controllers.deployment import DeploymentController
from rescheduler.embedded.controllers.disruption import DisruptionController
from rescheduler.embedded.controllers.replica_set import ReplicaSetController
from rescheduler.kube import Object, errors
from rescheduler.model import conditions, workloads
from tests.unit.embedded.support.controller_cluster import (
    NAMESPACE,
    ControllerCluster,
    bare_pod,
    deployment,
)

DEPLOYMENTS, BUDGETS = wire.DEPLOYMENTS, wire.POD_DISRUPTION_BUDGETS


class User:
    """Does what comes to mind."""

    def __init__(self, it: ControllerCluster, seed: int) -> None:
        self._it = it
        self._chance = random.Random(seed)  # noqa: S311 - repeatable
        self._acts = (
            self._scale,
            self._roll_out,
            self._pause,
            self._resume,
            self._delete_a_pod,
            self._make_a_pod_unready,
            self._end_a_pod,
            self._free_a_pod,
            self._evict_a_pod,
            self._bring_a_pod,
            self._change_the_bounds,
        )

    async def act(self, times: int) -> None:
        for _ in range(times):
            self._chance.choice(self._acts)()
            await asyncio.sleep(self._chance.choice((0.001, 0.01, 0.1, 1, 5)))
        self._resume()
        await asyncio.sleep(100)
        # Scaled amid a rollout to just what an old ReplicaSet had by then, it waits for this, here
        # as there: it takes it for a change that it has yet to see through.
        self._change({"replicas": rolling.size(self._it.get(DEPLOYMENTS, "web")) + 1})

    def _scale(self) -> None:
        self._change({"replicas": self._chance.randrange(8)})

    def _roll_out(self) -> None:
        image = f"web:{self._chance.randrange(4)}"
        self._change({"template": {"spec": {"containers": [{"name": "web", "image": image}]}}})

    def _pause(self) -> None:
        self._change({"paused": True})

    def _resume(self) -> None:
        self._change({"paused": False})

    def _change_the_bounds(self) -> None:
        # Never the kind of strategy: one that is told to recreate amid a rollout, and is scaled,
        # stays as it is for ever, here as there.
        if rolling.is_rolling(self._it.get(DEPLOYMENTS, "web")):
            rules = {"maxSurge": self._chance.choice(("25%", 1, 0)), "maxUnavailable": "34%"}
            self._change({"strategy": {"rollingUpdate": rules}})

    def _delete_a_pod(self) -> None:
        if pod := self._any_pod():
            self._it.api.delete(wire.PODS, NAMESPACE, pod["metadata"]["name"])

    def _make_a_pod_unready(self) -> None:
        if pod := self._any_pod():
            self._it.tell(pod, phase=pod["status"]["phase"], ready=False)
            later = asyncio.get_running_loop().call_later
            later(20, self._make_ready_again, pod["metadata"]["name"])

    def _make_ready_again(self, name: str) -> None:
        pod = self._it.store.find(wire.PODS, NAMESPACE, name)
        if pod is not None and pod["status"]["phase"] == "Running":
            self._it.tell(pod)

    def _end_a_pod(self) -> None:
        if pod := self._any_pod():
            self._it.tell(pod, phase="Failed", ready=False)

    def _free_a_pod(self) -> None:
        if pod := self._any_pod():
            self._it.label(pod, app="freed")

    def _evict_a_pod(self) -> None:
        if pod := self._any_pod():
            try:
                self._it.api.evict(NAMESPACE, pod["metadata"]["name"])
            except errors.BudgetRefused:
                return

    def _bring_a_pod(self) -> None:
        sets = self._it.replica_sets()
        if sets:
            labels = self._chance.choice(sets)["spec"]["selector"]["matchLabels"]
            name = f"brought-{self._chance.getrandbits(32):x}"
            self._it.create(wire.PODS, bare_pod(name, **labels))

    def _any_pod(self) -> Object | None:
        pods = self._it.active()
        return self._chance.choice(pods) if pods else None

    def _change(self, spec: Object) -> None:
        self._it.patch(DEPLOYMENTS, "web", {"spec": spec})


def _check(it: ControllerCluster) -> None:
    now = it.get(DEPLOYMENTS, "web")
    wanted = rolling.size(now)
    sets = [each for each in it.replica_sets() if each["spec"]["replicas"]]
    image = now["spec"]["template"]["spec"]["containers"][0]["image"]
    if wanted:
        (only,) = sets
        assert only["spec"]["replicas"] == wanted
        assert only["spec"]["template"]["spec"]["containers"][0]["image"] == image
        assert workloads.why_unsettled(only, now) == ""
        active = it.active(only)
        assert len(active) == wanted
        assert all(conditions.holds(pod, "Ready") for pod in active)
    else:
        assert not sets
    status = now["status"]
    for count in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"):
        assert status.get(count, 0) == wanted
    assert "unavailableReplicas" not in status
    progressing = conditions.find(now, "Progressing")
    assert progressing is not None
    assert progressing["reason"] == "NewReplicaSetAvailable"
    budget = it.get(BUDGETS, "budget")["status"]
    assert budget["currentHealthy"] == wanted
    assert budget["disruptionsAllowed"] == (min(wanted, 1) if budget["expectedPods"] else 0)


@pytest.mark.parametrize("seed", range(40))
async def test_comes_to_rest(seed: int) -> None:
    with ControllerCluster(DeploymentController, ReplicaSetController, DisruptionController) as it:
        kind = "RollingUpdate" if seed % 4 else "Recreate"
        it.create(DEPLOYMENTS, deployment("web", 4, strategy={"type": kind}))
        it.create(
            BUDGETS,
            {
                "metadata": {"name": "budget"},
                "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            },
        )
        await asyncio.sleep(5)
        await User(it, seed).act(60)
        await asyncio.sleep(3600)
        before = it.store.version
        await asyncio.sleep(86_400)
        assert it.store.version == before
        _check(it)
