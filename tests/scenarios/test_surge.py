"""One pod moved without a dip, on a real control plane, judged by the auditor."""

import pytest

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import budget, deployment, pod_spec
from testbed.scenarios import Scene
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import (
    assert_as_if_nothing_happened,
    assert_exactly_one_moved,
    assert_no_trace,
)

BRIEF = {"readyTimeout": "3s", "budgetTimeout": "2s"}


@pytest.mark.parametrize("replicas", [4, 1])
async def test_moves_one_pod_and_nobody_notices(world: Scene, replicas: int) -> None:
    full, empty = await deploy_web(world, replicas)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    assert f"from {full} to {empty}" in run.summary
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


@pytest.mark.parametrize(
    ("replicas", "limit"),
    [
        pytest.param(4, budget("web", minAvailable=4), id="minAvailable-4-of-4"),
        pytest.param(4, budget("web", minAvailable="100%"), id="minAvailable-all-of-4"),
        pytest.param(4, budget("web", maxUnavailable=0), id="maxUnavailable-0-of-4"),
        pytest.param(1, budget("web", minAvailable=1), id="minAvailable-1-of-1"),
        pytest.param(1, budget("web", maxUnavailable=0), id="maxUnavailable-0-of-1"),
    ],
)
async def test_moves_what_a_budget_lets_nobody_evict(
    world: Scene, replicas: int, limit: Object
) -> None:
    _, empty = await deploy_web(world, replicas, limit)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_leaves_a_workload_alone_that_is_not_complete(world: Scene) -> None:
    await deploy_web(world, 4)
    sick, *_ = await world.pods("web")
    await world.set_ready(sick["metadata"]["name"], ready=False)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    assert audit.writes() == []
    stays = {line["because"] for line in run.said("pod stays")}
    assert "3 of 4 of its ReplicaSet's pods are Ready" in stays


@pytest.mark.parametrize("comes_back", [True, False])
async def test_waits_for_a_sibling_that_turns_unready(world: Scene, *, comes_back: bool) -> None:
    """With one sibling unready, the ReplicaSet would remove that one instead of the original."""
    _, empty = await deploy_web(world, 4)
    await world.afflict_copies(ready_after="2s")
    before = {pod["metadata"]["uid"] for pod in await world.pods("web")}
    async with world.auditor() as auditor:
        process = await world.start(migration={"readyTimeout": "30s" if comes_back else "6s"})
        copy = await world.wait_for_copy("web")
        sibling = await _another_pod_than_the_original(world, copy)
        await world.set_ready(sibling, ready=False)
        if comes_back:
            # The copy is Ready, the sibling is not: it must be seen waiting before that ends.
            await world.wait("the copy is Ready", lambda: _is_ready(world, copy))
            await world.set_ready(sibling, ready=True)
        run = await process.finish()
        audit = await world.audit(auditor)
    assert copy["metadata"]["name"] in audit.pods_made()
    after = {pod["metadata"]["uid"] for pod in await world.pods("web")}
    if comes_back:
        assert run.code == 0, run
        assert len(after & before) == 3
        assert empty in await world.nodes_of("web")
    else:
        assert run.code == 1, run
        assert "SiblingNotReady" in run.summary
        assert after == before
    # The sibling is missing by the test's doing; nobody else may be, at no time.
    assert all(each.had == 3 for each in audit.replicas_missing())
    assert audit.changed_objects() == []


async def test_takes_the_copy_back_when_it_is_not_ready_in_time(world: Scene) -> None:
    await deploy_web(world, 4)
    await world.afflict_copies(never_ready="true")
    run, audit = await world.audited_run(migration=BRIEF)
    assert run.code == 1, run
    assert "NotReadyInTime" in run.summary
    assert len(audit.pods_made()) == 1
    made = [write.permission for write in audit.writes() if write.resource == "pods"]
    # The mark on the original comes, and goes.
    assert made == ["patch pods", "create pods", "patch pods", "delete pods"]
    await assert_as_if_nothing_happened(world, audit, app="web")


@pytest.mark.parametrize(
    ("affliction", "shown"),
    [
        ({"image": "registry.invalid/web:2"}, "ImagePullBackOff"),
        ({"image": "apps/lacks-config"}, "CreateContainerConfigError"),
        ({"crashes": "true"}, "CrashLoopBackOff"),
    ],
    ids=["image-pull", "config", "crash"],
)
async def test_notices_a_failed_copy_at_once(
    world: Scene, affliction: dict[str, str], shown: str
) -> None:
    await deploy_web(world, 4)
    await world.afflict_copies(**affliction)
    async with world.auditor() as auditor:
        # The time-out of five minutes is longer than this test may last.
        run = await world.run()
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert f"CopyFailed: container app of the copy: {shown}" in run.summary
    await assert_as_if_nothing_happened(world, audit, app="web")


async def test_a_budget_that_can_never_be_met_stops_the_plan(world: Scene) -> None:
    await deploy_web(world, 4, budget("web", minAvailable=9))
    await _assert_all_stay(world, "PodDisruptionBudget web")


