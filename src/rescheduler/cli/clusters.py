"""The cluster that a command is about: from files, or a live one."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from rescheduler.cli import settings
from rescheduler.cli.options import Config, Context, Kubeconfig
from rescheduler.cli.progress import Progress
from rescheduler.config import Configuration

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from rescheduler.controller.dashboard import ConnectAs
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import Heard, KubeApi
    from rescheduler.model.snapshot import Snapshot
    from rescheduler.observe.files import Loaded

_MOST_TOLD: Final = 10
"""Of objects that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The flags by which a command finds its configuration and its cluster."""

    config_file: Config = None
    kubeconfig: Kubeconfig = ""
    context: Context = None

    def configuration(self) -> Configuration:
        """Raises ConfigurationError."""
        flags = settings.kubeconfig_flag(self.kubeconfig)
        return settings.load(self.config_file, flags).configuration

    def cluster(self) -> "tuple[Configuration, Connect]":
        """Raises ConfigurationError."""
        configuration = self.configuration()
        return configuration, connecting(configuration.client_connection.kubeconfig, self.context)


def connecting(kubeconfig: str, context: str | None, heard: "Heard | None" = None) -> "Connect":
    """`heard` is told of each request, instead of the log."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler import kube

    def connect() -> "AbstractAsyncContextManager[KubeApi]":
        structlog.get_logger().info(
            "connecting to the cluster",
            kubeconfig=kubeconfig or "of the environment",
            context=context or "the current one",
        )
        return kube.connect(kubeconfig, context, heard=heard or _log_request)

    return connect


def connecting_as(kubeconfig: str, context: str | None) -> "ConnectAs":
    """The same cluster, as whoever has a token: for the dashboard, whose users act by their own."""
    from rescheduler import kube

    def connect(token: str) -> "AbstractAsyncContextManager[KubeApi]":
        return kube.connect(kubeconfig, context, heard=_log_request, token=token)

    return connect


def _log_request(verb: str, resource: str, code: int, seconds: float) -> None:
    structlog.get_logger().debug(
        "asked the API server",
        verb=verb,
        resource=resource,
        answer=code or "none",
        seconds=round(seconds, 3),
    )


def load(files: list[str] | None, configuration: Configuration, context: str | None) -> "Loaded":
    """What there is now; a live one is only looked at. Raises ReschedulerError."""
    from rescheduler.observe.files import load

    with Progress(["reading the cluster"]):
        loaded = load(*files) if files else asyncio.run(_take(configuration, context))
    log_what_is_seen(loaded.snapshot)
    return loaded


async def _take(configuration: Configuration, context: str | None) -> "Loaded":
    from rescheduler.clock import SystemClock
    from rescheduler.observe.files import take

    async with connecting(configuration.client_connection.kubeconfig, context)() as api:
        return await take(api, SystemClock(), configuration.usage)


def log_what_is_seen(snapshot: "Snapshot") -> None:
    log = structlog.get_logger()
    log.info(
        "cluster read",
        nodes=len(snapshot.nodes),
        pods=len(snapshot.rows),
        not_seen=[gap.source for gap in snapshot.gaps if not gap.left_out],
        unreadable=len(snapshot.unreadable),
    )
    for kind, objects in sorted(snapshot.objects.items()):
        log.debug("objects read", kind=kind, number=len(objects))
    for gap in snapshot.gaps:
        log.debug("kind not seen", kind=gap.source, because=gap.reason)


def missing(snapshot: "Snapshot") -> tuple[str, ...]:
    """In the cluster as we see it, beside what a plan says of that itself."""
    unseen = [f"not seen: {gap.source}: {gap.reason}" for gap in snapshot.gaps if not gap.left_out]
    unreadable = [f"cannot be read, and left out: {each}" for each in snapshot.unreadable]
    more = len(unreadable) - _MOST_TOLD
    if more > 0:
        unreadable[_MOST_TOLD:] = [f"{more} more cannot be read"]
    return (*unseen, *unreadable)
