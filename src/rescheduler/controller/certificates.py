"""The Secret that holds the certificate of a port: read, kept good, and shown.

Every replica does it for itself. A write is refused if another replica was faster, whose work is
read then. What others broke is put back as it was, so that clients notice nothing.

Slow to import (cryptography): whoever needs it imports it when a port is to be secured.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from rescheduler.certificates import Contents, Decision, Names, repaired
from rescheduler.clock import Clock
from rescheduler.controller.leader_session import Connect
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.wire import SECRETS

LOOK_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 5.0
_TIMES: Final = 5
"""Of which each but the last another replica was faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept where, and who is to hear of it."""

    namespace: str
    secret: str
    brought_by: str
    """The folder of manifests with the Secret and the rights to it."""
    names: Names
    """By which the port is asked."""
    show: Callable[[bytes, bytes], None]
    """The certificate and its key, in PEM, when they are others than before."""
    trusted: Callable[[bytes], None] = lambda _: None
    """What clients are to trust, in PEM, when it is something else than before."""


@asynccontextmanager
async def keeping(
    connect: Connect, clock: Clock, kept: Kept, *, writes: bool = True
) -> AsyncIterator[None]:
    """As long as the block lasts, by a connection of its own. `writes`: else it only reads."""
    keeper = Keeper(clock, kept, writes=writes)
    task = asyncio.create_task(keeper.run(connect), name=f"keep {kept.secret}")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Keeper:
    def __init__(self, clock: Clock, kept: Kept, *, writes: bool = True) -> None:
        self._clock = clock
        self._kept = kept
        self._writes = writes
        self._remembered = Contents()
        self._told = ""
        self._log = structlog.get_logger().bind(secret=f"{kept.namespace}/{kept.secret}")

    async def run(self, connect: Connect) -> None:
        """For ever."""
        while True:
            try:
                async with connect() as kube:
                    while True:
                        await self.look(kube)
                        await self._clock.sleep(LOOK_SECONDS)
            except ReschedulerError as problem:
                self._tell(self._in_words(problem))
            except Exception:  # noqa: BLE001 - the last certificate is shown, and the next look follows
                self._log.exception("certificate not kept up: internal error, please report")
            await self._clock.sleep(_AGAIN_SECONDS)

    async def look(self, kube: KubeApi) -> None:
        """Raises KubeError."""
        for _ in range(_TIMES):
            secret = await kube.get(SECRETS, self._kept.namespace, self._kept.secret)
            found = Contents.of(secret)
            good, steps = repaired(found, self._kept.names, self._clock.now(), self._remembered)
            if steps and not self._writes:
                self._tell(f"{_why(steps)}; we change nothing, so another replica has to")
                return
            try:
                if steps:
                    await self._put(kube, secret, good)
            except errors.Conflict:
                continue
            self._take_up(good, steps)
            return

    async def _put(self, kube: KubeApi, secret: Object, good: Contents) -> None:
        metadata = secret["metadata"]
        await kube.patch(
            SECRETS,
            self._kept.namespace,
            self._kept.secret,
            uid=metadata["uid"],
            change={
                "metadata": {"resourceVersion": metadata["resourceVersion"]},
                "data": good.data(),
            },
        )

    def _take_up(self, good: Contents, steps: Sequence[Decision]) -> None:
        if steps:
            is_expected = all(each.is_expected for each in steps)
            tell = self._log.info if is_expected else self._log.warning
            done = "; ".join(each.step.value for each in steps)
            tell("certificate made", because=_why(steps), done=done)
        before, self._told = self._remembered, ""
        if (before.certificate, before.key) != (good.certificate, good.key):
            self._kept.show(good.certificate, good.key)
        if before.bundle != good.bundle:
            self._kept.trusted(good.bundle)
        self._remembered = good

    # ------------------------------------------------------------------ what people hear

    def _in_words(self, problem: ReschedulerError) -> str:
        if isinstance(problem, errors.NotFound):
            return f"the Secret is not there: apply {self._kept.brought_by}, which brings it"
        if isinstance(problem, errors.Forbidden):
            return f"{problem}: apply {self._kept.brought_by}, which brings the right to it"
        return str(problem)

    def _tell(self, problem: str) -> None:
        """Once, as long as it is the same."""
        if problem != self._told:
            self._told = problem
            has_one = bool(self._remembered.certificate)
            until_then = "the last one is shown" if has_one else "nobody can connect by TLS"
            self._log.warning("certificate not kept up", problem=problem, until_then=until_then)


def _why(steps: Sequence[Decision]) -> str:
    return "; ".join(each.why for each in steps)
