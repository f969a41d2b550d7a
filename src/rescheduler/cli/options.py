"""Options that more than one command has."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Kubeconfig = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Takes precedence over clientConnection.kubeconfig and $KUBECONFIG."
    ),
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
        help="Read a file instead of a live cluster: a saved snapshot, or output of kubectl get "
        "nodes,pods,... -A -o json. Repeatable; - is standard input.",
    ),
]

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="ReschedulerConfiguration or KubeSchedulerConfiguration. Default: all defaults.",
    ),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="Plan with this strategy instead of enabledStrategies. Repeatable.",
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(metavar="N", help="Instead of maxReschedulePods; 0 for no limit."),
]
Form = Annotated[
    Literal["table", "json", "yaml"],
    typer.Option("--output", "-o", help="Output format."),
]
Timeout = Annotated[
    str,
    typer.Option(metavar="DURATION", help="Give up after this long, such as 10m; 0 for no limit."),
]


Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="Default: the namespace of the context."
    ),
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="In every namespace, whatever -n says.")
]
