"""What is told of each request: its verb and resource in the words of RBAC, its code, its time."""

from collections.abc import Callable, Mapping
from typing import Final

Heard = Callable[[str, str, int, float], None]
"""Verb, resource (`pods`, `pods/eviction`, `nodes.metrics.k8s.io`), code of the answer, seconds
until it began. The code is 0 when there was none.
"""

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_METRICS: Final = "metrics.k8s.io"


def nobody(_verb: str, _resource: str, _code: int, _seconds: float) -> None:
    """Nobody wants to know."""


def request_of(method: str, path: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Its verb and its resource; the names in the path are of users, and left out."""
    parts = path.strip("/").split("/")
    is_core = parts[0] == "api"
    group = "" if is_core else parts[1] if len(parts) > 1 else ""
    rest = parts[2:] if is_core else parts[3:]
    # A namespace is a resource itself, unless something in it follows.
    if len(rest) > 2 and rest[0] == "namespaces":  # noqa: PLR2004 - the word and its name
        rest = rest[2:]
    resource = rest[0] if rest else ""
    subresource = f"/{rest[2]}" if len(rest) > 2 else ""  # noqa: PLR2004 - resource, name, this
    of_group = f".{group}" if group == _METRICS else ""
    return _verb(method, query, is_named=len(rest) > 1), f"{resource}{of_group}{subresource}"


def _verb(method: str, query: Mapping[str, str], *, is_named: bool) -> str:
    if method != "GET":
        return _VERBS.get(method, method.lower())
    if query.get("watch") in ("1", "true"):
        return "watch"
    return "get" if is_named else "list"
