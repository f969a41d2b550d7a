"""Who is let loose: kubectl, descheduler, and ours, each as its users run it.

A contender gets ready first, which is not timed, and yields what starts it. That returns when the
contender has said its last word, in so far as it has one.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import yaml

from bench.compare.stages import Stage
from testbed import build
from testbed.supervisor import free_ports

Start = Callable[[], Awaitable[None]]
Contender = Callable[[Stage, float], AbstractAsyncContextManager[Start]]
"""Takes the seconds that it has."""

_MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
_LOOK_AGAIN_SECONDS = 0.05
_SYNC_SECONDS = 60.0
_STOP_SECONDS = 30.0
_IDLE_SECONDS = 2.0
"""Nodes are labelled at any time, not in the moment in which a pass has ended."""
_LAST_WORDS = 500

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
DEFAULT: Settings = {}
TEN_POINTS: Settings = {"imbalanceThreshold": 10, "maxReschedulePods": 50}
A_SHARE: Settings = {"maxReschedulePods": "1%"}
SET_FREE: Settings = {"imbalanceThreshold": 1, "maxReschedulePods": 0}


@asynccontextmanager
async def kubectl_drain(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    what = ["--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={seconds:.0f}s"]
    async with _kubectl(stage, "drain", stage.source, *what) as kubectl:
        yield kubectl.run


@asynccontextmanager
async def rollout_restart(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """What is left to people whose budgets or single replicas forbid a drain."""
    del seconds
    world = stage.world

    async def restart() -> None:
        await world.cordon(stage.source)
        await kubectl.run()

    command = ("rollout", "restart", "deployment,statefulset", f"--namespace={world.name}")
    async with _kubectl(stage, *command) as kubectl:
        yield restart


def _kubectl(stage: Stage, *arguments: str) -> "_Command":
    login = f"--kubeconfig={stage.world.instance.admin_kubeconfig}"
    return _Command(stage, str(build.programs() / "kubectl"), login, *arguments)


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

    async def empty() -> None:
        await world.cordon(stage.source)
        await world.wait("the node is tainted", is_tainted)
        await evict()

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
    async with _Command(stage, str(program / "descheduler"), *files, *server) as peer:
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

    async with _running(stage, enabledStrategies=["NodeMaintenance"]):
        await asyncio.sleep(_IDLE_SECONDS)
        yield label


@asynccontextmanager
async def ours_by_drain(stage: Stage, seconds: float) -> AsyncIterator[Start]:
    """`rescheduler drain`, while nobody runs a controller."""
    del seconds
    async with _Command(stage, *_ours(stage, "drain", stage.source)) as ours:
        yield ours.run


def ours(strategies: Sequence[str] = (), settings: Settings | None = None) -> Contender:
    """The controller, from its start on; those strategies, or those of the default."""
    named = {"enabledStrategies": list(strategies)} if strategies else {}

    @asynccontextmanager
    async def contender(stage: Stage, seconds: float) -> AsyncIterator[Start]:
        del seconds
        flags = ("run", "--config", _configuration(stage, **named, **(settings or {})))
        async with _Command(stage, *_ours(stage, *flags), "--log-format", "json") as controller:
            yield controller.start

    return contender


@asynccontextmanager
async def _running(stage: Stage, **settings: Any) -> AsyncIterator[None]:  # noqa: ANN401
    flags = ("run", "--config", _configuration(stage, **settings))
    async with _Command(stage, *_ours(stage, *flags), "--log-format", "json") as controller:
        await controller.start()
        await controller.said("pass ended")
        yield


def _configuration(stage: Stage, **settings: Any) -> str:  # noqa: ANN401
    """The file of an operator who sets this and nothing else, but for where it listens: pods have
    addresses of their own, and several of ours on one machine would want the same port.
    """
    [port] = free_ports(1)
    document = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulerConfiguration",
        "serving": {"port": port},
    }
    path = stage.world.folder / "compare.yaml"
    path.write_text(yaml.safe_dump({**document, **settings}))
    return str(path)


def _ours(stage: Stage, *arguments: str) -> list[str]:
    login = ("--kubeconfig", str(stage.world.kubeconfig()))
    return [sys.executable, "-m", "rescheduler", *arguments, *login]


class _Command:
    """A program, its output in a file so that it never waits for a reader."""

    def __init__(self, stage: Stage, *command: str) -> None:
        self._command = command
        self._log = stage.world.folder / f"{Path(command[0]).name}.log"
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def start(self) -> None:
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdout=log,
                stderr=log,
                # Nothing of the developer's own cluster or shell may leak in.
                env={"PATH": os.environ["PATH"], "HOME": str(self._log.parent)},
            )

    async def run(self) -> None:
        await self.start()
        if self._process is not None and (code := await self._process.wait()):
            last = self._log.read_text(errors="replace")[-_LAST_WORDS:].strip()
            print(f"  it ended with {code}: {last}", file=sys.stderr, flush=True)

    async def said(self, event: str) -> None:
        """Waits until its log, one object per line, has this event."""
        async with asyncio.timeout(_SYNC_SECONDS):
            while event not in self._events():
                if self._process is not None and self._process.returncode is not None:
                    raise RuntimeError(f"it ended early:\n{self._log.read_text()}")
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _events(self) -> list[str]:
        lines = self._log.read_text().splitlines(keepends=True)
        whole = [line for line in lines if line.startswith("{") and line.endswith("\n")]
        return [json.loads(line)["event"] for line in whole]
