"""A guard that runs outside of the cluster whose API server asks it, and evictions as others make
them.
"""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

import aiohttp

from testbed.api import ApiError, Object
from testbed.supervisor import free_ports
from testbed.world import World

_ADDRESS = "127.0.0.1"
_NOBODY = "nobody"
_GONE = 'guard_evictions_total{reason="gone",verdict="passed"}'
_TOO_MANY_REQUESTS = 429
_GONE_STATUSES = (404, 409)
"""There is no such pod, or by now another one of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardPort:
    """Where it is to listen."""

    port: int
    metrics_port: int

    @classmethod
    def make(cls) -> Self:
        port, metrics_port = free_ports(2)
        return cls(port=port, metrics_port=metrics_port)

    @property
    def url(self) -> str:
        return f"https://{_ADDRESS}:{self.port}/guard"

    def settings(self) -> dict[str, Any]:
        """Of `rescheduler run`: all else of the guard is as by default."""
        where = {"bindAddress": _ADDRESS, "port": self.port, "url": self.url}
        return {
            "guard": {"enabled": True, **where},
            "serving": {"port": self.metrics_port, "bindAddress": _ADDRESS},
        }

    async def is_asked(self) -> bool:
        """About a pod that does not exist, and it has known that."""
        lines = (await self._metrics()).splitlines()
        counted = [line.split()[-1] for line in lines if line.startswith(f"rescheduler_{_GONE} ")]
        return any(float(each) for each in counted)

    async def _metrics(self) -> str:
        with contextlib.suppress(aiohttp.ClientError):
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{_ADDRESS}:{self.metrics_port}/metrics") as answer,
            ):
                return await answer.text()
        return ""


async def until_asked(world: World, is_asked: Callable[[], Awaitable[bool]]) -> None:
    """Waits until the API server asks; `is_asked` says whether it has asked about a pod that does
    not exist, which it does, as admission comes before the look-up.
    """

    async def is_so() -> bool:
        await evict(world, _NOBODY)
        return await is_asked()

    await world.wait("the API server asks about evictions", is_so)


# ---------------------------------------------------------------------- as evictors do


class Held(Exception):
    """By a budget, or by the guard: to be tried again."""


async def evict(world: World, pod: str, uid: str = "") -> bool:
    """Whether it was there. Raises Held."""
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    if uid:
        body["deleteOptions"] = {"preconditions": {"uid": uid}}
    path = f"/api/v1/namespaces/{world.name}/pods/{pod}/eviction"
    try:
        await world.api.request("POST", path, body=body)
    except ApiError as problem:
        if problem.status == _TOO_MANY_REQUESTS:
            raise Held(str(problem)) from None
        if problem.status in _GONE_STATUSES:
            return False
        raise
    return True
