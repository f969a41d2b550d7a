"""What the rest of a cluster does for pods that move, and for no others.

Nobody works on a big cluster: for its 150,000 pods scheduler, kubelets and controllers would need
more memory and time than this machine has. So the few pods that are moved meanwhile are bound, made
Ready, adopted and removed from here, as those would do it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from rescheduler.model import names, pins
from testbed.api import Api, ApiError, Object, path_of
from testbed.instance import Instance

_LOOK_SECONDS = 0.2
_MERGE = "application/merge-patch+json"


@asynccontextmanager
async def hands(instance: Instance) -> AsyncIterator[None]:
    token = instance.tokens["admin"]
    async with Api(instance.url, token, instance.client_ssl()) as api:
        working = asyncio.create_task(_work(api))
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def _work(api: Api) -> None:
    begun: set[str] = set()
    unbound = {"fieldSelector": "spec.nodeName=", "resourceVersion": "0"}
    async with asyncio.TaskGroup() as tasks:
        while True:
            found = await api.request("GET", path_of("Pod"), query=unbound)
            for pod in found["items"]:
                if pod["metadata"]["uid"] not in begun:
                    begun.add(pod["metadata"]["uid"])
                    tasks.create_task(_see_through(api, pod))
            await asyncio.sleep(_LOOK_SECONDS)


async def _see_through(api: Api, copy: Object) -> None:
    """From its creation to the end of the original, or of itself."""
    # Whatever it is too late for, it was taken back.
    with suppress(ApiError):
        await _bind(api, copy)
        await _make_ready(api, copy)
        original = await _original_of(api, copy)
        owner = next(each for each in original["metadata"]["ownerReferences"])
        replica_set = await api.get("ReplicaSet", copy["metadata"]["namespace"], owner["name"])
        selected = replica_set["spec"]["selector"]["matchLabels"].items()
        while not selected <= (await _again(api, copy))["metadata"]["labels"].items():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)
        await api.patch("Pod", *_name(copy), {"metadata": {"ownerReferences": [owner]}})
        await api.delete("Pod", *_name(original), {"gracePeriodSeconds": 0})


async def _bind(api: Api, pod: Object) -> None:
    target = {"kind": "Node", "name": pins.target(pod["spec"])}
    binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
    binding["metadata"] = {"name": pod["metadata"]["name"]}
    await api.request("POST", f"{path_of('Pod', *_name(pod))}/binding", body=binding)


async def _make_ready(api: Api, pod: Object) -> None:
    kinds = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled")
    status = {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True"} for kind in kinds],
    }
    path = f"{path_of('Pod', *_name(pod))}/status"
    await api.request("PATCH", path, body={"status": status}, content_type=_MERGE)


async def _original_of(api: Api, copy: Object) -> Object:
    name = copy["metadata"]["annotations"][names.ORIGINAL_POD_NAME]
    return await api.get("Pod", copy["metadata"]["namespace"], name)


async def _again(api: Api, pod: Object) -> Object:
    return await api.get("Pod", *_name(pod))


def _name(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
