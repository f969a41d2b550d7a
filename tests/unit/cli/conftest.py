"""For tests of the command line: one that runs in this process."""

import functools
import sys

import pytest
import typer.main

from rescheduler import cli
from tests.unit.cli.running import Command, Ended

# Building the tree of all commands takes longer than most of what tests call.
_get_command = functools.cache(typer.main.get_command)


@pytest.fixture
def rescheduler(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    # Wide and plain, or messages are broken into lines where the terminal ends.
    for name, value in (("COLUMNS", "200"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)

    monkeypatch.setattr(typer.main, "get_command", _get_command)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["rescheduler", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Ended(ended.value.code, said.out, said.err)

    return run
