"""`rescheduler validate`: a configuration file is checked, and what it comes to is shown."""

from pathlib import Path
from typing import Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli import settings
from rescheduler.cli.output import say

EXAMPLES: Final = """Examples:
  # Every mistake in a file at once, or all settings as it has them
  rescheduler validate --config rescheduler.yaml

  # Of a scheduler's configuration
  rescheduler validate --config kube-scheduler.yaml"""
_ASKED: Final = """# A kube-scheduler asks for these verbs when it runs with what this prints:
#   rescheduler config scheduler -f FILE
"""


def validate(
    config_file: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="The file to check.")
    ],
) -> None:
    """Check a configuration file, and print what it comes to, defaults included.

    Printed as a ReschedulerConfiguration. What only the profiles of a
    KubeSchedulerConfiguration can say stands above it, as a comment. Of the file
    alone: `rescheduler config show` has what is in force with environment and flags.

    Exit status: 0, 1 when something is wrong with the file, 2 for wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    import yaml

    configuration = settings.load_alone(config_file).configuration
    if profiles := config.from_profiles(configuration):
        lines = yaml.safe_dump(profiles, sort_keys=False).splitlines()
        said = ["From the profiles, for which a ReschedulerConfiguration has no place:", *lines]
        say("".join(f"# {line}\n" for line in said))
    if configuration.answered:
        say(_ASKED)
    say(yaml.safe_dump(config.to_document(configuration), sort_keys=False))
