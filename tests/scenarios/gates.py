"""Readiness gates, and who opens them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from testbed.api import ApiError, path_of
from testbed.scenarios import POLL_SECONDS, Scene

GATE = "example.com/in-service"
GATES = {"readinessGates": [{"conditionType": GATE}]}


@asynccontextmanager
async def load_balancer(world: Scene, of: str) -> AsyncIterator[None]:
    """Opens the gate of every pod that is an endpoint of the Service, Ready or not: as the
    controller of a load balancer does once it has registered it, and of no other.
    """

    async def register() -> None:
        while True:
            for each in await world.api.list("EndpointSlice", world.name):
                if each["metadata"]["labels"]["kubernetes.io/service-name"] == of:
                    for endpoint in each.get("endpoints") or ():
                        await open_gate(endpoint["targetRef"]["name"])
            await asyncio.sleep(POLL_SECONDS)

    async def open_gate(pod: str) -> None:
        found = await world.find_pod(pod)
        conditions = (found or {}).get("status", {}).get("conditions") or ()
        if found is None or any(each["type"] == GATE for each in conditions):
            return
        path = path_of("Pod", world.name, pod) + "/status"
        body = {"status": {"conditions": [{"type": GATE, "status": "True"}]}}
        strategic = "application/strategic-merge-patch+json"
        with suppress(ApiError):  # it may be gone by now
            await world.api.request("PATCH", path, body=body, content_type=strategic)

    registering = asyncio.create_task(register())
    try:
        yield
    finally:
        registering.cancel()
        with suppress(asyncio.CancelledError):
            await registering
