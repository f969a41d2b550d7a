"""Finds the answer to each request: who asks, what they may see, where it is worked out."""

import asyncio
import gzip
import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web

from rescheduler import config
from rescheduler.serve.answering import Answer
from rescheduler.serve.dashboard import audience as audiences
from rescheduler.serve.dashboard.access import Access, Act, Gate, Viewer
from rescheduler.serve.dashboard.answers import Asked, migrations, overview, past, plan, plans, pods
from rescheduler.serve.dashboard.audience import Audience
from rescheduler.serve.dashboard.contract import ENDPOINTS, EVENT_STREAM, PREFIX, Endpoint
from rescheduler.serve.dashboard.frames import BEGINNING, HEARTBEAT, Block
from rescheduler.serve.dashboard.guarding_requests import insist_on_our_name, insist_on_our_page
from rescheduler.serve.dashboard.page_files import PageFiles
from rescheduler.serve.dashboard.refusing import (
    BAD_REQUEST,
    FORBIDDEN,
    NO_TOKEN,
    NOT_FOUND,
    TOO_MANY,
    UNAVAILABLE,
    WRONG_METHOD,
    Refused,
)
from rescheduler.serve.dashboard.rights import Rights, namespaces_of
from rescheduler.serve.dashboard.view import Questions, View, Views
from rescheduler.serve.dashboard.working import Shared, Worker
from rescheduler.serve.guarding import Connections
from rescheduler.serve.tls import Shown

_JSON: Final = "application/json"
_MOST_STREAMS: Final = 200
_MOST_AUDIENCES: Final = 32
"""That are remembered: each holds what its viewers have."""
_FORGOTTEN_SECONDS: Final = 120.0
_HEARTBEAT_SECONDS: Final = 10.0
_SLOW_SECONDS: Final = 20.0
"""After which a reader who takes nothing is hung up on."""
_CHECK_AGAIN_SECONDS: Final = 60.0
"""After which it is asked again what the reader of a stream may see."""
_OLD_SECONDS: Final = 10.0
"""For which what takes long is not worked out again."""
_LONG: Final = ("pod", "curve")
_WORTH_IT: Final = 1000
_QUICK: Final = 4
_ACTS: Final = ("approve", "reject", "undo")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

