"""`rescheduler explain`: all about one pod. It changes nothing."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler.cli import commanding
from rescheduler.cli.options import Config, Context, Files, Form, Kubeconfig, MaxMoves, Strategies
from rescheduler.cli.output import page, say, tell
from rescheduler.cli.planning_flags import PlanningFlags, log_plan
from rescheduler.cli.render.layout import some_of
from rescheduler.cli.search_flags import SearchFlags, Seed, Steps, TimeLimit
from rescheduler.cli.wrong_flags import Problems
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.model.snapshot import Snapshot

EXAMPLES: Final = """Examples:
  # Why it moves, or why it stays
  rescheduler explain pod shop/web-7d4b9c6f5d-x2x9z

  # In a saved cluster, and what every node says of it
  rescheduler explain pod web-7d4b9c6f5d-x2x9z -n shop -f cluster.json.gz --all"""

app = commanding.group("Say why a pod would be moved, or why it stays.")

_MOST_COMPARED: Final = 10_000
"""Names that are looked through for one that may have been meant."""


class NoSuchPod(ReschedulerError):
    """Says which there are that may have been meant."""


@app.callback()
def _explain() -> None:
    """With a callback, the one command that there is so far has to be named."""


def pod(  # noqa: PLR0913 - the flags of a command
    name: Annotated[str, typer.Argument(metavar="NAMESPACE/NAME", help="Or NAME, with -n.")],
    *,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of a NAME without one."),
    ] = "default",
    files: Files = None,
    config_file: Config = None,
    strategies: Strategies = None,
    max_moves: MaxMoves = None,
    time_limit: TimeLimit = None,
    steps: Steps = None,
    seed: Seed = 0,
    output: Form = "table",
    everything: Annotated[
        bool, typer.Option("--all", help="List every node, with all that keeps the pod off it.")
    ] = False,
    kubeconfig: Kubeconfig = "",
    context: Context = None,
) -> None:
    """Say all about one pod: whether it may move, how, where to, and what the plan does with it.

    Exit status: 0, 1 for an error or when there is no such pod, 2 for wrong usage.
    """
    flags = PlanningFlags(
        files=files,
        config_file=config_file,
        strategies=strategies,
        max_moves=max_moves,
        kubeconfig=kubeconfig,
        context=context,
    )
    search = SearchFlags(time_limit, steps, seed)
    problems = Problems()
    search.check(problems)
    asked = flags.understood(problems)
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import explain_tables, plan_documents
    from rescheduler.plan import plan
    from rescheduler.plan.explaining import explain, row_of

    snapshot, configuration = asked.loaded.snapshot, asked.configuration
    full_name = name if "/" in name else f"{namespace}/{name}"
    row = row_of(snapshot, full_name)
    if row is None:
        raise NoSuchPod(_no_such_pod(full_name, snapshot))
    decided = plan(snapshot, configuration, search=search.search())
    log_plan(snapshot, decided)
    explained = explain(snapshot, configuration, row, decided)
    tell(asked.loaded.notes)
    if output == "table":
        said = explain_tables.as_text(explained, page(), everything=everything)
    else:
        said = plan_documents.as_text(plan_documents.of_explanation(explained), output)
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
