"""A look at the page as somebody has it, and everything in it that should not have been."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, Response, expect

PATIENCE_SECONDS: Final = 30.0
"""For what is awaited: the machine may be busy. Nothing is decided by how long it took."""

# Noted by the page itself, before any script of its own: what the policy refused, and scripts that
# came from where only text should have.
_WITNESS: Final = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
window.executed = [];
window.alert = (what) => window.executed.push(String(what));
"""


@dataclass
class Visit:
    page: Page
    url: str
    """Of the page, with its slash at the end."""
    faults: list[str] = field(default_factory=list)
    """Errors of scripts and of the console, strange requests, answers that are errors."""
    expected: tuple[str, ...] = ()
    """Parts of faults that the test brings about itself."""

    async def open(self, where: str = "") -> None:
        """`where`: what stands behind the page's own address."""
        await self.page.goto(self.url + where)

    async def look(self, where: str = "") -> None:
        """The same, until it is drawn and follows what changes."""
        await self.open(where)
        await expect(self.page.get_by_test_id("connection")).to_have_attribute("data-state", "open")
        await expect(self.page.get_by_text("Loading", exact=False)).to_have_count(0)

    async def all_faults(self) -> list[str]:
        told: dict[str, list[str]] = await self.page.evaluate(
            "() => ({violations: window.violations, executed: window.executed})"
        )
        found = [
            *self.faults,
            *(f"against its policy: {each}" for each in told["violations"]),
            *(f"executed: {each}" for each in told["executed"]),
        ]
        return [each for each in found if not any(part in each for part in self.expected)]

    # ------------------------------------------------------------------ what is noted

    def listen(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        asked, own = urlsplit(request.url), urlsplit(self.url)
        if asked.scheme not in ("data", "blob") and asked.netloc != own.netloc:
            self.faults.append(f"asked somebody else: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status} for {response.request.method} {response.url}")


@asynccontextmanager
async def visit(
    chromium: Browser,
    url: str,
    *,
    expected: tuple[str, ...] = (),
    **context: Any,  # noqa: ANN401 - Playwright's own
) -> AsyncIterator[Visit]:
    """Fails in the end if there was anything wrong that is not `expected`."""
    surroundings = await chromium.new_context(**{"locale": "en-US", **context})
    surroundings.set_default_timeout(PATIENCE_SECONDS * 1000)
    try:
        await surroundings.add_init_script(_WITNESS)
        seen = Visit(page=await surroundings.new_page(), url=url, expected=expected)
        seen.listen()
        try:
            yield seen
        except Exception as problem:
            problem.add_note("\n".join(["the page:", seen.page.url, *seen.faults]))
            raise
        if faults := await seen.all_faults():
            raise AssertionError("\n".join(faults))
    finally:
        await surroundings.close()
