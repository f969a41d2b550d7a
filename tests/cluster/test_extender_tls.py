"""The cluster's own kube-scheduler asks us by TLS, with a certificate that we keep ourselves."""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import yaml

from testbed.api import Object
from testbed.processes import Running
from tests.cluster.extending import (
    Extended,
    all_placed,
    free_port,
    operator_file,
    pods_of,
    printed,
    start_scheduler,
)
from tests.cluster.kubectl import Kubectl, composed
from tests.scenarios.own_cluster import OwnControlPlane, own_control_plane
from tests.scenarios.world import RealWorld

PATH = "/api/v1/namespaces/kube-system/secrets/rescheduler-extender-tls"
NAME = "rescheduler-extender.kube-system.svc"
BURST = 40


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnControlPlane]:
    async with own_control_plane(tmp_path) as started:
        yield started


# ------------------------------------------------------------------ the Secret


async def contents(world: RealWorld) -> dict[str, bytes]:
    secret = await world.api.request("GET", PATH)
    return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}


async def write(world: RealWorld, **data: bytes | None) -> None:
    told = {
        key.replace("_", "."): None if value is None else base64.b64encode(value).decode()
        for key, value in data.items()
    }
    change: Object = {"data": told}
    kind = "application/merge-patch+json"
    await world.api.request("PATCH", PATH, body=change, content_type=kind)


def trusting(bundle: bytes) -> ssl.SSLContext:
    """As a kube-scheduler does: nobody but these."""
    context = ssl.create_default_context(cadata=bundle.decode())
    assert len(context.get_ca_certs()) == bundle.count(b"BEGIN")
    return context


def shown(asked: Extended, bundle: bytes) -> bytes:
    """By a new connection; raises SSLError if it is not to be trusted."""
    address = ("127.0.0.1", asked.port)
    with (
        socket.create_connection(address, timeout=10) as raw,
        trusting(bundle).wrap_socket(raw, server_hostname=NAME) as connection,
    ):
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"").encode()


@dataclass
class Probing:
    """Asks by a new connection each time."""

    asked: Extended
    answered: int = 0
    failed: list[str] = field(default_factory=list)

    async def go_on(self) -> None:
        while True:
            try:
                await self.asked.scores(["nobody"])
                self.answered += 1
            except aiohttp.ClientError as problem:
                self.failed.append(repr(problem))


@asynccontextmanager
async def probing(asked: Extended) -> AsyncIterator[Probing]:
    probe = Probing(asked)
    task = asyncio.create_task(probe.go_on())
    try:
        yield probe
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# ------------------------------------------------------------------ replicas


def a_replica(own: OwnControlPlane, name: str) -> Extended:
    port, metrics_port = free_port(), free_port()
    document = operator_file(
        own,
        ("filter", "score"),
        extender={
            "port": port,
            "bindAddress": "",
            "tls": {"secret": "rescheduler-extender-tls"},
        },
        serving={"port": metrics_port, "bindAddress": "127.0.0.1"},
    )
    file = own.real.folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document))
    return Extended(own, file, port, metrics_port, server_name=NAME)


