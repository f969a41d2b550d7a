"""`kubectl apply -k` runs it in the cluster: what the Deployment asks for is granted, and the
process that it starts does its work. There are no containers here: it is an ordinary process.
"""

import asyncio
import copy
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from testbed.api import Object, path_of
from testbed.instance import Instance, OwnedInstance
from testbed.world import World, make_world
from tests.cluster.deployed import a_token, credentials, replicas, requests
from tests.cluster.probing import probing
from tests.scenarios.deploying import deploy_web

KUSTOMIZATION = Path(__file__).parents[2] / "manifests" / "rescheduler"
MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
WAIT_SECONDS = 60


def kubectl_apply(kubectl: Path, instance: Instance) -> str:
    done = subprocess.run(
        [kubectl, "--kubeconfig", instance.admin_kubeconfig, "apply", "-k", KUSTOMIZATION],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(instance.folder)},
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(kubectl: Path) -> Iterator[Instance]:
    """A control plane of its own: the Deployment acts on all of a cluster."""
    with OwnedInstance() as owned:
        kubectl_apply(kubectl, owned.instance)
        yield owned.instance


@pytest.fixture
async def own(
    installed: Instance, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    name = request.node.name.removeprefix("test_").replace("_", "-")
    async with make_world(installed, tmp_path, name) as world:
        yield world


# ------------------------------------------------------------------ what it asks for


async def test_its_pods_are_on_different_nodes_and_push_nobody_out(own: World) -> None:
    nodes = await own.add_nodes(2)
    for node in nodes:
        await own.api.patch("Node", None, node, {"spec": {"taints": None}})  # for pods of others

    async def both_run() -> bool:
        found = await own.api.list("Pod", "kube-system")
        return sorted(each["spec"].get("nodeName", "") for each in found) == sorted(nodes)

    await own.wait("both run, on different nodes", both_run)
    for each in await own.api.list("Pod", "kube-system"):
        assert each["metadata"]["labels"]["app"] == "rescheduler-scheduler"
        assert each["spec"]["preemptionPolicy"] == "Never"


async def test_it_keeps_to_the_restricted_pod_security(own: World) -> None:
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    await own.api.patch("Namespace", None, own.name, {"metadata": {"labels": enforced}})
    deployment = await own.api.get("Deployment", "kube-system", "rescheduler-scheduler")
    template = deployment["spec"]["template"]
    spec = {**template["spec"], "serviceAccountName": "default"}
    assert await refusal(own, spec) == ""
    for lax in (
        {**spec, "hostNetwork": True},
        {**spec, "securityContext": {}},
        {**spec, "containers": [{**spec["containers"][0], "securityContext": {}}]},
    ):
        assert "violates PodSecurity" in await refusal(own, lax)


async def refusal(world: World, spec: Object) -> str:
    """Why such a pod is not admitted to the namespace; nothing is made."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", "namespace": world.name},
        "spec": {
            key: value for key, value in copy.deepcopy(spec).items() if key != "serviceAccount"
        },
    }
    try:
        await world.api.request(
            "POST", path_of("Pod", world.name), query={"dryRun": "All"}, body=pod
        )
    except Exception as problem:  # noqa: BLE001 - whatever it says is looked at
        return str(problem)
    return ""


# ------------------------------------------------------------------ the process that it starts


async def label(world: World, node: str) -> None:
    await world.api.patch("Node", None, node, {"metadata": {"labels": {MAINTENANCE: "true"}}})


async def test_it_moves_pods_and_the_other_finishes_what_a_dead_leader_began(own: World) -> None:
    """With the configuration that is shipped, but for what makes it act here. Both are probed from
    their first answer on: while nothing is to be done, while they list, and while pods move.
    """
    full, empty = await deploy_web(own, 4)
    token, _ = await a_token(own.api, "first")
    busy = {"enabledStrategies": ["NodeMaintenance"], "maxReschedulePods": 0}
    async with replicas(own) as both:
        await both.start("one", token, **busy)
        leader = both.processes[0]
        await leader.says("pass ended")
        await both.start("two", token, **busy)
        follower = both.processes[1]
        async with probing(both.ports) as probes:
            await follower.says("rescheduler starts")
            for name in ("one", "two"):  # also the one that only stands by
                await own.wait(f"{name} answers its probes", both.answers(name))
            await probes.answered_again()
            await label(own, full)
            await own.wait("moves are under way", lambda: under_way(own))
            await probes.answered_again()
            await probes.leave("one")
            leader.kill()
            killed = asyncio.get_running_loop().time()
            await follower.says("pass ended")
            followed_after = asyncio.get_running_loop().time() - killed
            await own.wait("all have moved", lambda: all_on(own, empty))
            await own.wait("all originals are gone", lambda: all_completed(own))
            await own.wait("two is ready", both.answers("two"))
            await probes.answered_again()
        stopped = await follower.stop()
    assert stopped.code == 0
    # On virtual time, where no other process is in the way, 17 s are held:
    # tests/unit/leading/test_following.py.
    print(f"followed {followed_after:.1f} s after the leader was killed; goal 17 s")  # noqa: T201
    for (name, path), answers in probes.answers.items():
        print(f"{name} {path}: {answers.in_words()}; goal 50 ms")  # noqa: T201
        # Not ready is whoever takes over and lists, or lists for the first time.
        assert set(answers.statuses) <= ({200} if path == "/healthz" else {200, 500})
    assert set(probes.answers["one", "/readyz"].statuses) == {200}
    assert [each for each in requests(own.instance) if each["responseStatus"]["code"] == 403] == []


async def under_way(world: World) -> bool:
    records = await world.records()
    return any((each.get("status") or {}).get("phase") == "InProgress" for each in records)


async def all_completed(world: World) -> bool:
    phases = [each["status"]["phase"] for each in await world.records()]
    return phases == ["Completed"] * 4


async def all_on(world: World, node: str) -> bool:
    return await world.nodes_of("web") == [node] * 4


async def test_a_token_that_is_rotated_is_read_anew(own: World) -> None:
    """And the old one is good no longer."""
    await deploy_web(own, 1)
    (first, one), (second, two) = [await a_token(own.api, name) for name in ("old", "new")]
    async with replicas(own) as running:
        replica = await running.start("rotated", first, reschedulingInterval="1s")
        [process] = running.processes
        await process.says("pass ended")
        assert one in credentials(own.instance)
        replica.give_token(second)
        await own.api.request("DELETE", "/api/v1/namespaces/kube-system/secrets/old")

        async def second_is_used() -> bool:
            return two in credentials(own.instance)

        await own.wait("the new one is used", second_is_used)
        passes = len(process.said("pass ended"))
        await process.says("pass ended", times=passes + 3)
        assert not process.has_ended
        assert [line for line in process.lines if line["level"] in ("error", "critical")] == []


async def test_a_config_map_that_is_swapped_is_taken_up(own: World) -> None:
    full, empty = await deploy_web(own, 4)
    await label(own, full)
    token, _ = await a_token(own.api, "swapped")
    async with replicas(own) as running:
        replica = await running.start("swapping", token, enabledStrategies=[])
        [process] = running.processes
        await process.says("pass ended")
        replica.config.write(running.with_settings(enabledStrategies=["Balance"])["data"])
        refused = await process.says("configuration refused: the last good one stays in force")
        assert "enabledStrategies[0]" in refused["problem"]

        async def is_told() -> bool:
            found = await own.api.list("Event", "kube-system")
            return "ConfigurationRefused" in {
                each["reason"]
                for each in found
                if each["involvedObject"].get("uid") == "uid-of-swapping"
            }

        await own.wait("an Event on its pod says so", is_told)

        async def is_in_readyz() -> bool:
            return "the file was refused" in await running.readiness("swapping")

        await own.wait("readyz says so", is_in_readyz)
        replica.config.write(
            running.with_settings(
                enabledStrategies=["NodeMaintenance"], leaderElection={"resourceName": "other"}
            )["data"]
        )
        changed = await process.says("configuration changed")
        assert changed["settings"] == ["enabledStrategies"]
        waits = await process.says("configuration needs a restart")
        assert waits["settings"] == ["leaderElection.resourceName"]
        await own.wait("all have moved", lambda: all_on(own, empty))


# ------------------------------------------------------------------ for whoever debugs it


async def test_the_debugging_configuration_shows_what_is_done_and_why(own: World) -> None:
    """A pass every ten seconds, thresholds of 50, and a line for each pod that stays (S47)."""
    await deploy_web(own, 4)
    path = own.folder / "debugging.yaml"
    example = (KUSTOMIZATION / "examples" / "debugging.yaml").read_text()
    # All of it, but for whom it may touch, and where it listens.
    path.write_text(f"{example}\nscope: {{namespaces: [{own.name}]}}\nserving: {{port: 0}}\n")
    process = await own.start_command("run", "--config", str(path))
    try:
        started = await process.says("rescheduler starts")
        first = await process.says("pass ended")
        second = await process.says("pass ended", times=2, where=lambda line: not line.get("early"))
        await process.says("pod stays")
    finally:
        process.kill()
        await process.finish()
    settings = started["configuration"]
    assert (settings["reschedulingInterval"], settings["cpuThreshold"]) == ("10s", 50.0)
    assert settings["memoryThreshold"] == 50.0
    times = [datetime.fromisoformat(each["timestamp"]) for each in (first, second)]
    assert (times[1] - times[0]).total_seconds() > 5
    assert first["planned"] > 0
