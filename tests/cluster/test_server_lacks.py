"""What the API server lacks is told at the start, and pods are moved all the same. Of all tests
this one also runs on the other supported versions of Kubernetes in CI.
"""

from pathlib import Path

import pytest

from testbed import build, versions
from testbed.instance import Instance
from testbed.world import World
from tests.cluster.kubectl import EVERYTHING, WITHOUT_POLICY, Kubectl, composed
from tests.scenarios.deploying import deploy_web

DOCS = Path(__file__).parents[2] / "docs"
LACKS = {"1.35": {"MutatingAdmissionPolicy v1"}}
"""By version; those that are not named have all."""


async def test_it_is_told_at_the_start_and_pods_are_moved(world: World) -> None:
    full, _ = await deploy_web(world, 4)
    async with world.auditor() as auditor:
        path = world.configuration(leaderElection={"leaderElect": False}, serving={"port": 0})
        process = await world.start_command("run", "--config", str(path))
        try:
            await process.says("pass ended")

            async def has_moved() -> bool:
                nodes = await world.nodes_of("web")
                return nodes.count(full) < len(nodes) == 4

            await world.wait("pods have moved", has_moved)
            await world.wait_for_record(phase="Completed")
        finally:
            stopped = await process.stop()
        audit = await world.audit(auditor)
    told = {each["feature"] for each in stopped.said("the API server lacks a feature")}
    assert told == LACKS.get(build.DEFAULT_MINOR, set())
    assert audit.replicas_missing() == []


@pytest.mark.parametrize("guide", ["deployment-guide.md", "deployment-guide.zh-CN.md"])
async def test_the_guide_says_what_this_version_has(instance: Instance, guide: str) -> None:
    found = await versions.row(instance)
    assert found.startswith(f"| {build.read_pins().version.removeprefix('v')} |")
    assert found in (DOCS / guide).read_text().splitlines()


async def test_what_the_server_has_no_kind_for_can_be_left_out(
    instance: Instance, kubectl: Path, tmp_path: Path
) -> None:
    """Of the manifests; nothing is installed, as the server is only asked."""
    kube = Kubectl(kubectl, instance, tmp_path)
    asking = ("apply", "--dry-run=server", "-k")
    applied = await kube.run(*asking, str(EVERYTHING))
    lacks = build.DEFAULT_MINOR in LACKS
    assert ('no matches for kind "MutatingAdmissionPolicy"' in applied.stderr) == lacks
    assert (applied.returncode == 0) != lacks, applied.stderr
    await kube(*asking, str(WITHOUT_POLICY))
    monitored = await kube.run(*asking, composed(tmp_path / "mine", "monitoring"))
    assert monitored.returncode == 1
    assert 'no matches for kind "ServiceMonitor"' in monitored.stderr
