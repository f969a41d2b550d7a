"""The flags of a planning command, and what they come to: a configuration and a cluster."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rescheduler import config
from rescheduler.cli import clusters, settings
from rescheduler.cli.commanding import is_logging
from rescheduler.cli.render.layout import counted
from rescheduler.cli.wrong_flags import Problems

if TYPE_CHECKING:
    from rescheduler.model.moves import Plan
    from rescheduler.model.snapshot import Snapshot
    from rescheduler.observe.files import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFlags:
    files: list[str] | None
    config_file: Path | None
    strategies: list[str] | None
    max_moves: int | None
    kubeconfig: str
    context: str | None

    def understood(self, problems: Problems) -> "PlanningInput":
        """Raises ReschedulerError, with all that is wrong beside what is known to be."""
        for name in self.strategies or ():
            problems.refuse_unknown("--strategy", name, config.STRATEGIES)
        problems.refuse_below_zero("--max-moves", self.max_moves, "; 0 means no limit")
        configuration = problems.read(self._configuration) or config.Configuration()
        # A cluster is asked only when there is a use for its answer; a file costs nobody anything.
        wanted = self.files or not problems
        loaded = problems.read(lambda: self._load(configuration)) if wanted else None
        problems.raise_if_any()
        assert loaded is not None  # noqa: S101 - there is no problem
        return PlanningInput(self._in_force(configuration), loaded)

    def _configuration(self) -> config.Configuration:
        flags = settings.kubeconfig_flag(self.kubeconfig)
        return settings.load(self.config_file, flags).configuration

    def _load(self, configuration: config.Configuration) -> "Loaded":
        return clusters.load(self.files, configuration, self.context)

    def _in_force(self, configuration: config.Configuration) -> config.Configuration:
        if self.strategies:
            # In any order, and once each.
            chosen = tuple(name for name in config.STRATEGIES if name in self.strategies)
            configuration = replace(configuration, enabled_strategies=chosen)
        if self.max_moves is not None:
            configuration = replace(configuration, max_reschedule_pods=self.max_moves)
        return configuration


@dataclass(frozen=True, slots=True)
class PlanningInput:
    configuration: config.Configuration
    loaded: "Loaded"

    @property
    def notes(self) -> tuple[str, ...]:
        return clusters.missing(self.loaded.snapshot)

    @property
    def about(self) -> str:
        """The cluster in a few words."""
        snapshot, taken_at = self.loaded.snapshot, self.loaded.taken_at
        when = f" as of {taken_at}" if taken_at else ""
        return f"{counted(len(snapshot.nodes), 'node')}, {counted(len(snapshot.rows), 'pod')}{when}"


def log_plan(snapshot: "Snapshot", decided: "Plan") -> None:
    """As a pass of `run` logs it, for who asks for a log: also why each pod stays."""
    if is_logging():
        # Slow to import, and not needed to print a plan.
        from rescheduler.controller.reports import PlanReport

        PlanReport().log(snapshot, decided)
