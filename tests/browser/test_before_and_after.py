"""The uneven cluster, the plan that stands, and what it keeps where it is."""

import re

from playwright.async_api import Browser, expect

from tests.browser.stages import stage
from tests.browser.visiting import visit


async def test_what_is_hot_now_is_not_after_the_plan(chromium: Browser) -> None:
    async with (
        stage("tests.browser.planned_demo") as planned,
        visit(chromium, planned.url) as seen,
    ):
        page = seen.page
        plan = await planned.asked("plan")
        hot = {
            each["name"]
            for each in plan["nodes"]
            if max(each["before"]["cpu"], each["before"]["memory"]) > 80
        }
        assert hot
        await seen.look("cluster?as=table")
        rows = page.get_by_test_id("nodes").locator("tbody tr")
        marked = rows.filter(has_text="above threshold")
        await expect(marked.locator("a")).to_have_text(sorted(hot))
        stats = page.get_by_test_id("stats")
        await expect(stats).to_contain_text(
            re.compile(rf"Nodes above threshold\s*{len(hot)}\s*→\s*0")
        )
        await page.get_by_test_id("when").get_by_text("After the plan").click()
        await expect(marked).to_have_count(0)
        after = {each["name"]: each for each in plan["nodes"]}
        name = next(iter(hot))
        row = rows.filter(has=page.get_by_role("link", name=name, exact=True))
        await expect(row).to_contain_text(f"{after[name]['after']['cpu']:.1f} %")
        await expect(row.locator("td").nth(6)).to_have_text(str(int(after[name]["after"]["pods"])))


async def test_reasons_come_in_groups_that_open(chromium: Browser) -> None:
    async with (
        stage("tests.browser.planned_demo") as planned,
        visit(chromium, planned.url) as seen,
    ):
        await seen.look("why")
        kinds = (await planned.asked("refusals"))["kinds"]
        assert len(kinds) > 1
        shown = seen.page.get_by_test_id("kinds").locator("button.kind")
        await expect(shown).to_have_count(len(kinds))
        table = seen.page.get_by_test_id("refused-table").locator("tbody tr")
        for number, kind in enumerate(kinds):
            await shown.nth(number).click()
            await expect(seen.page).to_have_url(f"{planned.url}why?kind={kind['kind']}")
            await expect(table).to_have_count(min(kind["count"], 100))
            if len(kind["reasons"]) > 1:
                await seen.page.get_by_test_id("reasons").get_by_role("button").last.click()
                await expect(table.first).to_contain_text(kind["reasons"][-1])
                await expect(table).not_to_have_count(min(kind["count"], 100))
