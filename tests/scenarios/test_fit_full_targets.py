"""A copy never pushes anybody out: where the scheduler would make room by force, nothing moves."""

import pytest

from rescheduler.config import Configuration, Scope, UsageSettings
from rescheduler.model import selectors
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import observing, sources
from rescheduler.plan import plan
from rescheduler.plan.fitting import Placement
from testbed.api import Object
from testbed.builders import deployment, pod, pod_spec
from testbed.scenarios import OWNER
from tests.scenarios.world import World

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"


def ranked(world: World, rank: str) -> Object:
    return {**pod_spec(cpu="500m"), "priorityClassName": f"{world.name}-{rank}"}


async def set_up(world: World, room: str) -> tuple[str, str]:
    """One pod of a high priority; and a target with four of a low one, which fill two cores."""
    for rank, value in (("low", 10), ("high", 1000)):
        name = f"{world.name}-{rank}"
        made = {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        await world.api.create(made)
    [target] = await world.add_nodes(1, cpu=room)
    await world.deploy(deployment("low", replicas=4, spec=ranked(world, "low")), on=target)
    [source] = await world.add_nodes(1)
    await world.deploy(deployment("high", replicas=1, spec=ranked(world, "high")), on=source)
    return source, target


async def look(world: World) -> Snapshot:
    settings = UsageSettings(source="requests")
    async with (
        world.connect() as kube,
        observing(kube, world.clock, sources.BY_NAME, settings) as observer,
    ):
        await observer.settled()
        return observer.snapshot()


async def find(world: World, app: str) -> tuple[Snapshot, int]:
    """What we see, and the row of the only pod of this app."""
    snapshot = await look(world)
    [only] = await world.pods(app)
    return snapshot, snapshot.pods.names.index(f"{world.name}/{only['metadata']['name']}")


@pytest.mark.parametrize(
    ("room", "fits"),
    [
        pytest.param("2", False, id="full"),
        # Should somebody come in between, the scheduler would make room by force after all.
        pytest.param("2500m", False, id="room-for-it-alone"),
        pytest.param("3", True, id="room-for-one-more"),
    ],
)
async def test_no_move_to_where_it_could_push_out_others(
    world: World, room: str, *, fits: bool
) -> None:
    source, target = await set_up(world, room)
    change = {"metadata": {"labels": {MAINTENANCE: "true"}}}
    await world.api.patch("Node", None, source, change)
    snapshot, row = await find(world, "high")
    placement = Placement(snapshot)
    assert placement.fits(row, snapshot.node_numbers[target]) is fits
    assert placement.why_not(row, snapshot.node_numbers[target]) == () or not fits
    planned = plan(
        snapshot,
        Configuration(
            enabled_strategies=("NodeMaintenance",),
            scope=Scope(
                namespaces=(world.name,),
                node_selector=selectors.parse(f"{OWNER}={world.name}"),
            ),
        ),
    )
    assert [move.target for move in planned.moves] == ([target] if fits else [])


async def test_the_scheduler_would_have_pushed_out_a_pod(world: World) -> None:
    """It is no empty worry: a copy that is created all the same has its way."""
    _, target = await set_up(world, "2")
    spec = ranked(world, "high") | {"nodeSelector": {"kubernetes.io/hostname": target}}
    before = {each["metadata"]["uid"] for each in await world.pods("low")}
    await world.create(pod("copy", spec=spec))

    async def one_has_gone() -> bool:
        there = {
            each["metadata"]["uid"]
            for each in await world.pods("low")
            if "deletionTimestamp" not in each["metadata"]
        }
        return not before <= there

    await world.wait("a pod of low priority has gone", one_has_gone)
