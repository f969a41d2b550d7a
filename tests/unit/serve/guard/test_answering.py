"""An API server's questions about evictions, over real sockets and TLS."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.clock import SystemClock
from rescheduler.config import Guard, Tls
from rescheduler.guard import Eviction, GuardTable, Hold, Verdict, Wanted
from rescheduler.serve import Board, GuardDoor
from rescheduler.serve.guard import formats
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import guard_door
from tests.unit.guard.tables import WEB, of, table
from tests.unit.serve.guard.reviews import REQUEST, review

AT_ONCE = 150


@dataclass
class Controller:
    """Who hears of verdicts."""

    has_room: bool = True
    wanted: list[Wanted] = field(default_factory=list)

    def hears(self, _: Eviction, verdict: Verdict) -> bool:
        if isinstance(verdict, Hold) and verdict.wanted is not None:
            self.wanted.append(verdict.wanted)
        return self.has_room


@dataclass
class ApiServer:
    """Which keeps its connection, as a real one does."""

    connection: http.client.HTTPSConnection
    board: Board
    controller: Controller

    def post(self, sent: object, path: str = "/guard") -> tuple[int, Any]:
        content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        self.connection.request("POST", path, content)
        answer = self.connection.getresponse()
        text = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode()

    def ask(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        status, found = self.post(review(**more))
        assert status == 200, found
        response: dict[str, Any] = found["response"]
        assert response["uid"] == REQUEST
        return response

    def counted(self, verdict: str, reason: str) -> float:
        series = f'rescheduler_guard_evictions_total{{reason="{reason}",verdict="{verdict}"}} '
        lines = self.board.metrics().decode().splitlines()
        return float(next(each for each in lines if each.startswith(series)).split()[-1])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tls, ssl.SSLContext]:
    folder: Path = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    made.private_key_pem.write_to_path(folder / "tls.key")
    for each in made.cert_chain_pems:
        each.write_to_path(folder / "tls.crt", append=True)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return Tls(cert_file=str(folder / "tls.crt"), key_file=str(folder / "tls.key")), trusting


@contextmanager
def guarding(
    files: tuple[Tls, ssl.SSLContext], known: GuardTable | None, *, has_room: bool = True
) -> Iterator[ApiServer]:
    tls, trusting = files
    board, controller = Board(["pods"]), Controller(has_room)
    board.publish_guard_table(known)
    door = guard_door(
        board,
        GuardDoor(
            settings=Guard(enabled=True, bind_address="127.0.0.1", tls=tls), hears=controller.hears
        ),
    )
    with listening([replace(door, port=0)]) as [(host, port)]:
        connection = http.client.HTTPSConnection(host, port, timeout=10, context=trusting)
        try:
            yield ApiServer(connection, board, controller)
        finally:
            connection.close()


def fresh() -> GuardTable:
    """As of now, for a server whose clock is the machine's."""
    return table([of(WEB, "web-1"), of(WEB, "web-2")], taken_at=SystemClock().monotonic())


def test_an_eviction_is_held_and_a_move_is_wanted(files: tuple[Tls, ssl.SSLContext]) -> None:
    with guarding(files, fresh()) as asking:
        first = asking.ask()
        assert first["allowed"] is False
        assert first["status"]["code"] == 429
        assert first["status"]["message"].startswith("kube-rescheduler moves it first: ")
        sock = asking.connection.sock
        assert asking.ask()["allowed"] is False
        assert asking.connection.sock is sock
        assert [each.pod for each in asking.controller.wanted] == ["web-1"]
        assert asking.counted("held", "asked") == 2
        users = 'rescheduler_guard_evictions_by_user_total{user="alice",verdict="held"} 2.0'
        assert users in asking.board.metrics().decode()


def test_who_cannot_be_asked_now_is_asked_again(files: tuple[Tls, ssl.SSLContext]) -> None:
    with guarding(files, fresh(), has_room=False) as asking:
        for _ in range(3):
            assert asking.ask()["allowed"] is False
        assert len(asking.controller.wanted) == 3


def test_what_is_not_known_passes(files: tuple[Tls, ssl.SSLContext]) -> None:
    with guarding(files, None) as asking:
        assert asking.ask()["allowed"] is True
        asking.board.publish_guard_table(fresh())
        assert asking.ask(pod="web-3")["allowed"] is True
        assert asking.ask(dryRun=True)["allowed"] is True
        assert asking.ask(operation="DELETE")["allowed"] is True
        assert asking.counted("passed", "not_synced") == 1
        assert asking.counted("passed", "gone") == 1
        assert asking.counted("passed", "dry_run") == 1


def test_a_defect_of_ours_holds_nobody(files: tuple[Tls, ssl.SSLContext]) -> None:
    def broken(_: str) -> int | None:
        raise KeyError("planted")

    with guarding(files, replace(fresh(), find=broken)) as asking:
        assert asking.ask()["allowed"] is True
        assert asking.counted("passed", "error") == 1


def test_what_cannot_be_read_is_refused_in_words(files: tuple[Tls, ssl.SSLContext]) -> None:
    with guarding(files, fresh()) as asking:
        assert asking.post(b"{")[0] == 400
        assert asking.counted("passed", "unreadable") == 1
    with guarding(files, fresh()) as asking:
        assert asking.post(review(), "/elsewhere")[0] == 404


def test_what_is_too_large_is_not_read(files: tuple[Tls, ssl.SSLContext]) -> None:
    with (
        guarding(files, fresh()) as asking,
        pytest.raises((http.client.HTTPException, ConnectionError, ssl.SSLError)),
    ):
        asking.post(b"x" * (formats.MOST_BYTES + 2**16))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
sent_fields = st.dictionaries(
    st.sampled_from(("name", "namespace", "operation", "subResource", "userInfo", "object")),
    json_values,
    min_size=1,
    max_size=4,
)


@given(sent_fields)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_nobody_is_held_for_another(
    files: tuple[Tls, ssl.SSLContext], changed: dict[str, Any]
) -> None:
    """Held is only who names a pod that is there, and evicts it."""
    with guarding(files, fresh()) as asking:
        status, found = asking.post(review(**changed))
        assert status in (200, 400), found
        if status == 200 and not found["response"]["allowed"]:
            request = review(**changed)["request"]
            named = request["name"] or request["object"]["metadata"]["name"]
            assert (request["namespace"], named) == ("shop", "web-1")
            assert (request["operation"], request["subResource"]) == ("CREATE", "eviction")


def test_many_api_servers_ask_at_once(files: tuple[Tls, ssl.SSLContext]) -> None:
    """Each eviction that waits has a connection of its own: nobody is hung up on for another."""
    _, trusting = files
    with guarding(files, fresh()) as asking:
        host, port = asking.connection.host, asking.connection.port
        with ExitStack() as stack:
            many = [
                stack.enter_context(
                    closing(http.client.HTTPSConnection(host, port, timeout=10, context=trusting))
                )
                for _ in range(AT_ONCE)
            ]
            for each in many:
                each.connect()
            for each in many:
                each.request("POST", "/guard", json.dumps(review()))
                assert json.loads(each.getresponse().read())["response"]["allowed"] is False
