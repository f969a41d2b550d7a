"""What a new user does: looks first, with no right to move anything; installs, sees the quick test
balanced, and takes all of it off again.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from testbed.api import ApiError, path_of
from testbed.instance import Instance, OwnedInstance
from testbed.world import World, make_world
from tests.cluster.deployed import ACCOUNT, a_token, replicas, requests
from tests.cluster.helm import CHART, Helm, setting
from tests.cluster.kubectl import CRD, EVERYTHING, READ_ONLY, Kubectl, until
from tests.scenarios.deploying import deploy_web

QUICK_TEST = EVERYTHING / "examples" / "quick-test.yaml"
READING = {"get", "list", "watch"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Instance]:
    """Of its own: what is installed acts on all of it."""
    with OwnedInstance() as owned:
        yield owned.instance


@pytest.fixture
async def kube(cluster: Instance, kubectl: Path, tmp_path: Path) -> AsyncIterator[Kubectl]:
    """Whatever a test installs is gone after it, and nothing else."""
    kube = Kubectl(kubectl, cluster, tmp_path)
    before = await kube.inventory()
    yield kube
    await until(kube, before)


async def test_who_only_looks_plans_and_may_write_nothing(
    kube: Kubectl, cluster: Instance, tmp_path: Path
) -> None:
    await kube("apply", "-k", str(READ_ONLY))
    async with make_world(cluster, tmp_path, "looking") as own:
        await _look(kube, own)
        # While the nodes are there, on which its pods end.
        await kube("delete", "namespace", own.name)
    await kube("-n", "kube-system", "delete", "secret", "looking")
    await kube("delete", "-k", str(READ_ONLY))


async def _look(kube: Kubectl, own: World) -> None:
    await deploy_web(own, 4)
    token, _ = await a_token(own.api, "looking")
    async with replicas(own) as looking:
        await looking.start("one", token)
        [process] = looking.processes
        ended = await process.says("pass ended")
        await own.wait("it is ready", looking.answers("one"))
        stopped = await process.stop()
    assert stopped.code == 0
    assert ended["planned"] > 0
    assert not [each for each in stopped.lines if each["level"] in ("error", "critical")]
    asked = requests(own.instance)
    # Plans are written down, and nothing else.
    written = [each for each in asked if each["verb"] not in READING]
    assert {each["objectRef"]["resource"] for each in written} <= {"rescheduleplans"}
    assert [each for each in asked if each["responseStatus"]["code"] == 403] == []
    for verb, resource in (("create", "pods/eviction"), ("patch", "pods"), ("create", "events")):
        assert (await _may(kube, verb, resource)) == "no"
    assert (await _may(kube, "list", "pods")) == "yes"


async def _may(kube: Kubectl, verb: str, resource: str) -> str:
    done = await kube.run("auth", "can-i", verb, resource, "-A", f"--as={ACCOUNT}")
    return done.stdout.strip()


@pytest.mark.parametrize("by", ["kustomize", "helm"])
async def test_installed_balanced_and_taken_off(
    kube: Kubectl, cluster: Instance, tmp_path: Path, by: str
) -> None:
    """`kubectl apply -k`, quick-test.yaml, `rescheduler cleanup --all`, `kubectl delete -k`; and
    the same by Helm.
    """
    helm = Helm(tmp_path, cluster)
    if by == "helm":
        await helm("install", "rescheduler", CHART, *setting("mode=Auto"))
    else:
        await kube("apply", "-k", str(EVERYTHING))
    await kube("wait", "--for=condition=Established", CRD, "--timeout=60s")
    async with make_world(cluster, tmp_path, "first") as own:
        await _balance(kube, own)
        await kube("-n", "kube-system", "scale", "deployment/rescheduler-scheduler", "--replicas=0")
        await _clean_up(own)
        await kube("delete", "namespace", own.name)
    await kube("-n", "kube-system", "delete", "secret", "acting")
    if by == "helm":
        await helm("uninstall", "rescheduler")
    else:
        await kube("delete", "-k", str(EVERYTHING))


async def _balance(kube: Kubectl, own: World) -> None:
    nodes = await own.add_nodes(3)
    for node in nodes:
        await own.api.patch("Node", None, node, {"spec": {"taints": None}})  # for pods of others
    await kube("-n", "kube-system", "rollout", "status", "deployment/rescheduler-scheduler")
    await kube("apply", "-f", str(QUICK_TEST))
    await kube("-n", "quick-test", "rollout", "status", "deployment/packed")
    assert sorted((await _packed(own)).values()) == [8]

    token, _ = await a_token(own.api, "acting")
    async with replicas(own) as acting:
        # A pass as often as can be; all else as it is installed.
        await acting.start("one", token, reschedulingInterval="1s", scope={})

        async def is_balanced() -> bool:
            counts = await _packed(own)
            # Of nodes with four cores: within 20 points are three pods of 250m.
            return len(counts) == 3 and max(counts.values()) - min(counts.values()) <= 3

        await own.wait("the quick test is balanced", is_balanced)
        await own.wait("nothing is under way", lambda: _is_quiet(own))
        [process] = acting.processes
        stopped = await process.stop()
    assert stopped.code == 0

    await kube("delete", "-f", str(QUICK_TEST))


async def _packed(world: World) -> Counter[str]:
    pods = await world.api.list("Pod", "quick-test")
    return Counter(each["spec"].get("nodeName", "") for each in pods)


async def _is_quiet(world: World) -> bool:
    records = await world.api.list("PodMigration", "quick-test")
    phases = {(each.get("status") or {}).get("phase") for each in records}
    return phases == {"Completed"}


async def _clean_up(world: World) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rescheduler", "cleanup", "--all"),
        *("--kubeconfig", str(world.admin_kubeconfig())),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, said = await process.communicate()
    assert process.returncode == 0, (out + said).decode()
    with pytest.raises(ApiError, match="not found"):
        await world.api.request("GET", path_of("Lease", "kube-system", "rescheduler"))
