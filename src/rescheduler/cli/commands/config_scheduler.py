"""`rescheduler config scheduler`: the configuration of a kube-scheduler that asks us."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli.clusters import connecting
from rescheduler.cli.options import Context, Kubeconfig
from rescheduler.cli.output import say
from rescheduler.cli.wrong_flags import Problems
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.config.stock_scheduler import Address

EXAMPLES: Final = """Examples:
  # For a kube-scheduler in the same pod, or on the same machine
  rescheduler config scheduler -f kube-scheduler.yaml > for-kube-scheduler.yaml

  # For one that reaches us by a Service, with a certificate of our own (extender.tls.secret)
  rescheduler config scheduler -f rescheduler.yaml --kubeconfig admin.conf

  # The same, with a certificate of somebody else's (extender.tls.certFile)
  rescheduler config scheduler -f rescheduler.yaml \\
    --url https://10.96.0.20 --server-name rescheduler-extender.kube-system.svc \\
    --ca-file /etc/rescheduler/ca.crt"""


def scheduler(  # noqa: PLR0913 - the flags of a command
    config_file: Annotated[
        Path,
        typer.Option("--filename", "-f", metavar="FILE", help="What rescheduler run is given."),
    ],
    *,
    url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where the scheduler reaches us. Default: 127.0.0.1 and extender.port, or with "
            "extender.tls.secret the Service rescheduler-extender.",
        ),
    ] = "",
    server_name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="In our certificate, where that is another than in the URL. Default with "
            "extender.tls.secret: that of the Service.",
        ),
    ] = "",
    ca_file: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="On the scheduler's machine: who signed our certificate, for https. Default with "
            "extender.tls.secret: what stands there is printed, too.",
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
    kubeconfig: Kubeconfig = "",
    context: Context = None,
) -> None:
    """Print the configuration of a stock kube-scheduler that asks us about new pods.

    FILE is the KubeSchedulerConfiguration in which plugins enable Rescheduler, or a
    ReschedulerConfiguration with extender.verbs. Our plugin's names are taken out,
    as a stock kube-scheduler has no such plugin; an extender is added that calls
    those of our verbs that are on. What pluginConfig says stays.

    With extender.tls.secret whom to trust is read from that Secret, and where we are
    from the Service; so the cluster is asked, unless --ca-file and --url are given.

    Exit status: 0, 1 when something is wrong with the file, 2 for wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    import yaml

    from rescheduler.cli.addresses import completed
    from rescheduler.config.stock_scheduler import Address, for_stock_scheduler
    from rescheduler.documents.reading import load_text

    text = load_text(config_file)
    configuration = config.parse(text, str(config_file))
    if not configuration.answered:
        raise ReschedulerError(
            f"{config_file} switches none of our verbs on: enable Rescheduler at filter, score or "
            "preBind under plugins of a profile, or list them in extender.verbs"
        )
    given = Address(
        url=url.rstrip("/"),
        server_name=server_name,
        ca_file=ca_file,
        cert_file=cert_file,
        key_file=key_file,
    )
    tls = configuration.extender.tls
    is_https = given.url.startswith("https:") or (not given.url and tls.is_on)
    _refuse_wrong_flags(given, needs_ca=is_https and not tls.secret)
    connect = connecting(kubeconfig or configuration.client_connection.kubeconfig, context)
    at = asyncio.run(completed(given, configuration, connect))
    found = for_stock_scheduler(yaml.safe_load(text), configuration, at)
    say(yaml.safe_dump(found, sort_keys=False))


def _refuse_wrong_flags(given: "Address", *, needs_ca: bool) -> None:
    problems = Problems()
    if given.url and not given.url.startswith(("http://", "https://")):
        problems.refuse("--url", "must begin with http:// or https://")
    if needs_ca and not given.ca_file:
        problems.refuse(
            "--ca-file", "is needed: without it a kube-scheduler trusts whoever answers"
        )
    if bool(given.cert_file) != bool(given.key_file):
        missing, other = (
            ("--key-file", "--cert-file") if given.cert_file else ("--cert-file", "--key-file")
        )
        problems.refuse(missing, f"is needed, as {other} is given")
    problems.raise_if_any()
