"""A small picture of how load is spread over the nodes, before and after a plan. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rescheduler.cli.render.layout import Page
from rescheduler.model.moves import Imbalance, Plan
from rescheduler.plan.loads import RESOURCES

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS: Final = ".:-=+*#@"
_BARS: Final = 20
_POINTS: Final = 100 / _BARS
"""Of load, in each bar."""
_FULL: Final = 100 + 1e-6
"""Sums of what pods use are not exact."""


def pictures(plan: Plan, page: Page) -> list[str]:
    """Of each resource two rows of bars, with the imbalance beside them."""
    shown = [each for each in plan.nodes if each.eligible]
    counts = {
        (resource, when): _counted(
            loads[resource]
            for each in shown
            for loads in [each.before if when == "before" else each.after]
            if resource in loads
        )
        for resource in RESOURCES
        for when in ("before", "after")
    }
    tallest = max((most for each in counts.values() for most in each.values()), default=0)
    if not tallest:
        return []
    imbalances = {each.resource: each for each in plan.imbalances}
    heading = (
        f"Eligible nodes by load ({plan.word}): {len(shown)}, up to {tallest} in a bar of "
        f"{_POINTS:.0f} points"
    )
    lines = [*page.wrapped(heading), f"{'':<15} 0%{'100%':>{_BARS - 2}}"]
    for (resource, when), bars in counts.items():
        head = f"{resource if when == 'before' else '':<7} {when:<6}"
        told = _told(imbalances.get(resource), when, page)
        drawn = f"{head} |{_drawn(bars, tallest, page)}|"
        lines += page.wrapped(f"{drawn} {told}".rstrip(), " " * len(drawn) + " ")
    return lines


def rows(*loads: Iterable[float], page: Page) -> list[str]:
    """Of each of them a row of bars, all to one scale: how many nodes have how much load."""
    counts = [_counted(each) for each in loads]
    tallest = max((most for each in counts for most in each.values()), default=1)
    return [_drawn(bars, tallest, page) for bars in counts]


def _counted(percents: Iterable[float]) -> Counter[int]:
    return Counter(map(_bar, percents))


def _bar(percent: float) -> int:
    """The last one has all that is above 100 %."""
    return _BARS if percent > _FULL else min(max(int(percent // _POINTS), 0), _BARS - 1)


def _drawn(bars: Counter[int], tallest: int, page: Page) -> str:
    blocks = _PLAIN_BLOCKS if page.plain else _BLOCKS
    # One node is seen as well as many.
    heights = [-(-bars[place] * len(blocks) // tallest) for place in range(_BARS + 1)]
    return "".join(blocks[height - 1] if height else " " for height in heights)


def _told(found: Imbalance | None, when: str, page: Page) -> str:
    if found is None:
        return ""
    if when == "after":
        return f"imbalance {found.after:.1f} points"
    if found.most == found.least:
        return f"imbalance {found.before:.1f} points"
    most, least = map(page.named, (found.most, found.least))
    return f"imbalance {found.before:.1f} points: {most} to {least}"
