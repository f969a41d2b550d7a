"""`rescheduler retry` without a cluster."""

from tests.unit.cli.running import Command


def test_a_migration_has_to_be_named(rescheduler: Command) -> None:
    ended = rescheduler("retry")
    assert ended.code == 2
    assert "NAME" in ended.err


def test_a_kubeconfig_that_is_not_there_is_named(rescheduler: Command) -> None:
    ended = rescheduler("retry", "web-1", "--kubeconfig", "/nowhere/kubeconfig")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert "/nowhere/kubeconfig" in ended.err


def test_help_says_how_to_find_one(rescheduler: Command) -> None:
    assert "rescheduler get migrations -A -o wide" in rescheduler("retry", "--help").out
