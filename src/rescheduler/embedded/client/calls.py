"""What a client asks of the API server, in the words of its audit log."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rescheduler.kube import Object


@dataclass(slots=True, kw_only=True)
class Call:
    """One attempt. What is repeated is another call."""

    verb: str
    """get, list, watch, create, update, patch or delete: the words of RBAC."""
    group: str
    resource: str
    """Its plural."""
    subresource: str = ""
    namespace: str = ""
    """Empty for all of them, and for what has none."""
    name: str = ""
    body: Object | None = None
    """As it would be sent, with the preconditions in it."""
    dry_run: bool = False
    write: bool = False
    """Whether it may change something: no read, and no dry run."""
    number: int = 0
    """Of this client's calls, from 1 on."""
    code: int | None = None
    """What the server answered, heard or not; None while it has not, or if it was never asked."""


Around = Callable[[Call, Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""Stands around each call of a client. It is handed the call and what carries it out, and gives
what the client is to hear. It may refuse before or after, wait, or lose the answer. Of a watch,
what is given is an asynchronous generator, and another one may be given in its place.
"""
