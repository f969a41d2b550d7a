"""Every fate that a ReschedulePlan can have, as versions leave it behind: each story is played on
the embedded cluster, by processes that one after the other write, carry out, and observe plans.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tests.scenarios.album import Album
from tests.scenarios.deploying import deploy_web
from tests.scenarios.embedded_world import EmbeddedWorld
from tests.scenarios.planning import annotate, command, name_of, phase_of, plans
from tests.scenarios.test_plans_asked_for import apply, document
from tests.scenarios.world import World

ONLY_THIS: Final[dict[str, Any]] = {"mode": "Approve", "enabledStrategies": []}
"""Goes on with what somebody has approved, and plans nothing of its own."""
_PROPOSED: Final[dict[str, Any]] = {"mode": "Approve", "plans": {"review": "0s"}}
_IMPATIENT: Final[dict[str, Any]] = {
    "migration": {"readyTimeout": "15s", "retry": {"attempts": 1}},
}
NEVER_READY: Final = {"never_ready": "true"}
_DISABLED: Final = {
    "metadata": {"labels": {"scheduler.alpha.kubernetes.io/rescheduling": "disabled"}}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    play: Callable[[EmbeddedWorld], Awaitable[None]]
    replicas: int = 2
    """Of the web, all on one node."""
    afflicted: bool = False
    """No copy becomes Ready."""


async def _until_another_second(world: World) -> None:
    await _until_later(world, 1)


async def _until_later(world: World, seconds: float) -> None:
    end = world.clock.now() + timedelta(seconds=seconds)

    async def is_later() -> bool:
        return world.clock.now() > end

    await world.wait("time has passed", is_later)


async def _says(world: EmbeddedWorld, answer: str) -> None:
    [plan] = await plans(world)
    assert phase_of(plan) == "Waiting", plan
    await annotate(world, name_of(plan), answer)
    assert isinstance(world.planted, Album)
    world.planted.take("patch/rescheduleplans, by somebody")  # nobody has heard it yet


async def _by_itself(world: EmbeddedWorld) -> None:
    """And it is observed by the next pass."""
    await world.run(maxReschedulePods=2)
    await _until_another_second(world)
    await world.run(**ONLY_THIS)


async def _dry(world: EmbeddedWorld) -> None:
    await world.run(mode="DryRun")


async def _outside_of_windows(world: EmbeddedWorld) -> None:
    begin = world.clock.now() + timedelta(hours=3)
    hours = f"{begin:%H:%M}-{begin + timedelta(hours=2):%H:%M}"
    await world.run(windows=[{"hours": hours, "zone": "UTC"}])


async def _approved(world: EmbeddedWorld) -> None:
    await world.run(mode="Approve")
    await _says(world, "approved")
    await world.run(**ONLY_THIS)


async def _rejected(world: EmbeddedWorld) -> None:
    await world.run(mode="Approve")
    await _says(world, "rejected")
    await world.run(**ONLY_THIS)


async def _expired(world: EmbeddedWorld) -> None:
    short = {"plans": {"expireAfter": "2s"}}
    await world.run(mode="Approve", **short)
    await _until_later(world, 3)
    await world.run(**ONLY_THIS, **short)


async def _superseded(world: EmbeddedWorld) -> None:
    """The pod that it is about is gone, and another one takes its place."""
    await world.run(**_PROPOSED)
    [plan] = await plans(world)
    await world.api.delete("Pod", world.name, plan["spec"]["moves"][0]["pod"])
    await _until_another_second(world)
    await world.run(**_PROPOSED)


async def _not_needed(world: EmbeddedWorld) -> None:
    """Nobody may move any more what was to be moved."""
    await world.run(**_PROPOSED)
    for each in await world.pods("web"):
        await world.api.patch("Pod", world.name, each["metadata"]["name"], _DISABLED)
    await _until_another_second(world)
    await world.run(**_PROPOSED)


async def _undone(world: EmbeddedWorld) -> None:
    await world.run()
    [plan] = await plans(world)
    undone = await command(world, "undo", name_of(plan))
    assert undone.code == 0, undone
    await world.run(**ONLY_THIS)


async def _applied(world: EmbeddedWorld) -> None:
    """Two moves from a file; one of them does not hold any more."""
    full, empty = world.nodes
    pods = sorted(await world.pods("web"), key=lambda each: str(each["metadata"]["name"]))[:2]
    world.configuration(**ONLY_THIS)
    applied = await apply(world, document(world, pods, full, empty))
    assert applied.code == 0, applied
    await world.api.patch("Pod", world.name, pods[0]["metadata"]["name"], _DISABLED)
    await world.run(**ONLY_THIS)


async def _failing(world: EmbeddedWorld) -> None:
    await world.run(**_IMPATIENT)


STORIES: Final = {
    "by-itself": Story(play=_by_itself, replicas=3),
    "dry": Story(play=_dry),
    "outside-of-windows": Story(play=_outside_of_windows),
    "approved": Story(play=_approved),
    "rejected": Story(play=_rejected),
    "expired": Story(play=_expired),
    "superseded": Story(play=_superseded),
    "not-needed": Story(play=_not_needed),
    "undone": Story(play=_undone),
    "applied": Story(play=_applied, replicas=3),
    "failing": Story(play=_failing, afflicted=True),
}


async def set_stage_for(world: EmbeddedWorld, story: Story) -> None:
    await deploy_web(world, story.replicas)
    if story.afflicted:
        await world.afflict_copies(**NEVER_READY)
