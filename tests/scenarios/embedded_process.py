"""The rescheduler as if it were a process, on the event loop and the virtual time of its cluster.

It runs what `rescheduler.cli` runs, with the arguments parsed as there, and its log and output go
where a process has standard output and standard error. Killed, it cannot reach the cluster any
more, whatever it still tries.
"""

import asyncio
import contextlib
import contextvars
import functools
import io
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import structlog
import typer
from structlog.types import EventDict

from rescheduler import config
from rescheduler.cli import app, settings
from rescheduler.cli.asked_plans import Asked
from rescheduler.cli.commands import (
    apply,
    approve,
    cleanup,
    drain,
    get,
    get_plans,
    history,
    migrate,
    pause,
    retry,
    run,
    status,
)
from rescheduler.cli.stopping import Stopping
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock
from rescheduler.controller.leader_session import Connect
from rescheduler.controller.publishing import new_board
from rescheduler.embedded.client import EmbeddedClient
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.errors import ReschedulerError
from testbed.processes import WAIT_SECONDS, Run, Running

_speaking: contextvars.ContextVar["EmbeddedProcess | None"] = contextvars.ContextVar(
    "speaking", default=None
)


class _ReadAnywhere(VirtualClock):
    """Also from the thread that serves: a minute of blindness is one of this cluster's."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()

    def monotonic(self) -> float:
        return self._loop.time()


class EmbeddedProcess(Running):
    def __init__(
        self, arguments: Sequence[str], clock: Clock, make_client: Callable[[], EmbeddedClient]
    ) -> None:
        super().__init__()
        self.out = io.StringIO()
        self.err = io.StringIO()
        self._clock = clock
        self._make_client = make_client
        self._clients: list[EmbeddedClient] = []
        self._stopping: Stopping | None = None
        self._is_killed = False
        _Shared.begin()
        context = contextvars.copy_context()
        context.run(_speaking.set, self)
        self._ended = asyncio.Event()
        self.task = asyncio.create_task(self._main(arguments), context=context)
        self.task.add_done_callback(lambda _: self._ended.set())

    # ------------------------------------------------------------------ from the outside

    @property
    def has_ended(self) -> bool:
        return self._is_killed or self.task.done()

    def kill(self) -> None:
        if self.has_ended:
            return
        self._is_killed = True
        for client in self._clients:
            client.sever()
        self.task.cancel()
        self._ended.set()

    def send_signal(self, number: signal.Signals) -> None:
        if self._stopping is not None:
            self._stopping.tell(number)
        else:
            self.task.cancel()

    async def finish(self, within: float = WAIT_SECONDS) -> Run:
        try:
            async with asyncio.timeout(within):
                await self._ended.wait()
        except TimeoutError:
            self.kill()
            raise AssertionError(f"it did not end:\n{self.told()}") from None
        code = -signal.SIGKILL if self._is_killed else self.task.result()
        err = "\n".join([*self.other, self.err.getvalue()]).strip()
        return Run(code=code, lines=list(self.lines), out=self.out.getvalue(), err=err)

    async def end(self) -> None:
        """Nothing of it is left running, not even what a dead one would still like to do."""
        self.kill()
        while not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task], timeout=1.0)
        if not self.task.cancelled():
            self.task.exception()

    # ------------------------------------------------------------------ from the inside

    def is_heard(self) -> bool:
        """The dead say nothing."""
        return not self._is_killed

    @contextlib.asynccontextmanager
    async def _connect(self) -> Any:  # noqa: ANN401 - see `Connect`
        client = self._make_client()
        self._clients.append(client)
        if self._is_killed:
            client.sever()
        yield client

    async def _main(self, arguments: Sequence[str]) -> int:
        try:
            return await self._command(arguments)
        except ReschedulerError as problem:
            return app.failed(problem)
        except typer.Exit as ending:
            return ending.exit_code

    async def _command(self, arguments: Sequence[str]) -> int:
        name, given = _parsed(arguments)
        return await _COMMANDS[name](self, given, self._connect, self._clock)

    async def _run(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        file = given["config_file"]
        loaded = settings.load(file)
        run.tell_start(loaded)
        dry_run = given["dry_run"]
        if given["once"]:
            return await run.one_pass(loaded.configuration, connect, clock, dry_run=dry_run)
        self._stopping = Stopping()
        return await run.continuously(
            settings.kept_up(loaded, file, clock),
            connect,
            clock,
            self._stopping,
            dry_run=dry_run,
            board=new_board(_ReadAnywhere()),
        )

    async def _drain(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        skipped = {key: given[key] for key in given if key.startswith("skip_")}
        skipped["skip_namespaces"] = tuple(skipped["skip_namespaces"] or ())
        return await drain.empty(
            replace(_configuration(given), forced=config.Forced(**skipped)),
            connect,
            clock,
            given["node"],
            seconds=time_limit("--timeout", given["timeout"]),
            dry_run=given["dry_run"],
        )

    async def _clean(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        cleans = cleanup.Cleaning(
            _configuration(given),
            connect,
            clock,
            everything=given["everything"],
            seconds=time_limit("--timeout", given["timeout"]),
        )
        return await cleans.to_its_end(dry_run=given["dry_run"])

    async def _retry(self, given: dict[str, Any], connect: Connect, _: Clock) -> int:
        await retry.ask_again(connect, given["namespace"], given["name"])
        return 0

    async def _pause(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await pause.begin(
            _configuration(given),
            connect,
            clock,
            reason=given["reason"],
            by=given["by"],
            wait=given["wait"],
            seconds=time_limit("--timeout", given["timeout"]),
        )

    async def _resume(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await pause.end(_configuration(given), connect, clock)

    async def _get(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        namespace = None if given["all_namespaces"] else given["namespace"]
        names, form = given["names"] or (), given["output"]
        return await get.listed(connect, clock, namespace, names=names, form=form)

    async def _history(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await history.listed(
            _configuration(given),
            connect,
            clock,
            names=given["names"] or (),
            completed_only=not given["everything"],
            form=given["output"],
        )

    async def _get_plans(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        names, form = given["names"] or (), given["output"]
        return await get_plans.listed(_configuration(given), connect, clock, names=names, form=form)

    async def _approve(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await self._say("approved", given, connect, clock)

    async def _reject(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await self._say("rejected", given, connect, clock)

    async def _say(self, what: str, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        name, by = given["name"], given["by"] or "somebody@here"
        return await approve.said(_configuration(given), connect, clock, name, what=what, by=by)

    async def _apply(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await apply.from_file(
            _configuration(given),
            connect,
            clock,
            given["file"],
            _asked(given),
            all_or_nothing=given["all_or_nothing"],
        )

    async def _undo(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await apply.back(_configuration(given), connect, clock, given["name"], _asked(given))

    async def _status(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await status.looked(_configuration(given), connect, clock, given["output"])

    async def _migrate(self, given: dict[str, Any], connect: Connect, clock: Clock) -> int:
        return await migrate.ask(
            _configuration(given),
            connect,
            clock,
            given["pod"],
            namespace=given["namespace"],
            to=given["to"],
            wait=given["wait"],
            seconds=time_limit("--timeout", given["timeout"]),
        )


_COMMANDS: Final[
    dict[str, Callable[[EmbeddedProcess, dict[str, Any], Connect, Clock], Awaitable[int]]]
] = {
    "run": EmbeddedProcess._run,  # noqa: SLF001 - its own
    "drain": EmbeddedProcess._drain,  # noqa: SLF001
    "cleanup": EmbeddedProcess._clean,  # noqa: SLF001
    "retry": EmbeddedProcess._retry,  # noqa: SLF001
    "pause": EmbeddedProcess._pause,  # noqa: SLF001
    "resume": EmbeddedProcess._resume,  # noqa: SLF001
    "migrations": EmbeddedProcess._get,  # noqa: SLF001
    "apply": EmbeddedProcess._apply,  # noqa: SLF001
    "undo": EmbeddedProcess._undo,  # noqa: SLF001
    "plans": EmbeddedProcess._get_plans,  # noqa: SLF001
    "history": EmbeddedProcess._history,  # noqa: SLF001
    "approve": EmbeddedProcess._approve,  # noqa: SLF001
    "reject": EmbeddedProcess._reject,  # noqa: SLF001
    "status": EmbeddedProcess._status,  # noqa: SLF001
    "migrate": EmbeddedProcess._migrate,  # noqa: SLF001
}


def _parsed(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The command's name, and its parameters by the names that its function has for them."""
    name, *rest = arguments
    command: Any = _all_commands()[name]
    if hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    return name, dict(command.make_context(name, list(rest)).params)


