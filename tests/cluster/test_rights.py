"""The process needs exactly what manifests/rescheduler/rbac.yaml grants."""

from pathlib import Path

import yaml

from testbed.scenarios import Scene
from tests.cluster.stage import set_stage

RBAC = Path(__file__).parents[2] / "manifests" / "rescheduler" / "rbac.yaml"


def granted(path: Path) -> set[str]:
    documents = list(yaml.safe_load_all(path.read_text()))
    return {
        f"{verb} {resource}"
        for document in documents
        for rule in document.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_grants_nothing_by_wildcard() -> None:
    assert not [each for each in granted(RBAC) if "*" in each]


async def test_every_right_is_used_and_none_is_missing(world: Scene) -> None:
    """A move that completes and one that is taken back use all of them."""
    await set_stage(world, 4)
    async with world.auditor() as auditor:
        moved = await world.run()
        await world.afflict_copies(never_ready="true")
        taken_back = await world.run(migration={"readyTimeout": "2s"})
        audit = await world.audit(auditor)
    assert (moved.code, taken_back.code) == (0, 1), (moved, taken_back)
    assert audit.permissions_used() == granted(RBAC)
    assert [request for request in audit.requests if request.code == 403] == []
