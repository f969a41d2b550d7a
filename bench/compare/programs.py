"""Programs that contenders are made of, ours among them."""

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import yaml

from bench.compare.stages import Stage
from testbed.supervisor import free_ports

_LOOK_AGAIN_SECONDS = 0.05
_SYNC_SECONDS = 180.0
_STOP_SECONDS = 30.0
_LAST_WORDS = 500
_NUMBERS = itertools.count(1)
"""Of programs: several of the same are told apart by their logs."""


@asynccontextmanager
async def running(stage: Stage, **settings: Any) -> AsyncIterator[None]:  # noqa: ANN401
    """Our controller, from the end of its first pass on."""
    flags = ("run", "--config", configuration(stage, **settings))
    async with Command(
        stage, *command_of_ours(stage, *flags), "--log-format", "json"
    ) as controller:
        await controller.start()
        await controller.said("pass ended")
        yield


def configuration(stage: Stage, **settings: Any) -> str:  # noqa: ANN401
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


def command_of_ours(stage: Stage, *arguments: str) -> list[str]:
    login = ("--kubeconfig", str(stage.world.kubeconfig()))
    return [sys.executable, "-m", "rescheduler", *arguments, *login]


class Command:
    """A program, its output in a file so that it never waits for a reader."""

    def __init__(self, stage: Stage, *command: str) -> None:
        self._command = command
        self._log = stage.world.folder / f"{Path(command[0]).name}-{next(_NUMBERS)}.log"
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
        """Does not wait for its end: not all have one."""
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdout=log,
                stderr=log,
                # Nothing of the developer's own cluster or shell may leak in.
                env={"PATH": os.environ["PATH"], "HOME": str(self._log.parent)},
            )

    async def run(self) -> int:
        """Its exit code."""
        await self.start()
        if self._process is None:
            raise RuntimeError("it was not started")
        if code := await self._process.wait():
            last = self._log.read_text(errors="replace")[-_LAST_WORDS:].strip()
            print(f"  it ended with {code}: {last}", file=sys.stderr, flush=True)
        return code

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
