"""The process needs exactly what manifests/rescheduler/rbac.yaml grants."""

import asyncio
import sys
from pathlib import Path

import yaml

from testbed.faultproxy import Match, fail
from testbed.world import World
from tests.cluster.stage import set_stage

RBAC = Path(__file__).parents[2] / "manifests" / "rescheduler" / "rbac.yaml"

# Of pods only where nodes have figures: tests/cluster/test_usage.py does it with these rights.
WITH_METRICS_SERVER = {"list pods.metrics.k8s.io"}


def granted(path: Path) -> set[str]:
    documents = list(yaml.safe_load_all(path.read_text()))
    return {
        f"{verb} {_named(resource, group)}"
        for document in documents
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _named(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def test_grants_nothing_by_wildcard() -> None:
    assert not [each for each in granted(RBAC) if "*" in each]


async def test_every_right_is_used_and_none_is_missing(world: World) -> None:
    """A move that completes, one that is taken back, and a look at everything use all of them, on a
    server of today and on one that has no WatchList.
    """
    await set_stage(world, 4)
    async with world.auditor() as auditor:
        moved = await world.run()
        await world.afflict_copies(never_ready="true")
        taken_back = await world.run(migration={"readyTimeout": "2s"})
        await _look_at_everything(world)
        async with world.faults() as proxy:
            asked = Match(verb="watch", predicate=lambda each: "sendInitial" in each.target)
            refused = proxy.on(asked, fail(400, message="sendInitialEvents is not known"))
            await _look_at_everything(world)
            assert refused.fired
        audit = await world.audit(auditor)
    assert (moved.code, taken_back.code) == (0, 1), (moved, taken_back)
    assert audit.permissions_used() == granted(RBAC) - WITH_METRICS_SERVER
    assert [request for request in audit.requests if request.code == 403] == []


async def _look_at_everything(world: World) -> None:
    file = str(world.folder / "cluster.json.gz")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rescheduler", "snapshot", "save", file),
        *("--kubeconfig", str(world.kubeconfig())),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert b"permission" not in said
