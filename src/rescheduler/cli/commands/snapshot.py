"""`rescheduler snapshot`: a cluster as a file, and its figures as a table."""

from contextlib import suppress
from typing import Annotated, Final, Literal

import typer

from rescheduler.cli import clusters, commanding
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import Files
from rescheduler.cli.output import Unwritable, page, say, say_line, tell

EXAMPLES_OF_SAVE: Final = """Examples:
  # All that we read of a cluster, for later or for others
  rescheduler snapshot save cluster.json.gz

  # From what kubectl prints
  kubectl get nodes,pods -A -o json | rescheduler snapshot save -f - cluster.json.gz"""
EXAMPLES_OF_SHOW: Final = """Examples:
  # CPU, memory and pods of every node, and how uneven that is
  rescheduler snapshot show

  # Of a saved cluster
  rescheduler snapshot show -f cluster.json.gz -o json"""

app = commanding.group("Save a cluster as a file, or show the figures of one.")

_STANDARD_OUTPUT: Final = "-"
_MOST_TOLD: Final = 10
"""Of objects that cannot be read: who has more of them looks into the file."""


def save(
    to: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Compressed if it ends in .gz; - is standard output."),
    ],
    *,
    files: Files = None,
    reach: Reach,
) -> None:
    """Save all that we read of a cluster, for later or for others.

    The file has names, labels and what scheduling needs. It has no secret, no
    environment of a container, no command, no image, and no annotation but the
    few that we read. With -f it is made from what kubectl printed.

    Exit status: 0 also when some kinds could not be seen, which is told here and
    noted in the file; 1 when there is no file, because nodes or pods could not
    be seen or it could not be written; 2 for wrong usage.
    """
    # Slow to import, and not needed to print a usage message.
    from rescheduler.cli.render import snapshot_tables
    from rescheduler.observe import files as snapshot_files

    configuration = reach.configuration()
    loaded = clusters.load(files, configuration, reach.context)
    snapshot = loaded.snapshot
    snapshot_files.save(to, snapshot, taken_at=loaded.taken_at)
    tell(loaded.notes)
    tell(f"not seen: {line}" for line in snapshot_tables.gap_lines(snapshot.gaps))
    unreadable = [f"cannot be read: {each}" for each in snapshot.unreadable]
    tell(unreadable[:_MOST_TOLD])
    if len(unreadable) > _MOST_TOLD:
        tell([f"cannot be read: {len(unreadable) - _MOST_TOLD} more, which the file names"])
    if to != _STANDARD_OUTPUT:
        saved = f"{to} saved: {len(snapshot.nodes)} nodes, {len(snapshot.rows)} pods"
        # The file is what was asked for, and it is there.
        with suppress(Unwritable):
            say_line(saved)


def show(
    *,
    files: Files = None,
    output: Annotated[
        Literal["table", "json"],
        typer.Option("--output", "-o", help="Output format."),
    ] = "table",
    reach: Reach,
) -> None:
    """Show how full the nodes are: CPU, memory and pods, and how uneven that is.

    Of CPU and memory it is what pods ask for, of what a node has for them; beside
    it what they use, when somebody measures that. The imbalance is that between
    nodes that can take pods, without pods on their way out.

    Exit status: 0, 1 when nodes or pods could not be seen, 2 for wrong usage.
    """
    from rescheduler.cli.render import snapshot_figures, snapshot_tables

    configuration = reach.configuration()
    loaded = clusters.load(files, configuration, reach.context)
    seen = snapshot_figures.of(loaded.snapshot, loaded.taken_at)
    tell(loaded.notes)
    if output == "json":
        say(snapshot_tables.as_json(seen))
    else:
        say(snapshot_tables.as_text(seen, page()))


commanding.add(app, save, EXAMPLES_OF_SAVE)
commanding.add(app, show, EXAMPLES_OF_SHOW)
