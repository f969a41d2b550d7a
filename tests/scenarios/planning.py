"""ReschedulePlans as scenarios meet them."""

from typing import Any

from testbed.api import Object
from testbed.scenarios import Scene
from tests.scenarios.looping import Ended, as_admin


async def plans(world: Scene) -> list[Object]:
    """The oldest first."""
    found = await world.api.list("ReschedulePlan", world.name)
    return sorted(
        found, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"])
    )


async def wait_for_plan(world: Scene, **status: Any) -> Object:  # noqa: ANN401
    """The youngest that stands so, as soon as there is one."""
    found: list[Object] = []

    async def is_there() -> bool:
        known = await plans(world)
        found[:] = [each for each in known if status.items() <= (each.get("status") or {}).items()]
        return bool(found)

    try:
        await world.wait(f"a plan has {status}", is_there)
    except AssertionError as problem:
        shown = [(each["metadata"]["name"], each.get("status")) for each in await plans(world)]
        problem.add_note(f"plans: {shown}")
        raise
    return found[-1]


async def command(world: Scene, *arguments: str) -> Ended:
    """As an administrator types it, with the configuration that was written last."""
    return await as_admin(world, *arguments, "--config", str(world.configured))


async def annotate(world: Scene, name: str, approval: str | None) -> None:
    change: Object = {"metadata": {"annotations": {"rescheduler.io/approval": approval}}}
    await world.api.patch("ReschedulePlan", world.name, name, change)


def name_of(plan: Object) -> str:
    return str(plan["metadata"]["name"])


def phase_of(item: Object) -> str:
    """Empty, if its status is not written yet: that is a second write."""
    return str((item.get("status") or {}).get("phase", ""))
