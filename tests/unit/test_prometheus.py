"""The door to Prometheus, against a server that answers as badly as servers do.

A real Prometheus is asked in tests/cluster/test_usage_sources.py.
"""

import asyncio
import base64
import json
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from rescheduler import prometheus
from rescheduler.config import BasicAuth, PrometheusSettings
from rescheduler.prometheus import Course, PrometheusError, Vector

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "localhost", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        yield f"{'https' if context else 'http'}://localhost:{port}"
    finally:
        await runner.cleanup()


def answering(body: object, *, status: int = 200, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        kind = headers.pop("content_type", "application/json")
        return web.Response(text=text, status=status, content_type=kind, headers=headers)

    return handle


def success(*series: object, **rest: object) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "vector", "result": list(series)}, **rest}


def node(name: str, value: str, at: float = 1_700_000_000.5) -> dict[str, Any]:
    return {"metric": {"node": name, "job": "kubelet"}, "value": [at, value]}


NAMES = {"a": 1, "b": 2, "c": 3, "ns/web": 4}


async def asked(
    settings: PrometheusSettings, labels: tuple[str, ...] = ("node",), query: str = "up"
) -> Vector:
    async with prometheus.connect(settings) as door:
        return await door.query(query, labels, identify=NAMES.__getitem__, oldest_seconds=180)


async def vector_of(*series: object, labels: tuple[str, ...] = ("node",)) -> Vector:
    async with serving(answering(success(*series))) as url:
        return await asked(PrometheusSettings(url=url), labels)


async def refusal_of(handler: Handler, **settings: Any) -> str:  # noqa: ANN401
    async with serving(handler) as url:
        with pytest.raises(PrometheusError) as caught:
            await asked(PrometheusSettings(url=url, **settings))
    return str(caught.value)


# ---------------------------------------------------------------------- what it says


async def test_a_vector() -> None:
    vector = await vector_of(node("a", "1.5"), node("b", "2e3"))
    assert vector.who.tolist() == [1, 2]
    assert vector.values.tolist() == [1.5, 2000]
    assert vector.at == 1_700_000_000.5
    assert vector.findings == {}


async def test_several_labels_name_one_thing() -> None:
    series = {"metric": {"namespace": "ns", "pod": "web"}, "value": [1, "3"]}
    vector = await vector_of(series, labels=("namespace", "pod"))
    assert vector.who.tolist() == [4]


async def test_an_empty_vector() -> None:
    vector = await vector_of()
    assert (len(vector.who), len(vector.values)) == (0, 0)


async def test_impossible_values_are_handed_on_and_told() -> None:
    values = ["NaN", "+Inf", "-3"]
    vector = await vector_of(*map(node, "abc", values))
    assert math.isnan(vector.values[0])
    assert vector.values[1:].tolist() == [math.inf, -3]
    assert vector.findings == {"impossible value": "impossible value: 3, such as nan of a"}


async def test_series_that_cannot_be_read_are_left_out_and_told() -> None:
    vector = await vector_of(
        node("a", "1"),
        node("b", "many"),
        {"metric": {"node": "c"}, "histogram": [1, {}]},
        {"metric": {"instance": "c"}, "value": [1, "1"]},
        {"metric": {"node": ""}, "value": [1, "1"]},
        "nonsense",
    )
    assert vector.who.tolist() == [1]
    assert vector.findings["unreadable series"].startswith("unreadable series: 3, such as {")
    assert vector.findings["missing label"] == (
        "missing label: 2, such as 'node' of {'instance': 'c'}"
    )


async def test_a_node_with_several_series_is_left_out_as_nobody_knows_which_is_right() -> None:
    vector = await vector_of(node("a", "1"), node("b", "2"), node("a", "3"), node("c", "4"))
    assert dict(zip(vector.who.tolist(), vector.values.tolist(), strict=True)) == {2: 2, 3: 4}
    assert vector.findings == {
        "several series": "1 of them with several series, which are left out: let the query add "
        "them up, as in sum by (node) (...)"
    }


async def test_warnings_are_told() -> None:
    body = success(node("a", "1"), warnings=["partial\nresponse", "another"])
    async with serving(answering(body)) as url:
        vector = await asked(PrometheusSettings(url=url))
    assert vector.findings == {"warning": "warning: 2, such as partial response"}


