"""That a visit notices what it is to notice: else the other tests would show nothing."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser

from tests.browser.visiting import visit

POLICY = "default-src 'none'; script-src 'self'; connect-src *"
PAGES = {
    "/fine": "<p>fine</p>",
    "/inline": "<script>alert('inline')</script>",
    "/image": "<img src=nothing.png onerror=\"alert('image')\">",
    "/script": "<script src=script.js></script>",
    "/strange": "<script src=asking.js></script>",
    "/missing": "<script src=missing.js></script>",
}
SCRIPTS = {
    "/script.js": "alert('ours'); throw new Error('broken')",
    "/asking.js": "fetch('http://localhost:1/').catch(() => 0)",
}


async def _answer(request: web.Request) -> web.Response:
    if text := SCRIPTS.get(request.path):
        return web.Response(text=text, content_type="text/javascript")
    page = PAGES.get(request.path)
    if page is None:
        raise web.HTTPNotFound
    headers = {"Content-Security-Policy": POLICY}
    return web.Response(text=page, content_type="text/html", headers=headers)


@pytest_asyncio.fixture(loop_scope="session")
async def url() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", _answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def test_a_page_that_is_as_it_should_be(chromium: Browser, url: str) -> None:
    async with visit(chromium, url) as seen:
        await seen.open("fine")
        assert await seen.page.locator("p").inner_text() == "fine"


async def _look_at(chromium: Browser, url: str, where: str) -> None:
    async with visit(chromium, url) as seen:
        await seen.open(where)
        await seen.page.wait_for_load_state("networkidle")


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("inline", "against its policy: script-src-elem inline"),
        ("image", "against its policy: img-src"),
        ("script", "executed: ours"),
        ("script", "script: broken"),
        ("strange", "asked somebody else: http://localhost:1/"),
        ("missing", "404 for GET"),
    ],
)
async def test_what_is_wrong_is_told(chromium: Browser, url: str, where: str, told: str) -> None:
    with pytest.raises(AssertionError) as refused:
        await _look_at(chromium, url, where)
    assert told in str(refused.value)