async def _assert_all_stay(world: Scene, because: str) -> None:
    run, audit = await world.audited_run()
    assert run.code == 0, run
    # Of alike pods a few speak for all.
    stays = [line["because"] for line in run.said("pod stays") if "/web-" in line["pod"]]
    assert stays
    assert all(because in each for each in stays)
    assert audit.writes() == []


async def test_gives_up_when_a_budget_comes_that_can_never_be_met(world: Scene) -> None:
    await deploy_web(world, 4)
    await world.afflict_copies(ready_after="2s")
    async with world.auditor() as auditor:
        process = await world.start(migration=BRIEF)
        await world.wait_for_copy("web")
        await world.create(budget("web", minAvailable=9))
        run = await process.finish()
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert "BudgetRefused" in run.summary
    await assert_no_trace(world, audit, app="web")
    # 9 were never there. The copy was a fifth for a while, and its going is no loss.
    assert [(each.had, each.wanted) for each in audit.budgets_violated()] == [(4, 9)]
    assert audit.replicas_missing() == []
    assert audit.endpoints_missing() == []
    assert audit.changed_objects() == ["PodDisruptionBudget web was made"]


async def test_refuses_a_pod_that_two_budgets_select(world: Scene) -> None:
    second = budget("web", maxUnavailable=1)
    second["metadata"]["name"] = "web-too"
    await deploy_web(world, 4, budget("web", maxUnavailable=1), second)
    await _assert_all_stay(world, "more than one PodDisruptionBudget: web, web-too")


async def test_time_to_be_available_is_not_time_to_become_ready(world: Scene) -> None:
    """The Deployment asks for longer than the configuration gives a copy to become Ready."""
    _, empty = await deploy_web(world, 2, minReadySeconds=7)
    run, audit = await world.audited_run(migration={"readyTimeout": "4s"})
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_a_copy_that_cannot_end_keeps_nobody_from_other_work(world: Scene) -> None:
    """Its node hangs, so it neither starts nor ends: this run ends, and the next one goes on."""
    brief = BRIEF | {"evictionGracePeriod": "1s"}
    quick = {"terminationGracePeriodSeconds": 1}
    full, hung = await world.add_nodes(2)
    await world.deploy(
        deployment("web", replicas=1, spec=pod_spec(cpu="1") | quick),
        deployment("shop", replicas=2, spec=pod_spec(cpu="1")),
        on=full,
    )
    await world.hang(hung)
    async with world.auditor() as auditor:
        first = await world.run(migration=brief, excludedPodSelector="app=shop")
        copy = await world.wait_for_copy("web")
        await world.cordon(hung)
        [empty] = await world.add_nodes(1)
        second = await world.run(migration=brief, excludedPodSelector="app=web")
        audit = await world.audit(auditor)
    assert first.code == 1, first
    assert copy["spec"]["nodeName"] == hung
    assert "deletionTimestamp" in copy["metadata"]
    assert f"to {empty}" in second.summary, second
    assert await world.nodes_of("shop") == sorted([full, empty])
    assert await world.nodes_of("web") == [full]
    assert audit.replicas_missing() == []
    assert audit.changed_objects() == []


async def _another_pod_than_the_original(world: Scene, copy: Object) -> str:
    key = "scheduler.alpha.kubernetes.io/original-pod-name"
    skip = {copy["metadata"]["name"], copy["metadata"]["annotations"][key]}
    names: list[str] = [pod["metadata"]["name"] for pod in await world.pods("web")]
    return next(name for name in names if name not in skip)


async def _is_ready(world: Scene, pod: Object) -> bool:
    found = await world.find_pod(pod["metadata"]["name"])
    return found is not None and is_ready(found)


async def test_the_same_pod_moves_three_times(world: Scene) -> None:
    """The pin of each move is taken out before the next is planned, or the first would be the last.

    Each time ballast arrives where the pod is, so that it is better off on the other node.
    """
    # It does not go back to where it came from, so there is always a third.
    here, *others = await world.add_nodes(3)
    await world.deploy(_ballast("first", 2), deployment("web", replicas=1), on=here)
    for number in range(3):
        if number:
            await world.deploy(_ballast(f"ballast-{number}", 4), on=here)
        run = await world.run()
        assert run.code == 0, run
        await world.wait("web is complete", lambda: world.is_complete("web"))
        (there,) = await world.nodes_of("web")
        assert f"from {here} to {there}" in run.summary
        assert there in others
        others = [each for each in (here, *others) if each != there]
        here = there
    (moved,) = await world.pods("web")
    required = moved["spec"]["affinity"]["nodeAffinity"][REQUIRED]
    [term] = required["nodeSelectorTerms"]
    assert [field["values"] for field in term["matchFields"]] == [[here]]


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _ballast(name: str, replicas: int) -> Object:
    made = deployment(name, replicas=replicas)
    labels = made["spec"]["template"]["metadata"]["labels"]
    labels["scheduler.alpha.kubernetes.io/rescheduling"] = "disabled"
    return made
