"""Whoever looks is told whether what they see is of now."""

from playwright.async_api import Browser, expect

from tests.browser.relay import relay
from tests.browser.stages import Stage
from tests.browser.visiting import visit

# Chromium itself tells of every request that nobody answers.
CUT = ("net::ERR", "Failed to load resource")


async def test_a_lost_connection_is_told_and_mended(chromium: Browser, told: Stage) -> None:
    async with relay(told.url) as between, visit(chromium, between.url, expected=CUT) as seen:
        await seen.look()
        page, standing = seen.page, seen.page.get_by_test_id("connection")
        await between.cut()
        await expect(standing).to_have_attribute("data-state", "lost")
        await expect(page.get_by_test_id("lost")).to_contain_text("Not connected since")
        # What was known stays, and says of itself that it is old.
        name = await page.get_by_test_id("picture").get_attribute("aria-label") or ""
        assert "8 nodes" in name
        await between.mend()
        await expect(standing).to_have_attribute("data-state", "open")
        await expect(page.get_by_test_id("lost")).to_have_count(0)


async def test_a_page_that_never_was_connected_says_so(chromium: Browser, told: Stage) -> None:
    async with relay(told.url) as between, visit(chromium, between.url, expected=CUT) as seen:
        # The files come, and then nothing more.
        await seen.page.route("**/api/**", lambda route: route.abort())
        await seen.open()
        await expect(seen.page.get_by_test_id("lost")).to_be_visible()
        await seen.page.unroute_all()
        await expect(seen.page.get_by_test_id("connection")).to_have_attribute("data-state", "open")
        await expect(seen.page.get_by_test_id("picture")).to_be_visible()


async def test_a_server_that_is_blind_is_told(chromium: Browser, told: Stage) -> None:
    blind = {"resource": "podmigrations", "reason": "not heard of since noon", "seconds": 75.0}
    stands = await told.asked("overview") | {"blind": [blind]}
    async with visit(chromium, told.url, expected=CUT) as seen:
        # What the stream says of it next would be the truth again.
        await seen.page.route("**/api/v1alpha1/events", lambda route: route.abort())
        await seen.page.route("**/api/v1alpha1/overview", lambda route: route.fulfill(json=stands))
        await seen.open()
        banner = seen.page.get_by_test_id("blind")
        await expect(banner).to_contain_text("podmigrations")
        await expect(banner).to_contain_text("not heard of since noon")
