"""What the prober of `make bench` counts: every answer, and whatever is none."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bench.answering import Answers, Prober, due

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
NOT_YET = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno"
PATIENCE_SECONDS = 0.2


def answer(reply: bytes) -> Callable[[socket.socket], None]:
    def act(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(reply)

    return act


def reset(client: socket.socket) -> None:
    client.recv(4096)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def say_nothing(client: socket.socket) -> None:
    client.recv(4096)
    client.recv(4096)  # until it has left


@contextmanager
def server(*acts: Callable[[socket.socket], None]) -> Iterator[int]:
    """Does each of them to one client; afterwards nobody listens."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for act in acts:
                client, _ = listener.accept()
                with client:
                    act(client)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def prober(port: int, *, is_starting: bool = True) -> Prober:
    return Prober(port, is_starting=is_starting, patience_seconds=PATIENCE_SECONDS)


def test_who_refuses_before_its_first_answer_is_starting() -> None:
    probing = prober(free_port())
    probing.ask("/healthz")
    assert probing.answers["/healthz"] == Answers()


def test_who_has_started_and_refuses_has_failed() -> None:
    probing = prober(free_port(), is_starting=False)
    probing.ask("/healthz")
    assert probing.answers["/healthz"].failures == {"refused": 1}


def test_who_refuses_after_an_answer_has_failed() -> None:
    with server(answer(OK)) as port:
        probing = prober(port)
        probing.ask("/healthz")
    probing.ask("/healthz")
    found = probing.answers["/healthz"]
    assert len(found.seconds) == 2
    assert found.failures == {"refused": 1}


@pytest.mark.parametrize(
    ("act", "failure"),
    [
        (reset, "cut off"),
        (answer(b""), "cut off"),
        (answer(OK[:-1]), "cut off"),
        (say_nothing, "timed out"),
        (answer(NOT_YET), "answered 500"),
    ],
)
def test_what_is_no_answer_is_a_failure_even_at_first(
    act: Callable[[socket.socket], None], failure: str
) -> None:
    with server(act) as port:
        probing = prober(port)
        probing.ask("/healthz")
    found = probing.answers["/healthz"]
    assert found.failures == {failure: 1}
    assert len(found.seconds) == 1


def test_what_is_not_answered_in_time_is_late_by_all_of_that_time() -> None:
    with server(say_nothing) as port:
        probing = prober(port)
        probing.ask("/metrics")
    [seconds] = probing.answers["/metrics"].seconds
    assert seconds >= PATIENCE_SECONDS
    assert probing.answers["/metrics"].in_words().endswith(", 1 of 1 late, 1 timed out")


def test_not_ready_is_an_answer() -> None:
    with server(answer(NOT_YET), answer(OK)) as port:
        probing = prober(port)
        probing.ask("/readyz")
        probing.ask("/readyz")
    assert len(probing.answers["/readyz"].seconds) == 2
    assert probing.answers["/readyz"].failures == {}


def test_nobody_asked_is_told_as_such() -> None:
    assert Answers().in_words() == "never asked"
    assert Answers([0.001, 0.003, 0.2]).in_words() == "3.0 ms, worst 200 ms, 1 of 3 late"


def test_who_is_alive_is_asked_all_the_time_and_for_metrics_seldom() -> None:
    asked = [path for number in range(100) for path in due(number)]
    assert {path: asked.count(path) for path in asked} == {
        "/healthz": 100,
        "/readyz": 20,
        "/metrics": 2,
    }
