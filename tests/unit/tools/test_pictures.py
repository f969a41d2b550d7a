"""The pictures of a terminal show what commands print."""

import html
import re

from tools import pictures


def words(svg: str) -> str:
    """As they are read, without where each stands."""
    return " ".join(html.unescape(" ".join(re.findall(r"<text[^>]*>(.*?)</text>", svg))).split())


def test_of_a_plan() -> None:
    assert words(pictures.PLAN.read_text()) == words(pictures.plan()), "make pictures"


def test_of_the_demo() -> None:
    assert words(pictures.DEMO.read_text()) == words(pictures.demo()), "make pictures"
