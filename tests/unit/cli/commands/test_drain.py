"""`rescheduler drain` without a cluster."""

import pytest

from tests.unit.cli.running import Command


def test_a_node_has_to_be_named(rescheduler: Command) -> None:
    ended = rescheduler("drain")
    assert ended.code == 2
    assert "NODE" in ended.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("soon", '--timeout: "soon" is not a duration: '),
        ("-1s", '--timeout: "-1s" is below 0; 0 means no limit'),
    ],
)
def test_a_wrong_time_is_told(rescheduler: Command, given: str, said: str) -> None:
    ended = rescheduler("drain", "worker-1", "--timeout", given)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {said}")


def test_mistakes_in_the_configuration_are_told_first(rescheduler: Command) -> None:
    ended = rescheduler("drain", "worker-1", "--config", "/nowhere/config.yaml")
    assert ended.code == 1
    assert "/nowhere/config.yaml" in ended.err


def test_a_kubeconfig_that_is_not_there_is_named(rescheduler: Command) -> None:
    for flags in ((), ("--dry-run",)):
        ended = rescheduler("drain", "worker-1", "--kubeconfig", "/nowhere/kubeconfig", *flags)
        assert (ended.code, ended.out) == (1, "")
        assert "/nowhere/kubeconfig" in ended.err
        assert "Traceback" not in ended.err


def test_help_says_what_becomes_of_the_node(rescheduler: Command) -> None:
    told = " ".join(rescheduler("drain", "--help").out.split())
    assert "kubectl uncordon NODE" in told
    assert "rescheduler drain worker-1 --dry-run" in told


def test_help_names_what_is_taken_and_what_leaves_it_out(rescheduler: Command) -> None:
    told = " ".join(rescheduler("drain", "--help").out.split())
    assert "kubectl drain --ignore-daemonsets --delete-emptydir-data --force" in told
    for flag in ("jobs", "bare-pods", "local-storage", "system", "namespace"):
        assert f"--skip-{flag} " in told