Find = Callable[[Asked], Any]
_ANSWERS: Final[Mapping[str, Find]] = {
    "overview": overview.overview,
    "node": pods.node,
    "plan": plan.plan,
    "curve": plan.curve,
    "plans": plans.plans,
    "plan_by_name": plans.plan_by_name,
    "migrations": migrations.migrations,
    "migration": migrations.migration,
    "refusals": pods.refusals,
    "pods": pods.pods,
    "pod": pods.pod,
    "history": past.history,
    "settings": past.settings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardDoor:
    """What the controller hands in."""

    settings: config.Dashboard
    views: Views
    questions: Questions
    gate: Gate | None = None
    """None: nobody can be asked who has which token, so none is taken."""
    shown: Shown | None = None
    """The certificate that is handed in; None: that of the files in the settings, if any."""


class Dashboard:
    def __init__(self, door: DashboardDoor, files: PageFiles | None = None) -> None:
        self._settings = door.settings
        self._views = door.views
        self._questions = door.questions
        self._access = Access(door.gate, needs_token=door.settings.needs_token)
        self._files = files or PageFiles()
        self._worker = Worker("dashboard")
        self._slow_worker = Worker("dashboard-slow", most_waiting=8)
        self._shared = Shared()
        self._audiences: dict[Rights, Audience] = {}
        self._streams = 0
        self._log = structlog.get_logger()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            for each in self._audiences.values():
                each.end()
            self._worker.end()
            self._slow_worker.end()

    def dispatch(self, connections: Connections) -> Answer:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            try:
                found = await self._found(request, connections)
            except Refused as refused:
                found = _refusal(refused)
            except (asyncio.CancelledError, ConnectionError):
                raise
            except Exception as problem:  # noqa: BLE001 - one bad answer is not the last one
                self._log.error(
                    "cannot answer: internal error, please report",
                    path=request.path,
                    exc_info=problem,
                )
                found = _refusal(Refused(500, "internal error; the log says more"))
            if found.prepared:
                return found
            for name, value in HEADERS.items():
                found.headers.setdefault(name, value)
            connections.answered(request.protocol)
            return found

        return answer

    # ------------------------------------------------------------------ the way to an answer

    async def _found(
        self, request: web.BaseRequest, connections: Connections
    ) -> web.StreamResponse:
        if not self._settings.needs_token:
            insist_on_our_name(request.headers)
        path = self._below_base(request.path)
        if path != "/api" and not path.startswith("/api/"):
            return self._page(request, path)
        endpoint, named = _endpoint(path, request.method)
        insist_on_our_page(request.headers, acts=endpoint.body is not None)
        if endpoint.name == "openapi":
            return _answered(request, _description())
        # First of all who that is: nothing is worked out for whoever is not let in.
        viewer = await self._viewer(request)
        view = await self._view()
        if endpoint.name == "events":
            return await self._stream(request, connections, viewer)
        if endpoint.name == "cluster":
            return _packed(request, await self._audience(viewer.rights).cluster())
        if endpoint.body is not None:
            return await self._act(request, endpoint.name, named["name"], viewer, view)
        return await self._answer(request, endpoint, named, viewer, view)

    def _below_base(self, path: str) -> str:
        """A proxy may have taken it off already."""
        base = self._settings.base_path
        if base and (path == base or path.startswith(f"{base}/")):
            return path[len(base) :] or "/"
        return path

    async def _view(self) -> View:
        view = await self._views.fresh()
        if view is None:
            raise Refused(
                UNAVAILABLE,
                "nothing is known of the cluster yet",
                way_out="ask again in a moment; /readyz on serving.port says what is missing",
            )
        return view

    async def _viewer(self, request: web.BaseRequest) -> Viewer:
        header = request.headers.get("Authorization", "")
        return await self._access.viewer(header, self._namespaces)

    async def _namespaces(self) -> Iterable[str]:
        return namespaces_of((await self._view()).snapshot)

    async def _answer(
        self,
        request: web.BaseRequest,
        endpoint: Endpoint,
        named: Mapping[str, str],
        viewer: Viewer,
        view: View,
    ) -> web.Response:
        query = _query(request, endpoint)
        asked = Asked(
            view,
            viewer,
            self._questions,
            takes_tokens=self._access.takes_tokens,
            path=named,
            query=query,
        )
        is_long = endpoint.name in _LONG
        of_time = int(time.monotonic() / _OLD_SECONDS) if is_long else view.serial
        # All but the overview is the same for all who see the same.
        who = viewer.person.name if viewer.person and endpoint.name == "overview" else ""
        key = (viewer.rights, who, endpoint.name, *named.values(), *sorted(query.items()), of_time)
        worker = self._slow_worker if is_long else self._worker
        find = _ANSWERS[endpoint.name]
        body = await self._shared.get(key, worker, lambda: msgspec.json.encode(find(asked)))
        return _answered(request, body)

    async def _act(
        self, request: web.BaseRequest, what: str, name: str, viewer: Viewer, view: View
    ) -> web.Response:
        if not self._settings.actions:
            raise Refused(
                FORBIDDEN,
                "acting is off here: it only shows",
                way_out="set dashboard.actions to true, or use the command line",
            )
        uid = _uid(await request.read())
        acted = await self._access.act(viewer, Act(what, name, uid), view)
        person = viewer.person.name if viewer.person else ""
        self._log.info("acted by way of the dashboard", what=what, plan=acted.plan, by=person)
        return _answered(request, msgspec.json.encode(acted))

    # ------------------------------------------------------------------ streams

    def _audience(self, rights: Rights) -> Audience:
        found = self._audiences.get(rights)
        if found is None:
            self._forget_others()
            found = Audience(rights, self._views, self._questions, self._worker)
            self._audiences[rights] = found
        found.used_at = time.monotonic()
        return found

    def _forget_others(self) -> None:
        idle = [
            (each.used_at, rights)
            for rights, each in self._audiences.items()
            if not each.is_watched
        ]
        idle.sort(key=lambda each: each[0])
        too_many = len(self._audiences) - _MOST_AUDIENCES + 1
        for number, (used_at, rights) in enumerate(idle):
            if number < too_many or time.monotonic() - used_at > _FORGOTTEN_SECONDS:
                del self._audiences[rights]
        if len(self._audiences) >= _MOST_AUDIENCES:
            raise Refused(TOO_MANY, "too many viewers with different rights look")

    async def _stream(
        self, request: web.BaseRequest, connections: Connections, viewer: Viewer
    ) -> web.StreamResponse:
        if self._streams >= _MOST_STREAMS:
            raise Refused(TOO_MANY, "too many streams are open", way_out="close other pages")
        audience = self._audience(viewer.rights)
        self._streams += 1
        try:
            with audience.joined() as reader:
                hello = await audience.hello()
                stream = await _Stream.opened(request)
                connections.streams(request.protocol, reader.leave)
                with suppress(ConnectionError, TimeoutError):
                    await stream.write(hello)
                    await self._pass_on(request, viewer, reader, stream)
                if request.transport is not None:
                    request.transport.abort()
                return stream.response
        finally:
            self._streams -= 1

    async def _pass_on(
        self,
        request: web.BaseRequest,
        viewer: Viewer,
        reader: audiences.Reader,
        stream: "_Stream",
    ) -> None:
        checked_at = time.monotonic()
        while True:
            try:
                block = await asyncio.wait_for(reader.next(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                block = HEARTBEAT
            if reader.is_gone:
                return
            if reader.is_behind:
                await stream.write(audiences.goodbye("slow"))
                return
            if time.monotonic() - checked_at > _CHECK_AGAIN_SECONDS:
                checked_at = time.monotonic()
                if not await self._may_still(request, viewer):
                    await stream.write(audiences.goodbye("access"))
                    return
            await stream.write(block)

    async def _may_still(self, request: web.BaseRequest, viewer: Viewer) -> bool:
        try:
            now = await self._viewer(request)
        except Refused:
            # Also of who cannot be asked for a moment: the page asks again, and says so until then.
            return False
        return now.rights == viewer.rights

    # ------------------------------------------------------------------ the page

    def _page(self, request: web.BaseRequest, path: str) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            raise Refused(WRONG_METHOD, "GET only")
        found = self._files.find(path)
        if found is None:
            raise Refused(NOT_FOUND, "there is no such file of the page")
        headers = {"Cache-Control": found.cache, "ETag": found.etag, "Vary": "Accept-Encoding"}
        if request.headers.get("If-None-Match") == found.etag:
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = found.content_type
        body = found.body
        if found.compressed is not None and _takes_gzip(request):
            headers["Content-Encoding"], body = "gzip", found.compressed
        return web.Response(body=body, headers=headers)


class _Stream:
    def __init__(self, response: web.StreamResponse, *, is_packed: bool) -> None:
        self.response = response
        self._is_packed = is_packed

    @classmethod
    async def opened(cls, request: web.BaseRequest) -> "_Stream":
        is_packed = _takes_gzip(request)
        headers = {
            **HEADERS,
            "Content-Type": f"{EVENT_STREAM}; charset=utf-8",
            "Cache-Control": "no-store",
            "Vary": "Accept-Encoding, Authorization",
            # Of proxies such as nginx, which would wait for more.
            "X-Accel-Buffering": "no",
        }
        if is_packed:
            headers["Content-Encoding"] = "gzip"
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        if is_packed:
            await response.write(BEGINNING)
        return cls(response, is_packed=is_packed)

    async def write(self, block: Block) -> None:
        """Raises TimeoutError: nobody reads."""
        data = block.compressed if self._is_packed else block.plain
        async with asyncio.timeout(_SLOW_SECONDS):
            await self.response.write(data)


# ---------------------------------------------------------------------- requests and answers


@cache
def _patterns() -> list[tuple[re.Pattern[str], Endpoint]]:
    return [
        (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", f"{PREFIX}{each.path}")), each)
        for each in ENDPOINTS
    ]


def _endpoint(path: str, method: str) -> tuple[Endpoint, Mapping[str, str]]:
    allowed = []
    for pattern, endpoint in _patterns():
        found = pattern.fullmatch(path)
        if found is None:
            continue
        # Of a stream there is no head alone: it would go on with nobody reading.
        is_head = method == "HEAD" and endpoint.content != EVENT_STREAM
        if endpoint.method == ("GET" if is_head else method):
            return endpoint, found.groupdict()
        allowed.append(endpoint.method)
    if allowed:
        raise Refused(WRONG_METHOD, f"{allowed[0]} only")
    raise Refused(
        NOT_FOUND, "there is no such address", way_out=f"{PREFIX}/openapi.json has them all"
    )


def _query(request: web.BaseRequest, endpoint: Endpoint) -> dict[str, str]:
    known = {each.name for each in endpoint.parameters}
    for name in request.query:
        if name not in known:
            raise Refused(
                BAD_REQUEST,
                f"{name[:50]}: there is no such parameter here",
                field=name[:50],
                way_out=f"there are {', '.join(sorted(known))}" if known else "leave it out",
            )
        if len(request.query.getall(name)) > 1:
            raise Refused(BAD_REQUEST, f"{name}: is given more than once", field=name)
    return dict(request.query)


def _uid(body: bytes) -> str:
    from rescheduler.serve.dashboard.documents.plans import ActionRequest

    if not body.strip():
        return ""
    try:
        return msgspec.json.decode(body, type=ActionRequest).uid
    except msgspec.DecodeError as problem:
        raise Refused(BAD_REQUEST, f"the body is not as described: {problem}") from None


@cache
def _description() -> bytes:
    return (resources.files("rescheduler.serve.dashboard") / "openapi.json").read_bytes()


def _takes_gzip(request: web.BaseRequest) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "").lower()


def _answered(request: web.BaseRequest, body: bytes) -> web.Response:
    headers = _fresh_headers(body)
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    if len(body) > _WORTH_IT and _takes_gzip(request):
        headers["Content-Encoding"], body = "gzip", gzip.compress(body, _QUICK, mtime=0)
    return web.Response(body=body, headers=headers, content_type=_JSON)


def _packed(request: web.BaseRequest, packed: bytes) -> web.Response:
    headers = _fresh_headers(packed)
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    if _takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        return web.Response(body=packed, headers=headers, content_type=_JSON)
    return web.Response(body=gzip.decompress(packed), headers=headers, content_type=_JSON)


def _fresh_headers(body: bytes) -> dict[str, str]:
    return {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:24]}"',
        # Kept by nobody but the page itself, and asked about each time.
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding, Authorization",
    }


def _refusal(refused: Refused) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    if refused.status == NO_TOKEN:
        headers["WWW-Authenticate"] = 'Bearer realm="kube-rescheduler"'
    return web.Response(
        status=refused.status, body=refused.body, headers=headers, content_type=_JSON
    )
