"""What goes wrong on purpose: one base, children told apart by what the caller does about them."""

from collections.abc import Iterable
from dataclasses import dataclass


class ReschedulerError(Exception):
    """Base of every error that we raise on purpose; catching it hides no bug."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to change in a document before it is accepted."""

    path: str
    """Where, such as `profiles[1].pluginConfig[0].args.cpuThreshold`; empty: the whole document."""

    message: str
    """One line: what was found, and what is expected instead."""


class ConfigurationError(ReschedulerError):
    """The configuration is refused as a whole; holds every problem, in order of appearance."""

    def __init__(self, problems: Iterable[Problem], source: str = "configuration") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(self.problems, source)

    def __str__(self) -> str:
        return "\n".join(
            ": ".join(part for part in (self.source, problem.path, problem.message) if part)
            for problem in self.problems
        )


class ConnectionSettingsError(ReschedulerError):
    """No cluster can be reached with the kubeconfig or environment given."""
