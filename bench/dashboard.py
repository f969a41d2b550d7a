"""What the dashboard costs on a large cluster: what is sent, what changes of it, and what ten open
pages cost the process that plans meanwhile.

That process is one of its own: its main thread takes up 1,000 pod events a second and makes a plan
every few seconds, as the controller does. Who reads is another one, with ten streams and the whole
cluster for each.
"""

import asyncio
import gzip
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from bench.big_state import BigState
from rescheduler import plan
from rescheduler.config import Configuration, Dashboard
from rescheduler.controller.dashboard import questions
from rescheduler.model.published import Now, Role
from rescheduler.serve.dashboard.book import Book
from rescheduler.serve.dashboard.door import DashboardDoor
from rescheduler.serve.dashboard.frames import Block, event
from rescheduler.serve.dashboard.rights import EVERYTHING
from rescheduler.serve.dashboard.view import View, Views
from rescheduler.serve.serving import showing_people

NODES: Final = int(environ.get("BENCH_NODES", "5000"))
_PODS: Final = 30
"""For each node."""
_EVENTS: Final = 1000
_ROUNDS: Final = 10
_PAGES: Final = 10
_PASSES: Final = int(environ.get("BENCH_PASSES", "25"))
"""A pass is short, and few of them coincide with what is done for pages once a second."""
_GOAL_BYTES: Final = 2_000_000
_GOAL_SHARE: Final = 10
_QUICK: Final = 3


def measure(table: Table) -> None:
    table.add_section()
    about = f"{NODES:,} nodes, {NODES * _PODS:,} pods"
    big = BigState(NODES, NODES * _PODS)
    _the_whole(table, big, about)
    _what_changes(table, big, about)
    del big
    alone, looked_at = _ten_pages(0), _ten_pages(_PAGES)
    for name, unit in (("pass", "s"), ("memory", "MB")):
        share = 100 * (looked_at[name] / alone[name] - 1)
        table.add_row(
            f"dashboard: {name} with {_PAGES} pages open",
            f"{looked_at[name]:.2f} {unit}",
            f"goal +{_GOAL_SHARE} %; without {alone[name]:.2f} {unit}, {share:+.0f} %",
        )

    more = looked_at["processor"] - alone["processor"]
    table.add_row(
        f"dashboard: {_PAGES} pages open cost that process",
        f"{100 * more / looked_at['seconds']:.1f} % of a processor",
        "whatever else the machine does",
    )


def _view(big: BigState, serial: int) -> View:
    return View(
        serial=serial,
        at=datetime.fromtimestamp(serial, UTC),
        snapshot=big.state.snapshot((), taken_at=0.0, heard_at={}),
        now=Now(role=Role.LEADING, is_synced=True),
        configuration=Configuration(),
    )


def _the_whole(table: Table, big: BigState, about: str) -> None:
    book, view = Book(EVERYTHING), _view(big, 1)
    begun = time.perf_counter()
    book.update(view, questions().loads(view.snapshot))
    body = msgspec.json.encode(book.document())
    packed = gzip.compress(body, _QUICK, mtime=0)
    seconds = time.perf_counter() - begun
    table.add_row(
        f"dashboard: cluster of {about}",
        f"{len(packed) / 1e6:.2f} MB compressed, made in {seconds:.2f} s",
        f"goal {_GOAL_BYTES / 1e6:.0f} MB; {len(body) / 1e6:.1f} MB as text",
    )


def _what_changes(table: Table, big: BigState, about: str) -> None:
    book, asked = Book(EVERYTHING), questions()
    view = _view(big, 1)
    book.update(view, asked.loads(view.snapshot))
    cpu, size = 0.0, 0
    for serial in range(2, 2 + _ROUNDS):
        big.some_events(serial, _EVENTS)
        view = _view(big, serial)
        begun = time.thread_time()
        patch = book.update(view, asked.loads(view.snapshot))
        block = Block.of(event("cluster", patch) if patch else b"")
        cpu += time.thread_time() - begun
        size += len(block.compressed)
    table.add_row(
        f"dashboard: patches at {_EVENTS:,} pod events/s, {about}",
        f"{100 * cpu / _ROUNDS:.1f} % of a processor, {size / _ROUNDS / 1000:.0f} kB/s",
        "for all who see the same together",
    )


# ---------------------------------------------------------------------- ten pages


def _ten_pages(pages: int) -> dict[str, float]:
    answer = subprocess.run(
        [sys.executable, "-m", "bench.dashboard", str(pages)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


async def _passes(pages: int) -> dict[str, Any]:
    """What a pass takes in the mean, and what the process holds then."""
    big, views = BigState(NODES, NODES * _PODS), Views()
    serial, memory = 1, plan.Memory()

    def make() -> View:
        nonlocal serial
        serial += 1
        return _view(big, serial)

    door = DashboardDoor(
        settings=Dashboard(enabled=True, port=0), views=views, questions=questions()
    )
    with views.made_by(make), showing_people(door) as port:
        readers = await _readers(port, pages) if pages else None
        took, spent, since = [], time.process_time(), time.perf_counter()
        for number in range(_PASSES):
            if number == 1:
                spent, since = time.process_time(), time.perf_counter()
            begun = time.perf_counter()
            search = plan.Search(steps=2000)
            snapshot = big.state.snapshot((), taken_at=0.0, heard_at={})
            await asyncio.to_thread(
                plan.plan, snapshot, Configuration(), search=search, memory=memory
            )
            took.append(time.perf_counter() - begun)
            big.some_events(number, _EVENTS)
            await asyncio.sleep(1.0)
        seconds = time.perf_counter() - since
        processor = (time.process_time() - spent) / (_PASSES - 1)
        megabytes = _megabytes()
        if readers is not None:
            readers.kill()
            await readers.wait()
    # The first one fills what later ones remember.
    return {
        "pass": sum(took[1:]) / len(took[1:]),
        "memory": megabytes,
        "processor": processor,
        "seconds": seconds / (_PASSES - 1),
    }


async def _readers(port: int, pages: int) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "bench.dashboard", "read", str(port), str(pages)]
    readers = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert readers.stdout is not None  # noqa: S101 - as asked for
    for _ in range(pages):
        await readers.stdout.readline()
    return readers


def _read(port: int) -> None:
    """As a page does: the stream, the whole, and then what changes."""
    headers = {"Accept-Encoding": "gzip"}
    stream = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    stream.request("GET", "/api/v1alpha1/events", headers=headers)
    answer = stream.getresponse()
    whole = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    whole.request("GET", "/api/v1alpha1/cluster", headers=headers)
    whole.getresponse().read()
    whole.close()
    print("open", flush=True)
    with suppress(OSError, http.client.HTTPException):
        while answer.read1():
            pass


def _megabytes() -> float:
    lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return int(status["VmRSS"].split()[0]) / 1024


def _main(arguments: list[str]) -> None:
    if not arguments:
        table = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
        measure(table)
        Console(highlight=False, width=120).print(table)
    elif arguments[0] == "read":
        threads = [
            threading.Thread(target=_read, args=(int(arguments[1]),))
            for _ in range(int(arguments[2]))
        ]
        for each in threads:
            each.start()
    else:
        print(json.dumps(asyncio.run(_passes(int(arguments[0])))))


if __name__ == "__main__":
    _main(sys.argv[1:])
