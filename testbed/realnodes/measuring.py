"""What real nodes and pods really use, as the API server tells it: by metrics-server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from testbed.api import Api, ApiError
from testbed.flags import METRICS_API, metrics_objects
from testbed.instance import Instance
from testbed.realnodes.metrics import LOG
from testbed.realnodes.nodes import RealNodes

_ANSWER_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.2
_TAIL = 3000
_APPLY = {"fieldManager": "testbed", "force": "true"}


@asynccontextmanager
async def measuring(instance: Instance, nodes: RealNodes) -> AsyncIterator[None]:
    """There is metrics.k8s.io, with figures of all of these nodes, as long as the block lasts."""
    started = await asyncio.to_thread(nodes.start_metrics_server)
    objects = metrics_objects(started["port"])
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        try:
            for path, manifest in objects.items():
                await api.request(
                    "PATCH",
                    path,
                    query=_APPLY,
                    body=manifest,
                    content_type="application/apply-patch+yaml",
                )
            await _await_figures(api, nodes)
            yield
        finally:
            # An API that is registered and does not answer would keep namespaces from going.
            for path in objects:
                with suppress(ApiError):
                    await api.request("DELETE", path)
            await asyncio.to_thread(nodes.stop_metrics_server)


async def _await_figures(api: Api, nodes: RealNodes) -> None:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            while not set(nodes.names) <= await _measured(api):  # noqa: ASYNC110 - others'
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    except TimeoutError:
        tail = (nodes.folder / LOG).read_text()[-_TAIL:]
        raise AssertionError(f"metrics-server gives no figures of the nodes:\n{tail}") from None


async def _measured(api: Api) -> set[str]:
    try:
        found = await api.request("GET", f"{METRICS_API}/nodes")
    except ApiError:
        return set()
    return {each["metadata"]["name"] for each in found["items"]}
