"""How a request is told that it does not get what it asks for. Pure."""

from typing import Final

import msgspec

from rescheduler.serve.dashboard.documents import Error, ErrorBody

BAD_REQUEST: Final = 400
NO_TOKEN: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
WRONG_METHOD: Final = 405
CONFLICT: Final = 409
TOO_MANY: Final = 429
UNAVAILABLE: Final = 503

_CODES: Final = {
    BAD_REQUEST: "BadRequest",
    NO_TOKEN: "Unauthorized",
    FORBIDDEN: "Forbidden",
    NOT_FOUND: "NotFound",
    WRONG_METHOD: "MethodNotAllowed",
    CONFLICT: "Conflict",
    TOO_MANY: "TooManyRequests",
    UNAVAILABLE: "Unavailable",
}


class Refused(Exception):
    """With the status of HTTP, and words for whoever asked."""

    def __init__(
        self, status: int, message: str, *, way_out: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.way_out = way_out
        self.field = field

    @property
    def body(self) -> bytes:
        said = ErrorBody(
            code=_CODES.get(self.status, "InternalError"),
            message=str(self),
            field=self.field,
            way_out=self.way_out,
        )
        return msgspec.json.encode(Error(error=said))


def not_found(what: str) -> Refused:
    """Alike for what is not there and what may not be seen, so that nobody can tell which."""
    return Refused(
        NOT_FOUND, f"{what} is not there, or you may not see it", way_out="look for it in its list"
    )
