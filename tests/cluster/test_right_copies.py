"""A moved pod is what its ReplicaSet would have made, whatever admission does; or it stays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.api import Object
from testbed.builders import deployment, service
from testbed.world import World
from tests.cluster import injecting
from tests.cluster.injecting import (
    SIDECAR,
    SIZE,
    Gives,
    all_of,
    any_size,
    by_owner,
    everywhere,
    luck,
    not_for_us,
    not_in_dry_runs,
    sidecar,
    size,
)
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_as_if_nothing_happened, assert_nothing_of_ours_is_left
from tests.scenarios.looping import as_admin, election

Change = Callable[[Object], list[Object]]
NO_STRATEGY: dict[str, Any] = {"enabledStrategies": []}


@dataclass(frozen=True, kw_only=True)
class Webhook:
    gives: Gives
    changes: tuple[Change, ...] = (sidecar, size)
    allows: Gives = everywhere


async def stage(world: World) -> tuple[str, str]:
    """A web of three on the first of two nodes."""
    full, empty = await world.add_nodes(2, cpu="8")
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=3), on=full)
    return full, empty


async def ask_for_all(world: World, target: str, **spec: Any) -> None:  # noqa: ANN401
    for each in await world.pods("web"):
        await ask(world, each, target, **spec)


def is_complete(pod: Object) -> bool:
    """Everything that the webhook gives, and nothing of it twice."""
    app, *others = pod["spec"]["containers"]
    tokens = [each for each in pod["spec"]["volumes"] if "projected" in each]
    has_size = app["resources"]["requests"]["cpu"] == SIZE
    return has_size and [each["name"] for each in others] == [SIDECAR] and len(tokens) == 1


# ---------------------------------------------------------------------- moved


@pytest.mark.parametrize(
    "webhook",
    [
        pytest.param(Webhook(gives=by_owner), id="by-owner"),
        pytest.param(Webhook(gives=everywhere), id="by-namespace"),
        pytest.param(Webhook(gives=not_in_dry_runs), id="not-in-dry-runs"),
        pytest.param(Webhook(gives=everywhere, allows=not_in_dry_runs), id="no-dry-runs"),
        pytest.param(
            Webhook(gives=everywhere, changes=(sidecar, size, luck)), id="differently-each-time"
        ),
    ],
)
async def test_a_moved_pod_has_what_its_siblings_have(world: World, webhook: Webhook) -> None:
    async with injecting.injecting(
        world, webhook.gives, *webhook.changes, allows=webhook.allows
    ) as asked:
        _, empty = await stage(world)
        assert all(map(is_complete, await world.pods("web")))
        await ask_for_all(world, empty)
        asked.clear()
        run, audit = await world.audited_run(**NO_STRATEGY)
    assert run.code == 0, run
    assert {each["status"]["phase"] for each in await world.records()} == {"Completed"}, run
    pods = await world.pods("web")
    assert [each["spec"]["nodeName"] for each in pods] == [empty] * 3
    assert all(map(is_complete, pods)), pods
    assert audit.replicas_missing() == [] == audit.endpoints_missing()
    # Once for all three: two pods as the ReplicaSet makes them, one copy or two.
    dry_runs = [each for each in asked if each.get("dryRun")]
    assert len(dry_runs) <= 4


# ---------------------------------------------------------------------- left where they are


@pytest.mark.parametrize(
    "webhook",
    [
        pytest.param(Webhook(gives=all_of(by_owner, not_in_dry_runs)), id="not-in-dry-runs"),
        pytest.param(Webhook(gives=by_owner, allows=not_in_dry_runs), id="no-dry-runs"),
        pytest.param(Webhook(gives=everywhere, changes=(any_size,)), id="any-size"),
        pytest.param(Webhook(gives=not_for_us), id="not-for-us"),
        pytest.param(Webhook(gives=not_for_us, changes=(size,)), id="no-size-for-us"),
    ],
)
async def test_a_copy_that_is_not_right_is_taken_back(world: World, webhook: Webhook) -> None:
    async with injecting.injecting(world, webhook.gives, *webhook.changes, allows=webhook.allows):
        full, empty = await stage(world)
        before = {each["metadata"]["uid"] for each in await world.pods("web")}
        async with world.auditor() as auditor:
            first, *_ = await world.pods("web")
            await ask(world, first, empty)
            await world.run(**NO_STRATEGY)
            audit = await world.audit(auditor)
    [record] = await world.records()
    assert record["status"]["reason"] == "CopyDiffers", record["status"]
    assert len(audit.pods_made()) == 1
    pods = await world.pods("web")
    assert {each["metadata"]["uid"] for each in pods} == before
    assert {each["spec"]["nodeName"] for each in pods} == {full}
    assert audit.replicas_missing() == [] == audit.endpoints_missing()
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_it_is_told_once_for_the_workload(world: World) -> None:
    """One after the other, so that the second finds what was remembered of the first."""
    gives = all_of(by_owner, not_in_dry_runs)
    async with injecting.injecting(world, gives, sidecar, size):
        full, empty = await stage(world)
        for each in (await world.pods("web"))[:2]:
            await ask(world, each, empty)
        run, audit = await world.audited_run(**NO_STRATEGY, migration={"workers": 1})
    first, second = sorted(
        (each["status"] for each in await world.records()), key=lambda each: str(each["reason"])
    )
    assert first["reason"] == "CopyDiffers"
    # Not tried: it says what the first one met.
    assert second["reason"] == "NotNow"
    assert f"it would have to be recreated by now: {first['message']}" in second["message"]
    assert len(run.said("no copies of this workload's pods are made for a while")) == 1
    assert len(audit.pods_made()) == 1
    assert await world.nodes_of("web") == [full] * 3
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_drain_then_goes_another_way(world: World) -> None:
    """Once is enough: whoever drains need not ask a second time."""
    gives = all_of(by_owner, not_in_dry_runs)
    async with injecting.injecting(world, gives, sidecar, size):
        full, empty = await stage(world)
        path = str(world.configuration(**election(world)))
        run = await as_admin(world, "drain", full, "--config", path, "--timeout", "60s")
    assert run.code == 0, run
    assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
    pods = await world.pods("web")
    assert [each["spec"]["nodeName"] for each in pods] == [empty] * 3
    assert all(map(is_complete, pods)), pods
    ways = [each["status"]["way"] for each in await world.records()]
    assert ways.count("Recreate") == 3
    await assert_nothing_of_ours_is_left(world)


async def test_a_copy_that_is_refused_though_its_dry_run_was_not(world: World) -> None:
    def allows(request: Object) -> bool:
        return by_owner(request) or bool(request.get("dryRun"))

    async with injecting.injecting(world, by_owner, size, allows=allows):
        _, empty = await stage(world)
        first, *_ = await world.pods("web")
        await ask(world, first, empty)
        run, audit = await world.audited_run(**NO_STRATEGY)
    [record] = await world.records()
    assert record["status"]["reason"] == "CopyRefused", record["status"]
    assert "denied the request" in record["status"]["message"]
    assert len(run.said("no copies of this workload's pods are made for a while")) == 1
    assert audit.pods_made() == []
    await assert_as_if_nothing_happened(world, audit, app="web")
