"""Answers given in the API server's place, worded as it words them."""

import json
from collections.abc import Mapping
from typing import Any

from testbed.faultproxy.exchange import Exchange
from testbed.faultproxy.faults import Fault, Strike

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

    async def act(exchange: Exchange, strike: Strike) -> None:
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
