"""Who goes when a pod of higher priority comes: the same pods on both clusters."""

from collections.abc import Sequence

from testbed.api import Object
from testbed.builders import budget, pod, pod_spec
from tests.scenarios.world import World


async def ranks(world: World) -> None:
    for rank, value in (("low", 10), ("middle", 100), ("high", 1000)):
        name = f"{world.name}-{rank}"
        await world.api.create(
            {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        )


def ranked(world: World, rank: str, *, cpu: str, on: str = "") -> Object:
    spec = {**pod_spec(cpu=cpu), "priorityClassName": f"{world.name}-{rank}"}
    return spec | ({"nodeSelector": {"kubernetes.io/hostname": on}} if on else {})


async def until_bound(world: World, name: str) -> Object:
    async def is_bound() -> bool:
        found = await world.find_pod(name)
        return bool(found and found["spec"].get("nodeName"))

    await world.wait(f"{name} is bound", is_bound)
    return await world.api.get("Pod", world.name, name)


async def left(world: World, names: Sequence[str]) -> list[str]:
    return [name for name in names if await world.find_pod(name) is not None]


async def test_only_those_go_who_must_and_the_youngest_first(world: World) -> None:
    [node] = await world.add_nodes(1, cpu="2")
    await ranks(world)
    names = ("one", "two", "three")
    for name in names:
        await world.create(pod(name, spec=ranked(world, "low", cpu="600m")))
        await until_bound(world, name)
        await until_started(world, name)
    await world.create(pod("boss", spec=ranked(world, "high", cpu="700m")))
    placed = await until_bound(world, "boss")
    assert placed["spec"]["nodeName"] == node
    assert await left(world, names) == ["one", "two"]


async def until_started(world: World, name: str) -> None:
    """Its start is told in whole seconds: the next one shall have another."""
    found = await world.api.get("Pod", world.name, name)

    async def is_another_second() -> bool:
        return str(found["metadata"]["creationTimestamp"])[:19] < world.clock.now().isoformat()[:19]

    await world.wait("a second has passed", is_another_second)


async def test_the_lowest_go_and_budgets_are_kept_as_long_as_possible(world: World) -> None:
    hosts = dict(
        zip(("guarded", "middle", "plain"), await world.add_nodes(3, cpu="2"), strict=True)
    )
    await ranks(world)
    for name, node in hosts.items():
        rank = "middle" if name == "middle" else "low"
        await world.create(pod(name, spec=ranked(world, rank, cpu="1500m", on=node)))
        await until_bound(world, name)
    await world.create(budget("guarded", minAvailable=1))

    async def is_counted() -> bool:
        found = await world.api.get("PodDisruptionBudget", world.name, "guarded")
        return bool((found.get("status") or {}).get("currentHealthy"))

    await world.wait("the budget is counted", is_counted)
    went = []
    for number, expected in enumerate(("plain", "middle", "guarded")):
        await world.create(pod(f"boss-{number}", spec=ranked(world, "high", cpu="1500m")))
        placed = await until_bound(world, f"boss-{number}")
        assert await world.find_pod(expected) is None
        went.append(placed["spec"]["nodeName"])
    assert went == [hosts["plain"], hosts["middle"], hosts["guarded"]]
