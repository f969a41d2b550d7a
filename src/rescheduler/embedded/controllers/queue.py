"""What every controller is built of: keys of objects to look at, each looked at soon, once."""

import asyncio
import contextvars
import random
from collections.abc import Callable
from typing import Final

import structlog

from rescheduler.embedded.store import Key
from rescheduler.kube import errors

_LEAST_SECONDS: Final = 0.002
_MOST_SECONDS: Final = 0.02
"""Until a controller has heard of a change and come to it. Long enough that others act in between,
as they do in a real cluster, and never the same: the seed decides.
"""
_AGAIN_SECONDS: Final = 1.0


class Queue:
    """`sync` is called with a key a moment after it was added, and once for all times that it was
    added until then. When it fails, it is called again.
    """

    def __init__(self, name: str, sync: Callable[[Key], None], chance: random.Random) -> None:
        self._name = name
        self._sync = sync
        self._chance = chance
        self._due: dict[Key, asyncio.TimerHandle] = {}
        self._ended = False
        # Not of whoever writes and so wakes us: what we log is nothing that it says.
        self._context = contextvars.copy_context()

    def add(self, key: Key, *, after: float = 0.0) -> None:
        """So much later at the latest."""
        if self._ended:
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + after + self._chance.uniform(_LEAST_SECONDS, _MOST_SECONDS)
        known = self._due.get(key)
        if known is not None:
            if known.when() <= when:
                return
            known.cancel()
        self._due[key] = loop.call_at(when, self._look_at, key, context=self._context)

    def end(self) -> None:
        self._ended = True
        for timer in self._due.values():
            timer.cancel()
        self._due.clear()

    def _look_at(self, key: Key) -> None:
        del self._due[key]
        try:
            self._sync(key)
        except errors.KubeError as problem:
            # As a real one does: refused, it tries again a little later.
            structlog.get_logger().debug(
                "controller tries again", controller=self._name, key=key, problem=str(problem)
            )
            self.add(key, after=_AGAIN_SECONDS)
