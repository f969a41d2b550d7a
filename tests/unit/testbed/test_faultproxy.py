"""Every fault of the proxy, between a real client and a small TLS server."""

import asyncio
import contextlib
import gc
import gzip
import io
import json
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

import aiohttp
import pytest
import trustme
from aiohttp import web

from testbed.faultproxy import (
    Fault,
    FaultProxy,
    Match,
    arrive_late,
    budget_refusal,
    conflict,
    cut_after,
    cut_after_bytes,
    delay,
    drop_events,
    drop_reply,
    drop_request,
    expired_event,
    fail,
    gone,
    half_open,
    hold,
    hold_events,
    inject_event,
    internal_error,
    kill,
    nth_write,
    rewrite_events,
    stall_after,
    throttled,
    unavailable,
    watch_event,
)
from testbed.faultproxy.waiting import Pulse

PODS = "/api/v1/namespaces/shop/pods"
WATCH = "/api/v1/pods?watch=1"
LONG_LIST = b'{"items":["' + b"x" * 3_000_000 + b'"]}\n'
A_MOMENT = 0.15  # how long a test looks on while nothing may happen


def event(number: int) -> bytes:
    return watch_event("ADDED", {"metadata": {"name": f"pod-{number}"}})


class SmallApi:
    """Stands for the API server: remembers what it was asked, and streams a watch on demand."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.headers: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []
        self.watches = 0
        self.pulse = Pulse()
        self.url = ""
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def emit(self, *lines: bytes | None) -> None:
        """Send these in every open watch; None ends it."""
        for line in lines:
            self._events.put_nowait(line)

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.pulse.until(condition, within=5, meaning=f"server saw {self.seen}")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.read())
        self.seen.append((request.method, request.raw_path))
        self.headers = [(key.decode(), value.decode()) for key, value in request.raw_headers]
        self.pulse.beat()
        if "watch" in request.query:
            return await self._watch(request)
        match request.path:
            case "/api/v1/nodes":
                return web.Response(body=LONG_LIST)
            case "/api/v1/zipped":
                return web.Response(
                    body=gzip.compress(b"zipped"), headers={"Content-Encoding": "gzip"}
                )
            case "/api/v1/crash":
                assert request.transport is not None
                request.transport.abort()
        return web.json_response({"answer": len(self.seen)}, headers={"Audit-Id": "a1"})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.watches += 1
        try:
            while (line := await self._events.get()) is not None:
                await response.write(line)
        finally:
            self.watches -= 1
            self.pulse.beat()
        return response


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
def serving(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
async def api(serving: ssl.SSLContext) -> AsyncIterator[SmallApi]:
    small = SmallApi()
    application = web.Application(client_max_size=0)
    application.router.add_route("*", "/{path:.*}", small.handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving)
    await site.start()
    small.url = site.name
    yield small
    small.emit(None)
    await runner.cleanup()


@pytest.fixture
async def proxy(
    api: SmallApi, trusting: ssl.SSLContext, serving: ssl.SSLContext
) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(api.url, upstream_ssl=trusting, serving_ssl=serving) as running:
        yield running


def connect(url: str | None, trusting: ssl.SSLContext) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        url,
        connector=aiohttp.TCPConnector(ssl=trusting),
        timeout=aiohttp.ClientTimeout(total=5),
    )
    # aiohttp repeats GET, PUT and DELETE by itself when the connection is closed unanswered.
    session._retry_connection = False  # noqa: SLF001 (no public switch for it)
    return session


@pytest.fixture
async def client(
    proxy: FaultProxy, trusting: ssl.SSLContext
) -> AsyncIterator[aiohttp.ClientSession]:
    async with connect(proxy.url, trusting) as session:
        yield session


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        yield process
        process.kill()


async def status_of(client: aiohttp.ClientSession, method: str, path: str) -> int:
    async with client.request(method, path) as response:
        await response.read()
        return response.status


async def assert_cut(client: aiohttp.ClientSession, method: str = "POST", path: str = PODS) -> None:
    with pytest.raises(aiohttp.ClientConnectionError):
        await status_of(client, method, path)


async def assert_silent(read: Callable[[], Any]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(A_MOMENT):
            await read()


# --- passing on ------------------------------------------------------------------------------


async def test_request_and_answer_pass_unchanged(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    sent = {
        "Accept": "application/json;as=Table",
        "Accept-Encoding": "gzip",
        "Authorization": "Bearer secret",
        "Content-Type": "application/merge-patch+json",
        "User-Agent": "rescheduler/1",
    }
    async with client.patch(f"{PODS}/a%2Fb?x=%20y", headers=sent, data=b'{"a":1}') as response:
        assert await response.json() == {"answer": 1}
        received = set(response.headers)
    assert api.seen == [("PATCH", f"{PODS}/a%2Fb?x=%20y")]
    assert api.bodies == [b'{"a":1}']
    expected = {**sent, "Content-Length": "7", "Host": proxy.url.removeprefix("https://")}
    assert dict(api.headers) == expected
    assert received == {"Audit-Id", "Content-Length", "Content-Type", "Date", "Server"}


async def test_nothing_is_added_to_a_bare_request(
    api: SmallApi, proxy: FaultProxy, trusting: ssl.SSLContext
) -> None:
    port = int(proxy.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    writer.write(b"GET /version HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()
    await writer.wait_closed()
    assert api.headers == [("Host", "here")]


async def test_a_compressed_answer_is_not_unpacked(client: aiohttp.ClientSession) -> None:
    async with client.get("/api/v1/zipped", auto_decompress=False) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await response.read()) == b"zipped"


async def test_a_long_list_arrives_whole(client: aiohttp.ClientSession) -> None:
    async with client.get("/api/v1/nodes") as response:
        assert response.content_length == len(LONG_LIST)
        assert await response.read() == LONG_LIST


async def test_a_large_object_can_be_written(api: SmallApi, client: aiohttp.ClientSession) -> None:
    async with client.post(PODS, data=io.BytesIO(b"x" * 2_000_000)) as response:
        assert response.status == 200
    assert len(api.bodies[0]) == 2_000_000


async def test_requests_are_recorded(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    for method, path in [
        ("GET", "/version"),
        ("POST", PODS),
        ("POST", f"{PODS}?dryRun=All"),
        ("DELETE", f"{PODS}/web-0"),
    ]:
        await status_of(client, method, path)
    assert [(each.verb, each.resource, each.status) for each in proxy.requests] == [
        ("get", "", 200),
        ("create", "pods", 200),
        ("create", "pods", 200),
        ("delete", "pods", 200),
    ]
    assert [(each.number, each.write_number, each.verb) for each in proxy.writes] == [
        (2, 1, "create"),
        (4, 2, "delete"),
    ]
    assert all(each.fault == "" and each.upstream_status == 200 for each in proxy.requests)
    assert proxy.requests[2].dry_run


async def test_a_watch_is_passed_on_event_by_event(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    async with client.get(WATCH) as response:
        await proxy.wait_until(lambda: proxy.requests[0].status == 200)
        for number in range(3):
            api.emit(event(number))
            assert await response.content.readline() == event(number)
        api.emit(None)
        assert await response.read() == b""


async def test_a_client_that_leaves_ends_the_watch_upstream(
    api: SmallApi, client: aiohttp.ClientSession
) -> None:
    async with client.get(WATCH) as response:
        assert api.watches == 1
        response.close()
    await api.until(lambda: api.watches == 0)


async def test_a_write_is_sent_upstream_only_once(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    await status_of(client, "PUT", f"{PODS}/a")  # leaves a kept connection to the server behind
    await assert_cut(client, "PUT", "/api/v1/crash")
    assert api.seen == [("PUT", f"{PODS}/a"), ("PUT", "/api/v1/crash")]
    assert "ServerDisconnectedError" in str(proxy.requests[1].outcome.error)


async def test_an_absent_server_looks_like_a_closed_connection(
    trusting: ssl.SSLContext, serving: ssl.SSLContext
) -> None:
    away = "https://127.0.0.1:1"
    async with (
        FaultProxy(away, upstream_ssl=trusting, serving_ssl=serving) as proxy,
        connect(proxy.url, trusting) as client,
    ):
        await assert_cut(client)
        assert "ClientConnectorError" in str(proxy.requests[0].outcome.error)


# --- answers in the server's place -----------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (fail(403), 403, "Forbidden"),
        (fail(418, reason="Teapot"), 418, "Teapot"),
        (budget_refusal(), 429, "TooManyRequests"),
        (gone(), 410, "Expired"),
        (conflict(), 409, "Conflict"),
        (conflict("AlreadyExists"), 409, "AlreadyExists"),
        (unavailable(), 503, "ServiceUnavailable"),
        (internal_error(), 500, "InternalError"),
    ],
)
async def test_an_error_is_a_kubernetes_status(
    api: SmallApi,
    proxy: FaultProxy,
    client: aiohttp.ClientSession,
    *,
    fault: Fault,
    status: int,
    reason: str,
) -> None:
    rule = proxy.on(Match(), fault)
    async with client.post(PODS) as response:
        answer = await response.json()
        assert response.status == status
        # Above all no Retry-After: the API server sends none with a budget refusal.
        assert set(response.headers) == {"Content-Length", "Content-Type"}
    assert (answer["kind"], answer["code"], answer["reason"]) == ("Status", status, reason)
    assert api.seen == []
    assert rule.fired == 1
    request = proxy.requests[0]
    assert (request.status, request.upstream_status) == (status, None)
    assert request.fault == f"fail({status})"


async def test_a_budget_refusal_names_its_cause(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(subresource="eviction"), budget_refusal("web"))
    async with client.post(f"{PODS}/web-0/eviction") as response:
        cause = (await response.json())["details"]["causes"][0]
    assert cause["reason"] == "DisruptionBudget"
    assert "budget web needs" in cause["message"]


async def test_throttling_is_plain_text_with_a_waiting_time(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), throttled(retry_after=3))
    async with client.get(PODS) as response:
        assert response.status == 429
        assert response.content_type == "text/plain"
        assert response.headers["Retry-After"] == "3"


async def test_an_error_may_have_any_body_and_headers(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), fail(502, "<html>", {"Content-Type": "text/html"}), times=1)
    proxy.on(Match(), fail(400, {"mine": True}))
    async with client.get(PODS) as response:
        assert (response.content_type, await response.text()) == ("text/html", "<html>")
    async with client.get(PODS) as response:
        assert await response.json() == {"mine": True}


# --- lost requests and replies ---------------------------------------------------------------


async def test_a_dropped_request_never_reaches_the_server(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), drop_request(), times=1)
    await assert_cut(client)
    assert api.seen == []
    assert proxy.requests[0].status is None
    assert await status_of(client, "POST", PODS) == 200


async def test_a_dropped_reply_leaves_the_server_changed(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), drop_reply())
    await assert_cut(client)
    assert api.seen == [("POST", PODS)]
    request = proxy.requests[0]
    assert (request.status, request.upstream_status, request.fault) == (None, 200, "drop_reply")


async def test_a_late_request_arrives_after_its_client_gave_up(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(verb="create"), arrive_late(A_MOMENT))
    await assert_cut(client)
    assert api.seen == []
    await proxy.wait_until(lambda: proxy.requests[0].upstream_status == 200)
    assert api.seen == [("POST", PODS)]


async def test_a_delayed_request_is_answered_later(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    rule = proxy.on(Match(), delay(A_MOMENT))
    started = asyncio.get_running_loop().time()
    answer = asyncio.create_task(status_of(client, "GET", PODS))
    await rule.wait_fired()
    assert api.seen == []
    assert await answer == 200
    assert asyncio.get_running_loop().time() - started >= A_MOMENT


async def test_a_held_request_goes_on_when_it_is_let_go(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    let_go = asyncio.Event()
    rule = proxy.on(Match(verb="create"), hold(let_go), times=1)
    answer = asyncio.create_task(status_of(client, "POST", PODS))
    await rule.wait_fired()
    assert await status_of(client, "GET", PODS) == 200
    assert api.seen == [("GET", PODS)]
    let_go.set()
    assert await answer == 200
    assert api.seen == [("GET", PODS), ("POST", PODS)]


async def test_a_held_request_is_never_sent_when_its_client_leaves(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    let_go = asyncio.Event()
    rule = proxy.on(Match(verb="create"), hold(let_go), times=1)
    answer = asyncio.create_task(status_of(client, "POST", PODS))
    await rule.wait_fired()
    proxy.cut_all()
    with pytest.raises(aiohttp.ClientConnectionError):
        await answer
    let_go.set()
    assert await status_of(client, "GET", PODS) == 200
    assert api.seen == [("GET", PODS)]


@pytest.mark.parametrize("forwarded", [False, True])
async def test_a_half_open_request_gets_no_answer(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession, *, forwarded: bool
) -> None:
    rule = proxy.on(Match(), half_open(forwarded=forwarded))
    answer = asyncio.create_task(status_of(client, "POST", PODS))
    await rule.wait_fired()
    assert api.seen == ([("POST", PODS)] if forwarded else [])
    await assert_silent(lambda: asyncio.shield(answer))
    proxy.cut_all()
    with pytest.raises(aiohttp.ClientConnectionError):
        await answer


# --- killing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("when", "arrived"), [("before", 1), ("after", 2)])
async def test_the_process_is_killed_around_the_nth_write(
    api: SmallApi,
    proxy: FaultProxy,
    client: aiohttp.ClientSession,
    victim: subprocess.Popen[bytes],
    *,
    when: Literal["before", "after"],
    arrived: int,
) -> None:
    rule = proxy.on(nth_write(2), kill(victim, when=when))
    assert await status_of(client, "POST", PODS) == 200
    assert await status_of(client, "GET", PODS) == 200
    assert victim.poll() is None
    await assert_cut(client)
    assert victim.wait(timeout=5) == -signal.SIGKILL
    assert api.seen.count(("POST", PODS)) == arrived
    assert (rule.fired, proxy.writes[1].fault) == (1, f"kill({when})")


async def test_a_process_can_be_killed_by_its_number(
    proxy: FaultProxy, client: aiohttp.ClientSession, victim: subprocess.Popen[bytes]
) -> None:
    proxy.on(Match(), kill(victim.pid, when="before"))
    await assert_cut(client)
    assert victim.wait(timeout=5) == -signal.SIGKILL


# --- streams ---------------------------------------------------------------------------------


async def received_until_broken(response: aiohttp.ClientResponse) -> bytes:
    received = b""
    try:
        async for chunk in response.content.iter_any():
            received += chunk
    except aiohttp.ClientPayloadError:
        return received
    pytest.fail("the stream ended in good order")


@pytest.mark.parametrize("events", [0, 2])
async def test_a_watch_is_cut_after_some_events(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession, events: int
) -> None:
    rule = proxy.on(Match(verb="watch"), cut_after(events))
    async with client.get(WATCH) as response:
        api.emit(*map(event, range(events)))  # no further event is needed to be cut
        assert await received_until_broken(response) == b"".join(map(event, range(events)))
    await rule.wait_fired()
    await api.until(lambda: api.watches == 0)


async def test_a_stalled_watch_stays_open_and_silent(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    rule = proxy.on(Match(verb="watch"), stall_after(1))
    async with client.get(WATCH) as response:
        api.emit(event(1), event(2), None)
        assert await response.content.readline() == event(1)
        await rule.wait_fired()
        await assert_silent(response.content.readline)


async def test_held_events_all_arrive_when_they_are_let_go(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    let_go = asyncio.Event()
    rule = proxy.on(Match(verb="watch"), hold_events(let_go))
    async with client.get(WATCH) as response:
        api.emit(event(1), event(2), None)
        await rule.wait_fired()
        await assert_silent(response.content.readline)
        let_go.set()
        assert await response.read() == event(1) + event(2)


async def test_an_event_is_injected(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    bookmark = watch_event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    proxy.on(Match(verb="watch"), inject_event(bookmark))
    proxy.on(Match(verb="watch"), inject_event(expired_event(), after=2))
    api.emit(event(1), None)
    async with client.get(WATCH) as response:
        lines = (await response.read()).splitlines(keepends=True)
    assert lines == [bookmark, event(1), expired_event()]
    assert json.loads(lines[2])["object"]["reason"] == "Expired"


async def test_events_are_dropped_and_doubled(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    deleted = watch_event("DELETED", {"metadata": {"name": "pod-1"}})
    dropping = proxy.on(Match(verb="watch"), drop_events(lambda each: each["type"] == "DELETED"))
    proxy.on(Match(verb="watch"), rewrite_events(lambda line: (line, line)))
    first, second = event(1), event(2)
    # Cut where no event ends: chunks of a stream keep to no boundary.
    api.emit(first[:5], first[5:] + deleted + second[:1], second[1:], None)
    async with client.get(WATCH) as response:
        assert await response.read() == first * 2 + second * 2
    assert dropping.fired == 1
    assert proxy.requests[0].fault == "rewrite_events+rewrite_events"


async def test_a_list_is_cut_in_the_middle(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(resource="nodes"), cut_after_bytes(1_000))
    async with client.get("/api/v1/nodes") as response:
        assert await received_until_broken(response) == LONG_LIST[:1_000]


async def test_a_watch_too_short_to_be_cut_gives_its_turn_back(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    rule = proxy.on(Match(verb="watch"), cut_after(2), times=1)
    api.emit(event(1), None)
    async with client.get(WATCH) as response:
        assert await response.read() == event(1)
    assert rule.fired == 0
    api.emit(event(1), event(2))
    async with client.get(WATCH) as response:
        assert await received_until_broken(response) == event(1) + event(2)
    assert rule.fired == 1


# --- rules -----------------------------------------------------------------------------------


async def test_a_rule_skips_counts_and_stops(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    rule = proxy.on(Match(verb="create"), unavailable(), after=1, times=2)
    seen = [await status_of(client, method, PODS) for method in ("POST", "GET", *["POST"] * 4)]
    assert seen == [200, 200, 503, 503, 200, 200]
    assert rule.fired == 2


async def test_rules_are_removed_one_by_one_or_all(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    first = proxy.on(Match(), fail(501))
    proxy.on(Match(), fail(502))
    assert await status_of(client, "GET", PODS) == 501
    first.remove()
    assert await status_of(client, "GET", PODS) == 502
    proxy.clear()
    assert await status_of(client, "GET", PODS) == 200


async def test_a_delay_leaves_its_request_to_the_next_rule(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), delay(0))
    proxy.on(Match(), unavailable())
    unreached = proxy.on(Match(), internal_error(), times=1)
    assert await status_of(client, "GET", PODS) == 503
    assert proxy.requests[0].fault == "delay(0)+fail(503)"
    assert unreached.fired == 0


async def test_a_rule_takes_on_no_more_than_its_times_at_once(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(), delay(0.01))
    proxy.on(Match(), drop_reply(), times=1)
    results = await asyncio.gather(
        *(status_of(client, "POST", PODS) for _ in range(5)), return_exceptions=True
    )
    assert [result for result in results if result != 200] != []
    assert results.count(200) == 4


async def test_waiting_for_a_rule_in_vain_says_which(proxy: FaultProxy) -> None:
    with pytest.raises(TimeoutError, match=r"drop_reply on .*'create'.* fired 1 times"):
        await proxy.on(Match(verb="create"), drop_reply()).wait_fired(within=0.01)


# --- all connections at once -----------------------------------------------------------------


async def test_every_live_connection_is_cut(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    async with client.get(WATCH) as one, client.get(WATCH) as other:
        proxy.cut_all()
        assert await received_until_broken(one) == b""
        assert await received_until_broken(other) == b""
    await api.until(lambda: api.watches == 0)
    assert await status_of(client, "GET", PODS) == 200


async def test_a_frozen_watch_is_silent_and_thaws(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    async with client.get(WATCH) as response:
        proxy.freeze()
        api.emit(event(1), event(2), None)
        await assert_silent(response.content.readline)
        proxy.thaw()
        assert await response.read() == event(1) + event(2)


async def test_a_frozen_proxy_answers_nothing_on_a_kept_connection(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    await status_of(client, "GET", PODS)
    proxy.freeze()
    answer = asyncio.create_task(status_of(client, "POST", PODS))
    await proxy.wait_until(lambda: len(proxy.writes) == 1)
    await assert_silent(lambda: asyncio.shield(answer))
    assert len(api.seen) == 1
    proxy.thaw()
    assert await answer == 200


async def test_a_frozen_proxy_does_not_even_shake_hands(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.freeze()
    answer = asyncio.create_task(status_of(client, "GET", PODS))
    await assert_silent(lambda: asyncio.shield(answer))
    assert proxy.requests == []
    proxy.thaw()
    assert await answer == 200


async def test_unanswered_connections_are_cut_too(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.freeze()
    answer = asyncio.create_task(status_of(client, "GET", PODS))
    await assert_silent(lambda: asyncio.shield(answer))
    proxy.cut_all()
    with pytest.raises(aiohttp.ClientConnectionError):
        await answer


async def test_closing_waits_for_nobody_and_leaves_no_task(
    api: SmallApi, trusting: ssl.SSLContext, serving: ssl.SSLContext
) -> None:
    async with connect(None, trusting) as client:
        before = asyncio.all_tasks()
        async with FaultProxy(api.url, upstream_ssl=trusting, serving_ssl=serving) as proxy:
            url = proxy.url
            hanging = await in_every_state_of_waiting(proxy, client)
            closing_since = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - closing_since < 1
        ours = [task for task in asyncio.all_tasks() - before if "faultproxy/" in repr(task)]
        assert ours == []
        results = await asyncio.gather(*hanging, return_exceptions=True)
        assert left_open(url, api.url) == []
    broken = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)
    assert all(isinstance(result, broken) for result in results)
    await api.until(lambda: api.watches == 0)


async def in_every_state_of_waiting(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> list[asyncio.Task[int]]:
    """A live watch, a stalled one, a half-open request, a late one, and no handshake."""
    proxy.on(Match(verb="watch"), stall_after(0), after=1)
    proxy.on(Match(verb="create"), half_open())
    proxy.on(Match(verb="delete"), arrive_late(60))
    hanging = [
        asyncio.create_task(status_of(client, method, proxy.url + path))
        for method, path in [
            ("GET", WATCH),
            ("GET", WATCH),
            ("POST", PODS),
            ("DELETE", f"{PODS}/a"),
        ]
    ]
    await proxy.wait_until(lambda: len(proxy.requests) == len(hanging))
    await proxy.wait_until(lambda: [each.status for each in proxy.requests].count(200) == 2)
    proxy.freeze()
    hanging.append(asyncio.create_task(status_of(client, "GET", f"{proxy.url}/version")))
    await assert_silent(lambda: asyncio.shield(hanging[-1]))
    return hanging


async def test_a_large_event_arrives_whole_before_the_cut(
    api: SmallApi, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    proxy.on(Match(verb="watch"), cut_after(1))
    big = watch_event("ADDED", {"x": "y" * 3_000_000})
    async with client.get(WATCH) as response:
        api.emit(big)
        assert len(await received_until_broken(response)) == len(big)


# --- nothing is left open ----------------------------------------------------------------------

Ending = Callable[[FaultProxy, "asyncio.Task[int]"], None]


def cut_everything(proxy: FaultProxy, _: "asyncio.Task[int]") -> None:
    proxy.cut_all()


def leave(_: FaultProxy, asking: "asyncio.Task[int]") -> None:
    asking.cancel()


def do_nothing(_: FaultProxy, __: "asyncio.Task[int]") -> None: ...


@pytest.mark.parametrize("first", [do_nothing, cut_everything, leave])
async def test_no_socket_is_left_whenever_it_closes(
    first: Ending, api: SmallApi, trusting: ssl.SSLContext, serving: ssl.SSLContext
) -> None:
    """Connecting, accepting, shaking hands on either side, asking: each takes some turns."""
    for turns in range(30):
        async with connect(None, trusting) as client:
            async with FaultProxy(api.url, upstream_ssl=trusting, serving_ssl=serving) as proxy:
                url = proxy.url
                asking = asyncio.create_task(status_of(client, "GET", url + WATCH))
                for _ in range(turns):
                    await asyncio.sleep(0)
                first(proxy, asking)
            assert left_open(url, api.url) == [], f"after {turns} turns"
            await asyncio.gather(asking, return_exceptions=True)


async def test_no_socket_waits_for_an_api_server_too_busy_to_close(
    trusting: ssl.SSLContext, serving: ssl.SSLContext
) -> None:
    with deaf_server(serving) as upstream:
        async with (
            connect(None, trusting) as client,
            FaultProxy(upstream, upstream_ssl=trusting, serving_ssl=serving) as proxy,
        ):
            url = proxy.url
            asking = asyncio.create_task(status_of(client, "GET", url + WATCH))
            await proxy.wait_until(lambda: [each.status for each in proxy.requests] == [200])
            asking.cancel()
        assert left_open(url, upstream) == []


@contextlib.contextmanager
def deaf_server(serving: ssl.SSLContext) -> Iterator[str]:
    """Begins to answer, and then neither speaks nor listens."""
    done = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        raw, _ = listening.accept()
        with serving.wrap_socket(raw, server_side=True) as connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            done.wait()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        done.set()
        thread.join()
        listening.close()


def left_open(proxy: str, upstream: str) -> list[socket.socket]:
    """What the proxy accepted, and what it opened."""
    sockets = (each for each in gc.get_objects() if isinstance(each, socket.socket))
    return [
        each
        for each in sockets
        if each.fileno() != -1
        and each.family == socket.AF_INET
        and (
            _port(each.getsockname) == _port_in(proxy)
            or _port(each.getpeername) == _port_in(upstream)
        )
    ]


def _port(end: Callable[[], tuple[str, int]]) -> int:
    try:
        return end()[1]
    except OSError:  # it is not connected
        return 0


def _port_in(url: str) -> int:
    return int(url.rpartition(":")[2])
