"""`rescheduler pause` and `rescheduler resume`: a switch that works whoever leads, or nobody."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli import records
from rescheduler.cli.clusters import Reach
from rescheduler.cli.options import Timeout
from rescheduler.cli.ourselves import ourselves
from rescheduler.cli.output import say_line, tell
from rescheduler.cli.render.layout import counted
from rescheduler.cli.wrong_flags import time_limit
from rescheduler.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import KubeApi

EXAMPLES: Final = """Examples:
  # Nothing new begins, from now on, also after restarts
  rescheduler pause --reason "storage is being upgraded"

  # The same, and return when nothing is under way any more
  rescheduler pause --wait --timeout 10m

  # By hand, without this program
  kubectl -n kube-system annotate lease rescheduler rescheduler.io/paused="storage upgrade\""""
EXAMPLES_OF_RESUME: Final = """Examples:
  # Go on
  rescheduler resume

  # By hand, without this program
  kubectl -n kube-system annotate lease rescheduler rescheduler.io/paused-"""

_FAILED: Final = 1
_LOOK_AGAIN_SECONDS: Final = 0.5


def pause(
    *,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why, for whoever looks at status and log.")
    ] = "",
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Who pauses. Default: your user name and machine.")
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when what has begun has come to its end.")
    ] = False,
    timeout: Timeout = "0",
    reach: Reach,
) -> None:
    """Let nothing new begin, until `rescheduler resume`.

    The pause is a note on the Lease (rescheduler.io/paused): it holds with the
    controller down, too, and survives restarts and other leaders. What has begun
    is brought to its end, completed or taken back; to have one taken back at once,
    delete its PodMigration. What waits keeps waiting. `drain` and `migrate` refuse
    while it is paused, `run --once` begins nothing, `plan` works as always.

    Exit status: 0 when it is paused, also if it was before; 1 when it could not be,
    or with --wait when something is still under way at --timeout; 2 for wrong usage.
    """
    seconds = time_limit("--timeout", timeout)
    configuration, connect = reach.cluster()
    pausing = begin(
        configuration,
        connect,
        SystemClock(),
        reason=reason,
        by=by or ourselves(),
        wait=wait,
        seconds=seconds,
    )
    raise typer.Exit(asyncio.run(pausing))


def resume(*, reach: Reach) -> None:
    """End a pause: what waits gets its turn, and the next pass comes at once.

    Exit status: 0 when it is not paused, also if it was not before; 1 when that
    could not be brought about; 2 for wrong usage.
    """
    configuration, connect = reach.cluster()
    raise typer.Exit(asyncio.run(end(configuration, connect, SystemClock())))


async def begin(  # noqa: PLR0913 - the flags of a command
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    *,
    reason: str,
    by: str,
    wait: bool = False,
    seconds: float | None = None,
) -> int:
    """The exit status."""
    from rescheduler.controller import pausing_by_hand
    from rescheduler.model.pausing import Pause

    election = configuration.leader_election
    wanted = Pause(since=clock.now().replace(microsecond=0), by=by, reason=reason)
    async with connect() as kube:
        before = await pausing_by_hand.pause(kube, clock, election, wanted)
        if before is None:
            say_line(f"{_lease(election)} paused: nothing new begins until `rescheduler resume`")
        else:
            say_line(f"{_lease(election)} unchanged: already {before}")
        if not wait:
            return 0
        return await _wait(kube, clock, configuration, seconds)


async def _wait(
    kube: "KubeApi", clock: Clock, configuration: config.Configuration, seconds: float | None
) -> int:
    try:
        async with asyncio.timeout(seconds):
            # A leader has heard of it by then.
            await clock.sleep(2 * configuration.leader_election.retry_period_seconds)
            while left := await _under_way(kube, configuration):
                await clock.sleep(_LOOK_AGAIN_SECONDS)
    except TimeoutError:
        left = await _under_way(kube, configuration)
        words = f"error: still under way after {seconds:g} s: {counted(left, 'migration')}"
        tell([f"{words}; see `rescheduler status`. It is paused all the same"])
        return _FAILED
    say_line("nothing is under way")
    return 0


async def _under_way(kube: "KubeApi", configuration: config.Configuration) -> int:
    from rescheduler.model import podmigration

    try:
        known = await records.read(kube, None)
    except records.NotInstalled:
        return 0  # nothing was ever moved here
    return sum(
        podmigration.is_unfinished(each) and podmigration.has_begun(each)
        for each in known
        if configuration.scope.covers(each["metadata"]["namespace"])
    )


async def end(configuration: config.Configuration, connect: "Connect", clock: Clock) -> int:
    """The exit status."""
    from rescheduler.controller import pausing_by_hand

    election = configuration.leader_election
    async with connect() as kube:
        was = await pausing_by_hand.resume(kube, clock, election)
    if was is None:
        say_line(f"{_lease(election)} unchanged: it was not paused")
    else:
        say_line(f"{_lease(election)} resumed: it was {was}")
    return 0


def _lease(election: config.LeaderElection) -> str:
    return f"lease.coordination.k8s.io/{election.resource_name}"
