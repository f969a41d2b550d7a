"""The steps that faults are made of, whatever lies between a client and its API server."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NoReturn, Protocol

from testbed.faultproxy.request import Request

Chunks = AsyncGenerator[bytes, None]
Edit = Callable[[Chunks], Chunks]


class Cut(Exception):
    """Close the client's connection now, without another byte."""


class Steps(Protocol):
    """Of one request on its way."""

    request: Request

    def edit_stream(self, edit: Edit) -> None:
        """Pass the answer's lines (a watch's events) through `edit` on their way to the client.

        The events of a watch in protobuf are frames, each with its length before it.
        """
        ...

    async def fetch(self) -> None:
        """Let the API server act and answer to the end, and keep the answer from the client."""
        ...

    def fetch_later(self, seconds: float) -> None:
        """Let the API server act when the client's connection may be long gone."""
        ...

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Answer in the API server's place."""
        ...

    def cut(self) -> NoReturn: ...

    async def hang(self) -> NoReturn:
        """Say nothing for as long as the connection lasts; its end cancels us."""
        ...
