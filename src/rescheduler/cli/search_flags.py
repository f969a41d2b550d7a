"""How long a command searches for a plan: flags, the stop signal that follows from them, and the
plan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli.commanding import is_logging
from rescheduler.cli.wrong_flags import Problems
from rescheduler.config import Configuration
from rescheduler.documents.durations import SECOND, parse_nanoseconds
from rescheduler.documents.places import quoted

if TYPE_CHECKING:
    from rescheduler.model.moves import Plan
    from rescheduler.model.snapshot import Snapshot
    from rescheduler.plan import Search

_PATIENCE: Final = "10s"
"""Of who names no limit: the search for the cheapest nodes of a large cluster could go on."""
_UNTIL_TIME_IS_UP: Final = 2**62
"""Steps, where time is the limit."""

TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help=f"How long to search for a better plan, such as 60s. Default: {_PATIENCE}.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(metavar="N", help="Limit the search by steps, so that it is repeatable."),
]
Seed = Annotated[
    int, typer.Option(metavar="N", help="Of the search: another seed tries other plans.")
]


@dataclass(frozen=True, slots=True)
class SearchFlags:
    """Whoever names both limits stops at what comes first."""

    time: str | None
    steps: int | None
    seed: int

    def check(self, problems: Problems) -> None:
        if self.time is not None:
            seconds = problems.duration("--time-limit", self.time)
            if seconds is not None and seconds <= 0:
                problems.refuse("--time-limit", f"{quoted(self.time)} is not above 0")
        problems.refuse_below_zero("--steps", self.steps)
        problems.refuse_below_zero("--seed", self.seed)

    def plan(self, snapshot: "Snapshot", configuration: Configuration) -> "Plan":
        """Who asks for a log hears also why each pod stays."""
        # Slow to import, and not needed to print a usage message.
        from rescheduler.plan import plan

        decided = plan(snapshot, configuration, search=self.search())
        if is_logging():
            # Slow to import, and not needed to print a plan.
            from rescheduler.controller.reports import PlanReport

            PlanReport().log(snapshot, decided)
        return decided

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
