"""Candidates for the lease of a test's own world, and how to look at that lease."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

from rescheduler import kube
from rescheduler.clock import SystemClock
from rescheduler.config import LeaderElection
from rescheduler.kube import KubeApi
from rescheduler.leading import Candidate, Leadership, leading
from testbed.api import Object
from testbed.builders import pod
from testbed.world import World
from tests.cluster.leading_candidate import WRITER

LEASE = "rescheduler"
BOARD = "board"


def settings(world: World, **changes: Any) -> LeaderElection:  # noqa: ANN401
    brief = LeaderElection(
        lease_duration_seconds=4,
        renew_deadline_seconds=3.0,
        retry_period_seconds=0.3,
        resource_name=LEASE,
        resource_namespace=world.name,
    )
    return replace(brief, **changes)


_numbers = itertools.count()


def kubeconfig(world: World, url: str = "", token: str = "") -> str:
    """Another file for each, so that one may go through a fault proxy and one past it."""
    path = world.folder / f"kubeconfig-{next(_numbers)}"
    path.write_text(world.instance.kubeconfig(token or world.token, url or None))
    return str(path)


@asynccontextmanager
async def candidate_of(
    world: World,
    *,
    url: str = "",
    token: str = "",
    **changes: Any,  # noqa: ANN401
) -> AsyncIterator[Candidate]:
    path = kubeconfig(world, url, token)

    def connect() -> AbstractAsyncContextManager[KubeApi]:
        return kube.connect(path)

    async with leading(settings(world, **changes), connect, SystemClock()) as candidate:
        yield candidate


async def acquired(candidate: Candidate) -> Leadership:
    async with asyncio.timeout(60):
        return await candidate.acquired()


async def lost(leadership: Leadership) -> str:
    async with asyncio.timeout(60):
        return await leadership.lost()


async def lease_of(world: World) -> Object:
    return await world.api.get("Lease", world.name, LEASE)


async def edit(world: World, **spec: Any) -> None:  # noqa: ANN401
    await world.api.patch("Lease", world.name, LEASE, {"spec": spec})


async def renewed_again(world: World, holder: str, times: int = 2) -> Object:
    """The lease, after its holder has renewed it that often from now on."""
    seen: set[str] = {(await lease_of(world))["spec"]["renewTime"]}
    found: list[Object] = []

    async def is_renewed() -> bool:
        found[:] = [await lease_of(world)]
        spec = found[0]["spec"]
        if spec.get("holderIdentity") == holder:
            seen.add(spec["renewTime"])
        return len(seen) > times

    await world.wait(f"{holder} has renewed the lease", is_renewed)
    return found[0]


async def is_written_by(world: World, writer: str) -> bool:
    found = await world.api.get("Pod", world.name, BOARD)
    return (found["metadata"].get("annotations") or {}).get(WRITER) == writer


async def is_said(said: Any, event: str) -> bool:  # noqa: ANN401
    return any(each["event"] == event for each in said)


async def put_up_board(world: World) -> None:
    """A pod to write into, which nobody runs."""
    manifest = pod(BOARD)
    manifest["spec"]["schedulerName"] = "nobody"
    await world.create(manifest)