@asynccontextmanager
async def started(*replicas: Extended) -> AsyncIterator[list[Running]]:
    """From when they listen."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(_one(each)) for each in replicas]


@asynccontextmanager
async def _one(replica: Extended) -> AsyncIterator[Running]:
    process = await replica.world.start_command("run", "--config", str(replica.file))
    try:
        await process.says("server listening")
        yield process
    finally:
        if not process.has_ended:
            process.kill()
        await process.finish()


async def test_a_scheduler_that_trusts_our_own_ca(own: OwnControlPlane, kubectl: Path) -> None:
    world, kube = own.real, Kubectl(kubectl, own.owned.instance, own.real.folder)
    component = ("-k", composed(world.folder / "mine", "extender"))
    # Bursts come until a certificate is renewed, which takes half a minute: there is room for many.
    await world.add_nodes(4, cpu="640", memory="640Gi", pods="2500")
    replicas = [a_replica(own, name) for name in ("one", "two")]
    async with started(*replicas) as processes:
        for process in processes:
            line = await process.says("certificate not kept up")
            assert "apply manifests/components/extender, which brings" in line["problem"]
        assert "secret/rescheduler-extender-tls created" in await kube("apply", *component)
        await world.wait("one of them has filled it", lambda: _is_filled(world))
        made = await contents(world)
        bundle = made["ca.crt"]
        for each in replicas:
            each.trusting = trusting(bundle)
            await _shows(each, bundle, made["tls.crt"])
        assert "secret/rescheduler-extender-tls unchanged" in await kube("apply", *component)
        assert await contents(world) == made

        asked = replicas[0]
        await _assert_asks_the_service(world, asked.file, bundle)
        flags = ("--url", f"https://127.0.0.1:{asked.port}", *_admin(world))
        await start_scheduler(own, await printed(world, asked.file, *flags))
        await asked.knows_the_cluster()
        await _renewed_in_the_middle(asked, bundle)
        await _healed(replicas, bundle)
        told = "".join(each.told() for each in processes)
        assert "the bundle cannot be read" in told
        assert made["tls.key"].decode()[30:90] not in told
    await kube("delete", *component)


async def _renewed_in_the_middle(asked: Extended, bundle: bytes) -> None:
    """Of bursts by the scheduler, and of connections one after the other: none is lost."""
    world, placed = asked.world, 0
    before = (await contents(world))["tls.crt"]
    async with probing(asked) as probe:
        await write(world, tls_crt=None)
        while (await asyncio.to_thread(shown, asked, bundle)) == before:
            placed += 1
            await world.create(pods_of(BURST, f"burst-{placed}"))
            await all_placed(world, f"burst-{placed}", BURST)
        await world.create(pods_of(BURST, "after"))
        await all_placed(world, "after", BURST)
    assert probe.failed == []
    assert probe.answered > 10
    assert placed >= 1
    await asked.counts('extender_requests_total{result="ok",verb="filter"}', BURST * (placed + 1))


async def _healed(replicas: list[Extended], bundle: bytes) -> None:
    """Whatever stands there, those who trust the CA of before still can."""
    world, rubbish = replicas[0].world, b"rubbish"
    await write(world, ca_crt=rubbish, ca_key=rubbish, tls_crt=rubbish, tls_key=rubbish)
    await world.wait("it is as before", lambda: _has(world, bundle))
    certificate = (await contents(world))["tls.crt"]
    for each in replicas:
        await _shows(each, bundle, certificate)


async def _is_filled(world: RealWorld) -> bool:
    return "tls.key" in await contents(world)


async def _has(world: RealWorld, bundle: bytes) -> bool:
    return (await contents(world)).get("ca.crt") == bundle


async def _shows(asked: Extended, bundle: bytes, certificate: bytes) -> None:
    async def does() -> bool:
        try:
            return await asyncio.to_thread(shown, asked, bundle) == certificate
        except ssl.SSLError:
            return False

    await asked.world.wait("it shows what stands in the Secret", does)


def _admin(world: RealWorld) -> tuple[str, str]:
    return "--kubeconfig", str(world.admin_kubeconfig())


async def _assert_asks_the_service(world: RealWorld, file: Path, bundle: bytes) -> None:
    """As a kube-scheduler in the network of its machine has to: there are no names there."""
    text = await printed(world, file, *_admin(world))
    [extender] = yaml.safe_load(text)["extenders"]
    service = await world.api.get("Service", "kube-system", "rescheduler-extender")
    assert extender["urlPrefix"] == f"https://{service['spec']['clusterIP']}:443"
    told = {"serverName": NAME, "caData": base64.b64encode(bundle).decode()}
    assert extender["tlsConfig"] == told
