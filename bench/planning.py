"""What it costs to decide on a large cluster with all kinds of rules, from its state to a plan."""

import gc
import os
import resource
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rich.table import Table

from bench.big_state import BigState
from rescheduler.config import Configuration
from rescheduler.plan import Desk, Memory, plan_at

_SIZES: Final = (500, 1_000, 2_000, 5_000)
_PODS: Final = 30
"""For each node."""
_WARM: Final = 9
"""Plans on a cluster that was planned before, with some events between each two."""
_GOAL: Final = 100
"""Milliseconds."""
_CONFIGURATION: Final = Configuration(enabled_strategies=("LoadBalancing",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Milliseconds."""

    snapshot: float
    desk: float
    """Reading the rules, and counting who is where."""
    deciding: float
    moves: int

    @property
    def all(self) -> float:
        return self.snapshot + self.desk + self.deciding


def measure(table: Table) -> None:
    table.add_section()
    largest = int(os.environ.get("BENCH_NODES", _SIZES[-1]))
    sizes = (*(size for size in _SIZES if size < largest), largest)
    growth = []
    for nodes in sizes:
        big = BigState(nodes, _PODS * nodes)
        memory = Memory()
        gc.collect()
        cold = _plan(big, memory)
        runs = []
        for number in range(_WARM):
            big.some_events(number)
            runs.append(_plan(big, memory))
        warm = sorted(runs, key=lambda took: took.all)[len(runs) // 2]
        growth.append(f"{warm.all:.0f} ms at {nodes:,}")
        if nodes == sizes[-1]:
            _rows(table, nodes, cold, warm, best=min(took.all for took in runs))
    table.add_row("  growth with the nodes, warm", ", ".join(growth), f"{_PODS} pods on each")


def _rows(table: Table, nodes: int, cold: Took, warm: Took, best: float) -> None:
    # Kilobytes; of this process, with the state that it was made from.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table.add_row(
        f"state to plan, {nodes:,} nodes, {_PODS * nodes:,} pods, warm",
        f"{warm.all:.0f} ms (median of {_WARM}), best {best:.0f} ms",
        f"goal {_GOAL} ms; {warm.moves} moves",
    )
    table.add_row(
        "  snapshot, rules and counts, deciding",
        f"{warm.snapshot:.1f}, {warm.desk:.0f}, {warm.deciding:.0f} ms",
        "",
    )
    table.add_row("  the first time", f"{cold.all:.0f} ms", "no rule of any pod is known yet")
    table.add_row("  peak memory of the process", f"{peak:.0f} MB", "limit 512 MB (S48)")


def _plan(big: BigState, memory: Memory) -> Took:
    marks = [time.perf_counter()]
    snapshot = big.state.snapshot()
    marks.append(time.perf_counter())
    desk = Desk(snapshot, _CONFIGURATION, memory=memory)
    marks.append(time.perf_counter())
    decided = plan_at(desk)
    marks.append(time.perf_counter())
    parts = [1000 * (after - before) for before, after in pairwise(marks)]
    return Took(snapshot=parts[0], desk=parts[1], deciding=parts[2], moves=len(decided.moves))


if __name__ == "__main__":
    from rich.console import Console

    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    measure(rows)
    Console(highlight=False, width=160).print(rows)
