"""What the dashboard's page costs whoever looks at a large cluster, in Chromium, beside its goals.

The server is a process of its own, on the same machine: what it takes is in the seconds.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import Browser, CDPSession, Page, async_playwright, expect
from rich.table import Table

from testbed import browser

_NODES: Final = 5_000
_PODS: Final = 150_000
_EVENTS: Final = 1_000
_WATCHED_SECONDS: Final = 20.0
_KEPT_SECONDS: Final = 120.0
"""Of such events, after which the page should be no larger."""
_HOUR: Final = 3_600.0
_PATIENCE_MS: Final = 300_000.0
_MEGABYTE: Final = 1e6

# Of the time between two frames all but the first, while it looks; and of what kept them.
_FRAMES: Final = """
(seconds) => new Promise((done) => {
  const gaps = [];
  let last = performance.now();
  const end = last + 1000 * seconds;
  const frame = (now) => {
    gaps.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(frame);
    else done(gaps.sort((a, b) => a - b));
  };
  requestAnimationFrame(frame);
})
"""
_FIRST_PICTURE: Final = """
() => new Promise((done) => {
  new PerformanceObserver((list) => {
    for (const each of list.getEntriesByName('first-picture')) done(each.startTime);
  }).observe({type: 'mark', buffered: true});
})
"""
_NOW: Final = """
async () => Date.parse((await (await fetch('api/v1alpha1/overview')).json()).now) / 1000
"""
_LONG_TASKS: Final = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.longTasks.push(each.duration);
}).observe({type: 'longtask', buffered: true});
"""


@dataclass
class Bytes:
    """On the wire, of what the page asked for before its first picture."""

    of: dict[str, int] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    def listen(self, session: CDPSession) -> None:
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.dataReceived", self._came)

    def _sent(self, told: Mapping[str, Any]) -> None:
        self.urls[told["requestId"]] = told["request"]["url"]

    def _came(self, told: Mapping[str, Any]) -> None:
        url = self.urls.get(told["requestId"], "")
        self.of[url] = self.of.get(url, 0) + int(told["encodedDataLength"])


async def measure(table: Table) -> None:
    """BENCH_NODES and BENCH_PODS make it smaller, BENCH_SECONDS shorter; none if BENCH_PAGE is."""
    if os.environ.get("BENCH_PAGE") == "none":
        return
    nodes = int(os.environ.get("BENCH_NODES", _NODES))
    pods = int(os.environ.get("BENCH_PODS", _PODS))
    browser.provide()
    async with _chromium() as chromium, _server(nodes, pods) as server:
        page = await chromium.new_page(viewport={"width": 1360, "height": 850})
        session = await page.context.new_cdp_session(page)
        table.add_section()
        await _first_picture(table, page, session, server.url, f"{nodes:,} nodes, {pods:,} pods")
        await _frames(table, page, server)
        await _memory(table, session, server)
        await page.close()
        await _hour(table, chromium)


@dataclass(frozen=True, slots=True)
class _Server:
    url: str
    process: asyncio.subprocess.Process

    async def change(self, pods: int) -> None:
        """So many a second from now on."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        self.process.stdin.write(f"{pods}\n".encode())
        await self.process.stdin.drain()


@asynccontextmanager
async def _server(nodes: int, pods: int) -> AsyncIterator[_Server]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.big_dashboard", str(nodes), str(pods)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        yield _Server(json.loads(await process.stdout.readline())["url"], process)
    finally:
        process.kill()
        await process.communicate()


@asynccontextmanager
async def _chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(
            executable_path=browser.program(), args=list(browser.QUIET)
        )
        yield found
        await found.close()


async def _first_picture(
    table: Table, page: Page, session: CDPSession, url: str, what: str
) -> None:
    """Twice: the server works out the first answer anew, and whoever looks later gets the same."""
    taken, of = [], Bytes()
    await page.add_init_script(_LONG_TASKS)
    await session.send("Network.enable")
    of.listen(session)
    for _ in range(2):
        await page.goto(url)
        taken.append(await page.evaluate(_FIRST_PICTURE))
        if len(taken) == 1:
            first = dict(of.of)
    cluster = sum(size for name, size in first.items() if name.endswith("/cluster"))
    files = sum(size for name, size in first.items() if "/api/" not in name)
    load = f"load of the machine {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    table.add_row(
        f"page, {what}: first data",
        f"{cluster / _MEGABYTE:.2f} MB compressed",
        f"goal 2 MB; the page itself {files / _MEGABYTE:.2f} MB",
    )
    table.add_row(
        "  first picture",
        f"{taken[0] / 1000:.2f} s, then {taken[1] / 1000:.2f} s",
        f"goal 2 s; {load}",
    )


async def _frames(table: Table, page: Page, server: _Server) -> None:
    idle = await page.evaluate(_FRAMES, 3.0)
    await page.evaluate("window.longTasks.length = 0")
    await server.change(_EVENTS)
    gaps = await page.evaluate(_FRAMES, _WATCHED_SECONDS)
    long = await page.evaluate("window.longTasks")
    await server.change(0)
    table.add_row(
        f"  longest frame at {_EVENTS:,} pod events/s",
        f"{gaps[-1]:.0f} ms, median {gaps[len(gaps) // 2]:.0f} ms",
        f"goal 100 ms; {idle[-1]:.0f} ms before; the longest task {max(long, default=0):.0f} ms",
    )


async def _memory(table: Table, session: CDPSession, server: _Server) -> None:
    seconds = float(os.environ.get("BENCH_SECONDS", _KEPT_SECONDS))
    used = [await _used(session)]
    await server.change(_EVENTS)
    for _ in range(4):
        await asyncio.sleep(seconds / 4)
        used.append(await _used(session))
    await server.change(0)
    table.add_row(
        f"  its memory over {seconds:,.0f} s of that",
        _course(used),
        "goal: bounded; of scripts, after a collection",
    )


async def _hour(table: Table, chromium: Browser) -> None:
    """Of a demo that goes on and on, under load that changes."""
    async with _demo() as url:
        page = await chromium.new_page()
        session = await page.context.new_cdp_session(page)
        await page.goto(f"{url}/cluster")
        story = page.get_by_test_id("story")
        await expect(story).to_contain_text("over the day", timeout=_PATIENCE_MS)
        begun, used = await page.evaluate(_NOW), [await _used(session)]
        for quarter in range(1, 5):
            while await page.evaluate(_NOW) < begun + quarter * _HOUR / 4:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
            used.append(await _used(session))
        await page.close()
    table.add_row(
        "page of the demo: memory over an hour of virtual time", _course(used), "goal: bounded"
    )


@asynccontextmanager
async def _demo() -> AsyncIterator[str]:
    command = [sys.executable, "-m", "rescheduler", "demo", "--web", "--keep", "--speed", "2"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        line = await process.stdout.readline()
        yield line.decode().split()[1]
    finally:
        process.kill()
        await process.communicate()


def _course(used: list[float]) -> str:
    return " → ".join(f"{each:.1f}" for each in used) + " MB"


async def _used(session: CDPSession) -> float:
    await session.send("HeapProfiler.collectGarbage")
    found = await session.send("Runtime.getHeapUsage")
    return float(found["usedSize"]) / _MEGABYTE


if __name__ == "__main__":
    from rich.console import Console

    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    asyncio.run(measure(rows))
    Console(highlight=False, width=160).print(rows)