REFUSALS = [
    (
        answering({"status": "error", "errorType": "bad_data", "error": "parse \x1b error"}),
        "refuses: bad_data: parse   error",
    ),
    (
        answering({"status": "error", "errorType": "timeout", "error": "x" * 999}, status=503),
        "refuses: timeout: " + "x" * 300 + "...",
    ),
    (answering("<html>", content_type="text/html"), "something else than its API gives (HTTP 200"),
    (answering("", status=502), "something else than its API gives (HTTP 502"),
    (answering("404 page not found", status=404), "check usage.prometheus.url"),
    (answering('{"status": "succ', status=200), "something else than its API gives"),
    (answering("[]"), "something else than its API gives"),
    (answering({"status": "success", "data": 5}), "no result"),
    (answering({}), "HTTP 200 and status ''"),
    (answering(success(), status=500), "HTTP 500 and status 'success'"),
    (
        answering({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}),
        "with a scalar: the query has to give a vector",
    ),
    (answering("", status=401), "does not accept our credentials (HTTP 401)"),
    (answering("", status=403), "does not accept our credentials (HTTP 403)"),
]


@pytest.mark.parametrize(("handler", "part"), REFUSALS)
async def test_refused_answer(handler: Handler, part: str) -> None:
    message = await refusal_of(handler)
    assert part in message
    assert message.isprintable()


async def test_a_redirect_is_not_followed() -> None:
    elsewhere: list[str] = []

    async def other(request: web.Request) -> web.Response:
        elsewhere.append(request.path)
        return web.json_response(success(node("a", "1")))

    async with serving(other) as target:
        location = f"{target}/api/v1/query?token=x"
        message = await refusal_of(answering("", status=307, Location=location))
    assert f"redirects us to {target}/api/v1/query, where we do not follow" in message
    assert "token" not in message
    assert elsewhere == []


async def test_an_answer_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_LARGEST_ANSWER", 10_000)

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 1000)

    assert "larger than 10000 bytes" in await refusal_of(endless)


async def test_silence_is_sat_out_no_longer_than_the_timeout() -> None:
    gone = asyncio.Event()

    async def silent(_: web.Request) -> web.Response:
        await gone.wait()
        return web.Response()

    async with serving(silent) as url:
        with pytest.raises(PrometheusError, match=r"no answer within 0\.1 s"):
            await asked(PrometheusSettings(url=url, timeout_seconds=0.1))
        gone.set()


async def test_nobody_there() -> None:
    async with serving(answering("")) as url:
        pass
    with pytest.raises(PrometheusError, match="cannot be asked: "):
        await asked(PrometheusSettings(url=url))


async def test_a_connection_that_is_cut() -> None:
    async def cut(request: web.Request) -> web.Response:
        assert request.transport
        request.transport.close()
        return web.Response()

    assert "cannot be asked: " in await refusal_of(cut)


# ---------------------------------------------------------------------- what we say


