"""`rescheduler config scheduler`: the configuration of a kube-scheduler that asks us."""

from pathlib import Path
from typing import Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli.output import say
from rescheduler.cli.wrong_flags import Problems
from rescheduler.errors import ReschedulerError

EXAMPLES: Final = """Examples:
  # For a kube-scheduler in the same pod, or on the same machine
  rescheduler config scheduler -f kube-scheduler.yaml > for-kube-scheduler.yaml

  # For one that reaches us by a Service, with TLS
  rescheduler config scheduler -f rescheduler.yaml \\
    --url https://rescheduler-extender.kube-system:8082 --ca-file /etc/rescheduler/ca.crt"""


def scheduler(
    config_file: Annotated[
        Path,
        typer.Option("--filename", "-f", metavar="FILE", help="What rescheduler run is given."),
    ],
    *,
    url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where the scheduler reaches us. Default: 127.0.0.1 and extender.port.",
        ),
    ] = "",
    ca_file: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="On the scheduler's machine: who signed our certificate, for https.",
        ),
    ] = "",
    cert_file: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="On the scheduler's machine: its own certificate, if we want one."
        ),
    ] = "",
    key_file: Annotated[
        str, typer.Option(metavar="FILE", help="On the scheduler's machine: its key.")
    ] = "",
) -> None:
    """Print the configuration of a stock kube-scheduler that asks us about new pods.

    FILE is the KubeSchedulerConfiguration in which plugins enable Rescheduler, or a
    ReschedulerConfiguration with extender.verbs. Our plugin's names are taken out,
    as a stock kube-scheduler has no such plugin; an extender is added that calls
    those of our verbs that are on. What pluginConfig says stays.

    Exit status: 0, 1 when something is wrong with the file, 2 for wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    import yaml

    from rescheduler.config.stock_scheduler import Address, for_stock_scheduler
    from rescheduler.documents.reading import load_text

    text = load_text(config_file)
    configuration = config.parse(text, str(config_file))
    if not configuration.answered:
        raise ReschedulerError(
            f"{config_file} switches none of our verbs on: enable Rescheduler at filter, score or "
            "preBind under plugins of a profile, or list them in extender.verbs"
        )
    extender = configuration.extender
    where = url or f"{'https' if extender.tls.cert_file else 'http'}://127.0.0.1:{extender.port}"
    _refuse_wrong_flags(where, ca_file, cert_file, key_file)
    at = Address(url=where.rstrip("/"), ca_file=ca_file, cert_file=cert_file, key_file=key_file)
    found = for_stock_scheduler(yaml.safe_load(text), configuration, at)
    say(yaml.safe_dump(found, sort_keys=False))


def _refuse_wrong_flags(url: str, ca_file: str, cert_file: str, key_file: str) -> None:
    problems = Problems()
    if not url.startswith(("http://", "https://")):
        problems.refuse("--url", "must begin with http:// or https://")
    if url.startswith("https:") and not ca_file:
        problems.refuse(
            "--ca-file", "is needed: without it a kube-scheduler trusts whoever answers"
        )
    if bool(cert_file) != bool(key_file):
        missing, given = (
            ("--key-file", "--cert-file") if cert_file else ("--cert-file", "--key-file")
        )
        problems.refuse(missing, f"is needed, as {given} is given")
    problems.raise_if_any()
