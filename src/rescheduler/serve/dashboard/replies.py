"""Requests and answers as HTTP has them: which endpoint is meant, what is sent back, and how."""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

import msgspec
from aiohttp import web

from rescheduler.serve.dashboard.contract import ENDPOINTS, EVENT_STREAM, PREFIX, Endpoint
from rescheduler.serve.dashboard.documents.plans import ActionRequest
from rescheduler.serve.dashboard.frames import BEGINNING, Block
from rescheduler.serve.dashboard.refusing import (
    BAD_REQUEST,
    NO_TOKEN,
    NOT_FOUND,
    WRONG_METHOD,
    Refused,
)

_JSON: Final = "application/json"
_SLOW_SECONDS: Final = 20.0
"""After which a reader who takes nothing is hung up on."""
_WORTH_IT: Final = 1000
_QUICK: Final = 4
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


class Stream:
    def __init__(self, response: web.StreamResponse, *, is_packed: bool) -> None:
        self.response = response
        self._is_packed = is_packed

    @classmethod
    async def opened(cls, request: web.BaseRequest) -> "Stream":
        is_packed = takes_gzip(request)
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


@cache
def _patterns() -> list[tuple[re.Pattern[str], Endpoint]]:
    return [
        (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", f"{PREFIX}{each.path}")), each)
        for each in ENDPOINTS
    ]


def endpoint_of(path: str, method: str) -> tuple[Endpoint, Mapping[str, str]]:
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


def query_of(request: web.BaseRequest, endpoint: Endpoint) -> dict[str, str]:
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


def uid_in(body: bytes) -> str:
    if not body.strip():
        return ""
    try:
        return msgspec.json.decode(body, type=ActionRequest).uid
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Refused(BAD_REQUEST, f"the body is not as described: {problem}") from None


@cache
def description() -> bytes:
    return (resources.files("rescheduler.serve.dashboard") / "openapi.json").read_bytes()


def takes_gzip(request: web.BaseRequest) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "").lower()


def answered(request: web.BaseRequest, body: bytes) -> web.Response:
    headers = _fresh_headers(body)
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    if len(body) > _WORTH_IT and takes_gzip(request):
        headers["Content-Encoding"], body = "gzip", gzip.compress(body, _QUICK, mtime=0)
    return web.Response(body=body, headers=headers, content_type=_JSON)


def packed(request: web.BaseRequest, packed: bytes) -> web.Response:
    headers = _fresh_headers(packed)
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    if takes_gzip(request):
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


def refusal(refused: Refused) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    if refused.status == NO_TOKEN:
        headers["WWW-Authenticate"] = 'Bearer realm="kube-rescheduler"'
    return web.Response(
        status=refused.status, body=refused.body, headers=headers, content_type=_JSON
    )
