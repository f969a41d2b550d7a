"""Requests to pods on real nodes, without a pause, and what became of each.

Clients on every node ask a Service by its ClusterIP, through that node's kube-proxy, with a new
connection each time and with one that is kept; and one more asks the ready endpoints in turn, as
proxies and meshes do that watch EndpointSlices. Long requests and downloads, if they are wanted,
are under way several at a time, so that some are whenever a pod ends. What a client would notice is
a failure: no connection, no answer, another one than 200, or half of one. (A request on a kept
connection that the server had closed is sent again once, on a new one, as every HTTP client does.)
"""

import asyncio
import errno
import itertools
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import aiohttp

from testbed.api import Api, Object
from testbed.instance import Instance
from testbed.realnodes.nodes import MakeSocket, RealNodes

PAUSE_SECONDS = 0.03
"""Between two requests of one client."""
ANSWER_SECONDS = 30.0
_FIRST_ANSWER_SECONDS = 60.0
_LONG_AT_A_TIME = 4
"""Of each kind of long requests, to each Service."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of requests."""

    name: str
    path: str = "/"
    takes: float = 0.0
    """Seconds until a whole answer is there."""


NEW = Kind("new connections")
KEPT = Kind("kept connections")
BY_ENDPOINTS = Kind("by endpoints")
SLOW = Kind("requests of 5 s", "/slow?seconds=5", takes=5.0)
DOWNLOADS = Kind("downloads of 10 s", "/download?seconds=10", takes=10.0)

SHORT = (NEW, KEPT, BY_ENDPOINTS)
LONG = (SLOW, DOWNLOADS)


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
    tallies: dict[tuple[str, Kind], Tally] = field(default_factory=dict)
    """By Service and kind."""

    def of(self, kinds: Collection[Kind], service: str = "") -> Tally:
        """Of these kinds together; to one Service, or to all."""
        chosen = [
            tally
            for (to, kind), tally in self.tallies.items()
            if kind in kinds and service in ("", to)
        ]
        return Tally(
            [each for tally in chosen for each in tally.latencies],
            [each for tally in chosen for each in tally.failures],
        )

    @property
    def kinds(self) -> list[Kind]:
        return list(dict.fromkeys(kind for _, kind in self.tallies))

    @property
    def failures(self) -> list[str]:
        return self.of(self.kinds).failures

    def __str__(self) -> str:
        """The times are those of short requests: of long ones they would say nothing."""
        whole, short = self.of(self.kinds), self.of(SHORT)
        figures = ", ".join(
            f"{name} {short.percentile(share):.0f} ms"
            for name, share in (("p50", 0.5), ("p99", 0.99), ("worst", 1.0))
        )
        tallies = {kind.name: self.of([kind]) for kind in self.kinds}
        kinds = ", ".join(
            f"{len(tally.failures)} of {tally.sent} {name}" for name, tally in tallies.items()
        )
        return f"{whole.sent} requests, {len(whole.failures)} failed ({kinds}; {figures})"


@asynccontextmanager
async def traffic(
    instance: Instance,
    nodes: RealNodes,
    namespace: str,
    *services: str,
    kinds: Sequence[Kind] = SHORT,
    pause: float = PAUSE_SECONDS,
) -> AsyncIterator[Traffic]:
    """To all of these Services. It begins when every client has had its first answer, and ends
    when each has had its last: what is under way in the end counts.
    """
    seen = Traffic({(service, kind): Tally() for service in services for kind in kinds})
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
            await asyncio.gather(*(client.until_served() for client in clients))
            async with asyncio.TaskGroup() as asking:
                for number, client in enumerate(clients):
                    late = pause * number / len(clients)  # not all in the same moment
                    asking.create_task(client.ask(late, pause, enough))
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

    made = []
    for (to, kind), tally in seen.tallies.items():
        if to != service:
            continue
        target = endpoints.next if kind is BY_ENDPOINTS else cluster_ip
        count = 1 if kind is BY_ENDPOINTS else _LONG_AT_A_TIME if kind.takes else len(nodes.names)
        for number, node in zip(range(count), itertools.cycle(nodes.names), strict=False):
            who, sockets = f"{service} from {node}", nodes.sockets(node)
            begins = number * kind.takes / count
            made.append(_Client(sockets, who, kind, tally, target, begins))
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
        kind: Kind,
        tally: Tally,
        target: Callable[[], str],
        begins: float,
    ) -> None:
        self._sockets, self._who, self._kind = sockets, who, kind
        self._tally, self._target, self._begins = tally, target, begins

    def _session(self) -> aiohttp.ClientSession:
        closes = self._kind is not KEPT
        connector = aiohttp.TCPConnector(socket_factory=self._sockets, force_close=closes)
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        return aiohttp.ClientSession(connector=connector, timeout=timeout)

    async def until_served(self) -> None:
        """Its proxy may not have heard of the Service yet."""
        async with asyncio.timeout(_FIRST_ANSWER_SECONDS), self._session() as session:
            while await self._problem(session, "/"):  # noqa: ASYNC110 - an answer of others
                await asyncio.sleep(PAUSE_SECONDS)

    async def ask(self, late: float, pause: float, enough: asyncio.Event) -> None:
        await asyncio.sleep(self._begins + late)
        async with self._session() as session:
            while not enough.is_set():
                began = time.monotonic()
                if problem := await self._problem(session, self._kind.path):
                    self._tally.failures.append(f"{_now()}: {self._who}: {problem}")
                else:
                    self._tally.latencies.append(time.monotonic() - began)
                # Also a long one that was refused at once is one failure, and not one after the
                # other for as long as it would have taken.
                await asyncio.sleep(max(pause, began + self._kind.takes - time.monotonic()))

    async def _problem(self, session: aiohttp.ClientSession, path: str) -> str:
        target = ""
        try:
            target = self._target()
            async with session.get(target + path) as answer:
                body = await answer.read()
                if answer.status != HTTPStatus.OK:
                    return f"status {answer.status}"
                # The server ends every answer with the name of its pod, and a line break.
                return "" if body.endswith(b"\n") else f"cut short after {len(body)} bytes"
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            return f"{target}: {_reason(problem)}: {problem}"


def _reason(problem: Exception) -> str:
    """With what the kernel said, which aiohttp leaves out: nobody there, or no way there?"""
    number = problem.errno if isinstance(problem, OSError) else None
    words = [type(problem).__name__, errno.errorcode.get(number or 0, "")]
    return " ".join(filter(None, words))


def _now() -> str:
    """As Kubernetes writes times, to be held against its objects and logs."""
    return time.strftime("%H:%M:%S", time.gmtime())
