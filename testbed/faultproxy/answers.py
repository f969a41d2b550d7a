"""Answers given in the API server's place, worded as it words them."""

import json
from collections.abc import Mapping
from typing import Any

from testbed.faultproxy.faults import Fault, Strike
from testbed.faultproxy.steps import Steps

_JSON = {"Content-Type": "application/json"}
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_TOO_OLD = "The resourceVersion for the provided watch is too old."


def fail(
    status: int,
    body: Mapping[str, Any] | str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    reason: str | None = None,
    message: str = "injected by the fault proxy",
) -> Fault:
    """Answer with an error and do not forward; without a body, with a Kubernetes Status."""
    content = _status(status, message, reason=reason) if body is None else body
    if isinstance(content, str):
        kind, payload = {"Content-Type": "text/plain; charset=utf-8"}, content.encode()
    else:
        kind, payload = _JSON, json.dumps(content).encode()

    async def act(exchange: Steps, strike: Strike) -> None:
        strike()
        await exchange.answer(status, {**kind, **(headers or {})}, payload)

    return Fault(f"fail({status})", act)


def budget_refusal(budget: str = "budget") -> Fault:
    """An eviction that a PodDisruptionBudget forbids; it comes without Retry-After."""
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {budget} needs 1 healthy pods and has 1 currently",
    }
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return fail(429, _status(429, message, details={"causes": [cause]}))


def throttled(retry_after: int = 1) -> Fault:
    """A refusal by API Priority and Fairness: plain text, not a Status."""
    return fail(
        429,
        "Too many requests, please try again later.\n",
        {"Retry-After": str(retry_after), "X-Content-Type-Options": "nosniff"},
    )


def gone() -> Fault:
    return fail(410, message=_TOO_OLD)


def conflict(reason: str = "Conflict") -> Fault:
    """A write based on an old version; with `reason="AlreadyExists"`, a create that came second."""
    return fail(409, reason=reason, message="the object has been modified or already exists")


def unavailable() -> Fault:
    return fail(503, message="the server is currently unable to handle the request")


def internal_error() -> Fault:
    return fail(500, message="Internal error occurred")


def watch_event(kind: str, content: Mapping[str, Any]) -> bytes:
    """A line of a watch; kind is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    return json.dumps({"type": kind, "object": content}).encode() + b"\n"


def expired_event() -> bytes:
    """The ERROR event by which the API server ends a watch whose resourceVersion is too old."""
    return watch_event("ERROR", _status(410, _TOO_OLD))


def error_frame(code: int, message: str, *, cause: str = "") -> bytes:
    """An ERROR event of a watch in protobuf: see `WatchEvent` and `Status` in upstream's protos."""
    reason = _REASONS.get(code, "")
    status = _text(2, "Failure") + _text(3, message) + _text(4, reason)
    if cause:
        status += _part(5, _part(4, _text(1, cause)))
    status += b"\x30" + _varint(code)
    wrapped = b"k8s\x00" + _part(1, _text(1, "v1") + _text(2, "Status")) + _part(2, status)
    event = _text(1, "ERROR") + _part(2, _part(1, wrapped))
    return len(event).to_bytes(4) + event


def expired_frame() -> bytes:
    """As `expired_event`, in protobuf."""
    return error_frame(410, _TOO_OLD)


def _text(number: int, text: str) -> bytes:
    return _part(number, text.encode())


def _part(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:  # noqa: PLR2004
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


def _status(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason or _REASONS.get(code, ""),
        "code": code,
    }
    return status | ({"details": details} if details else {})
