"""`rescheduler migrate`: one pod, to a node that is named, or to the best one."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rescheduler import config
from rescheduler.cli import given_names, records
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import (
    Namespace,
    Timeout,
)
from rescheduler.cli.output import say_line, tell
from rescheduler.cli.progress import Progress
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import KubeApi

EXAMPLES: Final = """Examples:
  # To the node that suits it best, and wait until it serves there
  rescheduler migrate web-7d4b9c6f5d-x2x9z -n shop

  # To this node, and do not wait
  rescheduler migrate shop/web-7d4b9c6f5d-x2x9z --to worker-4 --no-wait"""

_FAILED, _INTERRUPTED = 1, 130
_LOOK_AGAIN_SECONDS: Final = 0.5


class CannotMigrate(ReschedulerError):
    """The message says why, and what to do instead."""


def migrate(
    pod: Annotated[str, typer.Argument(metavar="POD", help="NAME, or NAMESPACE/NAME.")],
    *,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NODE", help="Default: the best one for it.")
    ] = None,
    namespace: Namespace = "",
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for its end, and tell of it.")
    ] = True,
    timeout: Timeout = "0",
    reach: Reach,
) -> None:
    """Ask for one pod to be moved: a PodMigration, which whoever leads carries out.

    What planning refuses is refused here, with every reason, before anything is
    asked for. Without --to it is the node with the most room of those that take it.

    Exit status: 0 when it has moved (with --no-wait: when it was asked for), 1 when
    it cannot, did not, or not before --timeout; 2 for wrong usage; 130 when
    interrupted. Out of time or interrupted, it goes on: delete the PodMigration to
    take it back.
    """
    seconds = time_limit("--timeout", timeout)
    given_names.insist_on_pod(pod, namespace)
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    configuration, connect = reach.cluster()
    kubeconfig = configuration.client_connection.kubeconfig
    if "/" in pod and namespace and not pod.startswith(f"{namespace}/"):
        raise typer.BadParameter(f"{pod} names another namespace than -n {namespace}")
    if to == "":
        # As a script has it whose variable is not set: it means one node, and not any.
        raise typer.BadParameter("--to names no node; leave it out for the best one")
    if to is not None:
        given_names.insist_on_node("--to", to)
    where = namespace or kube.namespace_of(kubeconfig, reach.context)
    asking = ask(
        configuration,
        connect,
        SystemClock(),
        pod,
        namespace=where,
        to=to or "",
        wait=wait,
        seconds=seconds,
    )
    raise typer.Exit(asyncio.run(asking))


async def ask(  # noqa: PLR0913 - the flags of a command
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    pod: str,
    *,
    namespace: str,
    to: str = "",
    wait: bool = True,
    seconds: float | None = None,
) -> int:
    """The exit status. Raises CannotMigrate."""
    from rescheduler.controller import one_move
    from rescheduler.model import podmigration

    full_name = pod if "/" in pod else f"{namespace}/{pod}"
    async with connect() as kube:
        known = await records.read(kube, full_name.split("/", 1)[0])
        asked = one_move.Asked(full_name=full_name, target=to, known=known)
        try:
            with Progress(["planning"]):
                record = await one_move.ask(kube, clock, configuration, asked, waits=wait)
        except one_move.Refused as problem:
            raise CannotMigrate(str(problem)) from None
        metadata = record["metadata"]
        source, target = podmigration.source_of(record), podmigration.target_of(record)
        name = f"podmigration.rescheduler.io/{metadata['name']}"
        say_line(f"{name} created: {full_name} {source} -> {target}")
        tell(await one_move.who_carries_it_out(kube, configuration))
        if not wait:
            return 0
        try:
            async with asyncio.timeout(seconds):
                return await _wait(kube, clock, record)
        except (asyncio.CancelledError, TimeoutError) as problem:
            left = f"kubectl -n {metadata['namespace']} delete pmig {metadata['name']}"
            is_late = isinstance(problem, TimeoutError)
            words = "error: not done in time" if is_late else "interrupted"
            tell([f"{words}; it goes on. To take it back: {left}"])
            return _FAILED if is_late else _INTERRUPTED


async def _wait(kube: "KubeApi", clock: Clock, record: dict[str, Any]) -> int:
    from rescheduler.model import podmigration

    pod = podmigration.pod_name(record)
    with Progress([f"moving {pod}"]) as bar:
        found = await _over(kube, clock, record, bar.say)
    if found is None:
        tell(["error: its PodMigration was deleted: it is taken back"])
        return _FAILED
    done = f"{podmigration.reason_of(found)}: {podmigration.message_of(found)}"
    if podmigration.has_failed(found):
        tell([f"error: pod/{pod} not moved: {done}"])
        return _FAILED
    say_line(f"pod/{pod} moved: {done}")
    return 0


async def _over(
    kube: "KubeApi", clock: Clock, record: dict[str, Any], say: Callable[[str], None]
) -> dict[str, Any] | None:
    """The record when it has ended; None: it was deleted. Says every step on the way."""
    from rescheduler.kube import errors
    from rescheduler.model import podmigration
    from rescheduler.wire import POD_MIGRATIONS

    metadata, said = record["metadata"], ""
    while True:
        try:
            found = await kube.get(POD_MIGRATIONS, metadata["namespace"], metadata["name"])
        except errors.NotFound:
            return None
        if podmigration.is_over(found):
            return found
        step = podmigration.step_name(found)
        words = f"{step}: {podmigration.message_of(found)}".rstrip(": ")
        if words and words != said:
            said = words
            say(words)
        await clock.sleep(_LOOK_AGAIN_SECONDS)
