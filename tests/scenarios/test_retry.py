"""`rescheduler retry`: a migration that failed, once more."""

from testbed.api import Object
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import as_admin, controller
from tests.scenarios.world import World

SETTINGS = {"migration": {"readyTimeout": "2s", "retry": {"attempts": 1}}}


async def fail_once(world: World) -> tuple[str, Object]:
    """A migration that failed, and is not tried again by itself; also the node that it was for."""
    _, empty = await deploy_web(world, 1)
    await world.afflict_copies(never_ready="true")
    run = await world.run(**SETTINGS)
    assert run.code == 1, run
    [record] = await world.records()
    assert record["status"]["phase"] == "Failed"
    return empty, record


async def test_it_is_a_further_attempt_that_the_next_run_carries_out(world: World) -> None:
    empty, failed = await fail_once(world)
    # By itself, nobody tries it again.
    assert (await world.run(**SETTINGS)).code == 0
    assert len(await world.records()) == 1
    name = failed["metadata"]["name"]
    asked = await as_admin(world, "retry", name)
    assert (asked.code, asked.err) == (0, "")
    again = name.removesuffix("-1") + "-2"
    assert asked.out == f"podmigration.rescheduler.io/{again} created\n"
    await world.heal_copies()
    run = await world.run(enabledStrategies=[])
    assert run.code == 0, run
    assert await world.nodes_of("web") == [empty]
    second = await world.api.get("PodMigration", world.name, again)
    assert second["status"]["phase"] == "Completed"
    assert second["spec"]["attempt"] == 2
    assert second["spec"]["pod"] == failed["spec"]["pod"]


async def test_the_controller_tries_again_by_itself_what_a_person_asked_for(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await world.afflict_copies(never_ready="true")
    await ask(world, pod, empty)
    brief = {"readyTimeout": "2s", "budgetTimeout": "1s", "retry": {"backOff": "1s"}}
    async with controller(world, enabledStrategies=[], migration=brief):
        await world.wait_for_record(pod["metadata"]["name"], phase="Failed")
        await world.heal_copies()
        await world.wait("the pod has moved", lambda: _is_on(world, empty))


async def _is_on(world: World, node: str) -> bool:
    return await world.nodes_of("web") == [node]


async def test_asked_for_twice_it_is_one_and_the_other_is_named(world: World) -> None:
    _, failed = await fail_once(world)
    name = failed["metadata"]["name"]
    assert (await as_admin(world, "retry", name, "-n", world.name)).code == 0
    twice = await as_admin(world, "retry", name)
    again = name.removesuffix("-1") + "-2"
    assert twice.code == 1
    assert twice.err == (f'error: it was tried again already: podmigration "{again}" is Pending')
    waits = await as_admin(world, "retry", again)
    assert waits.err == f'error: podmigration "{again}" is Pending, not Failed: wait for its end'


async def test_what_completed_or_is_gone_or_unknown_is_not_tried_again(world: World) -> None:
    _, failed = await fail_once(world)
    name, pod = failed["metadata"]["name"], failed["spec"]["pod"]["name"]
    unknown = await as_admin(world, "retry", name + "0", "-n", world.name)
    assert unknown.code == 1
    assert unknown.err == (
        f'error: podmigrations.rescheduler.io "{name}0" not found in namespace "{world.name}"; '
        f'did you mean "{name}"?'
    )
    await world.delete_pod(pod)
    await world.wait("the pod is gone", lambda: _is_gone(world, pod))
    gone = await as_admin(world, "retry", name)
    assert gone.code == 1
    assert gone.err == f"error: pod {world.name}/{pod} is gone: there is nothing left to move"
    assert len(await world.records()) == 1


async def _is_gone(world: World, pod: str) -> bool:
    return await world.find_pod(pod) is None


async def test_a_completed_one_is_refused(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run()).code == 0
    [record] = await world.records()
    run = await as_admin(world, "retry", record["metadata"]["name"])
    assert run.code == 1
    assert "is Completed, not Failed: it has done what was asked for" in run.err
