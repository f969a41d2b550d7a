"""The flags of a planning command, and what they come to: a configuration and a cluster."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rescheduler import config
from rescheduler.cli import clusters, settings
from rescheduler.cli.options import Config, Context, Files, Kubeconfig, MaxMoves, Strategies
from rescheduler.cli.render.layout import counted
from rescheduler.cli.search_flags import SearchFlags, Seed, Steps, TimeLimit
from rescheduler.cli.wrong_flags import Problems

if TYPE_CHECKING:
    from rescheduler.model.moves import Plan
    from rescheduler.observe.files import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFlags:
    files: Files = None
    config_file: Config = None
    strategies: Strategies = None
    max_moves: MaxMoves = None
    time_limit: TimeLimit = None
    steps: Steps = None
    seed: Seed = 0
    kubeconfig: Kubeconfig = ""
    context: Context = None

    def understood(self) -> "PlanningInput":
        """Raises ReschedulerError, with all that is wrong."""
        problems = Problems()
        search = SearchFlags(self.time_limit, self.steps, self.seed)
        search.check(problems)
        for name in self.strategies or ():
            problems.refuse_unknown("--strategy", name, config.STRATEGIES)
        problems.refuse_below_zero("--max-moves", self.max_moves, "; 0 means no limit")
        configuration = problems.read(self._configuration) or config.Configuration()
        # A cluster is asked only when there is a use for its answer; a file costs nobody anything.
        wanted = self.files or not problems
        loaded = problems.read(lambda: self._load(configuration)) if wanted else None
        problems.raise_if_any()
        assert loaded is not None  # noqa: S101 - there is no problem
        return PlanningInput(self._in_force(configuration), loaded, search)

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
    search: SearchFlags

    def plan(self) -> "Plan":
        return self.search.plan(self.loaded.snapshot, self.configuration)

    @property
    def notes(self) -> tuple[str, ...]:
        return clusters.missing(self.loaded.snapshot)

    @property
    def about(self) -> str:
        """The cluster in a few words."""
        snapshot, taken_at = self.loaded.snapshot, self.loaded.taken_at
        when = f" as of {taken_at}" if taken_at else ""
        return f"{counted(len(snapshot.nodes), 'node')}, {counted(len(snapshot.rows), 'pod')}{when}"
