"""How far a long command has come: bars on a terminal, and nothing where nobody looks."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Self

from rescheduler.cli import commanding
from rescheduler.cli.output import say_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

Look = Callable[[], tuple[int, int]]
"""How many of how many; of 0: that is not known."""

_TIMES_PER_SECOND: Final = 4


class Progress:
    """A bar for each name, on standard error, and gone at the end."""

    def __init__(
        self, names: Sequence[str], *, shown: bool = True, look: Look | None = None
    ) -> None:
        """`look` is asked about the first of them, over and over."""
        # Lines of a log would be written into them.
        wanted = shown and sys.stderr.isatty() and not commanding.is_logging()
        self._bars = _bars(look) if wanted else None
        self._tasks = {}
        if self._bars is not None:
            self._tasks = {name: self._bars.add_task(name, total=None) for name in names}

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def tell(self, name: str, share: float) -> None:
        if self._bars is not None:
            self._bars.update(self._tasks[name], completed=share, total=1.0)

    def say(self, line: str) -> None:
        """To standard output, which may be the same terminal."""
        if self._bars is None or not self._bars.live.is_started:
            say_line(line)
            return
        self._bars.stop()
        try:
            say_line(line)
        finally:
            self._bars.start()


def _bars(look: Look | None) -> "Bars":
    # Slow to import, and not needed where nobody looks.
    from collections.abc import Iterable

    from rich import progress
    from rich.console import Console, RenderableType

    class Looking(progress.Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if look is not None:
                done, planned = look()
                for task in self.task_ids:
                    self.update(task, completed=done, total=planned or None)
            yield from super().get_renderables()

    columns = (
        progress.SpinnerColumn("line"),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn() if look is None else progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    return Looking(
        *columns,
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=_TIMES_PER_SECOND,
        # Standard output may be a file, and its lines are to stay as they are.
        redirect_stdout=False,
        redirect_stderr=False,
    )
