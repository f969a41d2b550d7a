"""Plans are changed by whoever has a token, and by nobody else; and what comes of it is seen."""

import aiohttp
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.stages import API, Stage, stage
from tests.browser.visiting import visit

HURRIED = "20"
"""Virtual seconds in one of ours: moves are over in a few."""


async def _sign_in(page: Page, token: str) -> None:
    await page.get_by_test_id("token").click()
    await page.get_by_test_id("token-input").fill(token)
    await page.get_by_role("button", name="Use token").click()


async def test_what_is_undone_moves_before_our_eyes(chromium: Browser) -> None:
    async with (
        stage("tests.browser.told_demo", "0", HURRIED) as told,
        visit(chromium, told.url, expected=("/plans/undo-", "404 (Not Found)")) as seen,
    ):
        page = seen.page
        await seen.look("plan")
        await expect(page.get_by_test_id("plans-table")).to_be_visible()
        listed = (await told.asked("plans"))["items"]
        # Of the first one; what left a node that was drained since would find it cordoned.
        first = listed[-1]["name"]
        await page.get_by_test_id("plans-table").get_by_role("link", name=first).click()
        undo = page.get_by_test_id("actions").get_by_role("button", name="Undo")
        await expect(undo).to_be_disabled()
        await expect(page.get_by_test_id("actions")).to_contain_text("read-only")
        await _sign_in(page, told.token)
        await undo.click()
        await page.get_by_test_id("confirm").click()
        # It leads to the new plan, which begins to be carried out.
        heading = page.get_by_role("heading", level=1)
        await expect(heading).not_to_have_text(first)
        made = await heading.inner_text()
        moves = page.get_by_test_id("moves-table")
        await expect(moves.get_by_text("Under way").first).to_be_visible()
        await moves.get_by_role("link", name="Under way").first.click()
        steps = page.get_by_test_id("timeline").locator("li")
        await expect(steps.filter(has_text="goes on")).to_have_count(1)
        # Nothing is loaded anew: the page follows until it is over.
        await expect(page.get_by_test_id("migration")).to_contain_text("Completed")
        await expect(steps.filter(has_text="goes on")).to_have_count(0)
        document = await told.asked(f"plans/{made}")
        assert document["plan"]["undoes"] == first


async def test_a_wrong_token_is_refused(chromium: Browser, told: Stage) -> None:
    refused = ("401 for GET", "Failed to load resource", "401")
    async with visit(chromium, told.url, expected=refused) as seen:
        await seen.look("plan")
        await _sign_in(seen.page, "wrong")
        await expect(seen.page.get_by_test_id("refused")).to_contain_text("not the token")


async def test_a_token_is_kept_nowhere(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look()
        await _sign_in(seen.page, told.token)
        await expect(seen.page.get_by_test_id("token")).to_contain_text("you")
        kept = await seen.page.evaluate(
            "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, "
            "location.href, history.state])"
        )
        assert told.token not in kept
        assert await seen.page.context.cookies() == []
        await seen.page.reload()
        await expect(seen.page.get_by_test_id("token")).to_have_text("Token")


async def test_whoever_signs_in_has_the_view_that_they_are_on(
    chromium: Browser, told: Stage
) -> None:
    """And whoever comes next sees nothing of it."""
    refused = ("401 for GET", "Failed to load resource")
    problem = {"code": "Unauthorized", "message": "who is that?", "field": None, "wayOut": None}

    async def let_in(route: Route) -> None:
        if "authorization" in route.request.headers:
            await route.continue_()
        else:
            await route.fulfill(status=401, json={"error": problem})

    for view, shown in (("settings", "settings-table"), ("migrations", "migrations-table")):
        async with visit(chromium, told.url, expected=refused) as seen:
            page = seen.page
            await page.route(f"**/api/v1alpha1/{view}*", let_in)
            await seen.open(view)
            await expect(page.get_by_text("who is that?")).to_be_visible()
            await _sign_in(page, told.token)
            await expect(page.get_by_test_id(shown)).to_be_visible()
            await expect(page.get_by_text("who is that?")).to_have_count(0)
            await page.get_by_test_id("token").click()
            await page.get_by_role("button", name="Forget").click()
            await expect(page.get_by_text("who is that?")).to_be_visible()
            await expect(page.get_by_test_id(shown)).to_have_count(0)


async def test_without_a_token_nothing_is_changed(told: Stage) -> None:
    before = (await told.asked("plans"))["items"]
    plan = next(each for each in before if "undo" in each["may"])
    address = f"{told.url}{API}plans/{plan['name']}/undo"
    ours = {"X-Rescheduler-Request": "1"}
    signed = ours | {"Authorization": f"Bearer {told.token}"}
    tries = {
        "no token": (ours, 401),
        "another token": (signed | {"Authorization": "Bearer another"}, 401),
        "a form": ({"Authorization": f"Bearer {told.token}"}, 403),
        "another page": (signed | {"Sec-Fetch-Site": "cross-site"}, 403),
        "another origin": (signed | {"Origin": "http://elsewhere.example"}, 403),
        "another name": (signed | {"Host": "elsewhere.example"}, 403),
    }
    async with aiohttp.ClientSession() as session:
        for what, (headers, status) in tries.items():
            async with session.post(address, json={}, headers=headers) as answer:
                assert (what, answer.status) == (what, status)
    assert (await told.asked("plans"))["items"] == before
