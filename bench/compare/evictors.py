"""Scene (f): somebody else empties a node, with our guard beside it and without.

Autoscalers need a cloud, so their evictions are made by loops with their rules: which taint they
put on the node, when they try again, and when they give up.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.compare.contenders import Contender, Start
from bench.compare.programs import running
from bench.compare.stages import Stage
from testbed.api import Object
from testbed.guarding import GuardPort, Held, evict, until_asked
from testbed.installing import install_guard

_NAMESPACE = "kube-system"
_WEBHOOKS, _WEBHOOK = "ValidatingWebhookConfiguration", "rescheduler-guard"

# cluster-autoscaler: core/scaledown/actuation/drain.go, and --max-pod-eviction-time.
_AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler"
_AUTOSCALER_RETRIES_SECONDS = 10.0
_AUTOSCALER_GIVES_UP_SECONDS = 120.0
_AUTOSCALER_LOOKS_SECONDS = 5.0

# karpenter: the queue of pkg/controllers/node/termination/terminator/eviction.go.
_KARPENTER_TAINT = "karpenter.sh/disrupted"
_KARPENTER_FIRST_SECONDS = 0.1
_KARPENTER_LONGEST_SECONDS = 10.0
_KARPENTER_LOOKS_SECONDS = 1.0


def guarded(contender: Contender) -> Contender:
    """Beside our controller, with the default configuration and the guard on."""

    @asynccontextmanager
    async def beside_ours(stage: Stage, seconds: float) -> AsyncIterator[Start]:
        port = GuardPort.make()
        await install_guard(stage.world.api, _NAMESPACE)
        try:
            async with running(stage, **port.settings()):
                await until_asked(stage.world, port.is_asked)
                async with contender(stage, seconds) as start:
                    yield start
        finally:
            # Who comes next is not to be asked about in vain.
            await stage.world.api.delete(_WEBHOOKS, None, _WEBHOOK)

    return beside_ours


@asynccontextmanager
async def like_cluster_autoscaler(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """All pods at once, each tried again every 10 s for 2 min. Then it looks until all are gone."""
    del seconds

    async def evict_until(pod: Object, gives_up_at: float) -> bool:
        while True:
            try:
                await evict(stage.world, pod["metadata"]["name"])
            except Held:
                await asyncio.sleep(_AUTOSCALER_RETRIES_SECONDS)
            else:
                return True
            if time.monotonic() >= gives_up_at:
                return False

    async def scale_down() -> int:
        await _taint(stage, _AUTOSCALER_TAINT)
        gives_up_at = time.monotonic() + _AUTOSCALER_GIVES_UP_SECONDS
        pods = await _pods_there(stage)
        evicted = await asyncio.gather(*(evict_until(pod, gives_up_at) for pod in pods))
        if not all(evicted):
            return 1
        return await _all_gone(stage, pods, _AUTOSCALER_LOOKS_SECONDS)

    yield scale_down


@asynccontextmanager
async def like_karpenter(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """Each pod by its UID, tried again after 0.1 s, then twice that, and so on up to 10 s."""
    del seconds

    async def evict_at_last(pod: Object) -> None:
        wait = _KARPENTER_FIRST_SECONDS
        while True:
            try:
                await evict(stage.world, pod["metadata"]["name"], pod["metadata"]["uid"])
            except Held:
                await asyncio.sleep(wait)
                wait = min(2 * wait, _KARPENTER_LONGEST_SECONDS)
            else:
                return

    async def terminate() -> int:
        await _taint(stage, _KARPENTER_TAINT)
        pods = await _pods_there(stage)
        await asyncio.gather(*map(evict_at_last, pods))
        return await _all_gone(stage, pods, _KARPENTER_LOOKS_SECONDS)

    yield terminate


async def _taint(stage: Stage, key: str) -> None:
    """Autoscalers do not cordon: they keep new pods away by a taint of their own."""
    found = await stage.world.api.get("Node", None, stage.source)
    taints = [*(found["spec"].get("taints") or ()), {"key": key, "effect": "NoSchedule"}]
    await stage.world.api.patch("Node", None, stage.source, {"spec": {"taints": taints}})


async def _pods_there(stage: Stage) -> list[Object]:
    pods = await stage.world.api.list("Pod", stage.world.name)
    return [each for each in pods if each["spec"].get("nodeName") in stage.sources]


async def _all_gone(stage: Stage, evicted: list[Object], pause: float) -> int:
    gone = {each["metadata"]["uid"] for each in evicted}
    # As they do it.
    while any(each["metadata"]["uid"] in gone for each in await _pods_there(stage)):  # noqa: ASYNC110
        await asyncio.sleep(pause)
    return 0
