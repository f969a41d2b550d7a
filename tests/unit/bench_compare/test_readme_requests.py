"""The README's first figures are rows of `make compare SCENES=e`, alike in both languages."""

import re
from pathlib import Path

from bench.compare.request_tables import GOAL
from bench.compare.requests import CONTENDERS, OURS

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
    english, chinese = map(rows_of, READMES)
    assert list(english) == list(CONTENDERS)
    assert english == chinese


def test_ours_is_what_the_heading_says() -> None:
    moved, requests, failed, _, _, long, downloads = rows_of(READMES[0])[OURS]
    assert len(set(moved.split(" of "))) == 1
    assert int(requests.replace(",", "")) >= GOAL
    assert failed == "0"
    assert long.startswith("0 of ")
    assert downloads.startswith("0 of ")
