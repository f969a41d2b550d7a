"""Decides by the flags of a planning command, and logs it as a pass of `run` does."""

from typing import TYPE_CHECKING

from rescheduler.cli.commanding import is_logging
from rescheduler.cli.search_flags import SearchFlags
from rescheduler.config import Configuration

if TYPE_CHECKING:
    from rescheduler.model.moves import Plan
    from rescheduler.model.snapshot import Snapshot


def planned(snapshot: "Snapshot", configuration: Configuration, search: SearchFlags) -> "Plan":
    # Slow to import, and not needed to print a usage message.
    from rescheduler.plan import plan

    decided = plan(snapshot, configuration, search=search.search())
    _log(snapshot, decided)
    return decided


def _log(snapshot: "Snapshot", decided: "Plan") -> None:
    """Who asks for a log hears also why each pod stays."""
    if is_logging():
        # Slow to import, and not needed to print a plan.
        from rescheduler.controller.reports import PlanReport

        PlanReport().log(snapshot, decided)
