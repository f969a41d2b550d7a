"""What somebody sends to be answered by a program: read up to its limit, or refused in words."""

from aiohttp import web


class BadRequest(ValueError):
    """In words for whoever asked."""


async def read(request: web.BaseRequest, most: int, hint: str = "") -> bytes:
    """Raises BadRequest: it has more bytes. `hint`: what makes it smaller."""
    pieces, size = [], 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > most:
            raise BadRequest(f"more than {most} bytes{hint}")
        pieces.append(piece)
    return b"".join(pieces)
