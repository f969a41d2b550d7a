"""Slow and hostile clients, on real sockets: they cost little, and nobody else's answer."""

import contextlib
import os
import random
import socket
import threading
from pathlib import Path

from rescheduler.serve import guarding
from tests.unit.serve.asking import Site, site

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


def is_hung_up(client: socket.socket) -> bool:
    """Waits for it, for as long as the socket may wait."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    return True


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted, not looked at


def assert_others_are_answered(at: Site) -> None:
    assert at.get("/healthz").text == "ok"


def test_slowloris_is_hung_up_on() -> None:
    with site(seconds=0.5) as at, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(at.connect()) for _ in range(50)]
        trickling = [stack.enter_context(at.connect()) for _ in range(50)]
        for client in trickling:
            client.sendall(REQUEST)
        assert_others_are_answered(at)
        assert all(is_hung_up(client) for client in silent + trickling)


def test_who_does_not_fetch_the_answer_is_hung_up_on() -> None:
    with site(seconds=0.5) as at, at.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert_others_are_answered(at)
        assert is_hung_up(client)


def test_huge_headers_are_refused() -> None:
    with site() as at:
        for header in (b"X: " + b"a" * 200_000, b"\r\n".join(b"X%d: a" % n for n in range(9000))):
            with at.connect() as client, contextlib.suppress(ConnectionError):
                client.sendall(REQUEST + header + b"\r\n\r\n")
                assert b" 200 " not in client.recv(100)
        assert_others_are_answered(at)


def test_a_body_is_not_read() -> None:
    with site() as at, at.connect() as client:
        client.sendall(REQUEST + b"Content-Length: 99999999999\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                client.sendall(b"a" * 65536)
        assert_others_are_answered(at)


def test_thousands_of_connections_are_bounded_and_a_probe_is_answered() -> None:
    before = open_files()
    with site() as at, contextlib.ExitStack() as stack:
        clients = []
        for number in range(2000):
            with contextlib.suppress(OSError):
                client = stack.enter_context(at.connect())
                client.sendall(REQUEST)
                clients.append(client)
            if number % 200 == 0:
                assert_others_are_answered(at)
            while len(clients) > 400:  # what this process may have open is bounded, too
                clients.pop(0).close()
        assert_others_are_answered(at)
        ours = open_files() - before - len(clients)
        assert ours <= guarding.MOST_CONNECTIONS + 20


def test_of_many_who_ask_at_once_each_is_answered() -> None:
    """More than may be open: whoever has asked is not hung up on for those who come after him."""
    with site() as at, contextlib.ExitStack() as stack:
        clients = []
        for _ in range(2 * guarding.MOST_CONNECTIONS):
            client = stack.enter_context(at.connect())
            client.sendall(REQUEST + b"\r\n")
            clients.append(client)
        assert [client.recv(12) for client in clients] == [b"HTTP/1.1 200"] * len(clients)


def test_garbage_is_refused_and_forgotten() -> None:
    luck = random.Random(1)  # noqa: S311 - repeatable
    with site() as at:
        for _ in range(200):
            garbage = luck.randbytes(luck.randrange(1, 3000))
            with at.connect() as client, contextlib.suppress(ConnectionError):
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                assert not client.recv(100).startswith(b"HTTP/1.1 200")
        for line in (
            b"GET / HTTP/9.9\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\r\n" * 9000,
        ):
            with at.connect() as client, contextlib.suppress(ConnectionError):
                client.sendall(line)
                client.shutdown(socket.SHUT_WR)
                client.recv(100)
        assert_others_are_answered(at)


def test_pipelined_requests_get_one_answer() -> None:
    with site() as at, at.connect() as client:
        client.sendall((REQUEST + b"\r\n") * 300)
        found = b""
        with contextlib.suppress(ConnectionError):
            while data := client.recv(65536):
                found += data
        assert found.count(b"HTTP/1.1 ") <= 1
        assert_others_are_answered(at)


def test_nothing_is_left_when_it_ends() -> None:
    with contextlib.ExitStack() as stack:
        with site() as at:
            client = stack.enter_context(at.connect())
            client.sendall(REQUEST)
            assert_others_are_answered(at)
        assert is_hung_up(client)
    assert "serve" not in {thread.name for thread in threading.enumerate()}
    assert Path("/proc/self/task").exists()
