"""How long whoever answers probes waits for the interpreter, while the main thread decodes a large
cluster and plans on it.

Told in CPU time that the main thread used meanwhile: that does not depend on who else is on the
machine, as the answers of `bench.answering` do.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.table import Table

from bench.big_state import BigState
from rescheduler.cli.housekeeping import keeping_house
from rescheduler.config import Configuration
from rescheduler.plan import Desk, Memory, plan_at
from rescheduler.serve.listening import Door, listening

_NODES: Final = 5_000
_PODS: Final = 30
"""For each node."""
_PASSES: Final = 20
_REST_SECONDS: Final = 0.002
_GOAL: Final = 50
"""Milliseconds."""


class Waits:
    """Of a thread that asks for a turn all the time."""

    def __init__(self) -> None:
        self._main = time.pthread_getcpuclockid(threading.main_thread().ident or 0)
        self._longest = 0.0
        self._is_over = threading.Event()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        thread = threading.Thread(target=self._wait)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def longest(self) -> str:
        """Since this was asked last."""
        found, self._longest = self._longest, 0.0
        return f"{1000 * found:.0f}"

    def _wait(self) -> None:
        while not self._is_over.is_set():
            before = time.clock_gettime(self._main)
            time.sleep(_REST_SECONDS)
            self._longest = max(self._longest, time.clock_gettime(self._main) - before)


def measure(table: Table) -> None:
    nodes = int(os.environ.get("BENCH_NODES", _NODES))
    # Those who listen see to it that they have turns soon.
    door = Door(setting="bench", address="127.0.0.1", port=0, answers={})
    waits = Waits()
    with listening([door]), keeping_house() as tidy, waits.waiting():
        big = BigState(nodes, _PODS * nodes)
        tidy()
        decoding = waits.longest()
        memory = Memory()
        for number in range(_PASSES):
            big.some_events(number)
            plan_at(Desk(big.state.snapshot(), Configuration(), memory=memory))
            tidy()
        planning = waits.longest()
    table.add_row(
        f"longest wait for a turn, {nodes:,} nodes: decoding, {_PASSES} passes",
        f"{decoding}, {planning} ms of CPU",
        f"goal {_GOAL} ms: whoever asks for health waits as long",
    )


if __name__ == "__main__":
    from rich.console import Console

    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    measure(rows)
    Console(highlight=False, width=160).print(rows)
