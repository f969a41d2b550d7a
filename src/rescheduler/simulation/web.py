"""An embedded cluster in a browser: the dashboard, as long as it plays.

Whoever has the token that is printed may approve, reject and undo plans there: the API server of
this cluster knows no users.
"""

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from rescheduler.clock import Clock
from rescheduler.config import Configuration, Dashboard, Source, single_settings
from rescheduler.controller.dashboard import Showing
from rescheduler.controller.dashboard.beside import shown_beside
from rescheduler.controller.dashboard.gate import acted
from rescheduler.controller.settings import Settings
from rescheduler.kube import KubeApi
from rescheduler.model.moves import Plan
from rescheduler.model.published import Now
from rescheduler.model.snapshot import Snapshot
from rescheduler.serve.dashboard.access import Act, Namespaces, Permission, Person
from rescheduler.serve.dashboard.documents.plans import Acted
from rescheduler.serve.dashboard.refusing import NO_TOKEN, Refused
from rescheduler.serve.dashboard.rights import EVERYTHING
from rescheduler.serve.dashboard.view import Told, View
from rescheduler.simulation.configured import on_embedded

_NAME: Final = "simulated cluster"
_FIRST_PORT: Final = 8080
_PORTS: Final = 50
"""That are tried, one after the other, where nobody says which."""


class Cluster(Protocol):
    """As far as it is shown: `EmbeddedCluster` is one."""

    @property
    def clock(self) -> Clock: ...

    def connect(self) -> AbstractAsyncContextManager[KubeApi]: ...


def _nobody(_url: str, _token: str) -> None:
    """Who would open the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Where a page is, and who hears of it."""

    port: int | None = None
    """None: the first that is free from 8080 on."""
    told: Callable[[str, str], None] = _nobody
    """By its address, and by the token with which plans may be changed there."""


class Web:
    """In a browser, from the first moment of a cluster to its last."""

    def __init__(self, cluster: Cluster, configuration: Configuration, look: Look) -> None:
        self.token = secrets.token_urlsafe(18)
        """By which plans may be approved, rejected and undone."""
        self.url = ""
        self._cluster = cluster
        self._told = look.told
        self._tries = 1 if look.port else _PORTS
        shown = Dashboard(
            enabled=True,
            port=look.port or _FIRST_PORT,
            actions=True,
            cluster_name=configuration.dashboard.cluster_name or _NAME,
        )
        played = replace(on_embedded(configuration), dashboard=shown)
        self._settings = Settings(played, sources=_sources(played))
        self._showing = Showing(cluster.clock, self._settings, Now)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """As long as the block lasts. Raises CannotListen."""
        gate = _Gate(self.token, self._cluster)
        async with shown_beside(
            self._cluster.connect,
            self._cluster.clock,
            self._settings,
            self._showing,
            gate,
            tries=self._tries,
        ) as port:
            self.url = f"http://localhost:{port}"
            self._told(self.url, self.token)
            yield

    def showing(self, latest: Callable[[], Now]) -> Showing:
        """For a controller on that cluster, which has something to tell."""
        self._showing.hears_of(latest)
        return self._showing

    async def sees_another(self) -> None:
        """The cluster was changed in no time: loads are those of now, not averages of before."""
        await self._showing.measure_anew()

    def sees_plan(self, snapshot: Snapshot, decided: Plan) -> None:
        """Before any controller is at work."""
        self._showing.passed(snapshot, decided, 0.0)

    def tell(self, chapter: int, sentence: str, ending: str = "") -> None:
        self._showing.told = Told(chapter=chapter, sentence=sentence, ending=ending)


def _sources(configuration: Configuration) -> dict[str, Source]:
    """No file says it: what is not as usual was chosen for what is played."""
    usual = dict(single_settings(Configuration()))
    return {
        path: "default" if value == usual[path] else "simulation"
        for path, value in single_settings(configuration)
    }


class _Gate:
    """In place of an API server that knows users: one token, for everything."""

    def __init__(self, token: str, cluster: Cluster) -> None:
        self._token = token
        self._cluster = cluster
        self._loop = asyncio.get_running_loop()

    async def who(self, token: str, namespaces: Namespaces) -> Person:
        del namespaces
        if not hmac.compare_digest(token, self._token):
            raise Refused(
                NO_TOKEN, "that is not the token", way_out="take the one that was printed"
            )
        return Person(name="you", rights=EVERYTHING, may_act=Permission(allowed=True))

    async def act(self, token: str, person: Person, act: Act, view: View) -> Acted:
        """In the loop of the cluster, on its time."""
        del token
        acting = asyncio.run_coroutine_threadsafe(self._act(person, act, view), self._loop)
        return await asyncio.wrap_future(acting)

    async def _act(self, person: Person, act: Act, view: View) -> Acted:
        async with self._cluster.connect() as kube:
            return await acted(kube, self._cluster.clock, view, act, by=person.name)
