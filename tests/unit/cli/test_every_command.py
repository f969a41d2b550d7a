"""What holds for every command that there is: its help, its examples, --v."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from rescheduler.cli.app import app
from tests.unit.cli.running import Command

BIN = Path(sys.executable).parent
NOISE = re.compile(r"<[a-z]+>|\b(TEXT|INTEGER|FLOAT|PATH|BOOLEAN|FILENAME)\b(?! *Why)")


def commands(group: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, (*above, name))
        else:
            yield (*above, name)


ALL = sorted(commands(typer.main.get_command(app)))


def test_they_are_these() -> None:
    named = {" ".join(each) for each in ALL}
    assert {"status", "pause", "resume", "get migrations", "migrate", "config show"} <= named
    assert {"config init", "config validate", "config schema", "validate"} <= named


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_its_help_has_two_examples_no_types_and_its_exit_status(
    rescheduler: Command, command: tuple[str, ...]
) -> None:
    ended = rescheduler(*command, "--help")
    assert (ended.code, ended.err) == (0, "")
    body, found, examples = ended.out.partition("\nExamples:\n")
    assert found
    runnable = [line for line in examples.splitlines() if line.startswith("  ") and "#" not in line]
    assert len(runnable) >= 2
    assert any(f"rescheduler {' '.join(command)}" in line for line in runnable)
    assert not NOISE.search(body), NOISE.search(body)
    assert "--v N" in body
    if command != ("version",):
        assert "Exit status: 0" in body


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_its_summary_is_one_sentence(rescheduler: Command, command: tuple[str, ...]) -> None:
    usage, _, rest = rescheduler(*command, "--help").out.partition("\n\n")
    assert usage.startswith(f"Usage: rescheduler {' '.join(command)}")
    assert rest.lstrip()[0].isupper()


@pytest.mark.parametrize("name", ["rescheduler", "kubectl-reschedule"])
def test_it_is_installed_under_both_names_and_speaks_of_itself_by_them(name: str) -> None:
    ended = subprocess.run(
        [BIN / name, "drain", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    called = name.replace("-", " ", 1)
    assert ended.stdout.startswith(f"Usage: {called} drain")
    assert f"  {called} drain worker-1\n" in ended.stdout


def test_a_shell_completes_commands(rescheduler: Command) -> None:
    script = rescheduler("completion", "bash").out
    assert "_RESCHEDULER_COMPLETE=complete_bash" in script
    asked = {"_RESCHEDULER_COMPLETE": "complete_bash", "COMP_WORDS": "rescheduler pa"}
    ended = subprocess.run(
        [BIN / "rescheduler"],
        env={**os.environ, **asked, "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.split() == ["pause"], ended
