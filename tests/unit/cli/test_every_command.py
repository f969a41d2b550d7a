"""What holds for every command that there is: its help, its examples, --v."""

import os
import re
import shutil
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
NOISE = re.compile(r"<[^>]*>|\b(TEXT|INTEGER|FLOAT|PATH|BOOLEAN|FILENAME)\b(?! *Why)")


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
    assert rescheduler(*command, "-h") == ended
    body, found, examples = ended.out.partition("\nExamples:\n")
    assert found
    runnable = [line for line in examples.splitlines() if line.startswith("  ") and "#" not in line]
    assert len(runnable) >= 2
    assert any(f"rescheduler {' '.join(command)}" in line for line in runnable)
    assert not NOISE.search(body), NOISE.search(body)
    assert "--v N" in body
    assert "Exit status: 0" in body


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_its_summary_is_one_sentence(rescheduler: Command, command: tuple[str, ...]) -> None:
    usage, _, rest = rescheduler(*command, "--help").out.partition("\n\n")
    assert usage.startswith(f"Usage: rescheduler {' '.join(command)}")
    assert rest.lstrip()[0].isupper()


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_its_whole_summary_is_in_the_list_of_commands(
    rescheduler: Command, command: tuple[str, ...]
) -> None:
    _, summary, *_ = rescheduler(*command, "--help").out.split("\n\n")
    listed = " ".join(rescheduler(*command[:-1], "--help").out.split())
    assert f" {command[-1]} {' '.join(summary.split())}" in listed
    assert "..." not in listed.replace("[ARGS]...", "")


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        ("get migrations", "-o, --output table|wide|json|yaml|name"),
        ("migrate", "--wait / --no-wait"),
        ("run", "--log-format text|json"),
    ],
)
def test_its_help_names_the_values_that_a_flag_may_have(
    rescheduler: Command, called: str, shown: str
) -> None:
    assert shown in rescheduler(*called.split(), "--help").out


def test_wrong_usage_names_what_has_to_be_given_as_the_help_does(rescheduler: Command) -> None:
    assert "Usage: rescheduler drain [OPTIONS] NODE\n" in rescheduler("drain").err


@pytest.mark.parametrize("name", ["rescheduler", "kubectl-reschedule"])
def test_it_is_installed_under_both_names_and_speaks_of_itself_by_them(name: str) -> None:
    ended = subprocess.run(
        [BIN / name, "drain", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    called = name.replace("-", " ", 1)
    assert ended.stdout.startswith(f"Usage: {called} drain")
    assert f"  {called} drain worker-1\n" in ended.stdout


ASKED = {
    "bash": {"_RESCHEDULER_COMPLETE": "complete_bash", "COMP_WORDS": "rescheduler pa"},
    "zsh": {"_RESCHEDULER_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "rescheduler pa"},
    "fish": {
        "_RESCHEDULER_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": "rescheduler pa",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    },
}
"""What the script of each shell sets when it asks."""


@pytest.mark.parametrize("shell", sorted(ASKED))
def test_a_shell_completes_commands(rescheduler: Command, shell: str) -> None:
    script = rescheduler("completion", shell).out
    for name, value in ASKED[shell].items():
        assert name in script
        assert "rescheduler" in value or value in script
    ended = subprocess.run(
        [BIN / "rescheduler"],
        env={**os.environ, **ASKED[shell], "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "pause" in ended.stdout, ended
    assert "plan" not in ended.stdout


@pytest.mark.parametrize(
    ("shell", "registers"),
    [
        ("bash", "complete -o default -F _rescheduler_completion rescheduler"),
        ("zsh", "compdef _rescheduler_completion rescheduler"),
        ("fish", "complete --command rescheduler"),
    ],
)
def test_its_script_is_of_that_shell(rescheduler: Command, shell: str, registers: str) -> None:
    script = rescheduler("completion", shell).out
    assert registers in script
    # Where it is installed, the shell itself has the last word.
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=script, text=True, timeout=60, check=True)


CONNECTING = [
    ("cleanup",),
    ("drain", "worker-1"),
    ("explain", "pod", "shop/web-1"),
    ("get", "migrations"),
    ("migrate", "web-1"),
    ("pause",),
    ("plan",),
    ("resume",),
    ("retry", "web-1"),
    ("run", "--once"),
    ("snapshot", "save", "-"),
    ("snapshot", "show"),
    ("status",),
]


@pytest.mark.parametrize("command", CONNECTING, ids=" ".join)
def test_its_kubeconfig_is_of_the_flag_or_the_environment_or_the_file(
    rescheduler: Command,
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this order, and each before $KUBECONFIG."""
    monkeypatch.setenv("KUBECONFIG", "/nowhere/of-kubectl")
    file = tmp_path / "config.yaml"
    head = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
    file.write_text(head + "clientConnection: {kubeconfig: /nowhere/of-the-file}\n")
    called = [*command]
    for source, flags in (
        ("of-kubectl", ()),
        ("of-the-file", ("--config", str(file))),
        ("of-the-environment", ()),
        ("of-the-flag", ("--kubeconfig", "/nowhere/of-the-flag")),
    ):
        if source == "of-the-environment":
            name = "RESCHEDULER_CLIENT_CONNECTION_KUBECONFIG"
            monkeypatch.setenv(name, "/nowhere/of-the-environment")
        called += flags
        ended = rescheduler(*called)
        assert ended.code == 1
        [error] = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        assert f"/nowhere/{source}" in error
