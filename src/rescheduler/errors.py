"""What goes wrong on purpose: one base, children told apart by what the caller does about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


class ReschedulerError(Exception):
    """Base of every error that we raise on purpose; catching it hides no bug."""

    way_out: ClassVar[str] = ""
    """For whoever reads it at the end of a command, where the message alone, as in a log, says only
    what is wrong.
    """


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to change in a document before it is accepted."""

    path: str
    """Where, such as `profiles[1].pluginConfig[0].args.cpuThreshold`; empty: the whole document."""

    message: str
    """One line: what was found, and what is expected instead."""

    source: str = ""
    """Where it was found, if not in the document."""


class ConfigurationError(ReschedulerError):
    """The configuration is refused as a whole; holds every problem, in order of appearance."""

    def __init__(self, problems: Iterable[Problem], source: str = "configuration") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(self.problems, source)

    def __str__(self) -> str:
        return "\n".join(
            ": ".join(filter(None, (each.source or self.source, each.path, each.message)))
            for each in self.problems
        )


class ConnectionSettingsError(ReschedulerError):
    """No cluster can be reached with the kubeconfig or environment given."""
