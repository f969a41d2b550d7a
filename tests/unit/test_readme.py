"""What the READMEs show is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rescheduler.cli.commands import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_line_that_is_shown_of_a_plan_is_printed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text()
    block = next(
        each for each in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "plan -f" in each
    )
    shown: dict[str, list[str]] = {}
    for line in block.splitlines():
        if line.startswith("$ "):
            shown[line.removeprefix("$ ")] = []
        else:
            shown[next(reversed(shown))].append(line)
    assert len(shown) == 2
    for command, lines in shown.items():
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0
        assert lines
        assert set(lines) - set(result.stdout.splitlines()) == set()


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_summary_that_is_shown_of_the_demo_is_printed(name: str, ended: set[str]) -> None:
    text = (ROOT / name).read_text()
    block = next(
        each
        for each in re.findall(r"```console\n(.*?)```", text, re.DOTALL)
        if "demo --seed" in each
    )
    command, *lines = block.splitlines()
    assert command == "$ .venv/bin/rescheduler demo --seed 0 | tail"
    assert {without_numbers(line) for line in lines} - ended == set()


@pytest.fixture(scope="module")
def ended() -> set[str]:
    """By a smaller cluster: the numbers are others, and so they are left out."""
    result = CliRunner().invoke(app, ["demo", "--seed", "0", "--nodes", "6"])
    assert result.exit_code == 0
    return {without_numbers(line) for line in result.stdout.splitlines()}


def without_numbers(line: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", line)
