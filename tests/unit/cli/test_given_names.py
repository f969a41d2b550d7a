"""Names that no object can have are refused by every command that takes one, first of all."""

from pathlib import Path

import pytest

from tests.unit.cli.running import Command

WRONG = (
    "",
    "../x",
    "a/b/c",
    "a?b=c",
    "%2e",
    "x" * 254,
    "n\u00e4me",
    "Upper",
    "a b",
    "-a",
    "a..b",
    "\x1b[2J",
)
"""As the name of a pod; where no namespace stands before it, a/b is none, either."""

TAKING_PODS = [["migrate"], ["explain", "pod"]]
TAKING_NAMES = [
    ["retry"],
    ["get", "migrations"],
    ["get", "plans"],
    ["history"],
    ["approve"],
    ["reject"],
    ["undo"],
    ["drain"],
    ["explain", "node"],
    ["migrate", "web-0", "--to"],
]


def no_cluster(folder: Path) -> list[str]:
    """To ask one would be another error, with another exit status."""
    return ["--kubeconfig", str(folder / "none")]


@pytest.mark.parametrize("command", [*TAKING_PODS, *TAKING_NAMES], ids=" ".join)
def test_a_name_that_nothing_can_have_is_wrong_usage(
    rescheduler: Command, command: list[str], tmp_path: Path
) -> None:
    for name in (*WRONG, *(() if command in TAKING_PODS else ("a/b",))):
        if name == "" and "--to" in command:
            continue  # a node that is none has words of its own
        given = [*command, *no_cluster(tmp_path), "--", name]
        if "--to" in command:
            given = [*command, name, *no_cluster(tmp_path)]
        ended = rescheduler(*given)
        assert (ended.code, ended.out) == (2, ""), (name, ended)
        assert ended.err.count("\n") == 1, ended.err
        assert "is not the name of a" in ended.err
        assert "lower case letters, digits" in ended.err
        assert ended.err.isascii()


@pytest.mark.parametrize("command", [*TAKING_PODS, *TAKING_NAMES], ids=" ".join)
def test_a_name_that_something_can_have_is_asked_for(
    rescheduler: Command, command: list[str], tmp_path: Path
) -> None:
    for name in ("web-0", "worker-1.example.org", "0" * 253):
        ended = rescheduler(*command, name, *no_cluster(tmp_path))
        assert ended.code == 1
        assert "none" in ended.err, ended.err


@pytest.mark.parametrize(
    "command",
    [
        ["migrate", "web-0", "-n"],
        ["explain", "pod", "web-0", "-n"],
        ["retry", "web-0", "-n"],
        ["get", "migrations", "-n"],
        ["drain", "worker-1", "--skip-namespace"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("namespace", ["../x", "a.b", "x" * 64, "Shop"])
def test_nor_is_a_namespace_asked_for_that_none_can_be(
    rescheduler: Command, command: list[str], namespace: str, tmp_path: Path
) -> None:
    ended = rescheduler(*command, namespace, *no_cluster(tmp_path))
    assert ended.code == 2
    assert "is not the name of a namespace: lower case letters, digits" in ended.err


def test_all_that_is_wrong_is_told_at_once(rescheduler: Command, tmp_path: Path) -> None:
    ended = rescheduler("get", "plans", "rplan/a", "a/b", "%2e", *no_cluster(tmp_path))
    assert [line.split(" is not")[0] for line in ended.err.splitlines()] == [
        'error: NAME: "a/b"',
        'NAME: "%2e"',
    ]


def test_a_path_is_told_as_no_pod(rescheduler: Command, tmp_path: Path) -> None:
    ended = rescheduler("migrate", "../x", *no_cluster(tmp_path))
    assert ended.err.startswith('error: POD: "../x" is not the name of a pod, NAME or NAMESPACE/')


def test_a_switch_takes_no_value(rescheduler: Command) -> None:
    """`migrate --wait=false` was right once."""
    ended = rescheduler("migrate", "web-0", "--wait=false")
    assert ended.code == 2
    assert "--wait takes no value; write --wait or --no-wait" in ended.err
    ended = rescheduler("drain", "worker-1", "--dry-run=true")
    assert "--dry-run takes no value; write --dry-run" in ended.err
