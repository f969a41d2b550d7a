"""The rescheduler on its way: what it has said so far, and how it ended."""

import asyncio
import json
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.forking import Forked

WAIT_SECONDS = 120.0
"""For what should come in a few: the machine may be busy with other things."""

_LOOK_SECONDS = 0.01

Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run of the rescheduler ended."""

    code: int
    """0: it did what there was to do; 1: a move failed, or the cluster could not be reached."""
    lines: list[Line]
    """Its log, one object per line."""
    out: str = ""
    """What it printed to standard output."""
    err: str = ""
    """What it printed beside it that was no log line."""

    @property
    def errors(self) -> str:
        """What it printed that was no log line."""
        return "\n".join(text for text in (self.out, self.err) if text).strip()

    def said(self, event: str) -> list[Line]:
        return [line for line in self.lines if line["event"] == event]

    @property
    def summary(self) -> str:
        return str(self.said("pass ended")[-1]["summary"])


class Running(ABC):
    """A run that was started and may still be going on. Its log is read while it runs."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.other: list[str] = []
        self._news = asyncio.Event()

    # ------------------------------------------------------------------ what it says

    def hear(self, line: str) -> None:
        if line.startswith("{"):
            self.lines.append(json.loads(line))
        else:
            self.other.append(line)
        self._news.set()

    def said(self, event: str) -> list[Line]:
        return [line for line in self.lines if line["event"] == event]

    async def says(
        self, event: str, *, times: int = 1, where: Callable[[Line], bool] = lambda _: True
    ) -> Line:
        """The line with which it has said so that often."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while len(found := [each for each in self.said(event) if where(each)]) < times:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it did not say {event!r} {times} times; {self.told()}") from None
        return found[times - 1]

    def told(self) -> str:
        return "\n".join(["it said:", *map(json.dumps, self.lines), *self.other])

    # ------------------------------------------------------------------ its end

    @property
    @abstractmethod
    def has_ended(self) -> bool: ...

    @abstractmethod
    def kill(self) -> None:
        """It does nothing more, from this moment on."""

    @abstractmethod
    def send_signal(self, number: signal.Signals) -> None: ...

    @abstractmethod
    async def finish(self, within: float = WAIT_SECONDS) -> Run:
        """Waits for its end; one that does not come in time is an AssertionError."""

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> Run:
        self.send_signal(how)
        return await self.finish()


class Process(Running):
    """A process of this machine."""

    def __init__(self, process: asyncio.subprocess.Process | Forked) -> None:
        super().__init__()
        self.process = process
        # From the beginning on: a process whose log nobody reads stands still after a while.
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> str:
        assert self.process.stdout is not None
        out, _ = await asyncio.gather(self.process.stdout.read(), self._read_log())
        return out.decode()

    async def _read_log(self) -> None:
        assert self.process.stderr is not None
        async for raw in self.process.stderr:
            self.hear(raw.decode().rstrip())

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it does nothing more already
            self.process.kill()

    def send_signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def finish(self, within: float = WAIT_SECONDS) -> Run:
        ended, _ = await asyncio.wait([self._reading], timeout=within)
        if not ended:
            self.process.kill()
        out = await self._reading
        code = await self.process.wait()
        assert ended, f"it did not end:\n{self.told()}"
        return Run(code=code, lines=self.lines, out=out, err="\n".join(self.other))


@asynccontextmanager
async def stopped(running: Running) -> AsyncIterator[None]:
    """It does nothing as long as the block lasts, and does not end: connections to it stay open.

    From when none of its threads runs any more: on a busy machine the one that takes the signal may
    be the last to get a turn, and the others answer meanwhile.
    """
    assert isinstance(running, Process)
    running.send_signal(signal.SIGSTOP)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not _is_stopped(running.process.pid):  # noqa: ASYNC110 - the kernel tells nobody
                await asyncio.sleep(_LOOK_SECONDS)
        yield
    finally:
        running.send_signal(signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    states = (each.rpartition(")")[2].split()[0] for each in _stats(pid))
    return all(state == "T" for state in states)


def _stats(pid: int) -> Iterator[str]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            yield (thread / "stat").read_text()
