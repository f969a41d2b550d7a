"""Options that more than one command has."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Kubeconfig = Annotated[
    str,
    typer.Option(metavar="FILE", help="Before clientConnection.kubeconfig and $KUBECONFIG."),
]
Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig to use.")
]
Files = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Read this instead of a cluster: a saved snapshot, or what kubectl get nodes,pods,... "
        "-A -o json printed. May be given more than once; - is standard input.",
    ),
]

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="ReschedulerConfiguration or KubeSchedulerConfiguration; left out: the defaults.",
    ),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="Instead of enabledStrategies; may be given more than once.",
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(metavar="N", help="Instead of maxReschedulePods; 0: as many as are worth it."),
]
Form = Annotated[
    Literal["table", "json", "yaml"],
    typer.Option("--output", "-o", help="For people, or for machines."),
]
