"""Pictures of the dashboard for the docs (`make pictures`): what Chromium shows of the demo.

The demo is that of one seed, told slowly enough that pods are on their way when a picture is taken.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import FloatRect, Page, ViewportSize, expect, sync_playwright

from testbed import browser

FOLDER: Final = Path(__file__).parent.parent / "docs/images"
_SIZE: Final[ViewportSize] = {"width": 1360, "height": 850}
_PATIENCE_MS: Final = 240_000.0
_ON_THEIR_WAY: Final = re.compile(r"[1-9]\d")
"""Two digits: as many moves as a picture needs."""


@contextmanager
def _demo() -> Iterator[str]:
    """Gives the address of its page."""
    command = [sys.executable, "-m", "rescheduler", "demo", "--web", "--seed", "0"]
    with subprocess.Popen([*command, "--speed", "0.5"], stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None  # noqa: S101 - it was asked for
            lines = iter(demo.stdout.readline, "")
            yield next(line.split()[1] for line in lines if line.startswith("Dashboard: "))
        finally:
            demo.kill()


def take() -> None:
    expect.set_options(timeout=_PATIENCE_MS)
    with _demo() as url, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=browser.program(), args=list(browser.QUIET)
        )
        page = chromium.new_page(viewport=_SIZE, locale="en-US", color_scheme="light")
        page.goto(f"{url}/cluster")
        expect(page.get_by_test_id("story")).to_contain_text("rescheduler run")
        expect(page.locator(".nav-count")).to_have_text(_ON_THEIR_WAY)
        _picture(page, "dashboard")
        page.emulate_media(color_scheme="dark")
        page.get_by_role("link", name="Plan", exact=True).click()
        page.get_by_test_id("plans-table").get_by_role("link").first.click()
        expect(page.get_by_test_id("moves-table")).to_be_visible()
        _picture(page, "dashboard-plan")
        page.emulate_media(color_scheme="light")
        page.get_by_role("link", name=re.compile("Migrations")).click()
        page.get_by_test_id("migrations-table").get_by_role("link").first.click()
        expect(page.get_by_test_id("timeline")).to_be_visible()
        # Further down it would say the name of this machine.
        _picture(page, "dashboard-migrations", height=640)
        chromium.close()


def _picture(page: Page, name: str, height: int = _SIZE["height"]) -> None:
    seen: FloatRect = {"x": 0, "y": 0, "width": _SIZE["width"], "height": height}
    page.screenshot(path=FOLDER / f"{name}.png", clip=seen)


if __name__ == "__main__":
    take()
