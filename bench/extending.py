"""How soon a scheduler is answered, beside an echo of the same bodies by the same server.

The process that answers is one of its own, with the state of a large cluster in memory, kept as
`run` keeps it: idle, and while its main thread takes up 1,000 pod events a second and a plan is
made every second.
"""

import asyncio
import http.client
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import environ
from typing import Final

from aiohttp import web
from rich.console import Console
from rich.table import Table

from bench.big_state import BigState
from rescheduler.cli.housekeeping import keeping_house
from rescheduler.clock import SystemClock
from rescheduler.config import Configuration, Extender
from rescheduler.controller.node_table import TableMaker, rules_of
from rescheduler.plan import Desk, Memory, plan_at
from rescheduler.schedule import Offer
from rescheduler.serve import Board, SchedulerDoor
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import extender_door

_PODS: Final = 30
"""For each node."""
_EVENTS: Final = 1_000
_AT_ONCE: Final = 20
_CALLS: Final = int(environ.get("BENCH_CALLS", "400"))
_WARMING_UP: Final = 20
_SPACED_SECONDS: Final = 0.008
"""A kube-scheduler asks about one pod after the other."""
_GOAL_MILLISECONDS: Final = 5.0
_ORDERS: Final = 8
"""In which names come: a kube-scheduler looks at nodes side by side, so none is the usual one."""
_FEW: Final = 500
"""So many of 5,000 nodes a kube-scheduler looks at by default."""


@dataclass(frozen=True, slots=True)
class Figures:
    seconds: list[float]

    def percentile(self, share: int) -> float:
        return 1000 * statistics.quantiles(self.seconds, n=100)[share - 1]

    def in_words(self) -> str:
        return f"p50 {self.percentile(50):.1f} ms, p99 {self.percentile(99):.1f} ms"


def measure(table: Table) -> None:
    table.add_section()
    nodes = int(environ.get("BENCH_NODES", "5000"))
    for manner in ("idle", "busy"):
        with _server(manner, nodes) as ports:
            for many in dict.fromkeys((nodes, min(_FEW, nodes))):
                bodies = [_body(nodes, many, seed) for seed in range(_ORDERS)]
                echo = _asked(ports["echo"], "/echo", bodies)
                for path, before in (("/filter", ""), ("/prioritize", "/filter")):
                    ours = _asked(ports["extender"], path, bodies, before)
                    share = ours.percentile(99) / echo.percentile(99)
                    table.add_row(
                        f"{path} of {many:,} names, {manner}",
                        ours.in_words(),
                        f"goal p99 {_GOAL_MILLISECONDS:g} ms, 2x echo; echo {echo.in_words()};"
                        f" {share:.1f}x",
                    )


def _body(nodes: int, many: int, seed: int = 0) -> bytes:
    every = max(nodes // many, 1)
    names = [f"node-{number:04}" for number in range(0, nodes, every)][:many]
    random.Random(seed).shuffle(names)  # noqa: S311 - repeatable
    container = {"name": "app", "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}}}
    spec = {"containers": [{**container, "env": [{"name": "X", "value": "y" * 4000}]}]}
    pod = {"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "spec": spec}
    asked = {"Pod": pod, "Nodes": None, "NodeNames": names}
    # As Go writes it.
    return json.dumps(asked, separators=(",", ":")).encode()


def _asked(port: int, path: str, bodies: list[bytes], before: str = "") -> Figures:
    """One body after the other. `before`: asked with the same body first, and not counted, as a
    kube-scheduler does.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    found = []
    for number in range(_WARMING_UP + _CALLS):
        body = bodies[number % len(bodies)]
        if before:
            _post(connection, before, body)
        took = _post(connection, path, body)
        if number >= _WARMING_UP:
            found.append(took)
        time.sleep(max(_SPACED_SECONDS - took, 0))
    connection.close()
    return Figures(found)


def _post(connection: http.client.HTTPConnection, path: str, body: bytes) -> float:
    """The seconds it took."""
    begun = time.perf_counter()
    connection.request("POST", path, body)
    answer = connection.getresponse()
    answer.read()
    if answer.status != http.client.OK:
        raise RuntimeError(f"{path} was answered with {answer.status}")
    return time.perf_counter() - begun


@contextmanager
def _server(manner: str, nodes: int) -> Iterator[dict[str, int]]:
    command = [sys.executable, "-m", "bench.extending", manner, str(nodes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "")
        finally:
            process.kill()


# ---------------------------------------------------------------------- the process that answers


def _serve(manner: str, nodes: int) -> None:
    big, board, clock = BigState(nodes, _PODS * nodes), Board(["pods"]), SystemClock()
    maker, configuration = TableMaker(), Configuration()

    def offer() -> None:
        table = maker.make(big.state.snapshot(), configuration, clock.monotonic())
        board.publish_offer(Offer(table, rules_of(configuration)))

    settings = SchedulerDoor(settings=Extender(port=1), verbs=("filter", "score"))
    extender = replace(extender_door(board, settings), port=0)
    echoing = replace(extender, answers={"/echo": echo})
    offer()
    with keeping_house() as tidy, listening([extender, echoing]) as [(_, port), (_, echo_port)]:
        sys.stdout.write(json.dumps({"extender": port, "echo": echo_port}) + "\n")
        sys.stdout.flush()
        tidy()
        asyncio.run(idle(offer) if manner == "idle" else busy(big, offer))


async def echo(request: web.BaseRequest) -> web.Response:
    pieces = [piece async for piece in request.content.iter_any()]
    return web.Response(body=b"".join(pieces), content_type="application/json")


async def idle(offer: Callable[[], None]) -> None:
    """For ever: what answers are made from is published each second."""
    while True:
        offer()
        await asyncio.sleep(1.0)


async def busy(big: BigState, offer: Callable[[], None]) -> None:
    """For ever: the same, beside events of pods and a plan each second."""
    memory = Memory()
    lock = threading.Lock()

    def plan() -> None:
        with lock:
            snapshot = big.state.snapshot()
        configuration = Configuration(enabled_strategies=("LoadBalancing",))
        plan_at(Desk(snapshot, configuration, memory=memory))

    async def planning() -> None:
        while True:
            with lock:
                offer()
            await asyncio.gather(asyncio.to_thread(plan), asyncio.sleep(1.0))

    async def events() -> None:
        seed = 0
        while True:
            with lock:
                big.some_events(seed, _AT_ONCE)
            seed += 1
            await asyncio.sleep(_AT_ONCE / _EVENTS)

    await asyncio.gather(planning(), events())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve(sys.argv[1], int(sys.argv[2]))
    else:
        rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
        measure(rows)
        Console(highlight=False, width=160).print(rows)
