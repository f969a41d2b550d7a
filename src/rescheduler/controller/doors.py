"""The ports at which others in the cluster ask, with what they need: certificates, connections."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rescheduler.clock import Clock
from rescheduler.config import Configuration, Tls, dashboard, guard, scheduling
from rescheduler.controller.binding import Binder
from rescheduler.controller.dashboard.asking import questions
from rescheduler.controller.guarding import Guarding, WebhookConfiguration
from rescheduler.controller.leader_session import Connect
from rescheduler.serve import DashboardDoor, GuardDoor, SchedulerDoor, Shown
from rescheduler.serve.dashboard.access import Gate
from rescheduler.serve.dashboard.view import Views

if TYPE_CHECKING:
    from rescheduler.certificates import Names

Doors = tuple[SchedulerDoor | None, GuardDoor | None, DashboardDoor | None]


def _nobody(_: bytes) -> None:
    """Who could be told whom to trust."""


@dataclass(frozen=True, slots=True)
class _Ports:
    configuration: Configuration
    clock: Clock
    connect: Connect | None
    writes: bool

    @property
    def namespace(self) -> str:
        return self.configuration.leader_election.resource_namespace

    # ------------------------------------------------------------------ a scheduler

    async def for_a_scheduler(self, stack: AsyncExitStack) -> SchedulerDoor | None:
        configuration = self.configuration
        settings, verbs = configuration.extender, configuration.answered
        if not verbs:
            return None
        shown = await self._own_certificate(
            stack,
            settings.tls,
            settings.tls.secret,
            _OwnPort("extender", scheduling.SERVICE),
        )
        door = SchedulerDoor(settings=settings, verbs=verbs, shown=shown)
        if self.connect is None or scheduling.PRE_BIND not in verbs:
            return door
        binder = Binder(self.connect)
        return replace(door, bind=binder.bind, beside=binder.connected)

    # ------------------------------------------------------------------ an API server

    async def for_an_api_server(
        self, stack: AsyncExitStack, guarding: Guarding
    ) -> GuardDoor | None:
        settings = self.configuration.guard
        if not settings.enabled:
            return None
        webhook = WebhookConfiguration(self.clock, settings)
        port = _OwnPort("guard", guard.SERVICE, settings.host, webhook.trust)
        shown = await self._own_certificate(stack, settings.tls, settings.secret, port)
        has_to_be_told = bool(settings.secret or settings.url)
        if self.connect is not None and self.writes and has_to_be_told:
            await stack.enter_async_context(webhook.kept_up(self.connect))
        return GuardDoor(settings=settings, hears=guarding.hears, shown=shown)

    # ------------------------------------------------------------------ people

    async def for_people(
        self, stack: AsyncExitStack, views: Views, gate: Gate | None
    ) -> DashboardDoor | None:
        settings = self.configuration.dashboard
        if not settings.enabled:
            return None
        port = _OwnPort("dashboard", dashboard.SERVICE)
        shown = await self._own_certificate(stack, settings.tls, settings.tls.secret, port)
        return DashboardDoor(
            settings=settings, views=views, questions=questions(), gate=gate, shown=shown
        )

    # ------------------------------------------------------------------ certificates

    async def _own_certificate(
        self, stack: AsyncExitStack, tls: Tls, secret: str, port: "_OwnPort"
    ) -> Shown | None:
        """If it is one that we make."""
        if self.connect is None or not secret:
            return None
        # Slow to import, and few need it.
        from rescheduler.controller.certificates import Kept, keeping

        shown = Shown(tls, f"{port.section}.tls")
        kept = Kept(
            namespace=self.namespace,
            secret=secret,
            brought_by=f"manifests/components/{port.section}",
            names=port.names(self.namespace),
            show=shown.show,
            trusted=port.trusted,
        )
        await stack.enter_async_context(keeping(self.connect, self.clock, kept, writes=self.writes))
        return shown


@dataclass(frozen=True, slots=True)
class _OwnPort:
    section: str
    """Of the configuration."""
    service: str
    host: str = ""
    """By which it is asked besides; empty: by none."""
    trusted: Callable[[bytes], None] = _nobody

    def names(self, namespace: str) -> "Names":
        from rescheduler.certificates import Names

        return Names.of_service(self.service, namespace).with_host(self.host)


@asynccontextmanager
async def opened(  # noqa: PLR0913 - the last two are for people
    configuration: Configuration,
    guarding: Guarding,
    clock: Clock,
    connect: Connect | None,
    *,
    writes: bool,
    views: Views,
    gate: Gate | None = None,
) -> AsyncIterator[Doors]:
    """What they need is kept up as long as the block lasts. Without `writes` it is only read."""
    ports = _Ports(configuration, clock, connect, writes)
    async with AsyncExitStack() as stack:
        scheduler = await ports.for_a_scheduler(stack)
        evictions = await ports.for_an_api_server(stack, guarding)
        yield scheduler, evictions, await ports.for_people(stack, views, gate)
