"""Who asks, and what they may see: by their own token, as the API server judges it."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from rescheduler.serve.dashboard.documents.plans import Acted
from rescheduler.serve.dashboard.refusing import (
    NO_TOKEN,
    TOO_MANY,
    UNAVAILABLE,
    Refused,
)
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights
from rescheduler.serve.dashboard.view import View

_KEPT_SECONDS: Final = 60.0
"""For which an answer of the API server holds: so long a right that was taken away is still there.
"""
_REFUSED_SECONDS: Final = 5.0
"""For which a token that was refused is not asked about again."""
_MOST_KNOWN: Final = 512
_MOST_ASKED: Final = 8
"""Tokens that are asked about at the same time; more would keep the API server busy."""
_MOST_WAITING: Final = 64
_ASKING_SECONDS: Final = 10.0
_LONGEST_TOKEN: Final = 4000
_SIGN_IN: Final = "send a token of a user of the cluster: Authorization: Bearer ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """To change plans."""

    allowed: bool = False
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """As the API server knows whoever has the token."""

    name: str
    rights: Rights
    may_act: Permission = Permission()


@dataclass(frozen=True, slots=True)
class Act:
    what: str
    """`approve`, `reject` or `undo`."""
    name: str
    """Of the plan."""
    uid: str = ""
    """Of the one that was looked at; empty: whichever has the name."""


Namespaces = Callable[[], Awaitable[Iterable[str]]]
"""Those that there are: asked for once a token is known, as nobody else may cost us a view."""


class Gate(Protocol):
    """The API server, or an embedded one, in the event loop of whoever serves."""

    async def who(self, token: str, namespaces: Namespaces) -> Person:
        """Of these namespaces, which are seen. Raises Refused: nobody knows this token."""
        ...

    async def act(self, token: str, person: Person, act: Act, view: View) -> Acted:
        """Approves, rejects or undoes a plan, with this token and nothing else. Raises Refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    rights: Rights
    person: Person | None = None
    """None: it is not known who that is."""
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class _Known:
    until: float
    person: Person | None
    problem: Refused | None


class Access:
    def __init__(self, gate: Gate | None, *, needs_token: bool) -> None:
        """Without need of a token, whoever reaches the port sees what the process sees."""
        self._gate = gate
        self._needs_token = needs_token
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[Person]] = {}
        self._turns = asyncio.Semaphore(_MOST_ASKED)

    @property
    def takes_tokens(self) -> bool:
        return self._gate is not None

    async def viewer(self, header: str, namespaces: Namespaces) -> Viewer:
        """Raises Refused."""
        token = _token(header)
        if not token:
            if self._needs_token:
                raise Refused(NO_TOKEN, "there is no token in the request", way_out=_SIGN_IN)
            return Viewer(rights=EVERYTHING)
        if self._gate is None:
            raise Refused(NO_TOKEN, "no tokens are taken here", way_out="ask without one")
        person = await self._person(token, namespaces)
        rights = person.rights if self._needs_token else EVERYTHING
        return Viewer(rights=rights, person=person, token=token)

    async def _person(self, token: str, namespaces: Namespaces) -> Person:
        key = hashlib.sha256(token.encode()).digest()
        known = self._known.get(key)
        if known is None or known.until < time.monotonic():
            known = await self._ask(key, token, namespaces)
        if known.problem is not None:
            # Else it would grow by each request that raises it, and keep all of them.
            raise known.problem.with_traceback(None)
        assert known.person is not None  # noqa: S101 - one of both
        return known.person

    async def _ask(self, key: bytes, token: str, namespaces: Namespaces) -> _Known:
        asking = self._asked.get(key)
        if asking is None:
            if len(self._asked) >= _MOST_WAITING:
                raise Refused(TOO_MANY, "too many tokens are being asked about")
            asking = asyncio.ensure_future(self._answer(token, namespaces))
            self._asked[key] = asking
            asking.add_done_callback(lambda _: self._asked.pop(key, None))
        try:
            found = _Known(time.monotonic() + _KEPT_SECONDS, await asyncio.shield(asking), None)
        except Refused as problem:
            if problem.status != NO_TOKEN:
                raise  # it may be right in a moment
            found = _Known(time.monotonic() + _REFUSED_SECONDS, None, problem)
        self._known[key] = found
        self._known.move_to_end(key)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return found

    async def _answer(self, token: str, namespaces: Namespaces) -> Person:
        assert self._gate is not None  # noqa: S101 - only with one tokens are taken
        async with self._turns:
            try:
                async with asyncio.timeout(_ASKING_SECONDS):
                    return await self._gate.who(token, namespaces)
            except TimeoutError:
                raise Refused(
                    UNAVAILABLE, "the API server does not say who that is", way_out="try again"
                ) from None

    async def act(self, viewer: Viewer, act: Act, view: View) -> Acted:
        """Raises Refused."""
        if self._gate is None or viewer.person is None:
            raise Refused(NO_TOKEN, "nobody acts without a token", way_out=_SIGN_IN)
        return await self._gate.act(viewer.token, viewer.person, act, view)


def _token(header: str) -> str:
    """Of an Authorization header; empty: there is none."""
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if not header:
        return ""
    if scheme.lower() != "bearer" or not token:
        raise Refused(
            NO_TOKEN, "Authorization: not a bearer token", field="Authorization", way_out=_SIGN_IN
        )
    if (
        len(token) > _LONGEST_TOKEN
        or not token.isascii()
        or not token.isprintable()
        or " " in token
    ):
        raise Refused(NO_TOKEN, "Authorization: that is no token", field="Authorization")
    return token
