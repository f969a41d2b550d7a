"""Requests to the API server, signed, and their failures, named."""

import asyncio
import os
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import aiohttp

from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube import errors
from rescheduler.kube.authentication import Login
from rescheduler.kube.patience import patiently
from rescheduler.kube.telling import Heard, nobody, request_of

# Longer than the 10 s that the server itself may spend retrying inside an eviction.
_REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=30, connect=10)
# A token file may be empty for the moment in which it is written anew.
_PASSING = (
    aiohttp.ClientError,
    ConnectionSettingsError,
    TimeoutError,
    OSError,
    # An answer that is no JSON, or too deep.
    ValueError,
    RecursionError,
)

T = TypeVar("T")


class Transport:
    def __init__(
        self,
        session: aiohttp.ClientSession,
        login: Login,
        renew: Callable[[], Awaitable[Login]],
        heard: Heard = nobody,
    ) -> None:
        self._session = session
        self._login = login
        self._renew = renew
        self._heard = heard
        self._renewing = asyncio.Lock()
        self.jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        data: str | None = None,
        decode: Callable[[bytes], T],
    ) -> T:
        """What is answered, decoded."""

        async def send() -> T:
            answer = await self._begin(method, path, query, headers, _REQUEST_TIMEOUT, data)
            with self._named(f"{method} {path}"):
                async with answer:
                    return decode(await answer.read())

        return await self._as_somebody(send)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer to be read bit by bit; what goes wrong meanwhile is named, too."""
        answer = await self._as_somebody(
            lambda: self._begin("GET", path, query, headers, timeout, None)
        )
        try:
            with self._named(f"GET {path}"):
                yield answer
        finally:
            answer.close()

    async def patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await patiently(ask, self.jitter)

    async def _as_somebody(self, ask: Callable[[], Awaitable[T]]) -> T:
        used = self._login
        try:
            return await ask()
        except errors.Unauthorized:
            # A refused request had no effect, so even a write may be sent again with a new token.
            async with self._renewing:
                if self._login is used:
                    self._login = await self._log_in_again()
        try:
            return await ask()
        except errors.Unauthorized as problem:
            raise errors.Unauthorized(
                f"{self._login.server} does not accept our credentials ({problem}); "
                "check the user of the kubeconfig, or the service account",
                status=problem.status,
            ) from problem

    async def _log_in_again(self) -> Login:
        try:
            return await self._renew()
        except ConnectionSettingsError as problem:
            raise errors.Unavailable(f"cannot renew the login: {problem}") from problem

    async def _begin(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own
        data: str | None,
    ) -> aiohttp.ClientResponse:
        with self._named(f"{method} {path}"), self._told(method, path, query) as told:
            answer = await self._session.request(
                method,
                self._login.server + path,
                params=query,
                headers={**headers, **await self._login.headers()},
                data=data,
                timeout=timeout,
                proxy=self._login.proxy,
                # With the login, not the session: certificates and authorities are renewed too.
                ssl=self._login.ssl_context,
                server_hostname=self._login.tls_server_name,
                # A redirect could carry the token elsewhere.
                allow_redirects=False,
            )
            told(answer.status)
            if not 200 <= answer.status < 300:  # noqa: PLR2004
                raise errors.from_answer(answer.status, answer.headers, await answer.read())
            return answer

    @contextmanager
    def _told(
        self, method: str, path: str, query: Mapping[str, str]
    ) -> Iterator[Callable[[int], None]]:
        """Gives what is to be called with the code of the answer, as soon as there is one."""
        now = asyncio.get_running_loop().time
        verb, resource = request_of(method, path, query)
        begun, answered = now(), False

        def tell(code: int) -> None:
            nonlocal answered
            if not answered:
                self._heard(verb, resource, code, now() - begun)
            answered = True

        try:
            yield tell
        except asyncio.CancelledError:
            raise  # nobody waited for it
        except BaseException:
            tell(0)
            raise

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except aiohttp.ClientSSLError as problem:
            raise errors.Untrusted(
                f"{self._login.server}: {_words(problem)}; check the server and its "
                "certificate-authority in the kubeconfig, or those of the service account"
            ) from problem
        except aiohttp.ClientConnectorError as problem:
            raise errors.Unreachable(f"{what}: {_words(problem)}") from problem
        except _PASSING as problem:
            raise errors.Unavailable(f"{what}: {_words(problem)}") from problem


def _words(problem: Exception) -> str:
    # In aiohttp's own words, these have the address of our SSLContext in them.
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not accepted: {_reason(problem.certificate_error)}"
    if isinstance(problem, aiohttp.ClientConnectorError):
        host = f"{problem.host}:{problem.port}"
        return f"Cannot connect to host {host}: {_reason(problem.os_error)}"
    # Some of these have no text of their own, a time-out among them.
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__


def _reason(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return problem.verify_message
    number = getattr(problem, "errno", None) or 0
    # Of a refused connection, asyncio says that the call failed, and not why. Those of TLS and of
    # name servers count their errors in ways of their own.
    if number > 0 and not isinstance(problem, ssl.SSLError):
        return os.strerror(number)
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
