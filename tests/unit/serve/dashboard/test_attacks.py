"""What somebody may try who wants to see, do or cost more than they may."""

import concurrent.futures
import http.client
import socket
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from bench.big_state import BigState
from rescheduler.controller.dashboard import questions
from rescheduler.serve.dashboard import access, door
from rescheduler.serve.dashboard.access import Act, Person
from rescheduler.serve.dashboard.documents.plans import Acted
from rescheduler.serve.dashboard.refusing import CONFLICT, Refused
from rescheduler.serve.dashboard.view import View
from rescheduler.serve.dashboard.working import Shared, Worker
from tests.unit.serve.dashboard.shown import NODES, OURS, PODS, Shown, Users, shown, view_of

ADMIN, GUEST, GREEDY, OTHER = "admin", "guest", "greedy", "other"
SECRET = "token-that-nobody-may-read"  # noqa: S105 - of nobody


# ------------------------------------------------------------------ streams


@pytest.fixture
def _asks_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_CHECK_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(door, "_HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(access, "_KEPT_SECONDS", 0.0)


class Changing(Users):
    """Whose rights are taken away while they look."""

    def __init__(self, **seen: list[str] | None) -> None:
        super().__init__(**seen)
        self.now: dict[str, Iterable[str] | None] = dict(seen)
        self._seen = self.now


@pytest.mark.usefixtures("_asks_again_at_once")
@pytest.mark.parametrize("after", [None, ["team-1"]], ids=["token is gone", "other rights"])
def test_a_stream_ends_with_the_rights_that_it_began_with(after: list[str] | None) -> None:
    users = Changing(guest=["team-0"])
    with shown(gate=users, authentication="Token") as site, site.stream(token=GUEST) as events:
        events.next("hello")
        if after is None:
            del users.now["guest"]
        else:
            users.now["guest"] = after
        _, said = events.next("goodbye")
        assert said == {"reason": "access"}
        with pytest.raises((EOFError, http.client.IncompleteRead)):
            events.next()


def test_nobody_keeps_all_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_MOST_OF_ONE", 3)
    users = Users(greedy=["team-0"], other=["team-1"])
    with shown(gate=users, authentication="Token") as site, ExitStack() as streams:
        for _ in range(3):
            streams.enter_context(site.stream(token=GREEDY)).next("hello")
        refused = site.ask("events", token=GREEDY)
        assert refused.status == 429
        assert "close other pages" in refused.json["error"]["wayOut"]
        with site.stream(token=OTHER) as events:
            events.next("hello")
        assert site.ask("overview", token=GREEDY).status == 200


# ------------------------------------------------------------------ what it costs


def test_what_takes_long_is_not_begun_anew_by_whoever_asks_again() -> None:
    """Else a few requests for the curve would keep a processor of the controller busy for ever."""
    users = Users(admin=None, guest=["team-0"], other=["team-1"])
    begun, may_end = [], threading.Event()
    real = questions()

    def slow(view: View) -> dict[str, object]:
        begun.append(1)
        may_end.wait(20)
        return real.curve(view)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(door, "_OLD_SECONDS", 0.0)
        patched.setattr(
            "tests.unit.serve.dashboard.shown.questions", lambda: replace(real, curve=slow)
        )
        with (
            shown(gate=users, authentication="Token") as site,
            concurrent.futures.ThreadPoolExecutor(6) as threads,
        ):
            asking = [
                threads.submit(site.ask, "plan/curve", token=token)
                for token in ("admin", "guest", "other") * 2
            ]
            while not begun:
                assert not any(each.done() for each in asking)
            # All have been heard by the time that whoever asks later is.
            assert site.ask("overview", token=GUEST).status == 200
            may_end.set()
            assert {each.result().status for each in asking} == {200}
    assert len(begun) <= 2, "who came while it was under way has waited for it"


async def test_it_is_worked_out_again_when_it_is_old() -> None:
    shared, worker, found = Shared(), Worker("test"), iter([b"first", b"second"])
    try:
        for seconds, expected in ((60.0, b"first"), (60.0, b"first"), (-1.0, b"second")):
            got = await shared.get("key", worker, lambda: next(found), seconds=seconds)
            assert got == expected
    finally:
        worker.end()


# ------------------------------------------------------------------ what is asked for


@pytest.mark.parametrize(
    "cursor", ["1e3", "-1", "0x10", "\u0663", "9" * 40, "1;2", "1 or 1=1", "../2", "null", "1.0"]
)
def test_a_cursor_that_was_tampered_with_is_refused(cursor: str) -> None:
    with shown() as site:
        answer = site.ask(f"pods?continue={quote(cursor)}")
        assert answer.status == 400
        assert answer.json["error"]["field"] == "continue"


def test_a_cursor_behind_the_end_is_an_empty_page() -> None:
    with shown() as site:
        assert site.ask("pods?continue=999999").json["items"] == []


def raw(site: Shown, request: bytes) -> bytes:
    """As no library would send it."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
        try:
            connection.sendall(request)
            found = b""
            while data := connection.recv(65536):
                found += data
        except ConnectionError:
            pass  # hung up on
        return found


@pytest.mark.parametrize(
    "path",
    [
        "/../door.py",
        "/base/../door.py",
        "/base/assets/../../door.py",
        "/base/%2e%2e/door.py",
        "/base/..%2f..%2fdoor.py",
        "/base//etc/passwd",
        "//etc/passwd",
        "/base/assets/%2fetc%2fpasswd",
        "/base\\..\\door.py",
        "/base/%00/door.py",
    ],
)
def test_no_way_leads_out_of_the_page(path: str) -> None:
    with shown(base_path="/base") as site:
        said = raw(
            site, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        assert b" 404 " in said.split(b"\r\n")[0] or b" 400 " in said.split(b"\r\n")[0], said[:200]
        assert b"import " not in said
        assert b"root:" not in said


def test_what_is_too_large_is_cut_off_and_others_are_answered() -> None:
    with shown() as site:
        long = b"GET /api/v1alpha1/pods?q=" + b"x" * 2**17 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        many = b"".join(b"X-%d: y\r\n" % number for number in range(1000))
        head = b"GET /api/v1alpha1/overview HTTP/1.1\r\nHost: localhost\r\n"
        body = b"POST /api/v1alpha1/plans/x/undo HTTP/1.1\r\nHost: localhost\r\n"
        body += b"Content-Length: 99999999\r\n\r\n" + b"x" * 2**17
        for request in (long, head + many + b"\r\n", body):
            assert b" 200 " not in raw(site, request)[:20]
        assert site.ask("overview").status == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:80",
        "",
        "::1.x",
        "[::1].evil.example",
    ],
)
def test_a_name_that_looks_like_ours_is_not(host: str) -> None:
    with shown() as site:
        assert site.ask("overview", Host=host).status in (400, 403)


def test_a_hostile_name_comes_back_as_data_only() -> None:
    with shown() as site:
        answer = site.ask("pods/%3Cscript%3Ealert(1)%3C%2Fscript%3E/x%22%0d%0aSet-Cookie:a=b")
        assert answer.status == 404
        assert answer.headers["Content-Type"].startswith("application/json")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in answer.headers


# ------------------------------------------------------------------ acting, and tokens


@pytest.mark.parametrize(
    "body",
    [
        b'{"x":' + b"[" * 15_000 + b"]" * 15_000 + b"}",
        b'{"uid":"\xff"}',
        b"[]",
        b'{"uid":1}',
        b"\0",
    ],
    ids=["deep", "no UTF-8", "a list", "a number", "no JSON"],
)
def test_a_body_that_is_none_is_refused_and_fills_no_log(body: bytes) -> None:
    users = Users(admin=None)
    with capture_logs() as logs, shown(gate=users, actions=True) as site:
        answer = site.ask("plans/one/approve", method="POST", body=body, token=ADMIN, **OURS)
        assert answer.status == 400
        assert answer.json["error"]["code"] == "BadRequest"
    assert not [line for line in logs if line["log_level"] == "error"]
    assert not users.acted


class Talkative(Users):
    """Says what is in the way, wherever it is."""

    def __init__(self, problem: str) -> None:
        super().__init__(**{SECRET: ["team-0"]})
        self._problem = problem

    async def act(self, token: str, person: Person, act: Act, view: View) -> Acted:
        if act.what == "undo":
            raise Refused(CONFLICT, self._problem, way_out=f"see to it: {self._problem}")
        acted = await super().act(token, person, act, view)
        return Acted(plan=acted.plan, message=self._problem, changed=True)


def test_what_came_of_an_act_names_no_hidden_namespace_and_no_log_a_token() -> None:
    users = Talkative("pod team-1/app-0001-0 is in the way")
    view = view_of(BigState(NODES, PODS))
    with capture_logs() as logs, shown(view, users, authentication="Token", actions=True) as site:
        for what, status in (("approve", 200), ("undo", 409)):
            answer = site.ask(f"plans/one/{what}", method="POST", body=b"{}", token=SECRET, **OURS)
            assert answer.status == status
            assert "team-1" not in answer.body.decode()
            assert "may not see" in answer.body.decode()
        assert site.ask("overview", token=SECRET).status == 200
        assert site.ask(f"overview?token={SECRET}").status == 401
    assert any(line["event"] == "plan acted on by way of the dashboard" for line in logs)
    told = [{key: each for key, each in line.items() if key != "by"} for line in logs]
    assert SECRET not in str(told)
