"""A test that leaves something open fails itself, and the one behind it does not."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HELD_BY_ITSELF = """
import socket, subprocess, sys

import pytest


class Cycle:
    def __init__(self, held):
        self.held = held
        self.itself = self


@pytest.fixture
def given():
    return Cycle(socket.socket())

@pytest.fixture
def ending():
    yield
    Cycle(socket.socket())

@pytest.fixture(scope="module")
def shared():
    yield
    Cycle(socket.socket())

def test_leaks():
    Cycle(socket.socket())

def test_innocent():
    [[] for _ in range(100_000)]

def test_leaks_a_process():
    Cycle(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

def test_innocent_too(): ...

def test_leaks_by_its_fixture(given): ...

def test_innocent_in_the_middle(): ...

def test_leaks_while_it_ends(ending): ...

def test_innocent_behind_it(): ...

def test_fails_and_leaks():
    held = Cycle(socket.socket())
    assert not held

def test_innocent_behind_a_failure(): ...

def test_closes():
    with socket.socket() as held:
        Cycle(held)

def test_leaks_by_what_was_shared(shared): ...
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    how: dict[str, set[str]]
    """By the name of the test: how its parts ended."""
    said: str


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_held.py").write_text(HELD_BY_ITSELF)
    command = [sys.executable, "-m", "pytest", "-p", "tests.blaming"]
    settings = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(folder),
        "-rA",
        "--tb=short",
        "-q",
    ]
    ran = subprocess.run(
        [*command, *settings, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found: dict[str, set[str]] = {}
    for line in ran.stdout.splitlines():
        how, _, where = line.partition(" ")
        if how in ("PASSED", "FAILED", "ERROR"):
            found.setdefault(where.partition(" ")[0].rpartition("::")[2], set()).add(how)
    assert found, ran.stdout + ran.stderr
    return Ended(how=found, said=ran.stdout)


@pytest.mark.parametrize(
    "name",
    [
        "test_leaks",
        "test_leaks_a_process",
        "test_leaks_by_its_fixture",
        "test_leaks_while_it_ends",
        "test_leaks_by_what_was_shared",
    ],
)
def test_whoever_leaves_something_open_is_blamed(ended: Ended, name: str) -> None:
    assert ended.how[name] == {"PASSED", "ERROR"}


def test_a_failure_and_what_it_left_open_are_both_told(ended: Ended) -> None:
    assert ended.how["test_fails_and_leaks"] == {"FAILED", "ERROR"}


def test_nobody_else_is_blamed(ended: Ended) -> None:
    innocent = {
        name: how for name, how in ended.how.items() if "innocent" in name or "closes" in name
    }
    assert innocent == {name: {"PASSED"} for name in innocent}
    assert len(innocent) == 6


def test_the_blame_names_what_was_left_open(ended: Ended) -> None:
    assert "it left open:\n  <socket.socket fd=" in ended.said
    assert "subprocess" in ended.said
