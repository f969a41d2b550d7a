"""Options that more than one command has."""

from typing import Annotated

import typer

Kubeconfig = Annotated[
    str,
    typer.Option(metavar="FILE", help="Before clientConnection.kubeconfig and $KUBECONFIG."),
]
Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig to use.")
]
