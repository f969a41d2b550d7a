"""An outsider empties a node as `kubectl drain` does, which waits for nobody's replacement."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.indexes import Indexes
from rescheduler.kube import Object, errors
from rescheduler.model import names
from rescheduler.model.objects import annotations, controller

USER: Final = "kubernetes-admin"
TRY_AGAIN_SECONDS: Final = 5.0
"""After a refusal with 429, whoever refuses."""
_LOOK_SECONDS: Final = 1.0
"""Whether what was evicted is gone."""


@dataclass(slots=True)
class Drain:
    node: str
    seconds: float | None = None
    """What it took; None: it has not come to its end, or gave up."""


async def drain(api: ApiServer, node: str, *, until: float) -> bool:
    """Cordons it and evicts all of its pods at once. Whoever is refused with 429 is tried again,
    until the time is over. Whether all are gone. Raises NotFound: there is no such node.
    """
    cordon(api, node, wanted=True)
    async with asyncio.TaskGroup() as tasks:
        # What comes later is not in its list.
        evictions = [tasks.create_task(_evict(api, pod, until)) for pod in evictable(api, node)]
    return all(each.result() for each in evictions)


def cordon(api: ApiServer, node: str, *, wanted: bool) -> None:
    api.patch(wire.NODES, None, node, {"spec": {"unschedulable": wanted or None}})


def evictable(api: ApiServer, node: str) -> Iterator[Object]:
    for pod in Indexes.of(api.store).pods_by_node.of(node):
        owner = controller(pod)
        is_daemon = owner is not None and owner["kind"] == "DaemonSet"
        if not is_daemon and names.MIRROR_POD not in annotations(pod):
            yield pod


async def _evict(api: ApiServer, pod: Object, until: float) -> bool:
    now = asyncio.get_running_loop().time
    metadata = pod["metadata"]
    while now() < until:
        try:
            # By its name alone: kubectl does not say which one it means.
            api.evict(metadata["namespace"], metadata["name"], user=USER)
        except errors.NotFound:
            return True
        except (errors.BudgetRefused, errors.Throttled):
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        except errors.KubeError:
            return False
        else:
            return await _is_gone(api, metadata, until)
    return False


async def _is_gone(api: ApiServer, metadata: Object, until: float) -> bool:
    now = asyncio.get_running_loop().time
    while True:
        found = api.store.find(wire.PODS, metadata["namespace"], metadata["name"])
        if found is None or found["metadata"]["uid"] != metadata["uid"]:
            return True
        if now() >= until:
            return False
        await asyncio.sleep(_LOOK_SECONDS)
