"""A control plane whose kube-scheduler asks us, for tests that look at what comes of it."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from testbed.api import Object
from testbed.builders import deployment, pod_spec
from testbed.processes import Running
from tests.scenarios.own_cluster import OwnControlPlane
from tests.scenarios.world import RealWorld


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
    trusting: ssl.SSLContext | None = None
    """With what we ask by TLS; None: plain HTTP."""
    server_name: str | None = None

    @property
    def world(self) -> RealWorld:
        return self.own.real

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Running]:
        """`rescheduler run`, from when it knows the cluster."""
        started = await self.world.start_command("run", "--config", str(self.file))
        try:
            await self.world.wait("it is ready", lambda: self._says(started, "/readyz", "ok"))
            await self.knows_the_cluster()
            yield started
        finally:
            if not started.has_ended:
                started.kill()
            await started.finish()

    async def knows_the_cluster(self) -> None:
        await self.world.wait("a table is made", self._has_answered)

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
            session.post(
                self._url("/prioritize"),
                json=body,
                ssl=self.trusting or True,
                server_hostname=self.server_name,
            ) as answer,
        ):
            return {each["Host"]: each["Score"] for each in await answer.json()}

    def _url(self, path: str) -> str:
        return f"{'https' if self.trusting else 'http'}://127.0.0.1:{self.port}{path}"

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


async def extended(
    own: OwnControlPlane,
    *points: str,
    patience: str = "",
    **args: Any,  # noqa: ANN401
) -> Extended:
    """Starts the scheduler anew, as the operator of the Go plugin has configured it. `patience`:
    how long it waits for an answer, where what is answered is looked at, however busy the machine.
    """
    world, port, metrics_port = own.real, free_port(), free_port()
    serving = {"port": metrics_port, "bindAddress": "127.0.0.1"}
    document = operator_file(own, points, extender={"port": port}, serving=serving, **args)
    file = world.folder / "operator.yaml"
    file.write_text(yaml.safe_dump(document))
    configuration = await printed(world, file)
    if patience:
        asking = yaml.safe_load(configuration)
        asking["extenders"][0]["httpTimeout"] = patience
        configuration = yaml.safe_dump(asking)
    await start_scheduler(own, configuration)
    return Extended(own, file, port, metrics_port)


def operator_file(own: OwnControlPlane, points: tuple[str, ...], **args: Any) -> Object:  # noqa: ANN401
    """As the operator of the Go plugin writes it."""
    folder = own.owned.instance.folder
    # So that nobody else changes the picture.
    quiet = {"enabledStrategies": [], "scope": {"namespaces": [own.real.name]}}
    return {
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
                "pluginConfig": [{"name": "Rescheduler", "args": {**quiet, **args}}],
            }
        ],
    }


async def start_scheduler(own: OwnControlPlane, configuration: str) -> None:
    """Anew, by this."""
    path = own.real.folder / "for-kube-scheduler.yaml"
    path.write_text(configuration)
    await asyncio.to_thread(own.owned.kill, "kube-scheduler")
    await asyncio.to_thread(own.owned.start, "kube-scheduler", config=str(path))


async def printed(world: RealWorld, file: Path, *flags: str) -> str:
    """The configuration for the scheduler."""
    return await as_admin_without_login(world, "config", "scheduler", "-f", str(file), *flags)


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
