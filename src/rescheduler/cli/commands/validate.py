"""`rescheduler validate`: a configuration file is checked, and what it comes to is shown."""

from pathlib import Path
from typing import Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli.output import say

EXAMPLES: Final = """Examples:
  # Every mistake in a file at once, or all settings as they are in force
  rescheduler validate --config rescheduler.yaml

  # Of a scheduler's configuration
  rescheduler validate --config kube-scheduler.yaml"""
_ASKED: Final = """# A kube-scheduler asks for these verbs when it runs with what this prints:
#   rescheduler config scheduler -f FILE
"""


def validate(
    config_file: Annotated[Path, typer.Option("--config", metavar="FILE")],
) -> None:
    """Check a configuration file, and print what is in force with it.

    Printed as a ReschedulerConfiguration, defaults included. What only the profiles
    of a KubeSchedulerConfiguration can say stands above it, as a comment.

    Exit status: 0, 1 when something is wrong with the file, 2 for wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    import yaml

    configuration = config.load(config_file)
    if profiles := config.from_profiles(configuration):
        lines = yaml.safe_dump(profiles, sort_keys=False).splitlines()
        said = ["From the profiles, for which a ReschedulerConfiguration has no place:", *lines]
        say("".join(f"# {line}\n" for line in said))
    if configuration.answered:
        say(_ASKED)
    say(yaml.safe_dump(config.to_document(configuration), sort_keys=False))
