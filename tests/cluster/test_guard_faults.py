"""Whoever is asked about evictions cannot be reached, is slow, says nothing, or shows a certificate
that has expired; all replicas are killed in mid-drain; copies are never Ready; people change their
mind: evictions pass or are held no longer than their patience, nothing stays, and no pod is lost.
"""

import asyncio
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from rescheduler.clock import SystemClock
from testbed.api import Object
from testbed.builders import behaviour, deployment, pod_spec
from testbed.world import World
from tests.cluster.guarding import (
    DRAIN,
    Guarded,
    drain,
    free_port,
    guarded,
    nothing_is_left,
)
from tests.scenarios.looping import election

LONGER_THAN_IT_WAITS = 6.0
"""Seconds; the API server waits for 2, by our manifests."""
ENOUGH_SECONDS = 60.0
"""For an eviction that waits 2 s in vain, on a machine that is busy."""

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Webhook = Callable[[int, trustme.CA], AbstractAsyncContextManager[None]]
"""At that port, as long as the block lasts; the API server trusts what is signed by that CA."""


def app(name: str, replicas: int) -> Object:
    annotations = behaviour(ready_after="1s")
    return deployment(name, replicas=replicas, spec=pod_spec(cpu="100m"), annotations=annotations)


# ---------------------------------------------------------------------- that hold everybody


async def no(request: web.BaseRequest) -> web.Response:
    asked = json.loads(await request.read())
    status = {"code": 429, "reason": "TooManyRequests", "message": "not now"}
    response = {"uid": asked["request"]["uid"], "allowed": False, "status": status}
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return web.json_response({**kind, "response": response})


async def no_but_late(request: web.BaseRequest) -> web.Response:
    await asyncio.sleep(LONGER_THAN_IT_WAITS)
    return await no(request)


async def nonsense(_: web.BaseRequest) -> web.Response:
    return web.json_response({"response": {"uid": "another", "allowed": False}})


async def error(_: web.BaseRequest) -> web.Response:
    return web.Response(status=500, text="internal error")


def answering(answer: Answer, *, has_expired: bool = False) -> Webhook:
    async def once(request: web.BaseRequest) -> web.StreamResponse:
        """For each question a connection of its own, so that nobody waits for the last one."""
        answered = await answer(request)
        answered.force_close()
        return answered

    @asynccontextmanager
    async def webhook(port: int, authority: trustme.CA) -> AsyncIterator[None]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        now = SystemClock().now()
        since, until = now - timedelta(days=2), now + timedelta(days=-1 if has_expired else 1)
        made = authority.issue_cert("127.0.0.1", not_before=since, not_after=until)
        made.configure_cert(tls)
        server = web.Server(once)
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(server, "127.0.0.1", port, ssl=tls)
        try:
            yield
        finally:
            listener.close()
            await server.shutdown(0.0)
            await listener.wait_closed()

    return webhook


@asynccontextmanager
async def down(_port: int, _authority: trustme.CA) -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def half_open(port: int, _authority: trustme.CA) -> AsyncIterator[None]:
    """The kernel takes connections, and nobody ever says a word."""
    with socket.create_server(("127.0.0.1", port)):
        yield


FAULTS: dict[str, Webhook] = {
    "down": down,
    "half-open": half_open,
    "slow": answering(no_but_late),
    "certificate expired": answering(no, has_expired=True),
    "nonsense": answering(nonsense),
    "error": answering(error),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_whoever_cannot_be_asked_holds_nobody(fault: str, world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.deploy(app("web", 2), on=full)
    authority = trustme.CA()
    guard = Guarded(world, free_port(), free_port(), {}, authority.cert_pem.bytes())
    pod = (await world.pods("web"))[0]["metadata"]["name"]

    async def is_asked() -> bool:
        return "not now" in await guard.evict("nobody")

    async with guard.asked():
        # Else an eviction might pass because the API server has not heard of the webhook.
        async with answering(no)(guard.port, authority):
            await world.wait("the API server asks", is_asked)
            assert "not now" in await guard.evict(pod)
        async with FAULTS[fault](guard.port, authority), asyncio.timeout(ENOUGH_SECONDS):
            assert await guard.evict(pod) == ""
    await world.wait("web is complete", partial(world.is_complete, "web"))


# ---------------------------------------------------------------------- in mid-drain


@pytest.fixture
async def guard(world: World) -> AsyncIterator[Guarded]:
    async with guarded(
        world, migration={"linger": "1s"}, leaderElection=election(world)["leaderElection"]
    ) as made:
        yield made


async def test_all_replicas_are_killed_in_mid_drain(
    world: World, guard: Guarded, kubectl: Path
) -> None:
    full, *_ = await world.add_nodes(3)
    await world.deploy(app("web", 3), on=full)
    await world.afflict_copies(ready_after="5s")
    stands_by = {"guard": {"enabled": True, "port": free_port(), "tls": guard.tls}}
    path = world.default_configuration(**election(world), **stands_by)
    async with guard.running() as first:
        second = await world.start_command("run", "--config", str(path))
        draining = asyncio.create_task(drain(world, kubectl, full, "--timeout=50s"))
        await world.wait_for_copy("web")
        for each in (first, second):
            each.kill()
            await each.finish()
        # As if we had never been there.
        drained = await draining
    assert drained.code == 0, drained
    await world.heal_copies()
    async with guard.running():
        await nothing_is_left(world)
    await world.wait("web is complete", partial(world.is_complete, "web"))
    assert full not in await world.nodes_of("web")


async def test_held_no_longer_than_its_patience(
    world: World, guard: Guarded, kubectl: Path
) -> None:
    """A copy that is never Ready: the eviction passes, and the move is taken back."""
    full, *_ = await world.add_nodes(3)
    await world.deploy(app("web", 2), on=full)
    await world.afflict_copies(ready_after="600s")
    async with guard.running(guard={"patience": "8s"}):
        drained = await drain(world, kubectl, full, "--timeout=50s")
        assert drained.code == 0, drained
        granted = 'guard_evictions_total{reason="patience",verdict="granted"}'
        assert await guard.metric(granted) >= 1
        await nothing_is_left(world)
    await world.wait("web is complete", partial(world.is_complete, "web"))
    assert full not in await world.nodes_of("web")


async def test_who_changes_his_mind_gets_his_node_back(
    world: World, guard: Guarded, kubectl: Path
) -> None:
    """A drain is broken off, and its node uncordoned: what has begun ends well, and nobody cordons
    it again.
    """
    full, *_ = await world.add_nodes(3)
    await world.deploy(app("web", 3), on=full)
    await world.afflict_copies(ready_after="3s")
    async with guard.running(), world.auditor() as auditor:
        login = f"--kubeconfig={world.admin_kubeconfig()}"
        draining = await asyncio.create_subprocess_exec(
            *(kubectl, "drain", full, *DRAIN, login),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(world.folder)},
        )
        await world.wait_for_copy("web")
        draining.terminate()
        await draining.wait()
        await world.uncordon(full)
        await nothing_is_left(world)
        await world.wait("web is complete", partial(world.is_complete, "web"))
        audit = await world.audit(auditor)
    assert audit.replicas_missing() == []
    found = await world.api.get("Node", None, full)
    assert not found["spec"].get("unschedulable")
