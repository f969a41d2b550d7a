"""Chromium, one for each worker of the run; every test has windows of its own in it.

All tests share one event loop, for what Playwright hands out belongs to the loop it began on.
"""

import fcntl
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from testbed import browser
from tests.browser.stages import Stage, start_for_all
from tests.browser.visiting import PATIENCE_SECONDS

expect.set_options(timeout=PATIENCE_SECONDS * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(
            executable_path=browser.program(), args=list(browser.QUIET)
        )
        yield started
        await started.close()


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A demo whose story is over. Nothing happens in it: who acts takes a stage of his own.

    Workers share it: the first to come starts it, and it ends with whoever started the workers.
    """
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    temporary = tmp_path_factory.getbasetemp()
    shared = (temporary.parent if is_worker else temporary) / "told.json"
    owner = os.getppid() if is_worker else os.getpid()
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            shared.write_text(start_for_all("tests.browser.told_demo", "0", "1", str(owner)))
    return Stage(**json.loads(shared.read_text()))
