"""The README's first figures are rows of `make compare SCENES=e`, alike in both languages."""

import re
from pathlib import Path

from bench.compare import request_tables
from bench.compare.request_tables import GOAL
from bench.compare.requests import CONTENDERS, GUARDED, OURS

READMES = ("README.md", "README.zh-CN.md")


def rows_of(readme: str) -> dict[str, list[str]]:
    """By contender: its cells."""
    text = (Path(__file__).parents[3] / readme).read_text()
    found = {}
    for line in re.findall(r"^\| \(e\) (.*) \|$", text, re.MULTILINE):
        name, *cells = line.replace("**", "").replace("`", "").split(" | ")
        found[name] = cells
    return found


def test_both_show_every_contender_and_the_same_figures() -> None:
    """But for the guarded one as long as no run has printed it beside all others."""
    english, chinese = map(rows_of, READMES)
    assert list(english) == [name for name in CONTENDERS if name in english or name != GUARDED]
    assert english == chinese


def test_each_row_has_what_is_printed() -> None:
    for name, cells in rows_of(READMES[0]).items():
        assert len(cells) == len(request_tables.COLUMNS), name


def test_ours_is_what_the_heading_says() -> None:
    moved, _, requests, failed, *_, long, downloads = rows_of(READMES[0])[OURS]
    assert len(set(moved.split(" of "))) == 1
    assert int(requests.replace(",", "")) >= GOAL
    assert failed == "0"
    assert long.startswith("0 of ")
    assert downloads.startswith("0 of ")
