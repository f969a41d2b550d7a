"""A process that the API server asks about the evictions of one test's namespace."""

import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import trustme
import yaml

from testbed.api import ApiError, Object
from testbed.guarding import until_asked
from testbed.installing import GUARD
from testbed.processes import Running
from testbed.world import World
from tests.cluster.snapshots import Ended, run
from tests.scenarios.judging import assert_nothing_of_ours_is_left
from tests.scenarios.looping import default_controller

HELD = "evictions by others are held from now on"
DRAIN = ("--ignore-daemonsets", "--delete-emptydir-data")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def webhook() -> Object:
    """As the manifests have it."""
    documents = yaml.safe_load_all((GUARD / "webhook.yaml").read_text())
    found: Object = next(
        each for each in documents if each["kind"] == "ValidatingWebhookConfiguration"
    )
    return found


@dataclass
class Guarded:
    """What a test has of the guard. Several processes may be asked, one after the other."""

    world: World
    port: int
    metrics_port: int
    tls: dict[str, str]
    """Files; none: a Secret."""
    authority: bytes
    settings: dict[str, Any] = field(default_factory=dict)
    is_trusted: bool = True
    """Its certificate is good: whoever cannot trust it never asks."""

    @asynccontextmanager
    async def asked(self, **timeouts: Any) -> AsyncIterator[None]:  # noqa: ANN401
        """The API server asks at our port about this namespace, as long as the block lasts."""
        name, found = self.world.name, webhook()
        found["metadata"]["name"] = name
        for each in found["webhooks"]:
            each["clientConfig"] = {
                "url": f"https://127.0.0.1:{self.port}/guard",
                "caBundle": base64.b64encode(self.authority).decode(),
            }
            each["namespaceSelector"]["matchExpressions"].append(
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [name]}
            )
            each.update(timeouts)
        await self.world.api.create(found)
        try:
            yield
        finally:
            await self.world.api.delete("ValidatingWebhookConfiguration", None, name)

    @asynccontextmanager
    async def running(self, **settings: Any) -> AsyncIterator[Running]:  # noqa: ANN401
        """`rescheduler run` with its defaults, from when it holds evictions."""
        guard: Object = {"enabled": True, "bindAddress": "127.0.0.1", "port": self.port}
        if self.tls:
            guard["tls"] = self.tls
        given = {**self.settings, **settings}
        given["guard"] = {**guard, **given.pop("guard", {})}
        given["serving"] = {"port": self.metrics_port, "bindAddress": "127.0.0.1"}
        async with default_controller(self.world, **given) as running:
            await running.says(HELD)
            if self.is_trusted:
                # Else an eviction might pass because the API server has not heard of the webhook.
                await until_asked(self.world, self._is_asked)
            yield running

    async def _is_asked(self) -> bool:
        return await self.counts('guard_evictions_total{reason="gone",verdict="passed"}')

    async def counts(self, series: str) -> bool:
        """Metrics are as they were half a second ago, if somebody asked for them then."""
        return await self.metric(series) > 0

    async def metric(self, series: str) -> float:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            lines = (await answer.text()).splitlines()
        wanted = f"rescheduler_{series} "
        return next((float(line.split()[-1]) for line in lines if line.startswith(wanted)), 0.0)

    async def evict(self, pod: str, **options: Any) -> str:  # noqa: ANN401
        """As somebody else; what the API server says, empty when it is granted."""
        path = f"/api/v1/namespaces/{self.world.name}/pods/{pod}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        if options:
            body["deleteOptions"] = options
        try:
            await self.world.api.request("POST", path, body=body)
        except ApiError as problem:
            return str(problem)
        return ""


@asynccontextmanager
async def guarded(
    world: World,
    *,
    good_until: datetime | None = None,
    **settings: Any,  # noqa: ANN401
) -> AsyncIterator[Guarded]:
    """The API server asks; whoever is to answer is started by the test. `good_until`: how long its
    certificate is.
    """
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", not_after=good_until)
    files = {"certFile": world.folder / "guard.crt", "keyFile": world.folder / "guard.key"}
    certificate.private_key_pem.write_to_path(files["keyFile"])
    for each in certificate.cert_chain_pems:
        each.write_to_path(files["certFile"], append=True)
    made = Guarded(
        world,
        free_port(),
        free_port(),
        {name: str(path) for name, path in files.items()},
        authority.cert_pem.bytes(),
        settings,
        is_trusted=good_until is None,
    )
    with suppress(ApiError):
        await world.api.delete("ValidatingWebhookConfiguration", None, world.name)
    # Longer than by the manifests: what is shown here is not how fast a busy machine answers.
    async with made.asked(timeoutSeconds=10):
        yield made


async def drain(world: World, kubectl: Path, node: str, *flags: str) -> Ended:
    """As somebody who has never heard of us."""
    login = ("--kubeconfig", str(world.admin_kubeconfig()))
    return await run(world, kubectl, "drain", node, *DRAIN, *flags, *login)


async def nothing_is_left(world: World) -> None:
    async def is_nothing_left() -> bool:
        try:
            await assert_nothing_of_ours_is_left(world)
        except (AssertionError, KeyError):  # a record without a status has not been begun
            return False
        return True

    await world.wait("nothing of ours is left", is_nothing_left)
