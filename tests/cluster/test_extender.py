"""A real kube-scheduler that asks us, with the configuration that we print for it."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import deployment, pod, pod_spec, workload
from testbed.faultproxy import Match, drop_reply
from testbed.processes import Running
from tests.scenarios.looping import as_admin
from tests.scenarios.own_cluster import OwnControlPlane, own_control_plane
from tests.scenarios.world import RealWorld

MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "rescheduler-binding"},
    "rules": [{"apiGroups": [""], "resources": ["bindings"], "verbs": ["create"]}],
}


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnControlPlane]:
    async with own_control_plane(tmp_path) as started:
        yield started


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Extended:
    """A control plane whose scheduler asks us."""

    own: OwnControlPlane
    file: Path
    port: int
    metrics_port: int

    @property
    def world(self) -> RealWorld:
        return self.own.real

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Running]:
        """`rescheduler run`, from when it knows the cluster."""
        started = await self.world.start_command("run", "--config", str(self.file))
        try:
            await self.world.wait("it is ready", lambda: self._says(started, "/readyz", "ok"))
            await self.world.wait("a table is made", self._has_answered)
            yield started
        finally:
            if not started.has_ended:
                started.kill()
            await started.finish()

    async def _says(self, started: Running, path: str, word: str) -> bool:
        assert not started.has_ended, started.told()
        return word in await self._get(path)

    async def _has_answered(self) -> bool:
        """By more than letting everything pass."""
        await self.scores(["nobody"])
        return await self.metric('extender_requests_total{result="ok",verb="score"}') >= 1

    async def says_ready(self) -> str:
        return await self._get("/readyz?verbose")

    async def scores(self, nodes: list[str]) -> dict[str, int]:
        body = {"Pod": {"metadata": {}, "spec": {"containers": []}}, "NodeNames": nodes}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{self.port}/prioritize", json=body) as answer,
        ):
            return {each["Host"]: each["Score"] for each in await answer.json()}

    async def bind(self, bound: Object, uid: str, node: str) -> str:
        """As a scheduler does; what is wrong with it."""
        metadata = bound["metadata"]
        names = {"PodName": metadata["name"], "PodNamespace": metadata["namespace"]}
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"http://127.0.0.1:{self.port}/bind", json={**names, "PodUID": uid, "Node": node}
            ) as answer,
        ):
            return str((await answer.json())["Error"])

    async def _get(self, path: str) -> str:
        with contextlib.suppress(aiohttp.ClientError):
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{self.metrics_port}{path}") as answer,
            ):
                return await answer.text()
        return ""

    async def counts(self, series: str, least: float = 1) -> None:
        """Waits: for half a second it tells the same."""

        async def does() -> bool:
            return await self.metric(series) >= least

        await self.world.wait(f"{series} is {least:g}", does)

    async def metric(self, series: str) -> float:
        lines = (await self._get("/metrics")).splitlines()
        wanted = f"rescheduler_{series} "
        return next((float(line.split()[-1]) for line in lines if line.startswith(wanted)), 0.0)


async def extended(own: OwnControlPlane, *points: str, **args: Any) -> Extended:  # noqa: ANN401
    """Starts the scheduler anew, as the operator of the Go plugin has configured it."""
    world, port, metrics_port = own.real, free_port(), free_port()
    given = {
        "scope": {"namespaces": [world.name]},
        "extender": {"port": port},
        "serving": {"port": metrics_port, "bindAddress": "127.0.0.1"},
        # So that nobody else changes the picture.
        "enabledStrategies": [],
        **args,
    }
    folder = own.owned.instance.folder
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(folder / "scheduler.kubeconfig"),
            "qps": 500,
            "burst": 1000,
        },
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {each: {"enabled": [{"name": "Rescheduler"}]} for each in points},
                "pluginConfig": [{"name": "Rescheduler", "args": given}],
            }
        ],
    }
    file, printed = world.folder / "operator.yaml", world.folder / "for-kube-scheduler.yaml"
    file.write_text(yaml.safe_dump(document))
    command = await as_admin_without_login(world, "config", "scheduler", "-f", str(file))
    printed.write_text(command)
    await asyncio.to_thread(own.owned.kill, "kube-scheduler")
    await asyncio.to_thread(own.owned.start, "kube-scheduler", config=str(printed))
    return Extended(own, file, port, metrics_port)


async def as_admin_without_login(world: RealWorld, *arguments: str) -> str:
    process = await world.start_unprivileged(*arguments)
    run = await process.finish()
    assert run.code == 0, run
    return str(run.out)


def pods_of(size: int, app: str = "burst", cpu: str = "100m") -> Object:
    return deployment(app, replicas=size, spec=pod_spec(cpu=cpu, memory="64Mi"))


async def by_node(world: RealWorld, app: str) -> dict[str, int]:
    counts = dict.fromkeys(world.nodes, 0)
    for each in await world.pods(app):
        if node := each["spec"].get("nodeName"):
            counts[node] += 1
    return counts


async def all_placed(world: RealWorld, app: str, size: int) -> dict[str, int]:
    async def is_done() -> bool:
        return sum((await by_node(world, app)).values()) == size

    await world.wait(f"all {size} are placed", is_done)
    return await by_node(world, app)


async def test_new_pods_keep_away_from_maintenance_and_overload(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "filter", "score", cpuThreshold=50)
    kept, full, free = await world.add_nodes(3, cpu="8", memory="32Gi")
    await world.deploy(pods_of(5, "filler", cpu="1"), on=full)
    await world.api.patch("Node", None, kept, {"metadata": {"labels": MAINTENANCE}})
    async with asked.running():
        await world.create(pods_of(20))
        found = await all_placed(world, "burst", 20)
        assert found == {kept: 0, full: 0, free: 20}
        await asked.counts('extender_refused_nodes_total{reason="maintenance"}', 20)
        await asked.counts('extender_refused_nodes_total{reason="load"}')
        # Beyond the threshold everywhere: a full cluster must still schedule.
        await world.create(pods_of(60, "more"))
        found = await all_placed(world, "more", 60)
        assert found[kept] == 0
        await asked.counts('extender_requests_total{result="lenient",verb="filter"}')


BURST = 500
CORES = 16
HOGS = 5
HOG_CORES = 8


async def test_a_burst_lands_by_what_is_really_used(own: OwnControlPlane) -> None:
    """Beside the same burst by the scheduler alone, which goes by what pods ask for."""
    world = own.real
    nodes = await world.add_nodes(10, cpu=str(CORES), memory="64Gi", pods="250")
    await asyncio.to_thread(own.owned.start, "metrics-server")
    for number, node in enumerate(nodes[:HOGS]):
        await world.place(partial(hog, f"hog-{number}"), on=node)
    await world.create(pods_of(BURST, "alone"))
    alone = imbalance(await all_placed(world, "alone", BURST), nodes)
    await world.delete_workload("alone")
    await world.wait("they are gone", lambda: _none(world, "alone"))
    asked = await extended(own, "filter", "score")
    async with asked.running():
        await world.wait("hogs are measured", lambda: _prefers(asked, nodes))
        await world.create(pods_of(BURST, "asked"))
        together = imbalance(await all_placed(world, "asked", BURST), nodes)
    before = imbalance(dict.fromkeys(nodes, 0), nodes)
    tell(f"imbalance {before:.1f}; after {BURST} pods {alone:.1f} alone, {together:.1f} asking us")
    assert together < 0.75 * alone
    assert together < before


def tell(words: str) -> None:
    """With pytest -s."""
    sys.stdout.write(f"{words}\n")


def hog(name: str) -> Object:
    """Asks for little, and uses half a node."""
    spec = pod_spec(cpu="100m", memory="64Mi")
    return pod(name, spec=spec, cpu_usage=str(HOG_CORES))


def imbalance(placed: dict[str, int], nodes: list[str]) -> float:
    """In points of cpu, by what is used: each new pod uses what it asks for."""
    used = [
        placed[node] * 0.1 + (HOG_CORES if number < HOGS else 0)
        for number, node in enumerate(nodes)
    ]
    return 100 * (max(used) - min(used)) / CORES


async def _none(world: RealWorld, app: str) -> bool:
    return await world.pods(app) == []


async def _prefers(asked: Extended, nodes: list[str]) -> bool:
    """Whether the last node, which nobody uses, is rated above the first."""
    scores = await asked.scores(nodes)
    return scores[nodes[-1]] > scores[nodes[0]]


async def test_pods_are_scheduled_while_it_is_killed_stopped_or_answers_rubbish(
    own: OwnControlPlane,
) -> None:
    world = own.real
    asked = await extended(own, "filter", "score")
    await world.add_nodes(4, cpu="16", memory="32Gi")
    async with asked.running() as ours:
        await world.create(pods_of(60))
        await world.wait("some are placed", lambda: _some(world, "burst", 5))
        ours.kill()
        await all_placed(world, "burst", 60)
        await ours.finish()
    async with asked.running() as ours:
        ours.send_signal(signal.SIGSTOP)
        await world.create(pods_of(3, "slow"))
        await all_placed(world, "slow", 3)
        ours.send_signal(signal.SIGCONT)
    async with rubbish(asked.port) as answered:
        await world.create(pods_of(10, "rubbish"))
        await all_placed(world, "rubbish", 10)
        assert len(answered) >= 10


async def _some(world: RealWorld, app: str, number: int) -> bool:
    return sum((await by_node(world, app)).values()) >= number


@asynccontextmanager
async def rubbish(port: int) -> AsyncIterator[list[str]]:
    answered: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        answered.append(request.path)
        bodies = ("{", '{"NodeNames": ["nobody"]}', '[{"Host": 1}]', '{"Error": "no"}', "")
        return web.Response(text=bodies[len(answered) % len(bodies)])

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield answered
    finally:
        await runner.cleanup()


async def test_bound_by_us_once_however_late_the_answer(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "filter", "score", "preBind")
    await world.add_nodes(3, cpu="16", memory="32Gi")
    await grant_binding(world)
    async with world.faults() as faults, asked.running():
        await world.create(pods_of(10, "first"))
        await all_placed(world, "first", 10)
        await asked.counts('extender_requests_total{result="ok",verb="preBind"}', 10)
        await assert_told_apart(asked, (await world.pods("first"))[0])
        # Bindings take effect, and nobody hears of it.
        lost = faults.on(Match(verb="create", resource="bindings"), drop_reply(), times=3)
        await world.create(pods_of(6, "late"))
        found = await all_placed(world, "late", 6)
        assert sum(found.values()) == 6
        await lost.wait_fired(times=3)
        await world.wait("all of them run", lambda: world.is_complete("late"))


async def test_without_the_right_to_bind_the_scheduler_does(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "preBind", "score")
    await world.add_nodes(2, cpu="16", memory="32Gi")
    async with asked.running() as ours:
        await world.create(pods_of(3))
        await all_placed(world, "burst", 3)
        await asked.counts('extender_requests_total{result="error",verb="preBind"}', 3)
    assert 'cannot create resource \\"bindings\\"' in ours.told()


async def assert_told_apart(asked: Extended, bound: Object) -> None:
    """A binding that comes once more, and those that came too late."""
    uid, node = bound["metadata"]["uid"], bound["spec"]["nodeName"]
    other = next(each for each in asked.world.nodes if each != node)
    assert await asked.bind(bound, uid, node) == ""
    assert await asked.bind(bound, uid, other) == f"it is on {node} already"
    assert await asked.bind(bound, "another", node) == "there is another pod of that name by now"


async def grant_binding(world: RealWorld) -> None:
    await world.api.create(BINDING)
    subject = {
        "kind": "ServiceAccount",
        "name": "rescheduler-scheduler",
        "namespace": "kube-system",
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    await world.api.create(
        {
            **{key: BINDING[key] for key in ("apiVersion",)},
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "rescheduler-binding"},
            "roleRef": {**reference, "name": "rescheduler-binding"},
            "subjects": [subject],
        }
    )


async def test_steers_where_the_api_server_does_not(own: OwnControlPlane) -> None:
    world = own.real
    await own.stop_steering()
    asked = await extended(own, "score")
    source, _, _, target = await world.add_nodes(4, cpu="8", memory="32Gi")
    made = workload("StatefulSet", "db", replicas=1, serviceName="db")
    await world.deploy(made, on=source)
    # The scheduler by itself would rather go elsewhere.
    await world.deploy(pods_of(6, "filler", cpu="1"), on=target)
    async with asked.running() as ours:
        original = (await world.pods("db"))[0]
        run = await as_admin(
            world, "migrate", original["metadata"]["name"], "--to", target, "-n", world.name
        )
        assert run.code == 0, (run, ours.told())
        await world.wait("it is on the target", lambda: _is_on(world, "db", target))
        await asked.counts('extender_steered_pods_total{result="steered"}')


async def test_who_stands_by_answers_too(own: OwnControlPlane, tmp_path: Path) -> None:
    world = own.real
    nodes = await world.add_nodes(2, cpu="8", memory="32Gi")
    await world.deploy(pods_of(6, "filler", cpu="1"), on=nodes[0])
    leader, follower = ([free_port(), free_port()] for _ in range(2))
    async with contextlib.AsyncExitStack() as stack:
        for ports in (leader, follower):
            asked = Extended(own, replica_file(world, tmp_path, *ports), *ports)
            await stack.enter_async_context(asked.running())
            assert await _prefers(asked, nodes)
        told = await asked.says_ready()
    assert "standing by" in told


def replica_file(world: RealWorld, folder: Path, port: int, metrics_port: int) -> Path:
    document = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulerConfiguration",
        "scope": {"namespaces": [world.name]},
        "leaderElection": {"resourceNamespace": world.name},
        "enabledStrategies": [],
        "extender": {"port": port, "verbs": ["score"]},
        "serving": {"port": metrics_port, "bindAddress": "127.0.0.1"},
    }
    path = folder / f"replica-{port}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def _is_on(world: RealWorld, app: str, node: str) -> bool:
    pods = await world.pods(app)
    return [each["spec"].get("nodeName") for each in pods if is_ready(each)] == [node]
