"""Profiles of the running process."""

import asyncio
import io
import pstats
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from rescheduler.serve import profiling
from rescheduler.serve.listening import Door, listening
from tests.unit.serve.asking import get


@pytest.fixture
def port() -> Iterator[int]:
    door = Door(
        setting="serving.debugPort",
        address="127.0.0.1",
        port=0,
        answers=profiling.endpoints(),
        seconds=profiling.REQUEST_SECONDS,
    )
    with listening([door]) as [(_, found)]:
        yield found


def burn() -> None:
    sum(number * number for number in range(1000))


def busy_until(stop: threading.Event) -> None:
    while not stop.is_set():
        burn()


@pytest.fixture
def busy() -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=busy_until, args=(stop,))
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("busy")
def test_cpu_of_all_threads_as_a_table(port: int) -> None:
    answer = get(port, "/debug/profile?seconds=0.3")
    assert answer.status == 200
    assert answer.text.startswith("CPU of all threads in 0.3 s\n")
    assert "burn" in answer.text


@pytest.mark.usefixtures("busy")
def test_cpu_as_a_file_for_pstats(port: int, tmp_path: Path) -> None:
    url = f"http://localhost:{port}/debug/profile?seconds=0.3&format=pstat"
    with urllib.request.urlopen(url, timeout=20) as answer:
        (tmp_path / "found").write_bytes(answer.read())
    shown = io.StringIO()
    pstats.Stats(str(tmp_path / "found"), stream=shown).print_stats("burn")
    assert "(burn)" in shown.getvalue()


def test_heap_names_who_allocated(port: int) -> None:
    kept: list[bytes] = []
    stop = threading.Event()

    def hoard() -> None:
        while not stop.wait(0.01):
            kept.append(bytes(10_000))

    thread = threading.Thread(target=hoard)
    thread.start()
    answer = get(port, "/debug/heap?seconds=0.3")
    stop.set()
    thread.join()
    assert answer.text.startswith("allocated in 0.3 s, and still there: ")
    assert "test_profiling.py" in answer.text


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "nan", "x", "inf"])
def test_wrong_seconds_are_refused(port: int, seconds: str) -> None:
    answer = get(port, f"/debug/heap?seconds={seconds}")
    assert (answer.status, answer.text) == (400, "seconds: a number above 0, at most 60\n")


def test_one_at_a_time() -> None:
    """On one loop, so that the first has surely begun when the second asks."""

    async def asked_twice() -> tuple[int, int]:
        answers = profiling.endpoints()

        async def ask(path: str) -> int:
            request = make_mocked_request("GET", path, headers={"Host": "localhost"})
            return (await answers[request.path](request)).status

        first = asyncio.create_task(ask("/debug/heap?seconds=0.3"))
        await asyncio.sleep(0)
        second = await ask("/debug/profile?seconds=0.01")
        return await first, second

    assert asyncio.run(asked_twice()) == (200, 429)


def test_by_another_name_than_localhost_nothing_is_told(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"GET /debug/heap?seconds=0.1 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 403 ")
