"""How many pods a second a real kube-scheduler binds: by itself, asking us about each of them, and
asking an echo, which is the least that any extender costs: two requests a pod, one after the other.

The same burst waits each time until the scheduler starts; counted is from its first binding to its
last. The three ways are measured twice, one after the other, on the same control plane.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from os import environ
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import yaml
from aiohttp import web
from rich.console import Console
from rich.table import Table

from bench.whole_run import free_port
from rescheduler.config import Extender
from rescheduler.serve import Board, SchedulerDoor
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import extender_door
from testbed.api import Object
from testbed.builders import deployment, pod_spec
from testbed.instance import OwnedInstance
from testbed.world import World, install_rights, make_world

_NODES: Final = 200
_PODS: Final = 1_000
_ROUNDS: Final = int(environ.get("BENCH_RUNS", "2"))
_PATIENCE_SECONDS: Final = 300.0
_FAST: Final = {"qps": 5_000, "burst": 10_000}
"""Else what it may ask of the API server would be all that is measured."""
_FILTERED: Final = 'rescheduler_extender_requests_total{result="ok",verb="filter"} '


async def measure(table: Table) -> None:
    table.add_section()
    pods = int(environ.get("BENCH_BURST", str(_PODS)))
    with OwnedInstance() as owned, tempfile.TemporaryDirectory() as folder:
        await install_rights(owned.instance)
        async with make_world(owned.instance, Path(folder), "burst") as world:
            await world.add_nodes(_NODES, cpu="64", memory="256Gi", pods="250")
            found = await _rates(owned, world, pods)
    table.add_row(
        f"pods bound a second, {pods:,} at once on {_NODES} nodes",
        f"{_in_words(found.asking)} asking us",
        f"{_in_words(found.echoed)} asking an echo, {_in_words(found.alone)} by itself",
    )


@dataclass(frozen=True, slots=True)
class _Rates:
    """Pods a second, of each round."""

    alone: list[float] = field(default_factory=list)
    echoed: list[float] = field(default_factory=list)
    asking: list[float] = field(default_factory=list)


def _in_words(rates: list[float]) -> str:
    return ", ".join(f"{each:.0f}" for each in rates)


async def _rates(owned: OwnedInstance, world: World, pods: int) -> _Rates:
    found = _Rates()
    ours = _Ours(owned, world)
    by_itself = ours.document | {"profiles": [{"schedulerName": "default-scheduler"}]}
    async with ours.running():
        asking = await ours.printed()
        for _ in range(_ROUNDS):
            found.alone.append(await _burst(owned, world, by_itself, pods))
            with _echo() as port:
                found.echoed.append(await _burst(owned, world, _elsewhere(asking, port), pods))
            before = await ours.filtered()
            found.asking.append(await _burst(owned, world, asking, pods))
            if await ours.filtered() - before < pods:
                raise RuntimeError("the scheduler has not asked about every pod")
    return found


def _elsewhere(configuration: Object, port: int) -> Object:
    """The same scheduler, asking at another port."""
    found = deepcopy(configuration)
    [extender] = found["extenders"]
    extender["urlPrefix"] = f"http://127.0.0.1:{port}"
    return found


async def _burst(owned: OwnedInstance, world: World, configuration: Object, pods: int) -> float:
    """Pods a second."""
    await asyncio.to_thread(owned.kill, "kube-scheduler")
    spec = pod_spec(cpu="10m", memory="16Mi")
    await world.create(deployment("burst", replicas=pods, spec=spec))
    await world.wait("all wait", lambda: _are_there(world, pods))
    path = world.folder / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    counting = asyncio.create_task(_bound(world, pods))
    await asyncio.to_thread(owned.start, "kube-scheduler", config=str(path))
    first, last = await asyncio.wait_for(counting, _PATIENCE_SECONDS)
    await world.delete_workload("burst")
    await world.wait("they are gone", lambda: _are_there(world, 0))
    return (pods - 1) / (last - first)


async def _are_there(world: World, pods: int) -> bool:
    return len(await world.pods("burst")) == pods


async def _bound(world: World, pods: int) -> tuple[float, float]:
    """When the first and when the last has a node, by when we hear of it."""
    listed = await world.api.request("GET", f"/api/v1/namespaces/{world.name}/pods")
    seen, times = set[str](), list[float]()
    version = listed["metadata"]["resourceVersion"]
    async for _, found in world.api.watch("Pod", world.name, version):
        uid = found["metadata"].get("uid", "")
        if uid not in seen and found["spec"].get("nodeName"):
            seen.add(uid)
            times.append(time.monotonic())
        if len(seen) == pods:
            break
    return times[0], times[-1]


class _Ours:
    """`rescheduler run`, and the configuration of a scheduler that asks it."""

    def __init__(self, owned: OwnedInstance, world: World) -> None:
        self._world = world
        self._port, self._metrics_port = free_port(), free_port()
        self._file = world.folder / "operator.yaml"
        self.document = self._document(owned.instance.folder)
        self._file.write_text(yaml.safe_dump(self.document))

    def _document(self, folder: Path) -> Object:
        args = {
            "enabledStrategies": [],
            "extender": {"port": self._port},
            "serving": {"port": self._metrics_port, "bindAddress": "127.0.0.1"},
        }
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(folder / "scheduler.kubeconfig"), **_FAST},
            "profiles": [
                {
                    "schedulerName": "default-scheduler",
                    "plugins": {
                        verb: {"enabled": [{"name": "Rescheduler"}]} for verb in ("filter", "score")
                    },
                    "pluginConfig": [{"name": "Rescheduler", "args": args}],
                }
            ],
        }

    async def printed(self) -> Object:
        command = ("config", "scheduler", "-f", str(self._file))
        done = await (await self._world.start_unprivileged(*command)).finish()
        found: dict[str, Any] = yaml.safe_load(done.out)
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        process = await self._world.start_command("run", "--config", str(self._file))
        try:
            await process.says("server listening")
            await self._world.wait("it knows the cluster", self._is_ready)
            yield
        finally:
            process.kill()
            await process.finish()

    async def _is_ready(self) -> bool:
        return (await self._told("/readyz")).strip() == "ok"

    async def _told(self, path: str) -> str:
        url = f"http://127.0.0.1:{self._metrics_port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.text()

    async def filtered(self) -> float:
        """Questions that were answered by more than letting everything pass."""
        lines = (await self._told("/metrics")).splitlines()
        return sum(float(each.split()[-1]) for each in lines if each.startswith(_FILTERED))


# ---------------------------------------------------------------------- the echo


@contextmanager
def _echo() -> Iterator[int]:
    """A process of its own, with nothing else to do."""
    command = [sys.executable, "-m", "bench.scheduling", "echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        try:
            yield int(process.stdout.readline() if process.stdout else "")
        finally:
            process.kill()


def _serve_echo() -> None:
    """Until nobody listens to us any more. The server that we have, and answers of the same size:
    every node passes, and all are alike.
    """
    door = extender_door(Board([]), SchedulerDoor(settings=Extender(port=1), verbs=()))
    answers = {"/filter": _pass_all, "/prioritize": _score_all}
    with listening([replace(door, port=0, answers=answers)]) as [(_, port)]:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        sys.stdin.read()


async def _pass_all(request: web.BaseRequest) -> web.Response:
    answer = {"NodeNames": await _names(request)}
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


async def _score_all(request: web.BaseRequest) -> web.Response:
    answer = [{"Host": name, "Score": 0} for name in await _names(request)]
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


async def _names(request: web.BaseRequest) -> list[str]:
    body = b"".join([piece async for piece in request.content.iter_any()])
    found: list[str] = msgspec.json.decode(body)["NodeNames"]
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve_echo()
        sys.exit()
    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    asyncio.run(measure(rows))
    Console(highlight=False, width=160).print(rows)
