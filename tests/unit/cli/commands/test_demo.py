"""`rescheduler demo`, as users call it: into a file, and on a terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rescheduler.cli.render.demo_summary import as_text
from rescheduler.cli.render.layout import Page
from rescheduler.simulation.demo import Ending
from rescheduler.simulation.scenes import MoveLook
from tests.unit.cli.running import Command
from tests.unit.cli.scenes import move, scene

SMALL = ("demo", "--nodes", "6")
PATIENCE_SECONDS = 150
WIDTH, HEIGHT = 80, 24
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


# ---------------------------------------------------------------------- not on a terminal


@pytest.fixture(scope="module")
def told() -> "subprocess.CompletedProcess[str]":
    return told_by("1")


def told_by(hash_seed: str) -> "subprocess.CompletedProcess[str]":
    # What colours output elsewhere must not colour a file.
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "FORCE_COLOR": "1", "TERM": "xterm"}
    return subprocess.run(
        [sys.executable, "-m", "rescheduler", *SMALL],
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_it_ends_well_and_says_so(told: "subprocess.CompletedProcess[str]") -> None:
    assert told.returncode == 0, told
    assert told.stderr == ""
    assert re.search(r"^\d+ pods moved, and nothing dipped\.$", told.stdout, re.MULTILINE)
    for line in (
        r"moved: +\d+ \(LoadBalancing \d+, Manual \d+, NodeMaintenance \d+, Resource",
        r"failed: +0$",
        r"drained: +node-\d, by somebody else with plain evictions, in \d+ s$",
    ):
        assert re.search(f"^{line}", told.stdout, re.MULTILINE)
    assert re.search(r"^again: +rescheduler demo --nodes 6 --seed \d+$", told.stdout, re.MULTILINE)
    for line in (r"dips: +0: no workload", r"emptied: +node-\d, for maintenance$"):
        assert re.search(f"^{line}", told.stdout, re.MULTILINE)


def test_the_story_is_told_in_order_without_control_codes(
    told: "subprocess.CompletedProcess[str]",
) -> None:
    text = told.stdout
    assert all(line.isprintable() for line in text.splitlines())
    chapters = re.findall(
        r"^(\d) (?:A cluster|rescheduler plan|rescheduler run|kubectl)", text, re.MULTILINE
    )
    assert chapters == ["1", "2", "3", "4"]
    assert re.search(r"^6 nodes, \d+ pods: \d+ moves in \d+ waves?;", text, re.MULTILINE)
    moves = re.findall(
        r"^(?:moved|recreated), \d+ s  \S+/\S+  node-\d → node-\d  .+", text, re.MULTILINE
    )
    assert len(moves) > 10
    # The bars, before and after.
    assert len(re.findall(r"^node-1 ", text, re.MULTILINE)) >= 3


def test_the_same_seed_tells_the_same_story(told: "subprocess.CompletedProcess[str]") -> None:
    def without_time(text: str) -> str:
        return re.sub(r"^took: .*$", "", text, flags=re.MULTILINE)

    assert without_time(told_by("2").stdout) == without_time(told.stdout)


def test_a_reader_who_has_seen_enough_ends_it(told: "subprocess.CompletedProcess[str]") -> None:
    beginning = told.stdout.partition("\nmoved, ")[0]
    with subprocess.Popen(
        [sys.executable, "-m", "rescheduler", *SMALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(len(beginning)) == beginning
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_characters_that_the_reader_lacks_are_told_in_others() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "rescheduler", *SMALL],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0
    assert b" node-1 -> node-" in ended.stdout
    assert b"\\u" not in ended.stdout


# ---------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--nodes", "3"), "error: --nodes: 3 is not from 6 to 200"),
        (("--nodes", "201"), "error: --nodes: 201 is not from 6 to 200"),
        (("--seed", "-1"), "error: --seed: -1 is below 0"),
        (("--speed", "-1"), "error: --speed: -1 is not from 0 to 1000; 2 is twice as fast"),
        (("--speed", "nan"), "error: --speed: nan is not from 0 to 1000"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_with_the_way_out(
    rescheduler: Command, flags: tuple[str, ...], told: str
) -> None:
    ended = rescheduler("demo", *flags)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith(told)


def test_all_that_is_wrong_is_told_at_once(rescheduler: Command) -> None:
    ended = rescheduler("demo", "--nodes", "1", "--seed", "-2", "--speed", "-3")
    assert len(ended.err.splitlines()) == 3


def test_a_log_that_cannot_be_written_is_named(rescheduler: Command, tmp_path: Path) -> None:
    ended = rescheduler("demo", "--log", str(tmp_path / "no" / "such"))
    assert ended.code == 1
    assert "--log: " in ended.err
    assert "No such file or directory" in ended.err
    full = rescheduler(*SMALL, "--seed", "1", "--log", "/dev/full")
    assert full.code == 1
    assert full.err == "error: --log: /dev/full cannot be written: No space left on device\n"
    # What was shown is not lost for that.
    assert "and nothing dipped." in full.out


# ---------------------------------------------------------------------- on a terminal


@dataclass
class Shown:
    code: int
    text: str

    @property
    def frames(self) -> list[list[str]]:
        """What the screen showed, frame by frame: each begins at its upper left corner."""
        drawn = self.text.partition("\x1b[?1049h")[2].partition("\x1b[?1049l")[0]
        return [CONTROL.sub("", each).splitlines() for each in drawn.split("\x1b[H")[1:]]

    @property
    def after(self) -> str:
        """What is left on the screen at the end."""
        return self.text.partition("\x1b[?1049l")[2]


def on_a_terminal(
    *flags: str, until: Callable[[str], bool] = lambda _: False, **environment: str
) -> Shown:
    """Interrupts it, as Ctrl-C does, as soon as the condition holds."""
    env = {**os.environ, "TERM": "xterm-256color"}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        env.pop(name, None)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "rescheduler", *flags],
        env={**env, **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            seen = _watched(process, ours, until)
        finally:
            os.close(ours)
            process.kill()
    return Shown(process.returncode, seen.replace("\r\n", "\n"))


def _watched(
    process: "subprocess.Popen[bytes]", terminal: int, until: Callable[[str], bool]
) -> str:
    seen, is_interrupted, end = b"", False, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            break  # the other end is closed
        if not is_interrupted and until(seen.decode(errors="replace")):
            process.send_signal(signal.SIGINT)
            is_interrupted = True
    process.wait(timeout=PATIENCE_SECONDS)
    # An interrupt may cut a frame off in the middle of a character.
    return seen.decode(errors="replace")


def test_on_a_terminal_it_is_drawn_and_leaves_the_summary() -> None:
    shown = on_a_terminal(*SMALL, "--speed", "40")
    assert shown.code == 0, shown.text[-2000:]
    frames = shown.frames
    assert all(len(frame) <= HEIGHT for frame in frames)
    assert all(len(line) <= WIDTH for frame in frames for line in frame)
    texts = ["\n".join(frame) for frame in frames]
    for wanted in ("\n2 rescheduler plan", "\n3 rescheduler run", "\n4 kubectl label", " → "):
        assert any(wanted in text for text in texts)
    assert any("✱" in text for text in texts)
    assert "\x1b[?25l" in shown.text
    assert shown.text.rindex("\x1b[?25h") > shown.text.rindex("\x1b[?25l")
    assert "\x1b" not in shown.after
    assert "pods moved, and nothing dipped." in shown.after
    assert max(map(len, shown.after.splitlines())) <= WIDTH


def test_ctrl_c_ends_what_is_kept_with_the_summary() -> None:
    shown = on_a_terminal(
        *SMALL, "--keep", "--speed", "40", until=lambda text: "load changes over the day" in text
    )
    assert shown.code == 0, shown.text[-2000:]
    assert "Traceback" not in shown.text
    assert "pods moved, and nothing dipped." in shown.after
    assert "Interrupted" not in shown.after


def test_ctrl_c_in_the_middle_is_an_interrupt_and_restores_the_terminal() -> None:
    shown = on_a_terminal(*SMALL, until=lambda text: "\x1b[?1049h" in text and "node-1" in text)
    assert shown.code == 130
    assert "Traceback" not in shown.text
    assert shown.after.startswith("Interrupted. ")
    assert shown.text.rindex("\x1b[?25h") > shown.text.rindex("\x1b[?25l")


def test_no_color_is_honoured() -> None:
    shown = on_a_terminal(*SMALL, NO_COLOR="1", until=lambda text: "node-6" in text)
    colours = re.findall(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38|48)[0-9;]*m", shown.text)
    assert shown.frames
    assert colours == []


def test_a_terminal_that_can_do_nothing_gets_plain_lines() -> None:
    shown = on_a_terminal(*SMALL, TERM="dumb")
    assert shown.code == 0
    assert "\x1b" not in shown.text
    assert "\n3 rescheduler run" in shown.text


# ---------------------------------------------------------------------- the summary


def test_what_went_wrong_stands_in_the_summary() -> None:
    failed = tuple(
        move(f"web-{number}", MoveLook.FAILED, outcome="CopyFailed: no image")
        for number in range(7)
    )
    ending = Ending(before=scene(), after=scene(), failed=failed, emptied="node-03", left_on_it=2)
    text = as_text(ending, 3.0, "rescheduler demo --seed 5", Page())
    assert text.startswith(
        "Interrupted. Not all went well: see failed, dips, emptied and drained below."
    )
    assert "7, the first 5:" in text
    assert "shop/web-0: CopyFailed: no image" in text
    assert "node-03, but for 2 pods" in text
    assert "--seed 5" in text


def test_a_summary_of_nothing_can_be_read() -> None:
    text = as_text(Ending(), 0.1, "rescheduler demo", Page(width=80))
    assert text.startswith("Interrupted. Nothing was moved.")
    assert "imbalance" not in text
