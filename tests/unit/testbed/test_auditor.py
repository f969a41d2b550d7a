"""The recorder notices when it no longer sees."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from testbed.api import Api, ApiError, Object
from testbed.audit import Write
from testbed.auditor import Auditor


async def nothing() -> list[Write]:
    return []


class Shop:
    """Stands in for the API: there is one pod, and the watch of pods ends as the test wants."""

    def __init__(self, event: str, ending: Exception | None) -> None:
        self.event = event
        self.ending = ending
        self.version = "5"
        self.may_end = asyncio.Event()
        self.asked_again = asyncio.Event()

    def _items(self, kind: str) -> list[Object]:
        pod = {"metadata": {"name": "web", "uid": "uid-web", "resourceVersion": self.version}}
        return [pod] if kind == "Pod" else []

    async def list_page(self, kind: str, _: str) -> Object:
        return {"metadata": {"resourceVersion": "7"}, "items": self._items(kind)}

    async def list(self, kind: str, _: str) -> list[Object]:
        if kind == "Pod":
            self.asked_again.set()
        else:
            # Time for the watches, as a real list takes.
            await asyncio.sleep(0)
        return self._items(kind)

    async def watch(self, kind: str, _: str, __: str) -> AsyncIterator[tuple[str, Object]]:
        await self.may_end.wait()
        if kind != "Pod":
            await asyncio.get_running_loop().create_future()
        yield self.event, {"code": 410}
        if self.ending:
            raise self.ending


@pytest.mark.parametrize(
    ("event", "ending", "message"),
    [
        ("BOOKMARK", ApiError(410, "too old"), "410: too old"),
        ("BOOKMARK", None, "ended the auditor's watch of Pod"),
        ("ERROR", None, "410"),
    ],
    ids=["broken", "ended", "error-event"],
)
async def test_a_watch_that_ended_is_told_by_its_own_error(
    event: str, ending: Exception | None, message: str
) -> None:
    shop = Shop(event, ending)
    auditor = Auditor(cast("Api", shop), nothing, "default")
    await auditor.begin()
    shop.may_end.set()
    expected = type(ending) if ending else AssertionError
    with pytest.raises(expected, match=message):
        await asyncio.wait_for(auditor.audit(), timeout=10)
    await auditor.end()


async def test_a_watch_that_ends_while_the_audit_waits_for_it_ends_the_wait() -> None:
    shop = Shop("BOOKMARK", ApiError(410, "too old"))
    auditor = Auditor(cast("Api", shop), nothing, "default")
    await auditor.begin()
    shop.version = "6"  # the watch has not brought it yet, and never will
    audit = asyncio.create_task(auditor.audit())
    await shop.asked_again.wait()
    shop.may_end.set()
    with pytest.raises(ApiError, match="too old"):
        await asyncio.wait_for(audit, timeout=10)
    await auditor.end()
