"""Pods that are moved by eviction where the control plane does not do its part: the API server does
not steer, or nobody counts budgets. On a cluster of their own.
"""

from dataclasses import replace

from rescheduler.config.migration import NO_FALLBACK
from tests.scenarios.judging import assert_no_trace, assert_nothing_of_ours_is_left
from tests.scenarios.own_cluster import OwnCluster
from tests.scenarios.steered import PATIENT, move, pod_named, source_and_target, stateful_set

IMPATIENT = replace(PATIENT, steer_timeout_seconds=1.0)


async def test_an_api_server_without_the_admission_policy(own: OwnCluster) -> None:
    world = own.world
    await own.stop_steering()
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(2), on=source)

    never = replace(IMPATIENT, fallback=NO_FALLBACK)
    refused = await move(world, await pod_named(world, "web-0"), target, never)
    assert refused.verdict == ("Failed", "NotSteered"), refused.status
    assert "rescheduler-steering" in refused.status["message"]
    assert refused.figures.fallbacks == {}
    await assert_no_trace(world, refused.audit, app="web")
    await assert_nothing_of_ours_is_left(world)

    await world.cordon(source)
    moved = await move(world, await pod_named(world, "web-1"), target, IMPATIENT)
    assert moved.verdict == ("Completed", "Completed"), moved.status
    assert moved.status["fallback"] == "NotSteered"
    assert moved.figures.fallbacks == {"NotSteered": 1}
    assert moved.audit.pods_removed() == ["web-1"]
    await assert_nothing_of_ours_is_left(world)


async def test_nobody_counts_the_temporary_budget(own: OwnCluster) -> None:
    world = own.world
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(2), on=source)
    await own.stop_controllers()
    brief = replace(PATIENT, budget_timeout_seconds=1.0, steer_timeout_seconds=1.0)
    moved = await move(world, await pod_named(world, "web-0"), target, brief)
    assert moved.verdict == ("Failed", "BudgetRefused"), moved.status
    assert "not observed" in moved.status["message"]
    assert moved.audit.pods_removed() == []
    await assert_no_trace(world, moved.audit, app="web")
    await assert_nothing_of_ours_is_left(world)
