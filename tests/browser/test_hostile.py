"""Text is text, whoever wrote it: nothing that a cluster, a plan or a file says is ever run."""

from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.hostile_documents import MARK, PAYLOADS
from tests.browser.stages import stage
from tests.browser.visiting import visit

CHOSEN = quote(f"{PAYLOADS[0]}/{PAYLOADS[1]}", safe="")
NAME = quote(PAYLOADS[0], safe="")
ADDRESSES = (
    f"cluster?node={NAME}&q={NAME}",
    f"cluster?as=table&node={NAME}&pod={CHOSEN}",
    f"plan?plan={NAME}",
    "plan",
    f"migrations?name={CHOSEN}",
    f"why?q={NAME}&pod={CHOSEN}&kind={NAME}&reason={NAME}",
    "history",
    f"settings?q={NAME}",
    "settings",
)

# What would be there, had any text been taken for markup or for an address.
_TAKEN_FOR_MORE = """
() => [
  ...document.querySelectorAll(
    'script:not([src]), img, iframe, object, embed, textarea, svg[onload]'),
  ...[...document.querySelectorAll('*')].filter((each) =>
    [...each.attributes].some(({name, value}) => name.startsWith('on')
      || (['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name)
          && !['http:', 'https:'].includes(new URL(value, location.href).protocol)))),
].map((each) => each.outerHTML.slice(0, 200))
"""


async def test_hostile_text_stays_text(chromium: Browser) -> None:
    async with stage("tests.browser.hostile_stage") as hostile:
        for address in ADDRESSES:
            async with visit(chromium, hostile.url) as seen:
                await seen.look(address)
                await expect(seen.page.get_by_text(MARK).first).to_be_attached()
                await _unfold(seen.page)
                assert (address, await seen.page.evaluate(_TAKEN_FOR_MORE)) == (address, [])
                # What is shown on top of others' text, or under a pointer.
                for titled in (await seen.page.locator("[title]:not([title='']):visible").all())[
                    :3
                ]:
                    await titled.hover()


async def _unfold(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")


@pytest.mark.parametrize("name", ["overview", "cluster", "plan", "migrations"])
async def test_an_answer_that_is_none_breaks_no_other_view(chromium: Browser, name: str) -> None:
    """As from a proxy that has something to say itself."""
    told = ("500 for GET", "Failed to load resource")
    async with (
        stage("tests.browser.hostile_stage") as hostile,
        visit(chromium, hostile.url, expected=told) as seen,
    ):
        await seen.page.route(
            f"**/api/v1alpha1/{name}*",
            lambda route: route.fulfill(status=500, body="<html>not what was asked for</html>"),
        )
        await seen.open(name if name != "overview" else "cluster")
        await expect(seen.page.get_by_role("navigation")).to_be_visible()
        await seen.page.get_by_role("link", name="Settings").click()
        await expect(seen.page.get_by_test_id("settings")).to_be_visible()
