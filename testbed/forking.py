"""Starts the rescheduler hundreds of times, and imports it once.

A run in a test lasts for a second or two, of which importing a thousand modules took most. So the
first start of a test run leaves a process behind that has imported them and does nothing else; each
further one is a fork of it, which takes the arguments, the environment and the pipes that it is
given, and goes on as `python -m rescheduler` would: a process of its own, with its own threads,
sockets and signals, which is killed like any other. What an operator starts from the very beginning
is shown by the tests that start it as its Deployment does (`as_deployed.py`), and by those of the
commands.
"""

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

__all__ = ["Forked", "fork"]

_MESSAGE_BYTES = 2**16
_STREAMS = 3
"""Pipes for its output, its errors, and for what becomes of it."""

# Nothing that is only for those without a cluster.
_NOT_NEEDED = ("rescheduler.embedded", "rescheduler.simulation", "rescheduler.__main__")


class Forked:
    """As far as tests use it, an asyncio.subprocess.Process."""

    def __init__(
        self,
        pid: int,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
        fate: asyncio.StreamReader,
    ) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._waiting = asyncio.create_task(self._wait(fate))

    async def _wait(self, fate: asyncio.StreamReader) -> int:
        self.returncode = int(await fate.readline())
        await fate.read()  # its end, which closes it
        return self.returncode

    async def wait(self) -> int:
        # Whoever stops waiting for it does not stop the others.
        return await asyncio.shield(self._waiting)

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


async def fork(*arguments: str, env: Mapping[str, str], limit: int) -> Forked:
    """`python -m rescheduler` with these arguments. A line of its output may have `limit` bytes."""
    ours, theirs = zip(*(os.pipe() for _ in range(_STREAMS)), strict=True)
    asked = {"arguments": arguments, "environment": dict(env), "folder": str(Path.cwd())}
    try:
        socket.send_fds(_imported(), [json.dumps(asked).encode()], theirs)
    finally:
        for each in theirs:
            os.close(each)
    stdout, stderr, fate = [await _reader(each, limit) for each in ours]
    return Forked(int(await fate.readline()), stdout, stderr, fate)


async def _reader(descriptor: int, limit: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    # It is closed when its other end is.
    pipe: IO[bytes] = os.fdopen(descriptor, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    return reader


@functools.cache
def _imported() -> socket.socket:
    """Where the process that has imported everything listens. It ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # As the environment of what it becomes: Python reads some of it when it starts.
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            # An interrupt of the terminal is for the tests, which then end it.
            start_new_session=True,
        )
    atexit.register(_end, ours, process)
    return ours


def _end(door: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    door.close()
    process.wait()


# ---------------------------------------------------------------------- what is forked


class _Ask(NamedTuple):
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


class _Child(NamedTuple):
    pid: int
    pidfd: int
    fate: int


def _serve(door: socket.socket) -> _Ask:
    """Returns in each fork, with what it is to become; never in the process that is forked."""
    children: dict[int, _Child] = {}
    waiting = select.poll()
    waiting.register(door, select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor in children:
                waiting.unregister(descriptor)
                _tell_fate(children.pop(descriptor))
                continue
            message, streams, _, _ = socket.recv_fds(door, _MESSAGE_BYTES, _STREAMS)
            if not message:
                _end_with(children.values())
            *output, fate = streams
            pid = os.fork()
            if not pid:
                for each in (door.detach(), fate, *_descriptors(children.values())):
                    os.close(each)
                return _Ask(**json.loads(message), streams=output)
            for each in output:
                os.close(each)
            os.write(fate, b"%d\n" % pid)
            child = _Child(pid, os.pidfd_open(pid), fate)
            children[child.pidfd] = child
            waiting.register(child.pidfd, select.POLLIN)


def _descriptors(children: Iterable[_Child]) -> list[int]:
    return [each for child in children for each in (child.pidfd, child.fate)]


def _tell_fate(child: _Child) -> None:
    _, status = os.waitpid(child.pid, 0)
    # Nobody may be there to hear of it.
    with contextlib.suppress(BrokenPipeError):
        os.write(child.fate, b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(child.pidfd)
    os.close(child.fate)


def _end_with(children: Iterable[_Child]) -> NoReturn:
    """Who started them is gone."""
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    sys.exit()


def _import_all() -> None:
    package = importlib.import_module("rescheduler")
    for module in pkgutil.walk_packages(package.__path__, "rescheduler."):
        if not module.name.startswith(_NOT_NEEDED):
            importlib.import_module(module.name)
    # What is there already is shared by all, as long as nobody writes to it.
    gc.collect()
    gc.freeze()


def _become(ask: _Ask) -> None:
    for number, stream in enumerate(ask.streams, start=1):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(ask.environment)
    os.chdir(ask.folder)
    sys.argv[1:] = ask.arguments
    runpy.run_module("rescheduler", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _import_all()
    _become(_serve(socket.socket(fileno=int(sys.argv[1]))))
