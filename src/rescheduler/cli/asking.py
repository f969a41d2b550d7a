"""What a planning command is asked: the configuration in force, and the cluster that it is about.

All that is wrong is told at once, of flags, configuration and files, before anything is done.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rescheduler import config
from rescheduler.cli import clusters
from rescheduler.cli.layout import counted
from rescheduler.config.places import quoted
from rescheduler.config.suggestions import nearest
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.model.snapshot import Snapshot
    from rescheduler.observe.files import Loaded


_MOST_TOLD: Final = 10
"""Of objects that cannot be read."""


class WrongFlags(ReschedulerError):
    """A command is called in a way that makes no sense; a line for everything that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """As the flags have it."""

    files: list[str] | None
    config_file: Path | None
    strategies: list[str] | None
    max_moves: int | None
    kubeconfig: str
    context: str | None

    def answered(self, *wrong: str) -> "Answer":
        """Raises ReschedulerError, with all that is wrong beside what is known to be."""
        flags, others = [*wrong, *self._wrong_flags()], []
        configuration, loaded = config.Configuration(), None
        try:
            if self.config_file is not None:
                configuration = config.load(self.config_file)
        except ReschedulerError as problem:
            others.append(problem)
        # A cluster is asked only when there is a use for its answer; a file costs nobody anything.
        if self.files or not (flags or others):
            try:
                loaded = self._load(configuration)
            except ReschedulerError as problem:
                others.append(problem)
        if flags:
            raise WrongFlags("\n".join([*flags, *map(str, others)]))
        if others or loaded is None:
            raise others[0] if len(others) == 1 else ReschedulerError("\n".join(map(str, others)))
        return Answer(self._in_force(configuration), loaded)

    def _wrong_flags(self) -> list[str]:
        wrong = []
        for name in self.strategies or ():
            if name not in config.STRATEGIES:
                near = nearest(name, config.STRATEGIES)
                meant = f"did you mean {near}? " if near else ""
                known = ", ".join(config.STRATEGIES)
                wrong.append(f"--strategy: unknown name {quoted(name)}; {meant}known: {known}")
        if self.max_moves is not None and self.max_moves < 0:
            wrong.append(f"--max-moves: {self.max_moves} is below 0; 0 means no limit")
        return wrong

    def _load(self, configuration: config.Configuration) -> "Loaded":
        kubeconfig = self.kubeconfig or configuration.client_connection.kubeconfig
        return clusters.load(self.files, kubeconfig, self.context, configuration.usage)

    def _in_force(self, configuration: config.Configuration) -> config.Configuration:
        if self.strategies:
            # In any order, and once each.
            chosen = tuple(name for name in config.STRATEGIES if name in self.strategies)
            configuration = replace(configuration, enabled_strategies=chosen)
        if self.max_moves is not None:
            configuration = replace(configuration, max_reschedule_pods=self.max_moves)
        return configuration


@dataclass(frozen=True, slots=True)
class Answer:
    configuration: config.Configuration
    loaded: "Loaded"

    @property
    def notes(self) -> tuple[str, ...]:
        return missing(self.loaded.snapshot)

    @property
    def about(self) -> str:
        """The cluster in a few words."""
        snapshot, taken_at = self.loaded.snapshot, self.loaded.taken_at
        when = f" as of {taken_at}" if taken_at else ""
        return f"{counted(len(snapshot.nodes), 'node')}, {counted(len(snapshot.rows), 'pod')}{when}"


def missing(snapshot: "Snapshot") -> tuple[str, ...]:
    """In the cluster as we see it, beside what a plan says of that itself."""
    unseen = [f"not seen: {gap.source}: {gap.reason}" for gap in snapshot.gaps if not gap.left_out]
    unreadable = [f"cannot be read, and left out: {each}" for each in snapshot.unreadable]
    more = len(unreadable) - _MOST_TOLD
    if more > 0:
        unreadable[_MOST_TOLD:] = [f"{more} more cannot be read"]
    return (*unseen, *unreadable)
