"""A dashboard on a real port, of a small cluster that a test changes as it likes."""

import asyncio
import http.client
import json
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bench.big_state import BigState
from rescheduler.config import Configuration, Dashboard
from rescheduler.controller.dashboard import questions
from rescheduler.model.moves import Move, Plan, Refusal
from rescheduler.model.published import Now, Role
from rescheduler.serve.dashboard.access import Act, Gate, Namespaces, Permission, Person
from rescheduler.serve.dashboard.documents.plans import Acted
from rescheduler.serve.dashboard.door import DashboardDoor
from rescheduler.serve.dashboard.refusing import NO_TOKEN, Refused
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights
from rescheduler.serve.dashboard.view import Decided, Loads, View, Views
from rescheduler.serve.serving import showing_people

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
NODES, PODS = 12, 120
OURS = {"X-Rescheduler-Request": "1", "Content-Type": "application/json"}


def view_of(big: BigState, serial: int = 1, **more: Any) -> View:  # noqa: ANN401
    return View(
        serial=serial,
        at=AT,
        snapshot=big.state.snapshot((), taken_at=0.0, heard_at={}),
        now=Now(role=Role.LEADING, is_synced=True),
        configuration=Configuration(),
        **more,
    )


def decided(view: View) -> Decided:
    """Two moves, of two namespaces, and a pod that stays."""
    snapshot = view.snapshot
    rows = snapshot.rows.tolist()
    first = snapshot.pod(rows[0])
    other = next(
        snapshot.pod(row) for row in rows if snapshot.pod(row).namespace != first.namespace
    )
    third = snapshot.pod(rows[-1])
    moves = tuple(
        Move(
            namespace=each.namespace,
            pod=each.name,
            uid=each.uid,
            source=each.node,
            target=next(node.name for node in snapshot.nodes if node.name != each.node),
            strategy="LoadBalancing",
            reason=f"makes room for {third.full_name}",
        )
        for each in (first, other)
    )
    stays = Refusal.of(third.full_name, [f"PodDisruptionBudget {third.namespace}/web allows none"])
    return Decided(plan=Plan(moves=moves, refusals=(stays,)), at=AT, seconds=0.5)


class Users:
    """In place of an API server: who has which token, and what they see."""

    def __init__(self, why_not: str = "", /, **seen: Iterable[str] | None) -> None:
        self._seen = seen
        self._why_not = why_not
        self.asked: list[str] = []
        self.acted: list[tuple[str, Act]] = []

    async def who(self, token: str, namespaces: Namespaces) -> Person:
        self.asked.append(token)
        if token not in self._seen:
            raise Refused(NO_TOKEN, "nobody knows this token")
        seen = self._seen[token]
        rights = (
            EVERYTHING if seen is None else Rights(frozenset(seen) & frozenset(await namespaces()))
        )
        may_act = Permission(allowed=seen is None, why_not=self._why_not)
        return Person(name=token, rights=rights, may_act=may_act)

    async def act(self, token: str, person: Person, act: Act, view: View) -> Acted:
        del person, view
        self.acted.append((token, act))
        return Acted(plan=act.name, message="done", changed=True)


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


@dataclass
class Shown:
    port: int
    views: list[View]
    counted: list[int] = field(default_factory=list)
    """A number for each time that loads were worked out."""
    made: Views = field(default_factory=Views)

    def change(self, view: View) -> None:
        """What is published from now on."""
        now = self.views[0]
        self.views[:] = [replace(view, serial=now.serial + 1, configuration=now.configuration)]

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        token: str = "",
        body: bytes | None = None,
        **headers: str,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {name.replace("_", "-"): each for name, each in headers.items()}
            if token:
                sent["Authorization"] = f"Bearer {token}"
            address = path if path.startswith("/") else f"/api/v1alpha1/{path}"
            connection.request(method, address, body=body, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    @contextmanager
    def stream(self, *, token: str = "", packed: bool = False) -> Iterator["Events"]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"Accept-Encoding": "gzip"} if packed else {}
            if token:
                headers["Authorization"] = f"Bearer {token}"
            connection.request("GET", "/api/v1alpha1/events", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield Events(answer)
        finally:
            connection.close()


class Events:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        is_packed = answer.getheader("Content-Encoding") == "gzip"
        self._unpacking = zlib.decompressobj(31) if is_packed else None
        self._text = b""

    def next(self, name: str = "") -> tuple[str, Any]:
        """The next one, of that name if any."""
        while True:
            while b"\n\n" not in self._text:
                data = self._answer.read1()
                if not data:
                    raise EOFError("the stream has ended")
                self._text += self._unpacking.decompress(data) if self._unpacking else data
            frame, self._text = self._text.split(b"\n\n", 1)
            lines = [line.partition(b": ") for line in frame.split(b"\n")]
            said = {key.decode(): each for key, _, each in lines}
            if "event" in said and name in ("", said["event"].decode()):
                return said["event"].decode(), json.loads(said["data"])


@contextmanager
def shown(
    view: View | None = None,
    gate: Gate | None = None,
    **settings: Any,  # noqa: ANN401
) -> Iterator[Shown]:
    """The views are made in a thread of their own, as by a controller."""
    dashboard = Dashboard(enabled=True, port=0, **settings)
    view = view or view_of(BigState(NODES, PODS))
    view = replace(view, configuration=replace(view.configuration, dashboard=dashboard))
    views, current, counted = Views(), [view], []
    asked = questions()

    def loads(snapshot: Any) -> Loads:  # noqa: ANN401
        counted.append(1)
        return asked.loads(snapshot)

    door = DashboardDoor(
        settings=dashboard, views=views, questions=replace(asked, loads=loads), gate=gate
    )
    with _published(views, current), showing_people(door) as port:
        yield Shown(port, current, counted, views)


@contextmanager
def _published(views: Views, current: list[View]) -> Iterator[None]:
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def publish() -> None:
        with views.made_by(lambda: current[0]):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(publish(),))
    thread.start()
    started.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