class Recorder:
    """Answers well, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, Any], str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        authorization = request.headers.get("Authorization", "")
        self.requests.append((request.method, request.path, form, authorization))
        return web.json_response(success(node("a", "1")))

    @property
    def authorizations(self) -> list[str]:
        return [authorization for _, _, _, authorization in self.requests]


async def test_the_request() -> None:
    recorder = Recorder()
    async with serving(recorder.answer) as url:
        await asked(PrometheusSettings(url=f"{url}/prefix", timeout_seconds=2.5), query="a + b")
    form = {"query": "a + b", "timeout": "2500ms", "lookback_delta": "180s"}
    assert recorder.requests == [("POST", "/prefix/api/v1/query", form, "")]


async def test_a_token_file_is_read_anew_for_every_request(tmp_path: Path) -> None:
    recorder, token = Recorder(), tmp_path / "token"
    async with serving(recorder.answer) as url:
        settings = PrometheusSettings(url=url, token_file=str(token))
        async with prometheus.connect(settings) as door:
            for text in ("first\n", "second"):
                token.write_text(text)
                await door.query("up", ["node"], identify=len, oldest_seconds=180)
    assert recorder.authorizations == ["Bearer first", "Bearer second"]


async def test_a_password_file_is_read_anew_for_every_request(tmp_path: Path) -> None:
    recorder, password = Recorder(), tmp_path / "password"
    async with serving(recorder.answer) as url:
        auth = BasicAuth(username="m\u00e9", password_file=str(password))
        async with prometheus.connect(PrometheusSettings(url=url, basic_auth=auth)) as door:
            for text in (" p:w \n", "second"):
                password.write_text(text)
                await door.query("up", ["node"], identify=len, oldest_seconds=180)
    sent = [base64.b64decode(text.removeprefix("Basic ")) for text in recorder.authorizations]
    assert sent == ["m\u00e9: p:w ".encode(), "m\u00e9:second".encode()]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "cannot be read: No such file"),
        (b"", "holds no token in one line"),
        (b"secret\nsecret", "holds no token in one line"),
        (b"secret\xff", "cannot be read: not UTF-8 text"),
        ("secret\u00e9".encode(), "holds no token in one line"),
    ],
)
async def test_a_token_file_that_holds_no_token_is_named_and_not_shown(
    tmp_path: Path, content: bytes | None, part: str
) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    recorder = Recorder()
    message = await refusal_of(recorder.answer, token_file=str(token))
    assert f"usage.prometheus.tokenFile {token}" in message
    assert part in message
    assert "secret" not in message
    assert recorder.requests == []


# ---------------------------------------------------------------------- whom we trust


def certificates(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    authority = trustme.CA()
    path = folder / name
    authority.cert_pem.write_to_path(str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return path, context


async def test_only_the_authority_of_the_file_is_trusted(tmp_path: Path) -> None:
    ours, context = certificates(tmp_path, "ours")
    others, _ = certificates(tmp_path, "others")
    async with serving(Recorder().answer, context) as url:
        vector = await asked(PrometheusSettings(url=url, ca_file=str(ours)))
        assert vector.who.tolist() == [1]
        for ca_file in ("", str(others)):
            with pytest.raises(PrometheusError, match=r"(?i)certificate"):
                await asked(PrometheusSettings(url=url, ca_file=ca_file))


async def test_an_authority_that_is_replaced_is_trusted_from_then_on(tmp_path: Path) -> None:
    new, context = certificates(tmp_path, "new")
    used, _ = certificates(tmp_path, "used")
    async with (
        serving(Recorder().answer, context) as url,
        prometheus.connect(PrometheusSettings(url=url, ca_file=str(used))) as door,
    ):
        with pytest.raises(PrometheusError, match=r"(?i)certificate"):
            await door.query("up", ["node"], identify=len, oldest_seconds=180)
        new.replace(used)
        vector = await door.query("up", ["node"], identify=len, oldest_seconds=180)
    assert vector.values.tolist() == [1]


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_a_file_of_authorities_that_cannot_be_used_is_named(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "ca"
    if content:
        path.write_text(content)
    with pytest.raises(PrometheusError, match=r"usage\.prometheus\.caFile .* cannot be used"):
        await asked(PrometheusSettings(url="https://localhost:1", ca_file=str(path)))


# ---------------------------------------------------------------------- the past


def matrix(*series: object) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series)}}


async def asked_of_the_past(body: object) -> list[Course]:
    async with (
        serving(answering(body)) as url,
        prometheus.connect(PrometheusSettings(url=url)) as door,
    ):
        return await door.query_range("x", ("namespace", "pod"), begin=0, end=60, step_seconds=30)


async def test_a_course_is_what_a_series_was_at_several_times() -> None:
    web = {"metric": {"namespace": "ns", "pod": "web"}, "values": [[0, "1.5"], [30, "2"]]}
    nameless = {"metric": {"namespace": "ns"}, "values": [[0, "1"]]}
    (course,) = await asked_of_the_past(matrix(web, nameless))
    assert course.name == "ns/web"
    assert course.at.tolist() == [0, 30]
    assert course.values.tolist() == [1.5, 2]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (success(), "answers with a vector: the query has to give one series"),
        (matrix({"metric": {}, "values": [[0, "x"]]}), "answers with what is no series"),
        (matrix({"metric": {}}), "answers with what is no series"),
        ({"status": "error", "errorType": "bad_data", "error": "too many"}, "refuses: bad_data"),
    ],
)
async def test_no_course_is_an_error_in_words(body: object, part: str) -> None:
    with pytest.raises(PrometheusError, match=part):
        await asked_of_the_past(body)


async def test_the_past_is_asked_for_with_its_times() -> None:
    forms: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.Response:
        forms.append({"path": request.path, **await request.post()})
        return web.json_response(matrix())

    async with (
        serving(handle) as url,
        prometheus.connect(PrometheusSettings(url=url)) as door,
    ):
        await door.query_range("x", ("pod",), begin=1800, end=5400, step_seconds=1800)
    assert forms == [
        {
            "path": "/api/v1/query_range",
            "query": "x",
            "timeout": "10000ms",
            "start": "1800.000",
            "end": "5400.000",
            "step": "1800s",
        }
    ]
