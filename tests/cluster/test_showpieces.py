"""`make bench`: what people run to see figures must not be broken."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 870


# The cluster of thousands of nodes takes minutes and many gigabytes: here a small one will do.
SMALL = {
    "BENCH_BURST": "60",
    "BENCH_CALLS": "60",
    "BENCH_DAY_NODES": "5",
    "BENCH_DEMO_NODES": "6",
    "BENCH_EVICTIONS": "20",
    "BENCH_NODES": "50",
    "BENCH_PODS": "1000",
    "BENCH_SECONDS": "3",
    "BENCH_PAGE": "none",  # minutes in a browser, which tests/browser has
    "BENCH_PEER": "none",
    "BENCH_SEEDS": "1",
    "BENCH_PACKING": "1",
    "BENCH_PASSES": "4",
    "BENCH_PATIENCE_HOURS": "2",
    "BENCH_PATIENCE_SEEDS": "0-0",
    "BENCH_RUNS": "1",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, **SMALL},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_whatever_can_be_smaller_is() -> None:
    """Or a new part is tried in full, and everybody waits for it."""
    read = {
        name
        for path in (ROOT / "bench").glob("*.py")
        for name in re.findall(r'"(BENCH_\w+)"', path.read_text())
    }
    assert read - {"BENCH_DATA"} == SMALL.keys()


@pytest.mark.timeout(PATIENCE_SECONDS + 30)  # it measures many things, beside other tests
def test_the_bench_prints_its_figures() -> None:
    shown = run("bench")
    assert shown.returncode == 0, shown
    assert "one pod moved, planned to ended" in shown.stdout
    assert "limit 512 MB" in shown.stdout
    assert "demo of 6 nodes, start to summary" in shown.stdout
    assert "a day of 5 nodes, 100 pods" in shown.stdout
    assert "cluster of 50 nodes, 1,000 pods" in shown.stdout
    assert "state to plan, 50 nodes" in shown.stdout
    for figure in ("start to first pass", "CPU at 1,000 events/s", "a pass", "peak memory"):
        assert figure in shown.stdout
