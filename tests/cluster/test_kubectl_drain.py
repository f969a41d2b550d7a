"""`rescheduler drain` takes whom `kubectl drain` takes with its usual flags, but for those that say
themselves that they stay.
"""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from testbed.api import Object
from testbed.scenarios import OWNER
from testbed.world import World
from tests.cluster.snapshots import run
from tests.scenarios.every_kind import SYSTEM, deploy_every_kind, on, spec
from tests.scenarios.looping import as_admin
from tests.scenarios.toy_operator import KINDS, Operator

FLAGS = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--dry-run=client")


def replicated() -> Object:
    """As nobody makes them any more, but for those who have them since the beginning."""
    template = {"metadata": {"labels": {"app": "replicated"}}, "spec": spec()}
    wanted = {"replicas": 2, "selector": {"app": "replicated"}, "template": template}
    metadata = {"name": "replicated"}
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": metadata,
        "spec": wanted,
    }


@asynccontextmanager
async def operators(world: World, *, on: str) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for kind in KINDS:
            operator = Operator(world=world, kind=kind, name=kind.lower(), replicas=2)
            await stack.enter_async_context(operator.at_work(on=on))
        yield


async def test_a_replication_controller_makes_its_pods_anew(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.cordon(empty)
    await world.create(replicated())

    async def are_there() -> bool:
        return await world.nodes_of("replicated") == [full] * 2

    await world.wait("both are there", are_there)
    await world.uncordon(empty)
    drained = await as_admin(world, "drain", full, "--config", str(world.configuration()))
    assert drained.code == 0, drained
    assert await world.nodes_of("replicated") == [empty] * 2
    assert {each["status"]["way"] for each in await world.records()} == {"Recreate"}


async def test_both_take_the_same_pods(world: World, kubectl: Path) -> None:
    try:
        full = await deploy_every_kind(world)
        login = ("--kubeconfig", str(world.admin_kubeconfig()))
        scope = {"namespaces": [world.name, SYSTEM], "nodeSelector": f"{OWNER}={world.name}"}
        path = str(world.configuration(scope=scope))
        async with operators(world, on=full):
            theirs = await run(world, kubectl, "drain", full, *FLAGS, *login)
            ours = await as_admin(world, "drain", full, "--dry-run", "--config", path)
            there = {
                f"{each['metadata']['namespace']}/{each['metadata']['name']}"
                for each in await on(world, full)
            }
    finally:
        await world.api.delete("Deployment", SYSTEM, "dns")
    assert sum(f"{world.name}/{kind.lower()}-" in each for kind in KINDS for each in there) == 10
    evicted = set(re.findall(r"^evicting pod (\S+)", theirs.out, re.MULTILINE))
    moved = re.findall(r"^pod/(\S+) moved .* in namespace (\S+):", ours.out, re.MULTILINE)
    assert {name.split("/")[1].rsplit("-", 1)[0] for name in there - evicted} == {"everywhere"}
    left = evicted - {f"{namespace}/{name}" for name, namespace in moved}
    assert len(left) == 1, (ours, theirs)
    assert left.pop().startswith(f"{world.name}/opted-out-")
