"""How soon an API server is answered about an eviction, beside an echo of the same bodies by the
same server over TLS, too.

The process that answers is one of its own, with the state of a large cluster in memory: idle, and
while its main thread takes up 1,000 pod events a second and a plan is made every second. Who asks
is another one, about 1,000 evictions of as many pods: so many of them at the same time, over
connections that it keeps, as an API server does.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import environ
from pathlib import Path
from typing import Any, Final

import trustme
from rich.console import Console
from rich.table import Table

from bench.big_state import BigState
from bench.extending import Figures, busy, echo, idle
from rescheduler.clock import SystemClock
from rescheduler.config import Configuration, Guard, Tls
from rescheduler.guard import Eviction, GuardTable, Rules, Verdict
from rescheduler.serve import Board, GuardDoor
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import guard_door

EVICTIONS: Final = int(environ.get("BENCH_EVICTIONS", "1000"))
_PODS: Final = 30
"""For each node."""
_IN_FLIGHT: Final = (*(each for each in (1, 10, 100) if each < EVICTIONS), EVICTIONS)
_GOAL_MILLISECONDS: Final = 10.0
_HOST: Final = "127.0.0.1"
_HELD: Final = b'"allowed":false'


def measure(table: Table) -> None:
    table.add_section()
    nodes = int(environ.get("BENCH_NODES", "5000"))
    for manner in ("idle", "busy"):
        with _server(manner, nodes) as server:
            # While it is busy some pods are not Ready for a moment, and nobody misses those.
            for in_flight, theirs, ours in _asked(server, all_held=manner == "idle"):
                share = ours.percentile(99) / theirs.percentile(99)
                table.add_row(
                    f"{EVICTIONS:,} evictions, {in_flight:,} at a time, {manner}",
                    ours.in_words(),
                    f"goal p99 {_GOAL_MILLISECONDS:g} ms; echo {theirs.in_words()}; {share:.1f}x",
                )


@contextmanager
def _server(manner: str, nodes: int) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "bench.guarding", "serve", manner, str(nodes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "")
        finally:
            process.kill()


def _asked(
    server: dict[str, Any], *, all_held: bool = False
) -> Iterator[tuple[int, Figures, Figures]]:
    """So many at a time: of an echo, and of ours."""
    command = [sys.executable, "-m", "bench.guarding", "ask"]
    told = json.dumps(server).encode()
    asked = subprocess.run(command, input=told, check=True, stdout=subprocess.PIPE)
    for in_flight, found in zip(_IN_FLIGHT, json.loads(asked.stdout), strict=True):
        if all_held and found["guard"]["unheld"]:
            raise RuntimeError(f"{found['guard']['unheld']} of {EVICTIONS} evictions were not held")
        yield in_flight, Figures(found["echo"]["seconds"]), Figures(found["guard"]["seconds"])


# ---------------------------------------------------------------------- the process that answers


def _serve(manner: str, nodes: int) -> None:
    big, board, clock = BigState(nodes, _PODS * nodes), Board(["pods"]), SystemClock()
    rules = Rules(configuration=Configuration())

    def publish() -> None:
        snapshot = big.state.snapshot()
        find = big.state.pods.row_of
        board.publish_guard_table(
            GuardTable(
                snapshot=snapshot, find=find, records={}, rules=rules, taken_at=clock.monotonic()
            )
        )

    publish()
    with tempfile.TemporaryDirectory() as folder, listening(_doors(board, Path(folder))) as found:
        (_, port), (_, echo_port) = found
        told = {
            "guard": port,
            "echo": echo_port,
            "authority": (Path(folder) / "ca.crt").read_text(),
            "pods": _evicted(board.guard_table),
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        asyncio.run(idle(publish) if manner == "idle" else busy(big, publish))


def _doors(board: Board, folder: Path) -> list[Any]:
    authority = trustme.CA()
    made = authority.issue_cert(_HOST)
    made.private_key_and_cert_chain_pem.write_to_path(str(folder / "tls.pem"))
    authority.cert_pem.write_to_path(str(folder / "ca.crt"))
    tls = Tls(cert_file=str(folder / "tls.pem"), key_file=str(folder / "tls.pem"))
    settings = Guard(enabled=True, bind_address=_HOST, tls=tls)
    door = replace(guard_door(board, GuardDoor(settings=settings, hears=_hears)), port=0)
    return [door, replace(door, answers={"/echo": echo})]


def _hears(_: Eviction, __: Verdict) -> bool:
    """As the controller does it while there is room: it notes it, and that is all."""
    return True


def _evicted(table: GuardTable | None) -> list[str]:
    """So many pods that are moved first, each of a workload of its own where there are as many."""
    if table is None:
        raise RuntimeError("nothing is published")
    pods = table.snapshot.pods
    movable = [
        pods.names[row]
        for row in range(len(pods))
        if table.is_ready(row) and not table.why_not_moved(row)
    ]
    return movable[:: max(len(movable) // EVICTIONS, 1)][:EVICTIONS]


# ---------------------------------------------------------------------- the process that asks


async def _ask(server: dict[str, Any]) -> None:
    found = [
        {path: await _ask_at(server, path, in_flight) for path in ("echo", "guard")}
        for in_flight in _IN_FLIGHT
    ]
    sys.stdout.write(json.dumps(found))


async def _ask_at(server: dict[str, Any], path: str, in_flight: int) -> dict[str, Any]:
    trusting = ssl.create_default_context(cadata=server["authority"])
    questions = [_question(name, path) for name in server["pods"]]
    asking = _Asking(server[path], trusting, is_echo=path == "echo")
    await asking.by_kept_connections(questions, in_flight)
    return {"seconds": asking.seconds, "unheld": asking.unheld}


def _question(full_name: str, path: str) -> bytes:
    """As an API server sends it."""
    namespace, _, name = full_name.partition("/")
    kind = {"group": "policy", "version": "v1", "kind": "Eviction"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": None}
    request = {
        "uid": f"705ab4f5-6393-11e8-b7cc-{abs(hash(full_name)) % 10**12:012}",
        "kind": kind,
        "resource": resource,
        "subResource": "eviction",
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": "eviction",
        "name": name,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["system:masters", "system:authenticated"]},
        "object": {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": metadata},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    body = json.dumps(review).encode()
    head = f"POST /{path}?timeout=2s HTTP/1.1\r\nHost: {_HOST}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\n\r\n" + body


class _Asking:
    def __init__(self, port: int, trusting: ssl.SSLContext, *, is_echo: bool) -> None:
        self._port = port
        self._trusting = trusting
        self._is_echo = is_echo
        self.seconds: list[float] = []
        self.unheld = 0

    async def by_kept_connections(self, questions: Sequence[bytes], many: int) -> None:
        """Opened before, one after the other: it is about answers, and our own handshakes cost as
        much as theirs. Each asks at once, for one that says nothing is cut off.
        """
        rest = iter(questions)
        connections = [await self._connected(questions[0]) for _ in range(many)]
        self.unheld = 0

        async def one_after_the_other(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            for question in rest:
                begun = time.perf_counter()
                await self._answered(question, reader, writer)
                self.seconds.append(time.perf_counter() - begun)
            writer.close()

        await asyncio.gather(*(one_after_the_other(*each) for each in connections))

    async def _connected(
        self, question: bytes
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(_HOST, self._port, ssl=self._trusting)
        await self._answered(question, reader, writer)
        return reader, writer

    async def _answered(
        self, question: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(question)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"it was answered with {head!r}")
        self.unheld += not self._is_echo and _HELD not in body.replace(b" ", b"")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", manner, nodes]:
            _serve(manner, int(nodes))
        case ["ask"]:
            asyncio.run(_ask(json.loads(sys.stdin.read())))
        case _:
            rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
            measure(rows)
            Console(highlight=False, width=160).print(rows)
