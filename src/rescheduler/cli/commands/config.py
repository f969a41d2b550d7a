"""`rescheduler config`: what is in force and who says so, a file to start from, its schema."""

from importlib import resources
from typing import Annotated, Final, Literal

import typer

from rescheduler import config
from rescheduler.cli import commanding, settings
from rescheduler.cli.commands import config_scheduler, validate
from rescheduler.cli.options import Config, Kubeconfig
from rescheduler.cli.output import page, say

EXAMPLES_OF_SHOW: Final = """Examples:
  # Every setting, its value, and where that comes from
  rescheduler config show --config rescheduler.yaml

  # With a variable of the environment, which comes before the file
  RESCHEDULER_MAX_RESCHEDULE_PODS=3 rescheduler config show --config rescheduler.yaml

  # For machines
  rescheduler config show --config rescheduler.yaml -o json"""
EXAMPLES_OF_INIT: Final = """Examples:
  # A file with every setting, explained, at its default
  rescheduler config init > rescheduler.yaml

  # And what is in force with it
  rescheduler config show --config rescheduler.yaml"""
EXAMPLES_OF_SCHEMA: Final = """Examples:
  # For editors and validators
  rescheduler config schema > rescheduler.schema.json

  # Check a file by it
  rescheduler config schema > schema.json && check-jsonschema --schemafile schema.json my.yaml"""
EXAMPLES_OF_VALIDATE: Final = validate.EXAMPLES.replace(" validate ", " config validate ")

app = commanding.group("Show, begin, check or describe a configuration.")


def show(
    *,
    config_file: Config = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", "-o", help="Output format.")
    ] = "table",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Show every setting as it is in force, and where its value comes from.

    That is the first of: flag, environment (RESCHEDULER_ and the path of the setting
    in capitals), file, default.

    Exit status: 0, 1 when something is wrong with the file or the environment, 2 for
    wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import documents

    loaded = settings.load(config_file, settings.kubeconfig_flag(kubeconfig))
    sources = loaded.sources
    values = dict(config.single_settings(loaded.configuration))
    if output == "json":
        told = {path: {"value": values[path], "source": sources[path]} for path in values}
        say(documents.as_text(told, "json"))
        return
    rows = [(path, sources[path], _written(value)) for path, value in values.items()]
    # Values last: a long one makes no other line long.
    say("\n".join(page().table([("SETTING", "SOURCE", "VALUE"), *rows], names=(2,))) + "\n")


def init() -> None:
    """Print a file to start from: every setting, explained, at its default.

    Exit status: 0, 2 for wrong usage.
    """
    say(_shipped("starting.yaml"))


def schema() -> None:
    """Print the JSON schema of a ReschedulerConfiguration.

    Exit status: 0, 2 for wrong usage.
    """
    say(_shipped("schema.json"))


def _shipped(name: str) -> str:
    return resources.files(config).joinpath(name).read_text(encoding="utf-8")


def _written(value: object) -> str:
    import json

    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


commanding.add(app, show, EXAMPLES_OF_SHOW)
commanding.add(app, init, EXAMPLES_OF_INIT, verbosity=commanding.TELLS_NOTHING)
commanding.add(app, validate.validate, EXAMPLES_OF_VALIDATE)
commanding.add(app, schema, EXAMPLES_OF_SCHEMA, verbosity=commanding.TELLS_NOTHING)
commanding.add(
    app,
    config_scheduler.scheduler,
    config_scheduler.EXAMPLES,
    verbosity=commanding.TELLS_NOTHING,
)
