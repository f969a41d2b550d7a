"""Several contenders, each over the same day: in processes of their own, some at once.

Every process is started anew with the same hash seed: so they come out the same, however often and
in whatever company.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

import structlog

from rescheduler import logs
from rescheduler.errors import ReschedulerError
from rescheduler.simulation.contending import Contender, Day, Outcome, Shown, simulate

AT_ONCE: Final = 2
_HASH_SEED: Final = "PYTHONHASHSEED"
_SELDOM: Final = (200_000, 50, 1000)
"""Collections of garbage."""

Progress = Callable[[str, float], None]
"""Told a contender's name, and the share of its day that is over."""


class SimulationFailed(ReschedulerError):
    """A contender's process ended without an outcome."""


@dataclass(slots=True)
class _Running:
    contender: Contender
    process: SpawnProcess
    hears: Connection


def compare(
    contenders: Sequence[Contender],
    day: Day,
    progress: Progress = lambda _, __: None,
    *,
    at_once: int = AT_ONCE,
    verbosity: int | None = None,
    shown: Callable[[str, Shown], None] = lambda _, __: None,
) -> list[Outcome]:
    """In the order of the contenders. Whatever ends it, no process is left behind. `verbosity` of
    what the product logs in them; None: nothing. `shown` is told where each is to be seen.
    """
    outcomes: dict[str, Outcome] = {}
    waiting, running = list(contenders), dict[Connection, _Running]()
    if day.port is not None:
        at_once = 1  # people look at one after the other
    at_once = max(1, min(at_once, os.cpu_count() or 1))
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                _start(waiting.pop(0), day, running, verbosity)
            for ready in wait(list(running)):
                each = next(one for hears, one in running.items() if hears is ready)
                told = _heard(each)
                if isinstance(told, float):
                    progress(each.contender.name, told)
                    continue
                if isinstance(told, Shown):
                    shown(each.contender.name, told)
                    continue
                outcomes[each.contender.name] = told
                del running[each.hears]
                each.process.join()
    finally:
        for each in running.values():
            each.process.terminate()
            each.process.join()
    return [outcomes[each.name] for each in contenders]


def _start(
    contender: Contender, day: Day, running: dict[Connection, _Running], verbosity: int | None
) -> None:
    context = multiprocessing.get_context("spawn")
    hears, tells = context.Pipe(duplex=False)
    process = context.Process(
        target=_work,
        args=(tells, contender, day, verbosity),
        name=f"simulate {contender.name}",
        daemon=True,
    )
    with _fixed_hash_seed(), _without_interrupts():
        process.start()
        running[hears] = _Running(contender, process, hears)
        # Its end is noticed only when nobody else holds this one open.
        tells.close()


@contextmanager
def _fixed_hash_seed() -> Iterator[None]:
    """For the process that is started. The order of sets of names depends on it, and sums of what
    is measured on that order, in their last digits: enough to decide between two equal moves.
    """
    before = os.environ.get(_HASH_SEED)
    os.environ[_HASH_SEED] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_HASH_SEED]
        else:
            os.environ[_HASH_SEED] = before


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """For the process that is started, from its first moment on: whoever started it ends it. A
    signal from a terminal reaches both, and would be told twice. Here it comes a moment later: one
    that is half started could only complain.
    """
    # It lets signals through again when it has to be started first.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _interrupted_later():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """The mask is that of this thread alone: another one, such as of numpy, takes the signal, and
    Python interrupts the main thread all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _heard(running: _Running) -> float | Shown | Outcome:
    try:
        told: float | Shown | Outcome | Exception = running.hears.recv()
    except EOFError:
        running.process.join()
        raise SimulationFailed(
            f"{running.contender.name}: its process ended with status {running.process.exitcode}"
        ) from None
    if isinstance(told, Exception):
        raise told
    return told


def _work(tells: Connection, contender: Contender, day: Day, verbosity: int | None) -> None:
    """In a process of its own."""

    def tell(what: float | Shown | Outcome | Exception) -> None:
        try:
            tells.send(what)
        except BrokenPipeError:
            # Whoever wanted to know has ended, and there is nothing here to be put in order.
            os._exit(1)

    logs.set_up(verbosity=verbosity or 0, quiet=verbosity is None)
    structlog.contextvars.bind_contextvars(contender=contender.name)
    # A whole cluster is in memory and stays there: to look through it for what may go, over and
    # over, would take a sixth of the time.
    gc.set_threshold(*_SELDOM)
    try:
        tell(simulate(contender, day, tell))
    except ReschedulerError as problem:
        tell(SimulationFailed(f"{contender.name}: {problem}"))
