"""What an API server sends a webhook about an eviction, and reads from it: admission.k8s.io/v1."""

from typing import Final

import msgspec

from rescheduler.guard import Eviction
from rescheduler.serve.bodies import BadRequest

MOST_BYTES: Final = 2**18
"""Of a request: an Eviction has a few hundred bytes, and its user may be in many groups."""
API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_TOO_MANY: Final = 429
_NOT_FOUND: Final = 404
_ALL: Final = "All"


class _Preconditions(msgspec.Struct):
    uid: str | None = None


class _DeleteOptions(msgspec.Struct, rename="camel"):
    dry_run: list[str] | None = None
    preconditions: _Preconditions | None = None


class _Metadata(msgspec.Struct):
    name: str | None = None


class _Object(msgspec.Struct, rename="camel"):
    metadata: _Metadata | None = None
    delete_options: _DeleteOptions | None = None


class _User(msgspec.Struct):
    username: str | None = None


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    name: str | None = None
    namespace: str | None = None
    operation: str | None = None
    sub_resource: str | None = None
    user_info: _User | None = None
    dry_run: bool | None = None
    object: _Object | None = None


class _Review(msgspec.Struct, rename="camel"):
    request: _Request


class Review(msgspec.Struct, frozen=True):
    uid: str
    """Of the request, by which the answer is known."""
    eviction: Eviction | None
    """None: it is about something else."""


_read: Final = msgspec.json.Decoder(_Review).decode
_write: Final = msgspec.json.Encoder().encode


def review(body: bytes) -> Review:
    """Raises BadRequest."""
    try:
        asked = _read(body).request
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadRequest(f"cannot be read: {problem}") from None
    return Review(asked.uid, _eviction(asked))


def _eviction(asked: _Request) -> Eviction | None:
    if asked.operation != "CREATE" or asked.sub_resource != "eviction":
        return None
    evicted, options = asked.object, asked.object.delete_options if asked.object else None
    named = evicted.metadata.name if evicted and evicted.metadata else None
    before = options.preconditions if options else None
    return Eviction(
        namespace=asked.namespace or "",
        pod=asked.name or named or "",
        user=(asked.user_info.username if asked.user_info else None) or "",
        uid=(before.uid if before else None) or "",
        # In the query, or in what is sent: our own say it there, and so may others.
        is_dry_run=bool(asked.dry_run) or _ALL in ((options.dry_run if options else None) or ()),
    )


def allowed(uid: str) -> bytes:
    return _answer({"uid": uid, "allowed": True})


def held(uid: str, message: str) -> bytes:
    """As a budget refuses: whoever evicts tries again, by rules of its own."""
    return _refused(uid, message, "TooManyRequests", _TOO_MANY)


def absent(uid: str, message: str) -> bytes:
    """As if no pod had that name: whoever evicts has what it wants."""
    return _refused(uid, message, "NotFound", _NOT_FOUND)


def _refused(uid: str, message: str, reason: str, code: int) -> bytes:
    status = {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return _answer({"uid": uid, "allowed": False, "status": status})


def _answer(response: dict[str, object]) -> bytes:
    return _write({"apiVersion": API_VERSION, "kind": _KIND, "response": response})