@functools.cache
def _all_commands() -> dict[str, Any]:
    """Built once: that takes longer than most of what processes do with them."""
    found: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
    return found


def _asked(given: dict[str, Any]) -> Asked:
    return Asked(
        by=given["by"] or "somebody@here",
        wait=given["wait"],
        seconds=time_limit("--timeout", given["timeout"]),
        dry_run=given["dry_run"],
    )


def _configuration(given: dict[str, Any]) -> config.Configuration:
    file: Path | None = given["config_file"]
    return config.Configuration() if file is None else config.load(file)


# ---------------------------------------------------------------------- what is said, and by whom


@contextlib.contextmanager
def speaking_apart() -> Iterator[None]:
    """Each process that is started in here has a log, an output and an error output of its own."""
    clock = VirtualClock()

    def with_time(_: object, __: str, line: EventDict) -> EventDict:
        return {**line, "timestamp": clock.now().isoformat()}

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            with_time,
            structlog.processors.format_exc_info,
            _deliver,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        _Shared.end()
        structlog.reset_defaults()


def _deliver(_: object, __: str, line: EventDict) -> str:
    process = _speaking.get()
    if process is not None and process.is_heard():
        process.hear(json.dumps(line, default=repr))
    raise structlog.DropEvent


class _Shared(io.TextIOBase):
    """Standard output, or error, of several processes."""

    def __init__(self, which: str, real: Any) -> None:  # noqa: ANN401 - whatever pytest has put there
        self._which = which
        self.real = real

    @classmethod
    def begin(cls) -> None:
        """In the middle of a test, as pytest puts its own in the place of these before each one."""
        if not isinstance(sys.stdout, cls):
            sys.stdout = cls("out", sys.stdout)
        if not isinstance(sys.stderr, cls):
            sys.stderr = cls("err", sys.stderr)

    @classmethod
    def end(cls) -> None:
        if isinstance(sys.stdout, cls):
            sys.stdout = sys.stdout.real
        if isinstance(sys.stderr, cls):
            sys.stderr = sys.stderr.real

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        process = _speaking.get()
        if process is None:
            return int(self.real.write(text))
        return int(getattr(process, self._which).write(text)) if process.is_heard() else len(text)

    def flush(self) -> None:
        self.real.flush()
