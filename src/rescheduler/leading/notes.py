"""What others have noted on the lease, for whoever leads: its annotations."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from rescheduler.kube import Object


class Notes:
    """As they were when the lease was last read or written. Seen in the thread of the election, and
    heard in the event loop in which this was made: there they are known before it is told that we
    lead.
    """

    def __init__(self) -> None:
        self.latest: Mapping[str, str] = {}
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._seen: Mapping[str, str] = {}

    def see(self, lease: Object) -> None:
        """In any thread, but only in one."""
        found: Mapping[str, str] = dict(lease["metadata"].get("annotations") or {})
        if found == self._seen:
            return
        self._seen = found
        # The loop may have been closed without waiting for us; then nobody wants to know.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._hear, found)

    async def changed(self) -> None:
        """Since the last time; for one listener."""
        await self._changed.wait()
        self._changed.clear()

    def _hear(self, found: Mapping[str, str]) -> None:
        self.latest = found
        self._changed.set()
