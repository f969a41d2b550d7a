"""For whoever uses it: by keyboard, by a screen reader, on a phone, in light or dark."""

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.accessibility import serious_faults
from tests.browser.stages import Stage
from tests.browser.visiting import visit

VIEWS = (
    "cluster",
    "cluster?as=table&node=node-3",
    "plan",
    "migrations",
    "why",
    "history",
    "settings",
)
PHONE = {"width": 375, "height": 667}

# What is chosen may be a pod that has moved since: it is told so.
GONE = ("404 for GET", "404 (Not Found)")


async def _with_a_selection(page: Page) -> None:
    """Where something can be chosen, something is: what is beside it counts, too."""
    first = page.locator("tbody a").first
    if await first.count() and not await page.get_by_test_id("panel").count():
        await first.click()
        await expect(page.get_by_text("Loading", exact=False)).to_have_count(0)


@pytest.mark.parametrize("view", VIEWS)
async def test_nothing_serious_keeps_anybody_out(chromium: Browser, told: Stage, view: str) -> None:
    # What moves or fades in would be judged half-way.
    still: dict[str, Any] = {"color_scheme": "light", "reduced_motion": "reduce"}
    async with visit(chromium, told.url, expected=GONE, **still) as seen:
        await seen.look(view)
        for theme in ("light", "dark"):
            await seen.page.emulate_media(color_scheme=theme)
            await expect(seen.page.locator("html")).to_have_attribute("data-theme", theme)
            assert await serious_faults(seen.page) == []
            await _with_a_selection(seen.page)
        assert await serious_faults(seen.page) == []


async def test_nor_in_its_dialog(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url, reduced_motion="reduce") as seen:
        await seen.look("plan")
        await seen.page.get_by_test_id("token").click()
        await expect(seen.page.get_by_test_id("token-input")).to_be_focused()
        assert await serious_faults(seen.page) == []


@pytest.mark.parametrize("view", VIEWS)
async def test_a_phone_scrolls_down_only(chromium: Browser, told: Stage, view: str) -> None:
    phone: dict[str, Any] = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    async with visit(chromium, told.url, expected=GONE, **phone) as seen:
        await seen.look(view)
        for language in ("en", "zh"):
            await seen.page.get_by_test_id("language").select_option(language)
            assert await _too_wide(seen.page) == []
            await _with_a_selection(seen.page)
        assert await _too_wide(seen.page) == []
        # And what one goes on with can be reached.
        for link in await seen.page.get_by_role("navigation").get_by_role("link").all():
            await link.scroll_into_view_if_needed()
            await expect(link).to_be_in_viewport()


async def _too_wide(page: Page) -> list[str]:
    """What is wider than the phone, and does not scroll in a frame of its own."""
    found: list[str] = await page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          return [...document.body.querySelectorAll('*')]
            .filter((each) => each.getBoundingClientRect().right > width + 1)
            .map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`)
            .slice(0, 10);
        }"""
    )
    return found


@pytest.mark.parametrize("view", VIEWS)
async def test_the_keyboard_alone_reaches_everything(
    chromium: Browser, told: Stage, view: str
) -> None:
    async with visit(chromium, told.url, reduced_motion="reduce") as seen:
        await seen.look(view)
        page = seen.page
        wanted = set(await page.evaluate(_MARK_ALL))
        reached: set[str] = set()
        for _ in range(3 * len(wanted) + 20):
            await page.keyboard.press("Tab")
            what, is_seen = await page.evaluate(_WHAT_HAS_FOCUS)
            if what:
                assert is_seen, f"{what} has the focus, and nothing shows it"
                reached.add(what)
            if reached >= wanted:
                break
        assert reached >= wanted, wanted - reached


# Controls in the order of the page; those inside of what is folded up come when it is opened.
_MARK_ALL = """
() => {
  const found = [...document.querySelectorAll(
    'a[href], button, input, select, summary, [tabindex="0"]')]
    .filter((each) => !each.disabled && each.checkVisibility({visibilityProperty: true}));
  found.forEach((each, number) => {
    each.dataset.mark = `${number} ${each.tagName} ${(each.ariaLabel || each.textContent).trim()}`;
  });
  return found.map((each) => each.dataset.mark);
}
"""
_WHAT_HAS_FOCUS = """
() => {
  const it = document.activeElement;
  const style = it && getComputedStyle(it);
  const shown = style && (style.outlineStyle !== 'none' || style.boxShadow !== 'none');
  return [it?.dataset.mark ?? '', Boolean(shown)];
}
"""


async def test_the_picture_by_keyboard(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look()
        page = seen.page
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.get_by_test_id("picture").focus()
        await page.keyboard.press("ArrowRight")
        said = page.get_by_test_id("picture-said")
        await expect(said).to_contain_text("node-")
        first = await said.inner_text()
        await page.keyboard.press("ArrowRight")
        await expect(said).not_to_have_text(first)
        node = (await said.inner_text()).split(",")[0]
        await page.keyboard.press("Enter")
        heading = page.get_by_test_id("panel").get_by_role("heading", level=2)
        await expect(heading).to_have_text(node)
        await expect(heading).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id("panel")).to_have_count(0)
