"""`rescheduler drain` takes whom `kubectl drain` takes with its usual flags, but for those that say
themselves that they stay.
"""

import re
from pathlib import Path

from testbed.scenarios import OWNER
from testbed.world import World
from tests.cluster.snapshots import run
from tests.scenarios.every_kind import SYSTEM, on, set_stage
from tests.scenarios.looping import as_admin

FLAGS = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--dry-run=client")


async def test_both_take_the_same_pods(world: World, kubectl: Path) -> None:
    try:
        full = await set_stage(world)
        login = ("--kubeconfig", str(world.admin_kubeconfig()))
        theirs = await run(world, kubectl, "drain", full, *FLAGS, *login)
        scope = {"namespaces": [world.name, SYSTEM], "nodeSelector": f"{OWNER}={world.name}"}
        path = str(world.configuration(scope=scope))
        ours = await as_admin(world, "drain", full, "--dry-run", "--config", path)
        there = {
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in await on(world, full)
        }
    finally:
        await world.api.delete("Deployment", SYSTEM, "dns")
    evicted = set(re.findall(r"^evicting pod (\S+)", theirs.out, re.MULTILINE))
    moved = re.findall(r"^pod/(\S+) moved .* in namespace (\S+):", ours.out, re.MULTILINE)
    assert {name.split("/")[1].rsplit("-", 1)[0] for name in there - evicted} == {"everywhere"}
    left = evicted - {f"{namespace}/{name}" for name, namespace in moved}
    assert len(left) == 1, (ours, theirs)
    assert left.pop().startswith(f"{world.name}/opted-out-")
