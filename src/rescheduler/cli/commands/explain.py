"""`rescheduler explain`: all about one pod, one node or a whole plan. It changes nothing."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli import commanding, given_names
from rescheduler.cli.options import Form
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.planning_flags import PlanningFlags
from rescheduler.cli.render.layout import some_of
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.model.snapshot import Snapshot

EXAMPLES: Final = """Examples:
  # Why it moves, or why it stays
  rescheduler explain pod shop/web-7d4b9c6f5d-x2x9z

  # In a saved cluster, and what every node says of it
  rescheduler explain pod web-7d4b9c6f5d-x2x9z -n shop -f cluster.json.gz --all"""

NODE_EXAMPLES: Final = """Examples:
  # Why it is hot, or not emptied, and who holds it
  rescheduler explain node worker-1

  # In a saved cluster, with every pod
  rescheduler explain node worker-1 -f cluster.json.gz --all"""

PLAN_EXAMPLES: Final = """Examples:
  # What the plan leaves where it is, why, and what would have to change
  rescheduler explain plan

  # Of a saved cluster, by one strategy, for machines
  rescheduler explain plan -f cluster.json.gz --strategy NodeMaintenance -o json"""

app = commanding.group("Say why pods move or stay, and what would help.")

_MOST_COMPARED: Final = 10_000
"""Names that are looked through for one that may have been meant."""


_EVERY: Final = 1000
"""Of whom it is asked what would have to change, with --all."""

Everything = Annotated[
    bool, typer.Option("--all", help="Show all, and ask of each what would have to change.")
]


class NoSuchPod(ReschedulerError):
    """Says which there are that may have been meant."""


class NoSuchNode(ReschedulerError):
    """Says which there are that may have been meant."""


def pod(
    name: Annotated[str, typer.Argument(metavar="NAMESPACE/NAME", help="Or NAME, with -n.")],
    *,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of a NAME without one."),
    ] = "default",
    flags: PlanningFlags,
    output: Form = "table",
    everything: Annotated[
        bool, typer.Option("--all", help="List every node, with all that keeps the pod off it.")
    ] = False,
) -> None:
    """Say all about one pod: whether it may move, how, where to, and what the plan does with it.

    Exit status: 0, 1 for an error or when there is no such pod, 2 for wrong usage.
    """
    given_names.insist_on_pod(name, namespace)
    asked = flags.understood()
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import documents, explain_tables
    from rescheduler.plan import documents as explain_documents
    from rescheduler.plan.explaining import explain, row_of

    snapshot, configuration = asked.loaded.snapshot, asked.configuration
    full_name = name if "/" in name else f"{namespace}/{name}"
    row = row_of(snapshot, full_name)
    if row is None:
        raise NoSuchPod(_no_such_pod(full_name, snapshot))
    explained = explain(snapshot, configuration, row, asked.plan())
    tell(asked.loaded.notes)
    if output == "table":
        said = explain_tables.as_text(explained, page(), everything=everything)
    else:
        said = documents.as_text(explain_documents.of_pod(explained), output)
    say(said)


def node(
    name: Annotated[str, typer.Argument(metavar="NODE")],
    *,
    flags: PlanningFlags,
    output: Form = "table",
    everything: Everything = False,
) -> None:
    """Say all about one node: why it is hot, or not emptied, who holds it, and what would help.

    Exit status: 0, 1 for an error or when there is no such node, 2 for wrong usage.
    """
    given_names.insist_on_node("NODE", name)
    asked = flags.understood()
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import documents, explain_node_tables
    from rescheduler.plan import documents as explain_documents
    from rescheduler.plan.explaining_nodes import ASKED_ABOUT, explain_node

    snapshot = asked.loaded.snapshot
    if name not in snapshot.node_numbers:
        near = difflib.get_close_matches(name, list(snapshot.node_numbers)[:_MOST_COMPARED])
        there = f"did you mean {some_of(near)}?" if near else "rescheduler snapshot show has all"
        raise NoSuchNode(f"there is no node {name}; {there}")
    decided = asked.plan()
    most = _EVERY if everything else ASKED_ABOUT
    explained = explain_node(snapshot, asked.configuration, name, decided, asked_about=most)
    tell(asked.loaded.notes)
    if output == "table":
        said = explain_node_tables.of_node(explained, page(), everything=everything)
    else:
        said = documents.as_text(explain_documents.of_node(explained), output)
    say(said)


def plan(
    *,
    flags: PlanningFlags,
    output: Form = "table",
    everything: Everything = False,
) -> None:
    """Say why the plan moves what it moves, and of what it leaves, what would have to change.

    Exit status: 0, 1 for an error, 2 for wrong usage.
    """
    asked = flags.understood()
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import documents, explain_node_tables
    from rescheduler.plan import documents as explain_documents
    from rescheduler.plan.explaining_plans import ASKED_ABOUT, explain_plan

    decided = asked.plan()
    most = _EVERY if everything else ASKED_ABOUT
    snapshot, configuration = asked.loaded.snapshot, asked.configuration
    explained = explain_plan(snapshot, configuration, decided, asked_about=most)
    tell(asked.loaded.notes)
    if output == "table":
        said = explain_node_tables.of_plan(
            explained, page(), about=asked.about, everything=everything
        )
    else:
        said = documents.as_text(explain_documents.of_plan(explained), output)
    say(said)


def _no_such_pod(full_name: str, snapshot: "Snapshot") -> str:
    namespace, name = full_name.split("/", 1)
    there = [each for each in snapshot.pods.names if each]
    near = [each for each in there if each.endswith(f"/{name}")]
    near += difflib.get_close_matches(full_name, _comparable(namespace, name, there))
    if near:
        return f"there is no pod {full_name}; did you mean {some_of(near)}?"
    if not any(each.startswith(f"{namespace}/") for each in there):
        namespaces = sorted({each.split("/", 1)[0] for each in there})
        return (
            f"there is no pod in namespace {namespace}; there are some in "
            f"{some_of(namespaces, 5) or 'none'}"
        )
    return f"there is no pod {full_name}; pods that have ended are not looked at"


def _comparable(namespace: str, name: str, there: Iterable[str]) -> list[str]:
    """Of many, those that begin alike: who mistypes a name seldom does at its beginning."""
    found = [each for each in there if each.startswith(f"{namespace}/")]
    if len(found) > _MOST_COMPARED:
        found = [each for each in found if each.startswith(f"{namespace}/{name[:3]}")]
    return found[:_MOST_COMPARED]


commanding.add(app, pod, EXAMPLES)
commanding.add(app, node, NODE_EXAMPLES)
commanding.add(app, plan, PLAN_EXAMPLES)
