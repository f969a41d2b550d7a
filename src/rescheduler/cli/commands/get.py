"""`rescheduler get migrations`: the records, as kubectl would print them."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from rescheduler.cli import commanding, given_names, records
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import AllNamespaces, Namespace
from rescheduler.cli.output import page, say, tell
from rescheduler.clock import Clock, SystemClock
from rescheduler.documents.places import quoted
from rescheduler.documents.suggestions import nearest

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # Of the whole cluster: from, to, way, phase, step, reason
  rescheduler get migrations -A

  # Also why, by which strategy, and how it stands in words
  rescheduler get migrations -n shop -o wide

  # One of them, for machines
  rescheduler get migrations web-5d4f8c-x7k2p-1a2b3c4d5e-1 -n shop -o yaml"""

Form = Annotated[
    Literal["table", "wide", "json", "yaml", "name"],
    typer.Option("--output", "-o", help="Output format."),
]

_FAILED: Final = 1

app = commanding.group("List what the rescheduler keeps in the cluster.")


def migrations(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these.")] = None,
    *,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    output: Form = "table",
    reach: Reach,
) -> None:
    """List migrations: what moved from where to where, in which way, and how far it is.

    Exit status: 0, also when there is none; 1 for an error, or when one that is
    named is not there; 2 for wrong usage.
    """
    given_names.insist_on_records(names or (), namespace)
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    configuration, connect = reach.cluster()
    kubeconfig = configuration.client_connection.kubeconfig
    where = None if all_namespaces else namespace or kube.namespace_of(kubeconfig, reach.context)
    listing = listed(connect, SystemClock(), where, names=names or (), form=output)
    raise typer.Exit(asyncio.run(listing))


async def listed(
    connect: "Connect",
    clock: Clock,
    namespace: str | None,
    *,
    names: Sequence[str] = (),
    form: str = "table",
) -> int:
    """The exit status."""
    from rescheduler.cli.render import migration_tables as tables

    async with connect() as kube:
        known = await records.read(kube, namespace)
    found = [each for each in known if not names or each["metadata"]["name"] in names]
    there = [each["metadata"]["name"] for each in known]
    missing = [each for each in names if each not in there]
    if form in ("json", "yaml"):
        if found or not names:
            is_one = len(names) == 1 and len(found) == 1
            say(tables.as_document(found, form, is_one=is_one))
    elif form == "name":
        say(tables.as_names(found))
    elif found:
        wide, everywhere = form == "wide", namespace is None
        say(tables.as_table(found, page(), clock.now(), wide=wide, everywhere=everywhere))
    elif not names:
        tell([f"No resources found{f' in {namespace} namespace' if namespace else ''}."])
    tell(_not_found(each, there) for each in missing)
    return _FAILED if missing else 0


def _not_found(name: str, there: Sequence[str]) -> str:
    near = nearest(name, there)
    meant = f"; did you mean {quoted(near)}?" if near else ""
    return f"error: podmigrations.rescheduler.io {quoted(name)} not found{meant}"


commanding.add(app, migrations, EXAMPLES)
