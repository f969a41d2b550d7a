"""Who is let loose: kubectl, descheduler, and ours, each as its users run it.

A contender gets ready first, which is not timed, and yields what starts it. That returns when the
contender has said its last word, in so far as it has one: with its exit code.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import yaml

from bench.compare.programs import Command, command_of_ours, configuration, running
from bench.compare.stages import Stage
from testbed import build

Start = Callable[[], Awaitable[int | None]]
Contender = Callable[[Stage, float], AbstractAsyncContextManager[Start]]
"""Takes the seconds that it has."""

_MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
_IDLE_SECONDS = 2.0
"""Nodes are labelled at any time, not in the moment in which a pass has ended."""

# As its documentation shows it, and as finely as it can be set.
_DOCUMENTED: dict[str, Any] = {
    "thresholds": {"cpu": 20, "memory": 20, "pods": 20},
    "targetThresholds": {"cpu": 50, "memory": 50, "pods": 50},
}
_FINE: dict[str, Any] = {
    "useDeviationThresholds": True,
    "thresholds": {"cpu": 5},
    "targetThresholds": {"cpu": 5},
}

# All else is its default: local storage, an emptyDir too, and pods without an owner stay.
_EMPTY: dict[str, Any] = {
    "name": "empty",
    "pluginConfig": [{"name": "RemovePodsViolatingNodeTaints", "args": {}}],
    "plugins": {"deschedule": {"enabled": ["RemovePodsViolatingNodeTaints"]}},
}

# What is set beside a strategy; nothing else differs from the defaults.
Settings = dict[str, Any]
TEN_POINTS: Settings = {"imbalanceThreshold": 10, "maxReschedulePods": 50}
A_SHARE: Settings = {"maxReschedulePods": "1%"}
SET_FREE: Settings = {"imbalanceThreshold": 1, "maxReschedulePods": 0}


@asynccontextmanager
async def kubectl_drain(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    what = ["--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={seconds:.0f}s"]
    async with AsyncExitStack() as stack:
        commands = [
            await stack.enter_async_context(_kubectl(stage, "drain", node, *what))
            for node in stage.sources
        ]

        async def drain() -> int:
            """All nodes at once, each by a person of its own."""
            return max(await asyncio.gather(*(each.run() for each in commands)))

        yield drain


@asynccontextmanager
async def rollout_restart(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """What is left to people whose budgets or single replicas forbid a drain."""
    del seconds
    world = stage.world

    async def restart() -> int:
        await world.cordon(stage.source)
        return await kubectl.run()

    command = ("rollout", "restart", "deployment,statefulset", f"--namespace={world.name}")
    async with _kubectl(stage, *command) as kubectl:
        yield restart


def _kubectl(stage: Stage, *arguments: str) -> Command:
    login = f"--kubeconfig={stage.world.instance.admin_kubeconfig}"
    return Command(stage, str(build.programs() / "kubectl"), login, *arguments)


def descheduler(stage: Stage, seconds: float) -> AbstractAsyncContextManager[Start]:
    del seconds
    return _descheduler(stage, _balance(_DOCUMENTED))


def fine_descheduler(stage: Stage, seconds: float) -> AbstractAsyncContextManager[Start]:
    del seconds
    return _descheduler(stage, _balance(_FINE))


@asynccontextmanager
async def emptying_descheduler(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """The node is cordoned, and descheduler evicts all who do not tolerate that."""
    del seconds
    world = stage.world

    async def empty() -> int | None:
        await world.cordon(stage.source)
        await world.wait("the node is tainted", is_tainted)
        return await evict()

    async def is_tainted() -> bool:
        return bool((await world.api.get("Node", None, stage.source))["spec"].get("taints"))

    async with _descheduler(stage, _EMPTY) as evict:
        yield empty


@asynccontextmanager
async def _descheduler(stage: Stage, profile: dict[str, Any]) -> AsyncIterator[Start]:
    """It looks once, evicts what it finds misplaced, and ends."""
    program = await asyncio.to_thread(build.programs, "descheduler")
    world = stage.world
    policy = world.folder / "policy.yaml"
    document = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    policy.write_text(yaml.safe_dump({**document, "profiles": [profile]}))
    files = [f"--kubeconfig={world.instance.admin_kubeconfig}", f"--policy-config-file={policy}"]
    server = ["--secure-port=0", f"--cert-dir={world.folder}"]
    async with Command(stage, str(program / "descheduler"), *files, *server) as peer:
        yield peer.run


def _balance(thresholds: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "balance",
        "pluginConfig": [
            {"name": "DefaultEvictor", "args": {"nodeFit": True}},
            {"name": "LowNodeUtilization", "args": thresholds},
        ],
        "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
    }


@asynccontextmanager
async def ours_by_label(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """The controller runs, and then the node is labelled."""
    del seconds
    world = stage.world

    async def label() -> None:
        change = {"metadata": {"labels": {_MAINTENANCE: "true"}}}
        await world.api.patch("Node", None, stage.source, change)

    async with running(stage, enabledStrategies=["NodeMaintenance"]):
        await asyncio.sleep(_IDLE_SECONDS)
        yield label


@asynccontextmanager
async def ours_by_drain(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """`rescheduler drain`, while nobody runs a controller."""
    del seconds
    async with Command(stage, *command_of_ours(stage, "drain", stage.source)) as ours:
        yield ours.run


def ours(strategies: Sequence[str] = (), settings: Settings | None = None) -> Contender:
    """The controller, from its start on; those strategies, or those of the default."""
    named = {"enabledStrategies": list(strategies)} if strategies else {}

    @asynccontextmanager
    async def contender(stage: Stage, seconds: float) -> AsyncIterator[Start]:
        del seconds
        flags = ("run", "--config", configuration(stage, **named, **(settings or {})))
        async with Command(
            stage, *command_of_ours(stage, *flags), "--log-format", "json"
        ) as controller:
            yield controller.start

    return contender
