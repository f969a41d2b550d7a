"""Requests to pods on real nodes, without a pause, and what became of each.

Clients on every node ask a Service by its ClusterIP, through that node's kube-proxy, with a new
connection each time and with one that is kept; and one more asks the ready endpoints in turn, as
proxies and meshes do that watch EndpointSlices. What a client would notice is a failure: no
connection, no answer, or another one than 200. (A request on a kept connection that the server had
closed is sent again once, on a new one, as every HTTP client does.)
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import aiohttp

from testbed.api import Api, Object
from testbed.instance import Instance
from testbed.realnodes.nodes import MakeSocket, RealNodes

PAUSE_SECONDS = 0.02
"""Between two requests of one client."""
ANSWER_SECONDS = 30.0
_FIRST_ANSWER_SECONDS = 60.0

NEW = "new connections"
KEPT = "kept connections"
BY_ENDPOINTS = "by endpoints"


@dataclass(slots=True)
class Tally:
    """What one kind of client has seen."""

    latencies: list[float] = field(default_factory=list)
    """Seconds, of the requests that were answered."""
    failures: list[str] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return len(self.latencies) + len(self.failures)

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000 if ordered else 0.0


@dataclass(slots=True)
class Traffic:
    tallies: dict[str, Tally] = field(default_factory=dict)

    @property
    def sent(self) -> int:
        return sum(tally.sent for tally in self.tallies.values())

    @property
    def failures(self) -> list[str]:
        return [failure for tally in self.tallies.values() for failure in tally.failures]

    @property
    def all(self) -> Tally:
        latencies = [each for tally in self.tallies.values() for each in tally.latencies]
        return Tally(latencies, self.failures)

    def __str__(self) -> str:
        whole = self.all
        figures = ", ".join(
            f"{name} {whole.percentile(share):.0f} ms"
            for name, share in (("p50", 0.5), ("p99", 0.99), ("worst", 1.0))
        )
        kinds = ", ".join(
            f"{len(tally.failures)} of {tally.sent} {kind}" for kind, tally in self.tallies.items()
        )
        return f"{whole.sent} requests, {len(whole.failures)} failed ({kinds}; {figures})"


@asynccontextmanager
async def traffic(
    instance: Instance, nodes: RealNodes, namespace: str, *services: str, path: str = "/"
) -> AsyncIterator[Traffic]:
    """To all of these Services. It begins when every client has had its first answer."""
    seen = Traffic({kind: Tally() for kind in (NEW, KEPT, BY_ENDPOINTS)})
    enough = asyncio.Event()
    async with (
        Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api,
        asyncio.TaskGroup() as following,
    ):
        clients: list[_Client] = []
        watching = []
        for service in services:
            endpoints = _Endpoints(api, namespace, service)
            watching.append(following.create_task(endpoints.follow()))
            found = await api.get("Service", namespace, service)
            address = f"http://{found['spec']['clusterIP']}"
            clients += _clients_of(nodes, service, address, endpoints, seen)
        try:
            await asyncio.gather(*(client.until_served(path) for client in clients))
            async with asyncio.TaskGroup() as asking:
                for client in clients:
                    asking.create_task(client.ask(path, enough))
                try:
                    yield seen
                finally:
                    enough.set()
        finally:
            for task in watching:
                task.cancel()


def _clients_of(
    nodes: RealNodes, service: str, address: str, endpoints: "_Endpoints", seen: Traffic
) -> "list[_Client]":
    def cluster_ip() -> str:
        return address

    first = nodes.names[0]
    made = [_Client(nodes.sockets(first), service, seen.tallies[BY_ENDPOINTS], endpoints.next)]
    for node in nodes.names:
        who, sockets = f"{service} from {node}", nodes.sockets(node)
        made.append(_Client(sockets, who, seen.tallies[NEW], cluster_ip))
        made.append(_Client(sockets, who, seen.tallies[KEPT], cluster_ip, keeps=True))
    return made


class _Endpoints:
    """The ready endpoints of a Service, as the API server tells of them."""

    def __init__(self, api: Api, namespace: str, service: str) -> None:
        self._api, self._namespace, self._service = api, namespace, service
        self._slices: dict[str, Object] = {}
        self._turns = itertools.count()

    async def follow(self) -> None:
        while True:
            page = await self._api.list_page("EndpointSlice", self._namespace)
            self._slices = {each["metadata"]["name"]: each for each in page["items"]}
            version = page["metadata"]["resourceVersion"]
            async for kind, found in self._api.watch("EndpointSlice", self._namespace, version):
                if kind == "DELETED":
                    self._slices.pop(found["metadata"]["name"], None)
                elif kind in ("ADDED", "MODIFIED"):
                    self._slices[found["metadata"]["name"]] = found
                elif kind == "ERROR":
                    break

    def next(self) -> str:
        found = sorted(
            f"http://{endpoint['addresses'][0]}:{each['ports'][0]['port']}"
            for each in self._slices.values()
            if each["metadata"]["labels"].get("kubernetes.io/service-name") == self._service
            for endpoint in each.get("endpoints") or ()
            if endpoint["conditions"].get("ready")
        )
        if not found:
            raise aiohttp.ClientConnectionError("the Service has no ready endpoint")
        return found[next(self._turns) % len(found)]


class _Client:
    """Asks on and on, one request after the other."""

    def __init__(
        self,
        sockets: MakeSocket,
        who: str,
        tally: Tally,
        target: Callable[[], str],
        *,
        keeps: bool = False,
    ) -> None:
        self._sockets, self._who = sockets, who
        self._tally, self._target, self._keeps = tally, target, keeps

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(socket_factory=self._sockets, force_close=not self._keeps)
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        return aiohttp.ClientSession(connector=connector, timeout=timeout)

    async def until_served(self, path: str) -> None:
        """Its proxy may not have heard of the Service yet."""
        async with asyncio.timeout(_FIRST_ANSWER_SECONDS), self._session() as session:
            while await self._problem(session, path):  # noqa: ASYNC110 - an answer of others
                await asyncio.sleep(PAUSE_SECONDS)

    async def ask(self, path: str, enough: asyncio.Event) -> None:
        async with self._session() as session:
            while not enough.is_set():
                began = time.monotonic()
                if problem := await self._problem(session, path):
                    self._tally.failures.append(f"{_now()}: {self._who}: {problem}")
                else:
                    self._tally.latencies.append(time.monotonic() - began)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _problem(self, session: aiohttp.ClientSession, path: str) -> str:
        target = ""
        try:
            target = self._target()
            async with session.get(target + path) as answer:
                await answer.read()
                return "" if answer.status == HTTPStatus.OK else f"status {answer.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            return f"{target}: {type(problem).__name__}: {problem}"


def _now() -> str:
    """As Kubernetes writes times, to be held against its objects and logs."""
    return time.strftime("%H:%M:%S", time.gmtime())
