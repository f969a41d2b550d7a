"""What an eviction takes through a real API server: while nobody is asked about it, while a webhook
is that lets everything pass, and while ours is.

The pods have budgets that allow nothing, so that whoever lets an eviction pass leaves it to the
same refusal, and the same pods can be evicted again.
"""

import asyncio
import base64
import itertools
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from os import environ
from pathlib import Path
from typing import Final

import trustme
import yaml
from aiohttp import web
from rich.table import Table

from bench.extending import Figures
from testbed import builders
from testbed.api import Object
from testbed.guarding import GuardPort, Held, evict, until_asked
from testbed.installing import GUARD, install_guard
from testbed.instance import Instance
from testbed.world import World, make_world

_EACH: Final = 10
"""Pods of a Deployment."""
_PODS_OF_A_NODE: Final = 100
_AT_A_TIME: Final = 50
_SET_UP_SECONDS: Final = 600.0
_GUARD: Final = "rescheduler.io/guard"
_OURS: Final = "kube-rescheduler"
_WEBHOOKS: Final = "ValidatingWebhookConfiguration"
_NAME: Final = "rescheduler-guard"


async def measure(table: Table, instance: Instance, folder: Path) -> None:
    evictions = int(environ.get("BENCH_EVICTIONS", "1000"))
    async with make_world(instance, folder, "evicting") as world:
        pods = await _set_up(world, evictions)
        asked = f"{len(pods):,} evictions through the API server, {_AT_A_TIME} at a time"
        nobody = await _refused(world, pods, by="budget")
        async with _echo(world):
            echoed = await _refused(world, pods, by="budget")
        async with _ours(world):
            passed = await _refused(world, pods, by="budget")
            await _opt_in(world, pods)
            held = await _refused(world, pods, by=_OURS)
    beside = f"nobody asked {nobody.in_words()}; a webhook that does nothing {echoed.in_words()}"
    table.add_row(f"{asked}: ours lets them pass", passed.in_words(), beside)
    table.add_row(f"{asked}: ours holds them", held.in_words(), beside)


async def _set_up(world: World, evictions: int) -> list[str]:
    """All have opted out at first, so that ours lets them pass."""
    names = [f"app-{number}" for number in range(-(-evictions // _EACH))]
    await world.add_nodes(-(-2 * evictions // _PODS_OF_A_NODE), cpu="32", memory="64Gi")
    spec = builders.pod_spec(cpu="10m", memory="16Mi")
    made = [
        builders.deployment(name, replicas=_EACH, spec=dict(spec), annotations={_GUARD: "off"})
        for name in names
    ]
    await world.create(*(builders.budget(name, maxUnavailable=0) for name in names))
    await world.create(*made)

    async def are_complete() -> bool:
        return all([await world.is_complete(name) for name in names])

    await world.wait("all pods are Ready", are_complete, seconds=_SET_UP_SECONDS)
    pods = await world.api.list("Pod", world.name)
    return [each["metadata"]["name"] for each in pods][:evictions]


async def _refused(world: World, pods: Sequence[str], *, by: str) -> Figures:
    rest, seconds = iter(pods), []

    async def one_after_the_other() -> None:
        for pod in rest:
            begun = time.perf_counter()
            try:
                await evict(world, pod)
            except Held as refusal:
                seconds.append(time.perf_counter() - begun)
                if by not in str(refusal):
                    raise RuntimeError(f"not refused by {by}: {refusal}") from None
            else:
                raise RuntimeError(f"{pod} was evicted")

    await asyncio.gather(*(one_after_the_other() for _ in range(_AT_A_TIME)))
    return Figures(seconds)


async def _opt_in(world: World, pods: Sequence[str]) -> None:
    *most, last = pods
    rest = iter(most)

    async def opt_in(pod: str) -> None:
        change = {"metadata": {"annotations": {_GUARD: None}}}
        await world.api.patch("Pod", world.name, pod, change)

    async def one_after_the_other() -> None:
        for pod in rest:
            await opt_in(pod)

    async def is_held() -> bool:
        try:
            return not await evict(world, last)
        except Held as refusal:
            return _OURS in str(refusal)

    await asyncio.gather(*(one_after_the_other() for _ in range(_AT_A_TIME)))
    # It hears of pods in the order in which they change.
    await opt_in(last)
    await world.wait("the last pod is held", is_held)


# ---------------------------------------------------------------------- who is asked


@asynccontextmanager
async def _ours(world: World) -> AsyncIterator[None]:
    """As it is installed for a controller outside of the cluster; but it moves nobody by itself."""
    port = GuardPort.make()
    await install_guard(world.api, world.name)
    path = world.default_configuration(**port.settings(), enabledStrategies=[])
    running = await world.start_command("run", "--config", str(path))
    try:
        await until_asked(world, port.is_asked)
        yield
    finally:
        await world.api.delete(_WEBHOOKS, None, _NAME)
        running.kill()
        await running.finish()


@asynccontextmanager
async def _echo(world: World) -> AsyncIterator[None]:
    port, authority, pem = GuardPort.make(), trustme.CA(), world.folder / "echo.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
    command = (sys.executable, "-m", "bench.evicting", str(port.port), str(pem))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    if process.stdout is None:
        raise RuntimeError("its output is not to be had")
    heard = asyncio.ensure_future(process.stdout.readline())

    async def is_asked() -> bool:
        return heard.done()

    await world.api.create(_webhook(port.url, authority.cert_pem.bytes()))
    try:
        await until_asked(world, is_asked)
        yield
    finally:
        await world.api.delete(_WEBHOOKS, None, _NAME)
        process.kill()
        await process.wait()


def _webhook(url: str, authority: bytes) -> Object:
    """As our manifests have it, but for where it asks."""
    documents = yaml.safe_load_all((GUARD / "webhook.yaml").read_text())
    [found] = [each for each in documents if each["kind"] == _WEBHOOKS]
    trusted = base64.b64encode(authority).decode()
    found["webhooks"][0]["clientConfig"] = {"url": url, "caBundle": trusted}
    return dict(found)


async def _let_everything_pass(port: int, pem: str) -> None:
    """A process of its own: as little as a webhook can do, and a line when it is asked first."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    say_so = itertools.chain(["asked"], itertools.repeat(""))

    async def answer(request: web.BaseRequest) -> web.Response:
        asked = json.loads(await request.read())
        response = {"uid": asked["request"]["uid"], "allowed": True}
        if said := next(say_so):
            print(said, flush=True)
        return web.json_response({**asked, "response": response, "request": None})

    await asyncio.get_running_loop().create_server(
        web.Server(answer), "127.0.0.1", port, ssl=tls, backlog=_AT_A_TIME
    )
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_let_everything_pass(int(sys.argv[1]), sys.argv[2]))
