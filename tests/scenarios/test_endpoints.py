"""Who a Service sends traffic to while pods move: never fewer than before, whatever it selects by,
whenever a pod is Ready, and however long it takes to end.
"""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import behaviour, budget, deployment, pod_spec, service, workload
from tests.scenarios.gates import GATE, GATES, load_balancer
from tests.scenarios.judging import assert_exactly_one_moved, assert_nobody_noticed
from tests.scenarios.looping import controller
from tests.scenarios.world import World

HASH = "pod-template-hash"
ROLLOUTS_HASH = "rollouts-pod-template-hash"
MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
AT_ONCE = {"terminationGracePeriodSeconds": 0}
"""Such a pod is gone as soon as it is deleted, without anybody being asked."""


def selecting(name: str, selector: dict[str, str], **more: Any) -> Object:  # noqa: ANN401
    made = service(name)
    made["spec"] |= {"selector": selector, **more}
    return made


def ballast() -> Object:
    made = deployment("ballast", replicas=2)
    labels = made["spec"]["template"]["metadata"]["labels"]
    labels["scheduler.alpha.kubernetes.io/rescheduling"] = "disabled"
    return made


async def hash_of(world: World) -> str:
    [first, *_] = await world.pods("web")
    return str(first["metadata"]["labels"][HASH])


# ---------------------------------------------------------------------- by the label that is lacked


def _replica_set(replicas: int, **labels: str) -> Object:
    quick = pod_spec() | AT_ONCE
    return workload("ReplicaSet", "web", labels=labels, replicas=replicas, spec=quick)


def _deployment(replicas: int) -> Object:
    return deployment("web", replicas=replicas, spec=pod_spec() | AT_ONCE)


SHAPES = {
    "deployment": lambda: _deployment(3),
    "single": lambda: _deployment(1),
    "replica-set": lambda: _replica_set(2),
    # As Argo Rollouts makes them for blueGreen.
    "blue-green": lambda: _replica_set(2, **{ROLLOUTS_HASH: "6f9c"}),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_copy_is_an_endpoint_before_or_as_its_original_ends(
    world: World, shape: str
) -> None:
    """Its Service selects by all that the ReplicaSet does, so that the copy is no endpoint before
    it is adopted; and what it takes the place of is gone in the instant in which it is deleted.
    """
    made: Object = SHAPES[shape]()
    full, empty = await world.add_nodes(2)
    await world.deploy(ballast(), made, on=full)
    labels = dict(made["spec"]["selector"]["matchLabels"])
    if made["kind"] == "Deployment":
        labels[HASH] = await hash_of(world)
    await world.create(selecting("active", labels), selecting("preview", labels))
    if len(labels) > 1:
        # What counts pods by another label than the one that a copy lacks forbids nothing.
        await world.create(budget("web", maxUnavailable=0))
    run, audit = await world.audited_run()
    assert run.code == 0, run
    assert f"from {full} to {empty}" in run.summary
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_whole_workloads_are_drained_so(world: World) -> None:
    """Several of a ReplicaSet at once, each of whose copies becomes an endpoint at its own time."""
    full, empty = await world.add_nodes(2)
    await world.deploy(deployment("web", replicas=4), on=full)
    await world.create(selecting("by-hash", {"app": "web", HASH: await hash_of(world)}))

    async def are_there() -> bool:
        return await world.nodes_of("web") == [empty] * 4

    async with (
        world.auditor() as auditor,
        controller(world, enabledStrategies=["NodeMaintenance"], maxReschedulePods=10),
    ):
        await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
        await world.wait("all of them have moved", are_there)
        await world.wait("they are complete", lambda: world.is_complete("web"))
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)


async def test_beside_a_sibling_that_is_not_ready_it_is_an_endpoint_right_after(
    world: World,
) -> None:
    """The ReplicaSet would remove that sibling for the copy, so the original is evicted first."""
    full, empty = await world.add_nodes(2)
    await world.deploy(deployment("web", replicas=3), on=full)
    await world.create(selecting("by-hash", {"app": "web", HASH: await hash_of(world)}))
    sick, *_ = await world.pods("web")
    await world.set_ready(sick["metadata"]["name"], ready=False)

    async def are_there() -> bool:
        return await world.nodes_of("web") == [empty] * 3

    async with (
        world.auditor() as auditor,
        controller(world, enabledStrategies=["NodeMaintenance"], migration={"workers": 1}),
    ):
        await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
        await world.wait("all of them have moved", are_there)
        audit = await world.audit(auditor)
    assert audit.replicas_missing() == []
    assert all(each.had == 1 for each in audit.endpoints_missing())
    assert audit.changed_objects() == []


