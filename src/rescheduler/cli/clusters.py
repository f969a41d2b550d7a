"""The cluster that a command is about: from files, or a live one."""

import asyncio
from typing import TYPE_CHECKING, Final

from rescheduler.cli.commanding import set_up_logs
from rescheduler.cli.progress import Progress
from rescheduler.config import UsageSettings

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import Heard
    from rescheduler.model.snapshot import Snapshot
    from rescheduler.observe.files import Loaded

_MOST_TOLD: Final = 10
"""Of objects that cannot be read."""


def connecting(kubeconfig: str, context: str | None, heard: "Heard | None" = None) -> "Connect":
    """`heard` is told of each request."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    told = heard or kube.nobody
    return lambda: kube.connect(kubeconfig, context, heard=told)


def load(
    files: list[str] | None,
    kubeconfig: str,
    context: str | None,
    usage: UsageSettings | None = None,
) -> "Loaded":
    """What there is now; a live one is only looked at. Raises ReschedulerError."""
    from rescheduler.observe.files import load

    # What is logged on the way is told at the end, in one place.
    set_up_logs(quiet=True)
    with Progress(["reading the cluster"]):
        return load(*files) if files else asyncio.run(_take(kubeconfig, context, usage))


async def _take(kubeconfig: str, context: str | None, usage: UsageSettings | None) -> "Loaded":
    from rescheduler.clock import SystemClock
    from rescheduler.observe.files import take

    async with connecting(kubeconfig, context)() as api:
        return await take(api, SystemClock(), usage)


def missing(snapshot: "Snapshot") -> tuple[str, ...]:
    """In the cluster as we see it, beside what a plan says of that itself."""
    unseen = [f"not seen: {gap.source}: {gap.reason}" for gap in snapshot.gaps if not gap.left_out]
    unreadable = [f"cannot be read, and left out: {each}" for each in snapshot.unreadable]
    more = len(unreadable) - _MOST_TOLD
    if more > 0:
        unreadable[_MOST_TOLD:] = [f"{more} more cannot be read"]
    return (*unseen, *unreadable)
