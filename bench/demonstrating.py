"""What the demo costs: from the start of the process to its summary, and its memory."""

import os
import subprocess
import sys
import time

from rich.table import Table

_NODES = int(os.environ.get("BENCH_DEMO_NODES", "30"))
_GOAL_SECONDS = 60
_KIBIBYTES_IN_A_MEGABYTE = 1024


def measure(table: Table) -> None:
    """Not on a terminal, where it would wait for people to look."""
    command = [sys.executable, "-m", "rescheduler", "demo", "--nodes", str(_NODES)]
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    if process.returncode:
        sys.exit(f"the demo failed: {' '.join(command)}")
    table.add_row(
        f"demo of {_NODES} nodes, start to summary",
        f"{seconds:.1f} s",
        f"goal {_GOAL_SECONDS} s; {used.ru_utime + used.ru_stime:.1f} s of cpu",
    )
    table.add_row("demo, peak memory", f"{used.ru_maxrss / _KIBIBYTES_IN_A_MEGABYTE:.0f} MB", "")
