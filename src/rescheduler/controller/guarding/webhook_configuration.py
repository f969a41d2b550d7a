"""The one ValidatingWebhookConfiguration: it tells the API server where we are, and whom to trust.

The manifests bring it. What they cannot know is written into it by every replica, and again when
somebody applies them anew; to no other webhook have we any rights.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import Configuration, Guard
from rescheduler.config.guard import WEBHOOK
from rescheduler.controller.leader_session import Connect
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.wire import VALIDATING_WEBHOOKS

_LOOK_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 5.0
_BROUGHT_BY: Final = "manifests/components/guard"


class WebhookConfiguration:
    def __init__(self, clock: Clock, settings: Guard) -> None:
        self._clock = clock
        self._settings = settings
        self._bundle = b""
        self._news = asyncio.Event()
        self._told = ""
        self._log = structlog.get_logger().bind(webhook_configuration=WEBHOOK)

    def trust(self, bundle: bytes) -> None:
        """From now on our certificates are signed by these, in PEM."""
        self._bundle = bundle
        self._news.set()

    @asynccontextmanager
    async def kept_up(self, connect: Connect) -> AsyncIterator[None]:
        """As long as the block lasts, by a connection of its own."""
        task = asyncio.create_task(self._keep_up(connect), name=f"keep {WEBHOOK}")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _keep_up(self, connect: Connect) -> None:
        while True:
            try:
                async with connect() as kube:
                    while True:
                        self._news.clear()
                        await self.look(kube)
                        await self._until_the_next()
            except ReschedulerError as problem:
                self._tell(_in_words(problem))
            except Exception:  # noqa: BLE001 - the next look follows
                self._log.exception("webhook not kept up: internal error, please report")
            await self._clock.sleep(_AGAIN_SECONDS)

    async def _until_the_next(self) -> None:
        waiting = asyncio.ensure_future(self._news.wait())
        sleeping = asyncio.ensure_future(self._clock.sleep(_LOOK_SECONDS))
        try:
            await asyncio.wait([waiting, sleeping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (waiting, sleeping):
                each.cancel()
            await asyncio.gather(waiting, sleeping, return_exceptions=True)

    async def look(self, kube: KubeApi) -> None:
        """Raises KubeError."""
        if self._settings.secret and not self._bundle:
            return  # we have no certificate yet, and are told when we do
        found = await kube.get(VALIDATING_WEBHOOKS, None, WEBHOOK)
        wanted = self._wanted(found)
        if wanted == found.get("webhooks"):
            self._told = ""
            return
        metadata = found["metadata"]
        try:
            await kube.patch(
                VALIDATING_WEBHOOKS,
                None,
                WEBHOOK,
                uid=metadata["uid"],
                change={
                    "metadata": {"resourceVersion": metadata["resourceVersion"]},
                    "webhooks": wanted,
                },
            )
        except errors.Conflict:
            return  # by another replica, most likely: the next look shows it
        self._log.info("the API server asks us about evictions from now on")

    def _wanted(self, found: Object) -> list[dict[str, Any]]:
        return [
            {**each, "clientConfig": self._client_config(each.get("clientConfig") or {})}
            for each in found.get("webhooks") or ()
        ]

    def _client_config(self, given: dict[str, Any]) -> dict[str, Any]:
        where = {key: value for key, value in given.items() if key != "caBundle"}
        if self._settings.url:
            where = {"url": self._settings.url}
        # Of a certificate in files others know who signed it: cert-manager writes that itself.
        trusted = given.get("caBundle")
        if self._settings.secret:
            trusted = base64.b64encode(self._bundle).decode()
        return where | ({"caBundle": trusted} if trusted else {})

    def _tell(self, problem: str) -> None:
        """Once, as long as it is the same."""
        if problem != self._told:
            self._told = problem
            self._log.warning("evictions are not asked about: webhook not kept up", problem=problem)


async def find_webhook(kube: KubeApi, configuration: Configuration) -> Object | None:
    """The one by which the API server asks us, and no other installation. Raises KubeError."""
    try:
        found = await kube.get(VALIDATING_WEBHOOKS, None, WEBHOOK)
    except errors.NotFound:
        return None
    here = configuration.leader_election.resource_namespace
    clients = [each.get("clientConfig") or {} for each in found.get("webhooks") or ()]
    is_ours = any(
        (each.get("service") or {}).get("namespace") == here
        or (each.get("url") and each["url"] == configuration.guard.url)
        for each in clients
    )
    return found if is_ours else None


def _in_words(problem: ReschedulerError) -> str:
    if isinstance(problem, errors.NotFound):
        return f"it is not there: apply {_BROUGHT_BY}, which brings it"
    if isinstance(problem, errors.Forbidden):
        return f"{problem}: apply {_BROUGHT_BY}, which brings the right to it"
    return str(problem)
