"""A real server on a free port, and clients that behave, or do not."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rescheduler.model.published import LastPass, Now, Role, WatchState
from rescheduler.serve.answering import endpoints
from rescheduler.serve.board import Board
from rescheduler.serve.listening import Door, listening

LEADING = Now(role=Role.LEADING, is_synced=True, interval_seconds=30.0)
SEEN = WatchState(is_needed=True, is_blind=False, lag_seconds=2.0)
UNSEEN = WatchState(is_needed=True, is_blind=True, lag_seconds=9.0)
PASS = LastPass(
    ended_at=1000.0,
    nodes=3,
    pods=20,
    classes=4,
    unreadable=0,
    planned=2,
    imbalance={("cpu", "now"): 0.5, ("cpu", "planned"): 0.1},
    overloaded={"now": 2, "planned": 0},
    refused={"Budget": 3},
)


class HandClock:
    """Real by nature, turned by hand."""

    is_virtual = False

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> None:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    board: Board
    port: int

    def get(self, path: str, *, method: str = "GET", within: float = 10.0) -> Answer:
        return get(self.port, path, method=method, within=within)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


def get(port: int, path: str, *, method: str = "GET", within: float = 10.0) -> Answer:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=within) as answer:  # noqa: S310 - http, above
            return Answer(answer.status, answer.read().decode())
    except urllib.error.HTTPError as problem:
        with problem:
            return Answer(problem.code, problem.read().decode())


@contextmanager
def site(board: Board | None = None, *, seconds: float = 10.0) -> Iterator[Site]:
    board = board or Board(["pods", "leases"])
    door = Door(
        setting="serving.port",
        address="127.0.0.1",
        port=0,
        answers=endpoints(board),
        seconds=seconds,
    )
    with listening([door]) as [(_, port)]:
        yield Site(board, port)
