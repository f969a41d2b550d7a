"""Finds the answer to each request: who asks, what they may see, where it is worked out."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
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
from rescheduler.serve.dashboard.contract import Endpoint
from rescheduler.serve.dashboard.frames import HEARTBEAT
from rescheduler.serve.dashboard.guarding_requests import insist_on_our_name, insist_on_our_page
from rescheduler.serve.dashboard.page_files import PageFiles
from rescheduler.serve.dashboard.refusing import (
    FORBIDDEN,
    NOT_FOUND,
    TOO_MANY,
    UNAVAILABLE,
    WRONG_METHOD,
    Refused,
)
from rescheduler.serve.dashboard.replies import (
    HEADERS,
    Stream,
    answered,
    description,
    endpoint_of,
    packed,
    query_of,
    refusal,
    takes_gzip,
    uid_in,
)
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights, namespaces_of
from rescheduler.serve.dashboard.view import Questions, View, Views
from rescheduler.serve.dashboard.working import Shared, Worker
from rescheduler.serve.guarding import Connections
from rescheduler.serve.tls import Shown

_MOST_STREAMS: Final = 200
_MOST_OF_ONE: Final = 40
"""Streams of one person, so that nobody keeps all others out."""
_MOST_AUDIENCES: Final = 32
"""That are remembered: each holds what its viewers have."""
_FORGOTTEN_SECONDS: Final = 120.0
_HEARTBEAT_SECONDS: Final = 10.0
_CHECK_AGAIN_SECONDS: Final = 60.0
"""After which it is asked again what the reader of a stream may see."""
_OLD_SECONDS: Final = 10.0
"""For which what takes long is not worked out again."""
_LONG: Final = ("pod", "curve")
_AT_ONCE: Final = ("overview", "settings")
"""In which there is nothing of records and plans; nor is there in `cluster`."""
_LISTING_TRIES: Final = 20
_LISTING_SECONDS: Final = 0.1
"""Between two of them: records and plans come soon after the first look."""
_OF_NOBODY: Final = ("curve",)
"""Figures only: no namespace is in them."""

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
        self._streams: Counter[str] = Counter()
        """By the name of whoever reads; empty: it is not known."""
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
                found = refusal(refused)
            except (asyncio.CancelledError, ConnectionError):
                raise
            except Exception as problem:  # noqa: BLE001 - one bad answer is not the last one
                self._log.error(
                    "cannot answer: internal error, please report",
                    path=request.path,
                    exc_info=problem,
                )
                found = refusal(Refused(500, "internal error; the log says more"))
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
        endpoint, named = endpoint_of(path, request.method)
        insist_on_our_page(request.headers, acts=endpoint.body is not None)
        if endpoint.name == "openapi":
            return answered(request, description())
        # First of all who that is: nothing is worked out for whoever is not let in.
        viewer = await self._viewer(request)
        view = await self._view()
        if endpoint.name == "events":
            return await self._stream(request, connections, viewer)
        if endpoint.name == "cluster":
            return packed(request, await self._audience(viewer.rights).cluster())
        if endpoint.body is not None:
            return await self._act(request, endpoint.name, named["name"], viewer, view)
        if endpoint.name not in _AT_ONCE:
            view = await self._listed(view)
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

    async def _listed(self, view: View) -> View:
        """With records and plans, if they come soon: none yet is not the same as none."""
        for _ in range(_LISTING_TRIES):
            if not view.is_listing:
                break
            await asyncio.sleep(_LISTING_SECONDS)
            view = await self._views.fresh(_LISTING_SECONDS) or view
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
        query = query_of(request, endpoint)
        asked = Asked(
            view,
            viewer,
            self._questions,
            takes_tokens=self._access.takes_tokens,
            path=named,
            query=query,
        )
        is_long = endpoint.name in _LONG
        # All but the overview is the same for all who see the same, and the curve for everybody.
        who = viewer.person.name if viewer.person and endpoint.name == "overview" else ""
        rights = EVERYTHING if endpoint.name in _OF_NOBODY else viewer.rights
        key = (rights, who, endpoint.name, *named.values(), *sorted(query.items()))
        find = _ANSWERS[endpoint.name]

        def work() -> bytes:
            return msgspec.json.encode(find(asked))

        if is_long:
            body = await self._shared.get(key, self._slow_worker, work, seconds=_OLD_SECONDS)
        else:
            body = await self._shared.get((*key, view.serial), self._worker, work)
        return answered(request, body)

    async def _act(
        self, request: web.BaseRequest, what: str, name: str, viewer: Viewer, view: View
    ) -> web.Response:
        if not self._settings.actions:
            raise Refused(
                FORBIDDEN,
                "acting is off here: it only shows",
                way_out="set dashboard.actions to true, or use the command line",
            )
        uid = uid_in(await request.read())
        words = Asked(view, viewer, self._questions).words
        try:
            acted = await self._access.act(viewer, Act(what, name, uid), view)
        except Refused as refused:
            # What is in the way may be elsewhere.
            said, way_out = words(str(refused)), refused.way_out or ""
            way_out = way_out if words(way_out) == way_out else ""
            raise Refused(
                refused.status, said, way_out=way_out or None, field=refused.field
            ) from None
        acted.message = words(acted.message)
        person = viewer.person.name if viewer.person else ""
        self._log.info(
            "plan acted on by way of the dashboard", what=what, plan=acted.plan, by=person
        )
        return answered(request, msgspec.json.encode(acted))

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
        who = viewer.person.name if viewer.person else ""
        is_one_too_many = bool(who) and self._streams[who] >= _MOST_OF_ONE
        if is_one_too_many or self._streams.total() >= _MOST_STREAMS:
            raise Refused(TOO_MANY, "too many streams are open", way_out="close other pages")
        audience = self._audience(viewer.rights)
        self._streams[who] += 1
        try:
            with audience.joined() as reader:
                hello = await audience.hello()
                stream = await Stream.opened(request)
                connections.streams(request.protocol, reader.leave)
                with suppress(ConnectionError, TimeoutError):
                    await stream.write(hello)
                    await self._pass_on(request, viewer, reader, stream)
                if request.transport is not None:
                    request.transport.abort()
                return stream.response
        finally:
            self._streams[who] -= 1
            if not self._streams[who]:
                del self._streams[who]

    async def _pass_on(
        self,
        request: web.BaseRequest,
        viewer: Viewer,
        reader: audiences.Reader,
        stream: "Stream",
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
        if found.compressed is not None and takes_gzip(request):
            headers["Content-Encoding"], body = "gzip", found.compressed
        return web.Response(body=body, headers=headers)
