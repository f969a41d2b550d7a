"""The README's comparison is what `make compare` prints, but for times and what hangs on them.

CI runs one row of it in its full size; README_ROWS=all (`make test-full`) every one.
"""

import os
import re
from pathlib import Path

import pytest

from bench.compare.running import SCENARIOS, Result, run
from bench.compare.tables import figures

READMES = ("README.md", "README.zh-CN.md")
ROWS = [
    f"{scenario.letter}/{contender}"
    for scenario in SCENARIOS
    for contender in scenario.entries
    if scenario.letter != "d"  # which takes a quarter of an hour, and is told in words
]
SHORT = ["a/ours (label)"]


def rows_of(readme: str) -> dict[str, list[str]]:
    """By scenario and contender: its cells."""
    text = (Path(__file__).parents[2] / readme).read_text()
    found = {}
    for line in re.findall(r"^\| \(([a-d])\) (.*) \|$", text, re.MULTILINE):
        letter, (name, *cells) = line[0], line[1].replace("**", "").replace("`", "").split(" | ")
        found[f"{letter}/{name}"] = cells
    return found


def test_both_show_every_row_and_the_same_figures() -> None:
    english, chinese = map(rows_of, READMES)
    assert list(english) == ROWS
    assert english == chinese


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("row", ROWS if os.environ.get("README_ROWS") == "all" else SHORT)
async def test_it_comes_out_as_it_is_shown(row: str) -> None:
    [result] = await run(row, 0, say=print)
    shown = rows_of(READMES[0])[row]
    moved, below, _, seconds, changed, *_ = shown
    printed = figures(result)
    assert (printed[4], result.is_done) == (changed, "," not in seconds)
    if result.contender.startswith("ours"):
        assert printed[1] == below
        assert result.pod_seconds_missing == 0
    if not result.scenario.is_about_load:
        assert printed[0] == moved
    elif result.is_done:
        assert is_at_rest(result)


def is_at_rest(result: Result) -> bool:
    entry = result.scenario.entries[result.contender]
    return not entry.threshold or result.spread_after <= entry.threshold
