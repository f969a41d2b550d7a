"""The dashboard of a controller, asked over real sockets: whatever time its cluster runs on."""

import asyncio
import http.client
import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from rescheduler.embedded.virtual_time import VirtualTimeLoop
from testbed.scenarios import Scene

T = TypeVar("T")

_LOOK_SECONDS = 0.01
PREFIX = "/api/v1alpha1"
ACTS = {"X-Rescheduler-Request": "1", "Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Page:
    """What a browser would ask for."""

    world: Scene
    port: int
    token: str = ""

    def settings(self, **more: object) -> dict[str, object]:
        return {"dashboard": {"enabled": True, "port": self.port, **more}}

    async def ask(self, *path: str, query: str = "", method: str = "GET") -> Answer:
        address = "/".join([PREFIX, *(quote(each, safe="") for each in path)])
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if method == "POST":
            headers |= ACTS
        address += f"?{query}" if query else ""
        return await beside(lambda: _ask(self.port, method, address, headers))

    async def get(self, *path: str, query: str = "") -> Any:  # noqa: ANN401
        answer = await self.ask(*path, query=query)
        assert answer.status == 200, answer.body
        return answer.json

    async def shows(
        self, what: str, condition: Callable[[Any], bool], *path: str, query: str = ""
    ) -> Any:  # noqa: ANN401
        """As soon as what is answered there is so."""
        found: list[Any] = []

        async def is_so() -> bool:
            try:
                answer = await self.ask(*path, query=query)
            except OSError:
                return False  # nobody listens yet
            if answer.status != 200:
                return False
            found[:] = [answer.json]
            return condition(answer.json)

        try:
            await self.world.wait(what, is_so)
        except AssertionError as problem:
            problem.add_note(f"{'/'.join(path)} answers {found}")
            raise
        return found[0]


def _ask(port: int, method: str, address: str, headers: dict[str, str]) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        body = b"{}" if method == "POST" else None
        connection.request(method, address, body=body, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read().decode())
    finally:
        connection.close()


async def beside(work: Callable[[], T]) -> T:
    """In a thread, while this loop goes on: the cluster may be on it. On virtual time a thread of
    the loop's own would be waited for at once, and a pause would let hours pass.
    """
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(work)
        is_virtual = isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
        while not done.done():  # noqa: ASYNC110 - a thread sets no event of ours
            await asyncio.sleep(0 if is_virtual else _LOOK_SECONDS)
        return done.result()
