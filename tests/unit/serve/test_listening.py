"""Ports: taken ones, and the thread that answers on them."""

import socket
import threading

import pytest
from structlog.testing import capture_logs

from rescheduler.config import Extender, Serving
from rescheduler.serve import Board, CannotListen, SchedulerDoor, serving
from tests.unit.serve.asking import get, site


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_port_that_is_taken_is_told_with_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = Serving(bind_address="127.0.0.1", port=port)
        with pytest.raises(CannotListen) as caught, serving(settings, Board()):
            pass
    assert f"cannot listen on 127.0.0.1:{port}: the port is taken" in str(caught.value)
    assert "set serving.port to another port, or to 0" in str(caught.value)
    assert "serve" not in {thread.name for thread in threading.enumerate()}


def test_an_address_of_another_machine_is_told() -> None:
    settings = Serving(bind_address="192.0.2.1", port=free_port())
    with (
        pytest.raises(CannotListen, match=r"check serving\.bindAddress"),
        serving(settings, Board()),
    ):
        pass


def test_it_listens_on_all_addresses_by_default_and_on_none_with_port_0() -> None:
    port = free_port()
    with serving(Serving(port=port), Board()):
        assert get(port, "/healthz").text == "ok"
    with pytest.raises(OSError, match="refused"):
        get(port, "/healthz")
    with serving(Serving(port=0), Board()):
        assert "serve" not in {thread.name for thread in threading.enumerate()}


def test_it_says_which_verbs_are_answered_and_who_asks_for_them() -> None:
    port = free_port()
    asked = SchedulerDoor(settings=Extender(port=port), verbs=("filter", "score"))
    with capture_logs() as logs, serving(Serving(port=0), Board(), asked):
        pass
    listening, answered = logs
    assert (listening["port"], listening["setting"]) == (port, "extender.port")
    assert answered["verbs"] == ["filter", "score"]
    assert "rescheduler config scheduler" in answered["hint"]


def test_it_answers_while_the_main_thread_computes() -> None:
    """And everything else in this test waits for that."""
    found: list[str] = []
    with site() as at:
        asking = threading.Thread(target=lambda: found.append(at.get("/healthz").text))
        asking.start()
        while not found:
            sum(range(1000))
        asking.join()
    assert found == ["ok"]
