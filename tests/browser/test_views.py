"""What each view shows is what the API answers, and stays what the address says."""

from playwright.async_api import Browser, Page, expect

from tests.browser.stages import Stage
from tests.browser.visiting import visit

# Of the pixels of the picture: more than a frame, a ground and a text alone would have.
_COLOURS = """
async (canvas) => {
  const isThere = () => performance.getEntriesByName('first-picture').length;
  while (!isThere()) await new Promise(requestAnimationFrame);
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}
"""


async def _rows(page: Page, table: str) -> list[list[str]]:
    found: list[list[str]] = await page.get_by_test_id(table).evaluate(
        "(table) => [...table.tBodies[0].rows].map((row) => "
        "[...row.cells].map((cell) => cell.innerText.trim()))"
    )
    return found


async def test_the_picture_shows_the_nodes(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look()
        picture = seen.page.get_by_test_id("picture")
        cluster = await told.asked("cluster")
        nodes, pods = len(cluster["nodes"]["name"]), sum(cluster["pods"]["perNode"])
        # What is shown is what is decided by.
        assert cluster["loads"] == (await told.asked("plan"))["loads"] == "usage"
        name = await picture.get_attribute("aria-label") or ""
        assert f"{nodes} nodes, {pods} pods" in name
        drawn = seen.page.locator(".picture canvas").first
        assert await drawn.evaluate(_COLOURS) > 20


async def test_the_table_says_the_same_as_the_picture(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("cluster?as=table")
        await expect(seen.page.get_by_test_id("nodes").locator("tbody tr")).to_have_count(8)
        cluster = await told.asked("cluster")
        nodes = cluster["nodes"]
        expected = {
            name: (cluster["zones"][zone], f"{cpu / 10:.1f} %", str(pods))
            for name, zone, cpu, pods in zip(
                nodes["name"],
                nodes["zone"],
                nodes["cpuLoad"],
                cluster["pods"]["perNode"],
                strict=True,
            )
        }
        rows = await _rows(seen.page, "nodes")
        assert {name: (zone, cpu, pods) for name, zone, _, cpu, _, _, pods, _ in rows} == expected


async def test_a_node_and_its_pods(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("cluster?as=table")
        await seen.page.get_by_test_id("nodes").get_by_role("link", name="node-3").click()
        panel = seen.page.get_by_test_id("panel")
        await expect(panel.get_by_role("heading", level=2)).to_have_text("node-3")
        document = await told.asked("nodes/node-3")
        names = [each["name"] for each in document["pods"]]
        assert len(names) == document["total"] > 5
        await expect(panel.locator(".pods .pod-name")).to_have_text(names)
        # One of them, and what is known of it.
        await panel.get_by_role("link", name=names[0]).click()
        await expect(panel.get_by_role("heading", level=2)).to_have_text(names[0])
        await expect(panel.get_by_text("Belongs to")).to_be_visible()
        assert f"pod={document['pods'][0]['namespace']}%2F{names[0]}" in seen.page.url


async def test_migrations_are_those_of_the_api(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("migrations")
        table = seen.page.get_by_test_id("migrations-table")
        listed = await told.asked("migrations?limit=1000")
        items = listed["items"]
        assert len(items) == listed["total"] > 20
        await expect(table.locator("tbody tr")).to_have_count(len(items))
        rows = await _rows(seen.page, "migrations-table")
        shown = {(*row[0].split(), row[1].split()[-1], row[3], row[4], row[5]) for row in rows}
        assert shown == {
            (
                each["pod"]["name"],
                each["namespace"],
                each["phase"],
                each["from"],
                each["to"],
                each["way"],
            )
            for each in items
        }
        # One of them with its steps.
        await table.get_by_role("link").first.click()
        first = items[0]
        document = await told.asked(f"migrations/{first['namespace']}/{first['name']}")
        steps = seen.page.get_by_test_id("timeline").locator("li")
        await expect(steps).to_have_count(len(document["steps"]))
        assert len(document["steps"]) > 3


async def test_plans_are_those_of_the_api(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("plan")
        listed = await told.asked("plans")
        names = [each["name"] for each in listed["items"]]
        assert len(names) > 1
        await expect(seen.page.get_by_test_id("plans-table").locator("tbody tr")).to_have_count(
            len(names)
        )
        largest = max(listed["items"], key=lambda each: each["total"])["name"]
        await seen.page.get_by_test_id("plans-table").get_by_role("link", name=largest).click()
        await expect(seen.page.get_by_role("heading", level=1)).to_have_text(largest)
        document = await told.asked(f"plans/{largest}")
        moves = seen.page.get_by_test_id("moves-table").locator("tbody tr")
        await expect(moves).to_have_count(len(document["moves"]))
        rows = await _rows(seen.page, "moves-table")
        assert {(row[0].split()[0], row[1], row[2]) for row in rows} == {
            (each["move"]["pod"]["name"], each["move"]["from"], each["move"]["to"])
            for each in document["moves"]
        }
        # What one would type instead stands beside the button.
        await expect(seen.page.get_by_test_id("actions")).to_contain_text(
            document["commands"]["undo"]
        )


async def test_any_pod_says_what_would_have_to_change(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("why")
        await seen.page.get_by_label("Search any pod").fill("data/")
        found = seen.page.get_by_test_id("found-table").get_by_role("link")
        listed = (await told.asked("pods?q=data/"))["items"]
        await expect(found).to_have_count(len(listed))
        await found.first.click()
        pod = seen.page.get_by_test_id("pod")
        document = await told.asked(f"pods/{listed[0]['namespace']}/{listed[0]['name']}")
        assert document["stays"]
        assert document["remedies"]
        for reason in document["stays"]:
            await expect(pod.get_by_text(reason, exact=True).first).to_be_visible()
        for change in document["remedies"][0]:
            if change["kind"] != "wait":  # which is sooner by now
                await expect(pod.get_by_test_id("remedies")).to_contain_text(change["words"])
        # The same by its address alone, where nobody says on which node it is.
        await seen.look(f"cluster?pod={listed[0]['namespace']}%2F{listed[0]['name']}")
        panel = seen.page.get_by_test_id("panel")
        await expect(panel.get_by_text(document["stays"][0], exact=True).first).to_be_visible()


async def test_every_button_that_acts_has_its_command_beside_it(
    chromium: Browser, told: Stage
) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("plan")
        curve = seen.page.locator("#curve, [aria-labelledby=curve]").first
        await expect(curve).to_contain_text("rescheduler plan --curve")
        # And what it draws is the answer of the API.
        await curve.get_by_role("button", name="Work out the curve").click()
        await expect(curve.locator(".uplot canvas").first).to_be_visible()
        points = (await told.asked("plan/curve"))["points"]
        rows = curve.get_by_test_id("curve-table").locator("tbody tr")
        await expect(rows).to_have_count(1 + len(points))


async def test_settings_say_who_said_them(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("settings")
        items = (await told.asked("settings"))["items"]
        more = seen.page.get_by_role("button", name="Show more")
        if len(items) > 100:
            await more.click()
        await expect(more).to_have_count(0)
        shown = await seen.page.get_by_test_id("settings").inner_text()
        missing = [each["path"] for each in items if each["path"] not in shown]
        assert not missing


async def test_the_address_brings_back_view_and_selection(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url) as seen:
        await seen.look("cluster?as=table&node=node-2&q=zone%3Ac")
        panel = seen.page.get_by_test_id("panel")
        await expect(panel.get_by_role("heading", level=2)).to_have_text("node-2")
        await expect(seen.page.get_by_test_id("filter")).to_have_value("zone:c")
        rows = seen.page.get_by_test_id("nodes").locator("tbody tr")
        await expect(rows).to_have_count(3)
        # What is chosen is in the address, and the way back leads to where one was.
        await seen.page.get_by_role("link", name="node-8").click()
        await expect(panel.get_by_role("heading", level=2)).to_have_text("node-8")
        await expect(seen.page).to_have_url(f"{told.url}cluster?as=table&node=node-8&q=zone%3Ac")
        await seen.page.go_back()
        await expect(panel.get_by_role("heading", level=2)).to_have_text("node-2")
        await seen.page.get_by_role("link", name="History", exact=True).click()
        await expect(seen.page).to_have_url(f"{told.url}history")
        await seen.page.reload()
        await expect(seen.page.get_by_test_id("history")).to_be_visible()


async def test_language_and_colours_are_chosen_and_remembered(
    chromium: Browser, told: Stage
) -> None:
    async with visit(chromium, told.url, color_scheme="light") as seen:
        await seen.look("plan")
        page, root = seen.page, seen.page.locator("html")
        await expect(root).to_have_attribute("lang", "en")
        await expect(root).to_have_attribute("data-theme", "light")
        await page.get_by_test_id("language").select_option("zh")
        await expect(root).to_have_attribute("lang", "zh-CN")
        await expect(page.get_by_role("navigation").get_by_role("link").nth(1)).to_have_text("计划")
        await page.get_by_test_id("theme").select_option("dark")
        await expect(root).to_have_attribute("data-theme", "dark")
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.reload()
        await expect(root).to_have_attribute("lang", "zh-CN")
        await expect(root).to_have_attribute("data-theme", "dark")
        await page.get_by_test_id("theme").select_option("light")
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != ground


async def test_it_begins_as_the_browser_likes_it(chromium: Browser, told: Stage) -> None:
    async with visit(chromium, told.url, locale="zh-CN", color_scheme="dark") as seen:
        await seen.open()
        await expect(seen.page.locator("html")).to_have_attribute("lang", "zh-CN")
        await expect(seen.page.locator("html")).to_have_attribute("data-theme", "dark")
