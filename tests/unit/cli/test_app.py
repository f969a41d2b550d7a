"""The command line without a cluster: what it prints, and its exit status."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rescheduler import __version__
from tests.unit.cli.running import Command

GOOD = """
apiVersion: rescheduler.io/v1alpha1
kind: ReschedulerConfiguration
imbalanceThreshold: 33
"""
BAD = """
apiVersion: rescheduler.io/v1alpha1
kind: ReschedulerConfiguration
imbalanceTreshold: 33
maxReschedulePods: many
"""


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    return str(path)


def test_version(rescheduler: Command) -> None:
    ended = rescheduler("version")
    assert (ended.code, ended.out, ended.err) == (0, f"rescheduler {__version__}\n", "")


def test_an_interrupt_while_it_starts_is_no_error() -> None:
    """Most of what it imports takes a moment."""
    interrupted = (
        "import sys; from rescheduler.cli import main\n"
        "class Impatient:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient()); main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", interrupted], capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_without_a_command_it_says_which_there_are(rescheduler: Command) -> None:
    ended = rescheduler()
    assert ended.code == 2
    commands = "cleanup demo drain explain plan retry run simulate snapshot validate version"
    for command in commands.split():
        assert command in ended.out + ended.err


def test_validate_prints_what_the_file_comes_to_whatever_the_environment_says(
    rescheduler: Command, good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESCHEDULER_IMBALANCE_THRESHOLD", "44")
    ended = rescheduler("validate", "--config", good)
    assert (ended.code, ended.err) == (0, "")
    effective = yaml.safe_load(ended.out)
    assert effective["imbalanceThreshold"] == 33
    assert effective["maxReschedulePods"] == 10


def test_what_validate_prints_is_valid(rescheduler: Command, good: str, tmp_path: Path) -> None:
    printed = rescheduler("validate", "--config", good).out
    again = tmp_path / "again.yaml"
    again.write_text(printed)
    assert rescheduler("validate", "--config", str(again)).out == printed


def test_validate_prints_what_only_profiles_can_say(rescheduler: Command, tmp_path: Path) -> None:
    """And what it prints can still be read back."""
    stock = "tests/unit/config/examples/kube-scheduler.yaml"
    printed = rescheduler("validate", "--config", stock).out
    comment = [line for line in printed.splitlines() if line.startswith("#")]
    said, hint = comment[1:-2], comment[-2:]
    assert "rescheduler config scheduler -f FILE" in hint[1]
    assert yaml.safe_load("\n".join(line.removeprefix("# ") for line in said)) == {
        "schedulerNames": ["rescheduler-scheduler"],
        "verbs": ["filter", "score", "preBind"],
    }
    again = tmp_path / "again.yaml"
    again.write_text(printed)
    without = printed.split("\n", len(comment))[-1]
    assert rescheduler("validate", "--config", str(again)).out == without


def test_validate_names_every_mistake(rescheduler: Command, bad: str) -> None:
    ended = rescheduler("validate", "--config", bad)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert 'imbalanceTreshold: unknown field; did you mean "imbalanceThreshold"?' in ended.err
    assert "maxReschedulePods:" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("command", [("validate",), ("run", "--once"), ("run",)])
def test_a_file_that_is_not_there_is_named(rescheduler: Command, command: tuple[str, ...]) -> None:
    ended = rescheduler(*command, "--config", "/nowhere/config.yaml")
    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert "/nowhere/config.yaml" in ended.err


def test_run_goes_no_further_with_a_bad_configuration(rescheduler: Command, bad: str) -> None:
    ended = rescheduler("run", "--once", "--config", bad, "--kubeconfig", "/nowhere/kubeconfig")
    assert ended.code == 1
    assert "imbalanceTreshold" in ended.err
    assert "/nowhere/kubeconfig" not in ended.err


def test_an_unknown_log_format_is_refused(rescheduler: Command, good: str) -> None:
    ended = rescheduler("run", "--once", "--config", good, "--log-format", "xml")
    assert ended.code == 2
    for word in ("xml", "text", "json"):
        assert word in ended.err
