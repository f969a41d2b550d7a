"""What is shown to the browser: processes that serve the page, each with its own cluster."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

API: Final = "api/v1alpha1/"
_PATIENCE_SECONDS: Final = 120.0
"""For a process to come up: the machine may be busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    url: str
    """Of the page, with its slash."""
    token: str = field(default="", repr=False)

    async def asked(self, what: str, **headers: str) -> Any:  # noqa: ANN401 - a document
        """The answer of its API, as somebody without a browser gets it."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}{API}{what}", headers=headers) as answer,
        ):
            assert answer.status == 200, (what, answer.status, await answer.text())
            return await answer.json()


@asynccontextmanager
async def stage(module: str, *arguments: str) -> AsyncIterator[Stage]:
    """A module of ours that prints where it is."""
    process = await asyncio.create_subprocess_exec(
        *_command(module, *arguments, str(os.getpid())), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            line = await process.stdout.readline()
        assert line, f"{module} came to its end before it was there"
        yield Stage(**json.loads(line))
    finally:
        process.kill()
        # What is left in its pipe is nobody's; read, it is closed with it.
        await process.communicate()


def start_for_all(module: str, *arguments: str) -> str:
    """What it prints. It outlives whoever starts it."""
    process = subprocess.Popen(_command(module, *arguments), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as printed:
        line = printed.readline()
    assert line, f"{module} came to its end before it was there"
    process.returncode = 0  # it is to go on, of which Python would warn
    return line


def _command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]
