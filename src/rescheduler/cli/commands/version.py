"""`rescheduler version`."""

from typing import Final

from rescheduler import __version__
from rescheduler.cli.output import say

EXAMPLES: Final = """Examples:
  # Of this program
  rescheduler version

  # As a plugin of kubectl
  kubectl reschedule version"""


def version() -> None:
    """Print the version.

    Exit status: 0, 2 for wrong usage.
    """
    say(f"rescheduler {__version__}\n")
