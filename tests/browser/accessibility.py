"""What axe-core finds wrong for people who use a keyboard, a screen reader, or see less well."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page

_AXE: Final = Path(__file__).parents[2] / "dashboard/node_modules/axe-core/axe.min.js"
_SERIOUS: Final = ("serious", "critical")


@cache
def _axe() -> str:
    return _AXE.read_text()


async def serious_faults(page: Page) -> list[str]:
    """Each with where it is. Contrast counts, so whatever fades in has to have done so."""
    # Evaluated, not added to the page: its policy allows no scripts of others.
    await page.evaluate(_axe())
    found: dict[str, Any] = await page.evaluate(
        "() => window.axe.run(document, {resultTypes: ['violations']})"
    )
    return [
        f"{each['impact']}: {each['id']}: {each['help']}: {_where(node)}"
        for each in found["violations"]
        if each["impact"] in _SERIOUS
        for node in each["nodes"]
    ]


def _where(node: dict[str, Any]) -> str:
    summary = re.sub(r"\s+", " ", node.get("failureSummary") or "")
    return f"{node['html'][:200]} ({summary[:300]})"
