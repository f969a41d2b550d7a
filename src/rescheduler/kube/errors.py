"""Answers of the API server, named by what they mean for the caller."""

import json
from collections.abc import Mapping
from typing import Any

from rescheduler import wire
from rescheduler.errors import ReschedulerError
from rescheduler.wire import envelopes


class KubeError(ReschedulerError):
    """The API server refused a request, or could not be asked."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after


class NotFound(KubeError): ...


class Conflict(KubeError):
    """The object is another one by now, or has changed since it was read."""


class AlreadyExists(KubeError): ...


class Forbidden(KubeError): ...


class Unauthorized(KubeError): ...


class Invalid(KubeError):
    """Repeating the same request cannot help."""


class Expired(KubeError):
    """The watched version is no longer kept, or the server has not come so far: list anew."""


class BudgetRefused(KubeError):
    """A PodDisruptionBudget allows no disruption now."""


class SeveralBudgets(KubeError):
    """More than one PodDisruptionBudget selects the pod: it can never be evicted."""


class Throttled(KubeError):
    """The server asks us to slow down."""


class Untrusted(KubeError):
    """The server's certificate is not of the authority that we were given: asking again is vain."""


class Unavailable(KubeError):
    """No answer, or a passing fault: whether a write took effect is not known."""


class Unreachable(Unavailable):
    """Nobody listens where the API server should be."""

    way_out = "check that it runs, and that the kubeconfig has its address: kubectl cluster-info"


class NotLeading(KubeError):
    """Not sent: somebody else may be the leader by now, and we write nothing more."""


# A server that asks for more is asked again all the same: it may have recovered.
_LONGEST_RETRY_AFTER_SECONDS = 60.0

_BY_REASON = {"AlreadyExists": AlreadyExists, "Expired": Expired, "Gone": Expired}
_BY_STATUS = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: Throttled,
}


def from_answer(status: int, headers: Mapping[str, str], body: bytes) -> KubeError:
    answer = _status_object(body)
    words = body[:500].decode(errors="replace").strip()
    return _named(status, _seconds(headers.get("Retry-After")), answer, words)


def from_event(answer: Mapping[str, Any]) -> KubeError:
    """From the Status in an ERROR event of a watch."""
    code = answer.get("code")
    retry_after = _seconds(str(_details(answer).get("retryAfterSeconds")))
    return _named(code if isinstance(code, int) else 500, retry_after, answer, "")


def _named(
    status: int, retry_after: float | None, answer: Mapping[str, Any], words: str
) -> KubeError:
    message = str(answer.get("message") or "") or words or f"HTTP {status}"
    kind = _BY_REASON.get(str(answer.get("reason"))) or _by_status(status)
    if kind is Throttled and _caused_by("DisruptionBudget", answer):
        kind = BudgetRefused
    # Its store may have been restored from a backup, and then it never comes so far.
    if _caused_by("ResourceVersionTooLarge", answer):
        kind = Expired
    # The server gives this one no reason and no details; Karpenter compares the words too.
    if "more than one PodDisruptionBudget" in message:
        kind = SeveralBudgets
    return kind(message, status=status, retry_after=retry_after)


def _by_status(status: int) -> type[KubeError]:
    # Of the requests that are our fault, only one that came too slowly is worth repeating.
    is_our_fault = 400 <= status < 500 and status != 408  # noqa: PLR2004
    return _BY_STATUS.get(status, Invalid if is_our_fault else Unavailable)


def _status_object(body: bytes) -> dict[str, Any]:
    is_protobuf = body.startswith(envelopes.MAGIC)
    try:
        answer = wire.status(envelopes.unwrap(body)) if is_protobuf else json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _details(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    details = answer.get("details")
    return details if isinstance(details, dict) else {}


def _caused_by(reason: str, answer: Mapping[str, Any]) -> bool:
    causes = _details(answer).get("causes")
    return any(
        isinstance(cause, dict) and cause.get("reason") == reason
        for cause in (causes if isinstance(causes, list) else ())
    )


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        # It may also be a date; nobody behind this API sends one.
        return None
    return min(seconds, _LONGEST_RETRY_AFTER_SECONDS) if seconds >= 0 else None
