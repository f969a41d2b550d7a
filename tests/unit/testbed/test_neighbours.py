"""docs/neighbours.md names what the tests run beside, in the version that they run."""

import re
from pathlib import Path

import pytest

from testbed import build, neighbours

DOCS = Path(__file__).parents[3] / "docs" / "neighbours.md"


@pytest.mark.parametrize("test", sorted((DOCS.parents[1] / "tests" / "neighbours").glob("test_*")))
def test_each_that_is_tested_has_a_line_with_its_version(test: Path) -> None:
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("|")]
    [line] = [row for row in rows if f"`{test.name}`" in row]
    name = test.stem.removeprefix("test_").replace("_", "-")
    assert line.endswith(f"| {build.read_pins(name).version} |")


def test_each_program_is_built_from_pins_that_are_there() -> None:
    for program, name in neighbours.PINS.items():
        assert program in build.read_pins(name).programs.values()


def test_what_is_built_by_hand_is_what_there_is() -> None:
    makefile = (DOCS.parents[1] / "Makefile").read_text()
    [line] = re.findall(r"-m testbed build ([a-z].+)$", makefile, re.MULTILINE)
    assert set(line.split()) == set(neighbours.PINS.values())
