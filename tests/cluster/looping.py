"""The continuous controller as tests meet it: a process whose log is read while it runs."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from testbed.world import Process, Run, World

WITHIN_SECONDS = 60.0


@dataclass(slots=True)
class Controller:
    process: asyncio.subprocess.Process
    lines: list[dict[str, Any]] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        assert self.process.stderr is not None
        async for raw in self.process.stderr:
            line = raw.decode().rstrip()
            if line.startswith("{"):
                self.lines.append(json.loads(line))
            else:
                self.other.append(line)
            self._news.set()

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    async def says(
        self,
        event: str,
        *,
        times: int = 1,
        where: Callable[[dict[str, Any]], bool] = lambda _: True,
    ) -> dict[str, Any]:
        """The line with which it has said so that often."""
        try:
            async with asyncio.timeout(WITHIN_SECONDS):
                while len(found := [each for each in self.said(event) if where(each)]) < times:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it did not say {event!r} {times} times") from None
        return found[times - 1]

    def told(self) -> str:
        return "\n".join(["it said:", *map(json.dumps, self.lines), *self.other])

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> Run:
        self.process.send_signal(how)
        return await self.finish()

    async def finish(self) -> Run:
        async with asyncio.timeout(WITHIN_SECONDS):
            code = await self.process.wait()
        # The rest of what it said, which may come later than its end.
        async with asyncio.timeout(WITHIN_SECONDS):
            assert self.process.stderr is not None
            while not self.process.stderr.at_eof():
                self._news.clear()
                await asyncio.wait([asyncio.ensure_future(self._news.wait())], timeout=0.1)
        return Run(code=code, lines=self.lines, errors="\n".join(self.other))


@asynccontextmanager
async def controller(world: World, *flags: str, **settings: Any) -> AsyncIterator[Controller]:  # noqa: ANN401
    """`rescheduler run`, as long as the block lasts."""
    path = str(world.configuration(**settings))
    started: Process = await world.start_command("run", "--config", path, *flags)
    running = Controller(started.process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    except AssertionError as problem:
        problem.add_note(running.told())
        raise
    finally:
        if running.process.returncode is None:
            running.process.kill()
            await running.process.wait()
        await reading


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, as its user sees it."""

    code: int | None
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


async def start_as_admin(world: World, *arguments: str) -> asyncio.subprocess.Process:
    """A command of a person who may do everything; through the fault proxy, if there is one."""
    kubeconfig = world.folder / "admin.kubeconfig"
    token = world.instance.tokens["admin"]
    kubeconfig.write_text(world.instance.kubeconfig(token, world.api_url or None))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rescheduler", *arguments, "--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(world.folder)},
    )


async def ended(process: asyncio.subprocess.Process) -> Ended:
    async with asyncio.timeout(2 * WITHIN_SECONDS):
        out, err = await process.communicate()
    return Ended(process.returncode, out.decode(), err.decode().rstrip())


async def as_admin(world: World, *arguments: str) -> Ended:
    return await ended(await start_as_admin(world, *arguments))
