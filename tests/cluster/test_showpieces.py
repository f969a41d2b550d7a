"""`make demo` and `make bench`: what people run first must not be broken."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 170


# The cluster of thousands of nodes takes minutes and many gigabytes: here a small one will do.
SMALL = {
    "BENCH_NODES": "50",
    "BENCH_PODS": "1000",
    "BENCH_PEER": "none",
    "BENCH_SEEDS": "1",
    "BENCH_PACKING": "1",
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


def test_the_demo_shows_that_nobody_noticed() -> None:
    shown = run("testbed", "demo")
    assert shown.returncode == 0, shown
    for question in (
        "ready replicas ever below spec",
        "fewer ready endpoints than before",
        "budget violated",
        "user objects changed",
    ):
        assert f"{question}: no" in shown.stdout
    assert "pods made and removed: 1 and 1" in shown.stdout


def test_the_bench_prints_its_figures() -> None:
    shown = run("bench")
    assert shown.returncode == 0, shown
    assert "one pod moved, planned to ended" in shown.stdout
    assert "limit 512 MB" in shown.stdout
    assert "cluster of 50 nodes, 1,000 pods" in shown.stdout
    assert "state to plan, 50 nodes" in shown.stdout
    for figure in ("first snapshot", "CPU at 1,000 events/s", "a snapshot meanwhile"):
        assert figure in shown.stdout
