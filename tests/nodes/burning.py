"""Requests that keep pods busy: the load follows a workload, wherever its pods are."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus

import aiohttp

from testbed.realnodes.nodes import RealNodes
from testbed.world import World

_CLIENTS = 2
"""For each Service: while one has its answer, the pod burns for the other."""
_REQUEST = "/burn?seconds=1"


@asynccontextmanager
async def burning(world: World, nodes: RealNodes, names: Sequence[str]) -> AsyncIterator[list[str]]:
    """All processor time that the pods of these Services may have. Begins when each has answered;
    gives the requests that failed since, to be looked at afterwards.
    """
    failures: list[str] = []
    enough = asyncio.Event()
    sockets = nodes.sockets(nodes.names[0])
    connector = aiohttp.TCPConnector(socket_factory=sockets, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as asking:
        for name in names:
            found = await world.api.get("Service", world.name, name)
            url = f"http://{found['spec']['clusterIP']}"
            # Its proxy may not have heard of it yet.
            await world.wait(f"{name} answers", partial(_answers, session, url))
            for _ in range(_CLIENTS):
                asking.create_task(_ask(session, url + _REQUEST, failures, enough))
        try:
            yield failures
        finally:
            enough.set()


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    return not await _problem(session, url)


async def _ask(
    session: aiohttp.ClientSession, url: str, failures: list[str], enough: asyncio.Event
) -> None:
    while not enough.is_set():
        if problem := await _problem(session, url):
            failures.append(f"{time.strftime('%H:%M:%S', time.gmtime())}: {problem}")


async def _problem(session: aiohttp.ClientSession, url: str) -> str:
    try:
        async with session.get(url) as answer:
            await answer.read()
            return "" if answer.status == HTTPStatus.OK else f"{url}: status {answer.status}"
    except (aiohttp.ClientError, TimeoutError) as problem:
        return f"{url}: {type(problem).__name__}: {problem}"