async def test_a_budget_that_selects_by_it_still_forbids(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(deployment("web", replicas=4), on=full)
    guard = budget("web", maxUnavailable=1)
    labels = {"app": "web", HASH: await hash_of(world)}
    guard["spec"]["selector"] = {"matchLabels": labels}
    await world.create(guard)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    stays = [line["because"] for line in run.said("pod stays") if "/web-" in line["pod"]]
    assert stays
    assert all(f"PodDisruptionBudget web selects by {HASH}" in each for each in stays)
    assert audit.writes() == []


# ---------------------------------------------------------------------- readiness gates


def gated(replicas: int) -> Object:
    return deployment("web", replicas=replicas, spec=pod_spec() | GATES)


async def test_a_gate_that_a_load_balancer_opens_is_waited_for(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    async with load_balancer(world, of="web"):
        await world.deploy(ballast(), gated(2), on=full)
        run, audit = await world.audited_run()
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    assert all(GATE in types_of(pod) for pod in await world.pods("web"))


def types_of(pod: Object) -> list[str]:
    return [each["type"] for each in pod["status"]["conditions"]]


async def test_a_gate_that_nobody_would_open_for_a_copy_keeps_the_pod(world: World) -> None:
    """It opens for endpoints, and without that label the copy would be none."""
    full, _ = await world.add_nodes(2)
    await world.create(service("web"))
    async with load_balancer(world, of="web"):
        await world.deploy(gated(4), on=full)
        await world.create(selecting("by-hash", {"app": "web", HASH: await hash_of(world)}))
        run, audit = await world.audited_run()
    assert run.code == 0, run
    stays = [line["because"] for line in run.said("pod stays") if "/web-" in line["pod"]]
    assert stays
    told = f"Service by-hash selects by {HASH}, whose endpoint its readiness gates may wait for"
    assert all(told in each for each in stays)
    assert audit.writes() == []


# ---------------------------------------------------------------------- published before Ready


async def test_an_address_that_is_published_before_it_is_ready_does_not_count(
    world: World,
) -> None:
    """Its Service says of every endpoint that it is ready, also of a copy that has just begun."""
    full, empty = await world.add_nodes(2)
    await world.create(selecting("web", {"app": "web"}, publishNotReadyAddresses=True))
    await world.deploy(ballast(), deployment("web", replicas=2), on=full)
    await world.afflict_copies(ready_after="3s")
    async with world.auditor() as auditor:
        process = await world.start()
        copy = await world.wait_for_copy("web")
        await world.wait("the copy is published", lambda: is_published(world, copy))
        found = await world.find_pod(copy["metadata"]["name"])
        assert found
        assert not is_ready(found)
        run = await process.finish()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def is_published(world: World, pod: Object) -> bool:
    slices = await world.api.list("EndpointSlice", world.name)
    endpoints = [each for piece in slices for each in piece.get("endpoints") or ()]
    return any(each["targetRef"]["uid"] == pod["metadata"]["uid"] for each in endpoints)


# ---------------------------------------------------------------------- a preStop of a minute


def slow() -> Object:
    spec = pod_spec() | {"terminationGracePeriodSeconds": 90}
    spec["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 60}}}
    return deployment("web", replicas=3, spec=spec, annotations=behaviour(exit_after_seconds="60"))


async def _by_app(_: World) -> dict[str, str]:
    return {"app": "web"}


async def _by_hash(world: World) -> dict[str, str]:
    return {"app": "web", HASH: await hash_of(world)}


@pytest.mark.parametrize("labels", [_by_app, _by_hash], ids=["by-app", "by-hash"])
async def test_a_minute_before_the_end_of_each_holds_up_nobody(
    world: World, labels: Callable[[World], Any]
) -> None:
    """One worker moves all three, while the first of them is still saying good-bye."""
    full, empty = await world.add_nodes(2)
    await world.deploy(slow(), on=full)
    await world.create(selecting("web", await labels(world)))

    async def are_all_ending() -> bool:
        steps = [(each.get("status") or {}).get("step") for each in await world.records()]
        return steps == ["WaitGone"] * 3

    async with (
        world.auditor() as auditor,
        controller(world, enabledStrategies=["NodeMaintenance"], migration={"workers": 1}),
    ):
        await world.api.patch("Node", None, full, {"metadata": {"labels": MAINTENANCE}})
        await world.wait("all originals are ending at the same time", are_all_ending)
        assert await world.nodes_of("web") == [empty] * 3
        audit = await world.audit(auditor)
    assert (audit.replicas_missing(), audit.endpoints_missing()) == ([], [])
    assert audit.changed_objects() == []
