"""`rescheduler drain`: empties a node while its services go on, and shows how far that is."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli import given_names, settings
from rescheduler.cli.clusters import connecting
from rescheduler.cli.options import Config, Context, Kubeconfig, Timeout
from rescheduler.cli.output import say_line, tell
from rescheduler.cli.progress import Progress
from rescheduler.cli.render.layout import counted
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock
from rescheduler.documents.places import quoted

if TYPE_CHECKING:
    from rescheduler.controller.drain import Drain
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # Empty a node: each pod is Ready elsewhere before it goes
  rescheduler drain worker-1

  # See what would be moved where, and what would stay
  rescheduler drain worker-1 --dry-run

  # Leave running Jobs and one namespace where they are
  rescheduler drain worker-1 --skip-jobs --skip-namespace batch

  # Give up after ten minutes; what is under way then goes on when asked again
  rescheduler drain worker-1 --timeout 10m"""

_FAILED, _INTERRUPTED = 1, 130

SkipJobs = Annotated[
    bool, typer.Option("--skip-jobs", help="Leave pods of Jobs, which would start over.")
]
SkipBarePods = Annotated[
    bool, typer.Option("--skip-bare-pods", help="Leave pods without a controller.")
]
SkipLocalStorage = Annotated[
    bool,
    typer.Option(
        "--skip-local-storage", help="Leave pods with emptyDir, hostPath or ephemeral volumes."
    ),
]
SkipSystem = Annotated[
    bool,
    typer.Option("--skip-system", help="Leave kube-system and pods of system-critical priority."),
]
SkipNamespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--skip-namespace",
        metavar="NAME",
        help="Leave pods of this namespace. Repeatable.",
    ),
]


def drain(  # noqa: PLR0913 - one for each flag
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.")],
    *,
    config_file: Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be moved; change nothing.")
    ] = False,
    skip_jobs: SkipJobs = False,
    skip_bare_pods: SkipBarePods = False,
    skip_local_storage: SkipLocalStorage = False,
    skip_system: SkipSystem = False,
    skip_namespaces: SkipNamespaces = None,
    timeout: Timeout = "0",
    kubeconfig: Kubeconfig = "",
    context: Context = None,
) -> None:
    """Cordon a node and move its pods away, each Ready elsewhere before it goes.

    It takes what `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`
    takes, also what the configuration keeps where it is: bare pods, Jobs (which
    begin anew), local storage, StatefulSets, excluded namespaces, kube-system. Pods
    of DaemonSets and static pods end with the node, and stay; so do pods that say
    so themselves (the label rescheduling, safe-to-evict, do-not-disrupt), and what
    is not in `scope`. What only has to wait (for a rollout, for pods that are not
    Ready or terminating, for a PodDisruptionBudget or a ResourceQuota) is waited
    for, and tried again, until --timeout; what no node takes, or what fails to
    become Ready elsewhere, is not. Where a rescheduler leads, it makes the moves;
    else this command does. The node stays cordoned until `kubectl uncordon NODE`.

    Exit status: 0 when nothing is left on the node that should go, 1 when
    something is, 2 for wrong usage, 130 when interrupted. Interrupted, or out of
    time, it begins no other move, and gives those that are nearly done 20 s to
    end; a second time (of SIGTERM: a second later or more) it ends at once.
    """
    seconds = time_limit("--timeout", timeout)
    given_names.insist_on_node("NODE", node, skip_namespaces or ())
    configuration = settings.load(config_file, settings.kubeconfig_flag(kubeconfig)).configuration
    connect = connecting(configuration.client_connection.kubeconfig, context)
    forced = config.Forced(
        skip_jobs=skip_jobs,
        skip_bare_pods=skip_bare_pods,
        skip_local_storage=skip_local_storage,
        skip_system=skip_system,
        skip_namespaces=tuple(skip_namespaces or ()),
    )
    clock = SystemClock()
    in_force = replace(configuration, forced=forced)
    ending = empty(in_force, connect, clock, node, seconds=seconds, dry_run=dry_run)
    raise typer.Exit(asyncio.run(ending))


async def empty(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    node: str,
    *,
    seconds: float | None = None,
    dry_run: bool = False,
) -> int:
    """The exit status."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler.controller.drain import Drain

    def look() -> tuple[int, int]:
        return draining.progress.moved, draining.progress.planned

    bar = Progress([f"draining {node}"], look=look)
    draining = Drain(clock, configuration, node, bar.say)
    if dry_run:
        await _preview(draining, connect, node)
        return 0
    try:
        with bar:
            async with asyncio.timeout(seconds):
                await draining.run(connect)
    except asyncio.CancelledError:
        tell([f"interrupted; {_what_is_left(draining, node)}"])
        return _INTERRUPTED
    except TimeoutError:
        left = f"error: not done in time; {_what_is_left(draining, node)}"
        tell([left, *_who_stays(draining)])
        return _FAILED
    return _end(draining, node)


async def _preview(draining: "Drain", connect: "Connect", node: str) -> None:
    with Progress(["planning"]):
        decided = await draining.preview(connect)
    say_line(f"node/{node} cordoned (dry run)")
    for move in decided.moves:
        say_line(
            f"pod/{move.pod} moved (dry run) in namespace {move.namespace}: "
            f"{move.source} -> {move.target}"
        )
    for pod, why in sorted(draining.progress.stay.items()):
        say_line(f"stays: {pod}: {why}")


def _end(draining: "Drain", node: str) -> int:
    progress = draining.progress
    if not progress.stay:
        say_line(f"node/{node} drained: {counted(progress.moved, 'pod')} moved")
        return 0
    stay = f"{counted(len(progress.stay), 'pod')} {'stays' if len(progress.stay) == 1 else 'stay'}"
    tell(
        [
            f"error: {stay} on node {quoted(node)}, {progress.moved} moved:",
            *_who_stays(draining),
            f"the node stays cordoned; to have it back: kubectl uncordon {node}",
        ]
    )
    return _FAILED


def _who_stays(draining: "Drain") -> list[str]:
    return [f"  {pod}: {why}" for pod, why in sorted(draining.progress.stay.items())]


def _what_is_left(draining: "Drain", node: str) -> str:
    progress = draining.progress
    words = f"{progress.moved} of {counted(progress.planned, 'pod')} moved"
    if progress.under_way and progress.leader:
        words += (
            f", and {progress.leader} goes on with what is under way: "
            "see kubectl get podmigrations -A"
        )
    elif progress.under_way:
        words += (
            f", and what is under way goes on with `rescheduler drain {node}`, or when a "
            "rescheduler runs, and is undone or ended by `rescheduler cleanup`: see "
            "kubectl get podmigrations -A"
        )
    if progress.is_cordoned:
        words += f"; the node stays cordoned, until kubectl uncordon {node}"
    return words
