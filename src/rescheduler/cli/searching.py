"""How long a command searches for a plan: flags, and the stop signal that follows from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.config.durations import SECOND, parse_nanoseconds
from rescheduler.config.places import quoted

if TYPE_CHECKING:
    from rescheduler.plan import Search

_PATIENCE: Final = "10s"
"""Of who names no limit: the search for the cheapest nodes of a large cluster could go on."""
_UNTIL_TIME_IS_UP: Final = 2**62
"""Steps, where time is the limit."""

TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help=f"How long to search for a better plan, such as 60s; left out: {_PATIENCE}.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(metavar="N", help="The same in steps: as many give the same plan again."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Another one tries other plans.")]


@dataclass(frozen=True, slots=True)
class Limits:
    """As the flags have them. Whoever names both stops at what comes first."""

    time: str | None
    steps: int | None
    seed: int

    def wrong(self) -> list[str]:
        wrong = []
        try:
            if self.time is not None and parse_nanoseconds(self.time) <= 0:
                wrong.append(f"--time-limit: {quoted(self.time)} is not above 0")
        except ValueError as problem:
            wrong.append(f"--time-limit: {quoted(self.time or '')} is not a duration: {problem}")
        if self.steps is not None and self.steps < 0:
            wrong.append(f"--steps: {self.steps} is below 0")
        if self.seed < 0:
            wrong.append(f"--seed: {self.seed} is below 0")
        return wrong

    def search(self) -> "Search":
        """Time begins to run here."""
        # Slow to import, and not needed to print a usage message.
        from rescheduler.plan import Search

        if self.time is None and self.steps is not None:
            return Search(seed=self.seed, steps=self.steps)
        steps = _UNTIL_TIME_IS_UP if self.steps is None else self.steps
        return Search(seed=self.seed, steps=steps, stop=_when_up(self.time or _PATIENCE))


def _when_up(limit: str) -> Callable[[], bool]:
    from rescheduler.clock import SystemClock

    clock = SystemClock()
    end = clock.monotonic() + parse_nanoseconds(limit) / SECOND
    return lambda: clock.monotonic() >= end
