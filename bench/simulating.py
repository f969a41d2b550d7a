"""How long a simulated day takes: the command as people call it, with one strategy."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from rich.table import Table

_NODES: Final = int(os.environ.get("BENCH_DAY_NODES", "200"))
_PODS: Final = _NODES * 20
_LIMIT_SECONDS: Final = 60


def measure(table: Table) -> None:
    command = [str(Path(sys.executable).with_name("rescheduler")), "simulate", "-q", "-o", "json"]
    size = ["--nodes", str(_NODES), "--pods", str(_PODS), "--seed", "1"]
    started = time.monotonic()
    done = subprocess.run(
        [*command, *size, "--compare", "LoadBalancing"], check=True, capture_output=True
    )
    seconds = time.monotonic() - started
    [contender] = json.loads(done.stdout)["contenders"]
    deviation = contender["cpu"]["deviation"]
    table.add_row(
        f"a day of {_NODES} nodes, {_PODS:,} pods",
        f"{seconds:.0f} s",
        f"limit {_LIMIT_SECONDS} s",
    )
    table.add_row(
        "pods moved in it, workloads that dipped",
        f"{contender['moved']}, {contender['dips']['byMoves']}",
        f"deviation of CPU {deviation['before']:.1f} -> {deviation['after']:.1f} points",
    )
