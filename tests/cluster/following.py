"""Following pods of a test's own, in every manner."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rescheduler import wire
from rescheduler.kube import KubeApi, connect, errors
from rescheduler.kube.following import Manner
from rescheduler.wire import PODS, Batch, Resource
from testbed.builders import pod
from testbed.faultproxy import Fault, FaultProxy
from testbed.faultproxy.faults import Strike
from testbed.faultproxy.steps import Chunks, Cut, Steps
from testbed.world import World

AS_WATCH = Manner(watch_seconds=3.0)
IN_PAGES = replace(AS_WATCH, watch_list=False, page=3, json_page=3)
IN_JSON = replace(AS_WATCH, protobuf=False)
JSON_IN_PAGES = replace(IN_PAGES, protobuf=False)
MANNERS = {
    "protobuf-as-watch": AS_WATCH,
    "protobuf-in-pages": IN_PAGES,
    "json-as-watch": IN_JSON,
    "json-in-pages": JSON_IN_PAGES,
}
every_manner = pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS.keys())
both_formats = pytest.mark.parametrize("manner", [AS_WATCH, IN_JSON], ids=["protobuf", "json"])
both_in_pages = pytest.mark.parametrize(
    "manner", [IN_PAGES, JSON_IN_PAGES], ids=["protobuf", "json"]
)


@asynccontextmanager
async def door(world: World, manner: Manner = AS_WATCH) -> AsyncIterator[KubeApi]:
    async with connect(str(world.kubeconfig()), manner=manner) as api:
        yield api


def of(world: World) -> str:
    # Nobody has this name, so nothing happens to the pods that a test does not do.
    return f"spec.schedulerName={world.name}"


async def everything(api: KubeApi, resource: Resource, fields: str = "") -> list[Batch]:
    """The batches up to the one that completes the list."""
    heard = []
    async with aclosing(api.follow(resource, fields=fields)) as batches:
        async for batch in batches:
            heard.append(batch)
            if batch.complete:
                break
    return heard


def present(batches: list[Batch]) -> dict[str, dict[str, Any]]:
    views = [wire.to_json(view) for batch in batches for view in batch.present]
    return {view["metadata"]["name"]: view for view in views}


async def add_pods(world: World, *names: str, **metadata: Any) -> None:  # noqa: ANN401
    for name in names:
        made = pod(name)
        made["metadata"] |= metadata
        made["spec"]["schedulerName"] = world.name
        await world.create(made)


async def heard_after(api: KubeApi, world: World, since: str) -> list[tuple[str, str]]:
    heard = []
    async with aclosing(api.follow(PODS, fields=of(world), since=since)) as batches:
        async for batch in batches:
            heard += [("present", view.metadata.name) for view in batch.present]
            heard += [("gone", view.metadata.name) for view in batch.gone]
    return heard


async def problem_of(api: KubeApi, resource: Resource = PODS, since: str = "") -> errors.KubeError:
    """What following ends with, when it ends badly."""
    try:
        async with aclosing(api.follow(resource, since=since)) as batches:
            async for _ in batches:
                pass
    except errors.KubeError as problem:
        return problem
    raise AssertionError("it ended well")


async def next_news(batches: AsyncIterator[Batch]) -> Batch:
    """The next batch that tells more than that the server is there."""
    async for batch in batches:
        if batch.present or batch.gone or batch.malformed:
            return batch
    raise AssertionError("it ended without any")


def meanwhile(do: Callable[[], Awaitable[None]]) -> Fault:
    """Something happens between the request and its answer, which is not disturbed."""

    async def act(_: Steps, strike: Strike) -> None:
        await do()
        strike()

    return Fault("meanwhile", act, final=False)


def only_when_asked_for_more(proxy: FaultProxy) -> Fault:
    """The cut of a rule before this one waits for the client to ask for the next page."""

    async def edit(chunks: Chunks, strike: Strike) -> Chunks:
        try:
            async for chunk in chunks:
                yield chunk
        except Cut:
            await proxy.wait_until(lambda: bool(targets(proxy, "continue=")))
            strike()
            raise

    async def act(exchange: Steps, strike: Strike) -> None:
        exchange.edit_stream(lambda chunks: edit(chunks, strike))

    return Fault("only_when_asked_for_more", act, final=False)


def targets(proxy: FaultProxy, word: str) -> list[str]:
    return [request.target for request in proxy.requests if word in request.target]
