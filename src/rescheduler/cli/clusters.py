"""The cluster that a command is about: from files, or a live one, which is only looked at."""

import asyncio
from typing import TYPE_CHECKING

from rescheduler import logs
from rescheduler.config import UsageSettings

if TYPE_CHECKING:
    from rescheduler.observe.files import Loaded


def load(
    files: list[str] | None,
    kubeconfig: str,
    context: str | None,
    usage: UsageSettings | None = None,
) -> "Loaded":
    """Raises ReschedulerError."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler.observe.files import load

    # What is logged on the way is told at the end, in one place.
    logs.set_up(quiet=True)
    return load(*files) if files else asyncio.run(_take(kubeconfig, context, usage))


async def _take(kubeconfig: str, context: str | None, usage: UsageSettings | None) -> "Loaded":
    from rescheduler import kube
    from rescheduler.clock import SystemClock
    from rescheduler.observe.files import take

    async with kube.connect(kubeconfig, context) as api:
        return await take(api, SystemClock(), usage)
