"""Pictures of a terminal for the docs (`make pictures`): what commands really print.

Each is an SVG that asks no other host for anything.
"""

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from rescheduler.cli.demo_log import log_file
from rescheduler.cli.render.layout import Page
from rescheduler.cli.render.live_view import Frame, drawn
from rescheduler.embedded import virtual_time
from rescheduler.model.moves import Plan
from rescheduler.simulation.demo import Demo
from rescheduler.simulation.scenes import Chapter, MoveScene, Scene

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / "docs/images"
PLAN: Final = FOLDER / "plan.svg"
DEMO: Final = FOLDER / "demo.svg"

_WIDTH: Final = 132
_HEIGHT: Final = 40
# Rich fetches its font from elsewhere; that of the reader does as well.
_FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
_CLUSTER: Final = "docs/examples/uneven-cluster.json"
_CHAPTER: Final = 3
"""Of the demo: it balances, and most is to be seen."""


def plan() -> str:
    command = f"rescheduler plan -f {_CLUSTER}"
    # What is not in the file, and how to repeat it, would only make the picture longer.
    shown = _on_a_terminal(command).partition("\nNote:")[0].rstrip()
    return _drawn([Text(f"$ {command}", style="bold"), Text.from_ansi(shown)], command)


def _on_a_terminal(command: str) -> str:
    """There it wraps its lines itself."""
    program, *arguments = command.split()
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, _WIDTH, 0, 0))
    process = subprocess.Popen(
        [Path(sys.executable).parent / program, *arguments],
        stdout=its,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"},
    )
    os.close(its)
    printed = bytearray()
    with suppress(OSError):  # that is how a terminal ends
        while read := os.read(ours, 2**16):
            printed += read
    os.close(ours)
    if process.wait():
        raise RuntimeError(f"{command} failed")
    return printed.decode().replace("\r\n", "\n")


def demo() -> str:
    """The moment in which most is under way."""
    watching = _Watching()
    with log_file(None):
        virtual_time.run(watching.play())
    assert watching.best is not None  # noqa: S101 - pods move in every demo
    lines = drawn(watching.best, _WIDTH, _HEIGHT, Page(width=_WIDTH))
    return _drawn(lines, "rescheduler demo")


class _Watching:
    def __init__(self) -> None:
        self._demo = Demo(self, nodes=30, seed=0, speed=0.0)
        self._stop = asyncio.Event()
        self.best: Frame | None = None
        self._most = 0
        self._chapter = Chapter(number=1, sentence="")

    async def play(self) -> None:
        await self._demo.play(self._stop, keep=False)

    def begins(self, chapter: Chapter) -> None:
        self._chapter = chapter
        if chapter.number > _CHAPTER:
            self._stop.set()

    def sees(self, scene: Scene) -> None: ...

    def sees_plan(self, decided: Plan, about: str) -> None: ...

    def hears(self, move: MoveScene) -> None:  # noqa: ARG002 - whichever it is
        scene = self._demo.scene()
        if self._chapter.number == _CHAPTER and scene.under_way > self._most:
            self._most = scene.under_way
            self.best = Frame(chapter=self._chapter, scene=scene)


def _drawn(lines: list[Text], title: str) -> str:
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, highlight=False)
        for line in lines:
            console.print(line)
        unique = re.sub(r"\W+", "-", title)
        made = console.export_svg(title=title, theme=MONOKAI, code_format=_FORMAT, unique_id=unique)
    # Else some programs drop the spaces that a line begins with.
    return made.replace("<text ", '<text xml:space="preserve" ')


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    PLAN.write_text(plan())
    DEMO.write_text(demo())
