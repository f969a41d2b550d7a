"""An original leaves its Services before it is told to end, and finishes what it has: a server that
exits at SIGTERM would cut it, and refuse what proxies send to it until they have heard of its end.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from testbed.api import Object
from testbed.audit import Audit, is_ready, ready_endpoints
from testbed.builders import budget, deployment, pod, pod_spec, service
from testbed.faultproxy import Match, fail, hold, kill
from testbed.faultproxy.faults import Fault, Strike
from testbed.faultproxy.steps import Steps
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left
from tests.scenarios.looping import cleanup
from tests.scenarios.world import World

STATUS = Match(verb="patch", resource="pods", subresource="status")
CREATION = Match(verb="create", resource="pods", write=True)
ADOPTION = Match(
    verb="patch", resource="pods", predicate=lambda request: b'"completed"' in request.body
)
COST, LOWEST = "controller.kubernetes.io/pod-deletion-cost", "-2147483648"
REASON = "LeavingItsServices"
FEW = {"enabledStrategies": [], "pods": {"barePods": "Allowed"}}
PRE_STOP = {"preStop": {"sleep": {"seconds": 1}}}


def settings(linger: str, **migration: Any) -> dict[str, Any]:  # noqa: ANN401
    return {**FEW, "migration": {"linger": linger, "retry": {"attempts": 1}, **migration}}


# ---------------------------------------------------------------------- scenes


async def _deployment(world: World, full: str) -> None:
    await world.create(budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=2), on=full)


async def _single(world: World, full: str) -> None:
    await world.create(budget("web", minAvailable="100%"))
    await world.deploy(deployment("web", replicas=1), on=full)


async def _bare(world: World, full: str) -> None:
    await world.create(budget("web", minAvailable=1))
    await world.place(lambda: pod("web"), on=full)


SCENES = {"deployment": _deployment, "single": _single, "bare": _bare}
each_scene = pytest.mark.parametrize("scene", SCENES)


async def set_scene(world: World, make: Callable[[World, str], Any]) -> tuple[Object, str]:
    """The pod that somebody wants on the other node."""
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await make(world, full)
    original = min(await world.pods("web"), key=lambda each: str(each["metadata"]["name"]))
    await ask(world, original, empty)
    return original, empty


# ---------------------------------------------------------------------- what was seen


def moments(audit: Audit, original: Object) -> list[str]:
    """What the watches saw of the original, in order: whether it is an endpoint, and its end."""
    uid, found = original["metadata"]["uid"], ["an endpoint"]
    slices: dict[str, Object] = {}
    for seen in audit.history:
        if seen.kind == "EndpointSlice" and seen.object is not None:
            slices[seen.uid] = seen.object
            is_one = uid in ready_endpoints(slices.values(), "web")
            told = "an endpoint" if is_one else "no endpoint"
        elif seen.uid == uid and "deletionTimestamp" in ((seen.object or {}).get("metadata") or {}):
            told = "told to end"
        else:
            continue
        if told != found[-1] and "told to end" not in found:
            found.append(told)
    return found


def times_left(audit: Audit) -> int:
    return sum(each.permission == "patch pods/status" for each in audit.writes())


async def has_left(world: World, original: Object) -> bool:
    found = await world.find_pod(original["metadata"]["name"])
    conditions = (found or {}).get("status", {}).get("conditions") or ()
    return any(each.get("reason") == REASON and each["status"] == "False" for each in conditions)


async def any_has_left(world: World, originals: list[Object]) -> bool:
    return any([await has_left(world, each) for each in originals])


def give_back(world: World) -> Fault:
    """Its kubelet says what it knows about the original, just before its copy is adopted."""

    async def act(exchange: Steps, strike: Strike) -> None:
        copy = await world.find_pod(exchange.request.name)
        assert copy
        name = copy["metadata"]["annotations"]["scheduler.alpha.kubernetes.io/original-pod-name"]
        await world.set_ready(name, ready=True)
        strike()

    return Fault("give back", act, final=False)


def cost_at_the_end(audit: Audit, original: Object) -> str | None:
    """Its deletion cost when it was told to end."""
    for seen in audit.history:
        metadata = (seen.object or {}).get("metadata") or {}
        if seen.uid == original["metadata"]["uid"] and "deletionTimestamp" in metadata:
            return (metadata.get("annotations") or {}).get(COST)
    return None


async def is_there(world: World, empty: str) -> bool:
    pods = await world.pods("web")
    return empty in [each["spec"].get("nodeName") for each in pods] and all(map(is_ready, pods))


async def is_back(world: World, original: Object, empty: str) -> bool:
    """All is as if nothing had happened."""
    pods = {each["metadata"]["uid"]: each for each in await world.pods("web")}
    where = [each["spec"]["nodeName"] for each in pods.values()]
    return (
        original["metadata"]["uid"] in pods
        and empty not in where
        and all(map(is_ready, pods.values()))
    )


# ---------------------------------------------------------------------- undisturbed


@each_scene
async def test_it_has_left_when_it_is_told_to_end(world: World, scene: str) -> None:
    original, empty = await set_scene(world, SCENES[scene])
    async with world.auditor() as auditor:
        # Time enough for whoever counts endpoints, also on a busy machine.
        run = await world.run(**settings("5s"))
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert run.said("migration takes the original out of its Services")
    waits = {each["step"]: each["because"] for each in run.said("migration waits")}
    assert waits["Leave"] == "the original finishes what it has"
    assert moments(audit, original)[-2:] == ["no endpoint", "told to end"]
    assert await is_there(world, empty)
    assert_nobody_noticed(audit)


async def test_whatever_its_kubelet_says_meanwhile(world: World) -> None:
    """Every ten seconds it gives it back, and each time it leaves again."""
    original, _ = await set_scene(world, _deployment)
    run, audit = await world.audited_run(**settings("12s"))
    assert run.code == 0, run
    seen = moments(audit, original)
    assert seen[-2:] == ["no endpoint", "told to end"]
    assert seen.count("an endpoint") > 1
    assert times_left(audit) == seen.count("no endpoint")
    assert_nobody_noticed(audit)


async def test_several_of_one_workload_leave_at_the_same_time(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.create(service("web"), budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=3), on=full)
    for each in await world.pods("web"):
        await ask(world, each, empty)
    run, audit = await world.audited_run(**settings("2s"))
    assert run.code == 0, run
    assert await world.nodes_of("web") == [empty] * 3
    assert times_left(audit) >= 3
    assert_nobody_noticed(audit)


async def test_none_is_removed_for_another_before_it_has_finished(world: World) -> None:
    """The second begins to leave a moment after the first; and the first is given back by
    its kubelet in the very moment in which its copy is adopted. Then its ReplicaSet removes the
    second, which is not Ready: by then it has finished, too, for it is marked as first to go.
    """
    full, empty = await world.add_nodes(2)
    await world.create(service("web"), budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=2), on=full)
    originals = await world.pods("web")
    for each in originals:
        await ask(world, each, empty)
    first_has_left = asyncio.Event()
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            held = proxy.on(CREATION, hold(first_has_left), after=1, times=1)
            given_back = proxy.on(ADOPTION, give_back(world), times=1)
            process = await world.start(**settings("5s"))
            await world.wait("one has left", lambda: any_has_left(world, originals))
            first_has_left.set()
            run = await process.finish()
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert held.fired
    assert given_back.fired
    assert await world.nodes_of("web") == [empty] * 2
    assert [cost_at_the_end(audit, each) for each in originals] == [LOWEST] * 2
    assert_nobody_noticed(audit)


# ---------------------------------------------------------------------- who does not


def _with_hook() -> Object:
    spec = pod_spec()
    spec["containers"][0]["lifecycle"] = PRE_STOP
    return deployment("web", replicas=2, spec=spec)


def _in_no_time() -> Object:
    return deployment("web", replicas=2, spec=pod_spec() | {"terminationGracePeriodSeconds": 0})


def _as_annotated() -> Object:
    return deployment("web", replicas=2, annotations={"rescheduler.io/linger": "0s"})


@pytest.mark.parametrize(
    ("make", "linger"),
    [
        pytest.param(_with_hook, "2s", id="a-hook"),
        pytest.param(_in_no_time, "2s", id="no-grace-period"),
        pytest.param(_as_annotated, "2s", id="its-annotation"),
        pytest.param(lambda: deployment("web", replicas=2), "0s", id="the-setting"),
    ],
)
async def test_who_is_told_at_once(world: World, make: Callable[[], Object], linger: str) -> None:
    async def scene(world: World, full: str) -> None:
        await world.deploy(make(), on=full)

    _, empty = await set_scene(world, scene)
    run, audit = await world.audited_run(**settings(linger))
    assert run.code == 0, run
    assert times_left(audit) == 0
    assert await is_there(world, empty)
    assert_nobody_noticed(audit)


@each_scene
async def test_where_that_is_refused_it_is_told_and_goes_on(world: World, scene: str) -> None:
    """By a policy, or because nobody has granted pods/status yet."""
    _, empty = await set_scene(world, SCENES[scene])
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            proxy.on(STATUS, fail(403, message="pods/status is forbidden", reason="Forbidden"))
            run = await world.run(**settings("2s"))
        audit = await world.audit(auditor)
    assert run.code == 0, run
    [told] = run.said("originals cannot be taken out of their Services before they are told to end")
    assert "pods/status is forbidden" in told["problem"]
    assert await is_there(world, empty)
    assert_nobody_noticed(audit)


# ---------------------------------------------------------------------- undone


@asynccontextmanager
async def lingering(world: World, original: Object) -> AsyncIterator[Any]:
    process = await world.start(**settings("60s", readyTimeout="20s"))
    await world.wait("it has left", lambda: has_left(world, original))
    yield process


@each_scene
async def test_given_up_it_is_back_before_its_copy_goes(world: World, scene: str) -> None:
    original, empty = await set_scene(world, SCENES[scene])
    async with world.auditor() as auditor:
        async with lingering(world, original) as process:
            await world.cordon(empty)
            run = await process.finish()
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert await is_back(world, original, empty)
    assert_nobody_noticed(audit)
    await assert_nothing_of_ours_is_left(world)


@pytest.mark.parametrize("how", ["the next run", "its record is deleted", "cleanup"])
@each_scene
async def test_killed_in_the_middle(world: World, scene: str, how: str) -> None:
    original, empty = await set_scene(world, SCENES[scene])
    async with world.auditor() as auditor:
        async with lingering(world, original) as process:
            process.kill()
            await process.finish()
        if how == "its record is deleted":
            for record in await world.records():
                await world.api.delete("PodMigration", world.name, record["metadata"]["name"])
        if how == "cleanup":
            ended = await cleanup(world, **settings("1s"))
            assert ended.code == 0, ended
        else:
            await world.run(**settings("1s"))
        if how == "its record is deleted":
            # A budget that has not heard of the original yet keeps the copy for one more pass.
            await world.run(**settings("1s"))
            await world.wait("the copy is gone", lambda: is_back(world, original, empty))
        else:
            assert await is_there(world, empty)
        audit = await world.audit(auditor)
    assert_nobody_noticed(audit)
    await assert_nothing_of_ours_is_left(world)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_the_very_write(world: World, when: Any) -> None:  # noqa: ANN401
    original, empty = await set_scene(world, _deployment)
    async with world.auditor() as auditor:
        async with world.faults() as proxy:
            process = await world.start(**settings("2s"))
            rule = proxy.on(STATUS, kill(process, when=when), times=1)
            await process.finish()
        assert rule.fired
        run = await world.run(**settings("2s"))
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert moments(audit, original)[-2:] == ["no endpoint", "told to end"]
    assert await is_there(world, empty)
    assert_nobody_noticed(audit)
