"""What tests do to Deployments on real nodes under traffic."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rescheduler.clock import SystemClock
from testbed.api import Object
from testbed.audit import is_ready
from testbed.processes import Running
from testbed.realnodes.traffic import Traffic
from testbed.world import World
from tests.nodes.conftest import say
from tests.scenarios.looping import Ended, ended


async def start_draining(world: World, node: str, **settings: Any) -> Running:  # noqa: ANN401
    path = str(world.default_configuration(**settings))
    return await world.start_as_admin("drain", node, "--config", path)


async def drain(world: World, node: str, **settings: Any) -> Ended:  # noqa: ANN401
    return await ended(await start_draining(world, node, **settings))


def report(what: str, seen: Traffic, moments: Sequence[str] = ()) -> None:
    """With what became of the pods meanwhile, where requests failed: which one had ended then?"""
    told = moments if seen.failures else ()
    say("\n  ".join([f"{what}: {seen}", *seen.failures, *told]))


@asynccontextmanager
async def moments_of_pods(world: World) -> AsyncIterator[list[str]]:
    """When a pod was made, Ready or not, marked, told to end and gone, as a watch tells it."""
    moments: list[str] = []
    page = await world.api.list_page("Pod", world.name)
    before = {each["metadata"]["uid"]: _state(each) for each in page["items"]}
    version = page["metadata"]["resourceVersion"]

    async def follow() -> None:
        async for kind, pod in world.api.watch("Pod", world.name, version):
            if kind not in ("ADDED", "MODIFIED", "DELETED"):
                continue
            state = "gone" if kind == "DELETED" else _state(pod)
            if before.get(pod["metadata"]["uid"]) != state:
                before[pod["metadata"]["uid"]] = state
                moments.append(f"{_now()}: {_name(pod)}: {state}")

    following = asyncio.create_task(follow())
    try:
        yield moments
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _state(pod: Object) -> str:
    found = pod["status"].get("conditions") or ()
    reason = next((each.get("reason") for each in found if each["type"] == "Ready"), None)
    words = ["Ready" if is_ready(pod) else f"not Ready ({reason})"]
    if "controller.kubernetes.io/pod-deletion-cost" in (pod["metadata"].get("annotations") or {}):
        words.append("first to go")
    if "deletionTimestamp" in pod["metadata"]:
        words.append("told to end")
    return ", ".join(words)


def _name(pod: Object) -> str:
    address = pod["status"].get("podIP", "no address")
    return f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}, {address}"


def _now() -> str:
    """As failed requests have it, and finer."""
    return f"{SystemClock().now():%H:%M:%S.%f}"
