"""`rescheduler completion`: what a shell needs to complete commands and flags."""

from typing import Annotated, Final, Literal

import typer
from typer.completion import (  # type: ignore[attr-defined]  # not in its __all__
    completion_init,
    get_completion_script,
)

from rescheduler.cli.commanding import NAME
from rescheduler.cli.output import say

VARIABLE: Final = f"_{NAME.upper()}_COMPLETE"
"""Set by a shell that asks what may follow."""

EXAMPLES: Final = """Examples:
  # In this shell
  source <(rescheduler completion bash)

  # In every one, with zsh
  rescheduler completion zsh > "${fpath[1]}/_rescheduler\""""


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish", "powershell"],
        typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell."),
    ],
) -> None:
    """Print the script by which a shell completes commands and flags.

    Exit status: 0, 2 for wrong usage.
    """
    say(get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=shell) + "\n")


def prepare() -> None:
    """For a shell that asks."""
    completion_init()
