"""Bars of long work: on a terminal, and nowhere else."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rescheduler.cli.progress import Progress
from tests.unit.cli.clusters import uneven

COMMAND = (sys.executable, "-m", "rescheduler")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SIMULATE = ("simulate", "--nodes", "3", "--pods", "9", "--hours", "1", "--compare", "none")


def shown(*arguments: str) -> tuple[str, str]:
    """Standard output, which is no terminal, and what a terminal shows of standard error."""
    ours, theirs = pty.openpty()
    try:
        ended = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
            text=True,
        )
    finally:
        os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 4096):
            written += chunk
    except OSError:
        pass  # as Linux tells that nobody writes any more
    finally:
        os.close(ours)
    out = ended.communicate(timeout=60)[0]
    assert ended.returncode == 0, written
    return out, CODES.sub("", written.decode())


def silent(*arguments: str) -> tuple[str, str]:
    ended = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stdout, ended.stderr


def test_a_simulation_shows_a_bar_for_each_contender_and_takes_them_away() -> None:
    out, seen = shown(*SIMULATE, "--quiet")
    assert seen == ""
    again, seen = shown(*SIMULATE)
    assert again == out
    assert "none" in seen
    assert "0:00:" in seen


def test_planning_shows_that_it_reads_and_plans(tmp_path: Path) -> None:
    cluster = uneven(tmp_path / "cluster.json")
    out, seen = shown("plan", "-f", cluster)
    assert "reading the cluster" in seen
    assert "planning" in seen
    assert "0:00:" not in out
    assert "planning" not in silent("plan", "-f", cluster)[1]


def test_without_a_terminal_there_is_nothing() -> None:
    assert silent(*SIMULATE)[1] == ""


def test_who_asks_for_a_log_has_no_bars_in_it(tmp_path: Path) -> None:
    _, seen = shown("plan", "-f", uneven(tmp_path / "cluster.json"), "--v", "2")
    assert "0:00:" not in seen


def test_lines_are_told_beside_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    bar = Progress(["draining a"], look=lambda: (2, 5))
    bar.say("before")
    with bar:
        bar.say("pod/web-1 moved")
    told = capsys.readouterr()
    assert told.out == "before\npod/web-1 moved\n"
    assert "draining a" in told.err
    assert "2/5" in told.err


def test_no_line_is_lost_where_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(["draining a"], look=lambda: (2, 5)) as bar:
        bar.say("pod/web-1 moved")
    assert capsys.readouterr() == ("pod/web-1 moved\n", "")
