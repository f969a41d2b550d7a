"""The demo on a terminal: frame after frame, until it ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live

from rescheduler.cli.render.layout import Page
from rescheduler.cli.render.live_view import Frame, drawn
from rescheduler.embedded.virtual_time import VirtualTimeLoop
from rescheduler.model.moves import Plan
from rescheduler.simulation.scenes import Chapter, MoveScene, Scene

_FRAME_SECONDS: Final = 0.1
_SHARE: Final = 0.2
"""Of the time, that drawing may take: on a slow machine there are fewer frames."""
_HASTY_SECONDS: Final = 0.25
"""From one look at the clock on the wall to the next, while virtual time waits for nobody."""


class Show:
    """On a screen of its own, which the terminal takes away again at the end."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._console = Console(highlight=False)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._chapter = Chapter(number=1, sentence="")
        self._plan: Plan | None = None
        self._about = ""
        self._tick = 0
        self._scene: Callable[[], Scene] | None = None

    def begins(self, chapter: Chapter) -> None:
        self._chapter, self._plan = chapter, None
        self._refresh()

    def sees(self, scene: Scene) -> None:
        """Every frame shows it."""

    def sees_plan(self, decided: Plan, about: str) -> None:
        self._plan, self._about = decided, about
        self._refresh()

    def hears(self, move: MoveScene) -> None:
        """The next frame shows it."""

    @asynccontextmanager
    async def showing(self, scene: Callable[[], Scene]) -> AsyncIterator[None]:
        """Frames as long as the block lasts, the last of them as it ends."""
        self._scene = scene
        with self._live:
            async with asyncio.TaskGroup() as tasks:
                going = tasks.create_task(self._go_on(), name="show the demo")
                try:
                    yield
                finally:
                    going.cancel()
            self._refresh()

    async def _go_on(self) -> None:
        """By the clock on the wall, and yet on the loop, where nothing changes meanwhile."""
        due = 0.0
        while True:
            if (begun := time.monotonic()) >= due:
                self._refresh()
                took = time.monotonic() - begun
                due = begun + max(_FRAME_SECONDS, took / _SHARE)
            loop = asyncio.get_running_loop()
            pace = loop.pace if isinstance(loop, VirtualTimeLoop) else 1.0
            await asyncio.sleep(pace * _FRAME_SECONDS or _HASTY_SECONDS)

    def _refresh(self) -> None:
        if self._scene is None:
            return
        self._tick += 1
        size = self._console.size
        frame = Frame(
            chapter=self._chapter,
            scene=self._scene(),
            plan=self._plan,
            about=self._about,
            tick=self._tick,
        )
        lines = drawn(frame, size.width, size.height, self._page)
        self._live.update(Group(*lines), refresh=True)
