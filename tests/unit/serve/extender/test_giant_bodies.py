"""As much as a request may have, of what takes up most memory once it is read: little is kept of
it, and others are answered meanwhile.
"""

import contextlib
import http.client
import json
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from rescheduler.config import Extender
from rescheduler.serve import Board, SchedulerDoor
from rescheduler.serve.bodies import BadRequest
from rescheduler.serve.extender import formats
from rescheduler.serve.extender.formats import MOST_BYTES
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import extender_door

LARGEST = MOST_BYTES - 4096
MEGABYTE = 2**20
FEW = 48 * MEGABYTE
"""One copy, and a little: read into objects, most of these would take up a gigabyte."""


def filled(before: bytes, piece: bytes, after: bytes) -> bytes:
    return before + piece * (LARGEST // len(piece)) + after


def keys() -> bytes:
    return b",".join(b'"%07x":1' % number for number in range(LARGEST // 12))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda: filled(b'{"Pod":[', b"[],", b'[]],"NodeNames":["a"]}'), "Pod: more than"),
        (lambda: filled(b'{"Pod":{},"NodeNames":[', b'"ab",', b'"a"]}'), "NodeNames: more than"),
        (lambda: filled(b'{"Pod":{},"Nodes":{"items":[', b"1,", b"1]}}"), "cannot be read"),
        (lambda: filled(b'{"pod":{},"nodes":{"ITEMS":[', b"1,", b"1]}}"), "cannot be read"),
        (
            lambda: filled(b'{"Pod":{},"Nodes":{"items":[', b'{"metadata":{}},', b"{}]}}"),
            "nodeCacheCap",
        ),
        (lambda: b'{"pOd":{},' + keys() + b',"nodenames":["a"]}', "Pod: is needed"),
        (lambda: b'{"Pod":{},"Nodes":{' + keys() + b"}}", "Nodes: items is needed"),
        (lambda: b'{"Pod":{},"Nodes":{"iTems":[],' + keys() + b"}}", "Nodes: items is needed"),
    ],
    ids=["pod", "names", "numbers", "capitals", "nodes", "keys", "keys of nodes", "strange"],
)
def test_it_is_refused_and_takes_up_little(body: Callable[[], bytes], words: str) -> None:
    sent = body()
    tracemalloc.start()
    try:
        with pytest.raises(BadRequest, match=words):
            formats.Reader().question(sent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < FEW


def test_a_binding_is_small() -> None:
    with pytest.raises(BadRequest, match="more than 4096 bytes"):
        formats.binding(b"[" + b"[]," * 2000 + b"[]]")


@pytest.mark.parametrize("keys", [("Pod", "Nodes", "items"), ("POD", "NODES", "Items")])
def test_thousands_of_whole_nodes_are_read_in_usual_capitals(keys: tuple[str, str, str]) -> None:
    pod, nodes, items = keys
    whole = [{"metadata": {"name": f"n{number}"}, "x": "y" * 5000} for number in range(5000)]
    asked = formats.Reader().question(json.dumps({pod: {}, nodes: {items: whole}}).encode())
    assert len(asked.names) == len(asked.nodes or ()) == 5000


# ---------------------------------------------------------------------- over sockets


@contextlib.contextmanager
def port() -> Iterator[int]:
    settings = SchedulerDoor(settings=Extender(port=1), verbs=("filter",))
    door = replace(extender_door(Board(["pods"]), settings), port=0)
    with listening([door]) as [(_, found)]:
        yield found


def is_hung_up_on(client: socket.socket) -> bool:
    client.settimeout(0.1)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_of_many_that_send_much_the_greediest_are_hung_up_on() -> None:
    """Together they would take up half a gigabyte until their time is up."""
    half = MOST_BYTES // 2
    with port() as at, contextlib.ExitStack() as stack:
        clients = []
        for number in range(32):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", at)))
            clients.append(client)
            with contextlib.suppress(ConnectionError):
                client.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\n")
                client.sendall(b"Content-Length: %d\r\n\r\n" % MOST_BYTES)
                client.sendall(b"a" * (half + 1024 * number))
            assert answered(at) == ["a"]
        hung_up_on = sum(map(is_hung_up_on, clients))
    assert len(clients) - hung_up_on <= 4


def test_who_asks_again_and_again_keeps_the_connection() -> None:
    """However many others are opened, and say nothing."""
    with port() as at, contextlib.ExitStack() as stack:
        connection = http.client.HTTPConnection("127.0.0.1", at, timeout=30)
        stack.callback(connection.close)
        for _ in range(20):
            connection.request("POST", "/filter", b'{"Pod":{},"NodeNames":["a"]}')
            connection.getresponse().read()
            kept = connection.sock
            assert kept is not None
            for _ in range(20):
                stack.enter_context(socket.create_connection(("127.0.0.1", at)))
        connection.request("POST", "/filter", b'{"Pod":{},"NodeNames":["a"]}')
        assert connection.getresponse().status == http.client.OK
        assert connection.sock is kept


def answered(at: int) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", at, timeout=30)
    connection.request("POST", "/filter", b'{"Pod":{},"NodeNames":["a"]}')
    found: list[str] = json.loads(connection.getresponse().read())["NodeNames"]
    connection.close()
    return found
