"""`rescheduler cleanup` without a cluster."""

import pytest

from tests.unit.cli.running import Command


@pytest.mark.parametrize("flags", [(), ("--dry-run",), ("--all",)])
def test_a_kubeconfig_that_is_not_there_is_named(
    rescheduler: Command, flags: tuple[str, ...]
) -> None:
    ended = rescheduler("cleanup", "--kubeconfig", "/nowhere/kubeconfig", *flags)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert "/nowhere/kubeconfig" in ended.err


def test_a_wrong_time_is_told(rescheduler: Command) -> None:
    ended = rescheduler("cleanup", "--timeout", "5")
    assert ended.code == 2
    assert ended.err.startswith('error: --timeout: "5" is not a duration: a unit is missing')


def test_help_says_in_which_order_to_leave(rescheduler: Command) -> None:
    said = rescheduler("cleanup", "--help").out
    order = [
        "scale deployment rescheduler-scheduler --replicas=0",
        "rescheduler cleanup --all",
        "kubectl delete -k manifests/rescheduler",
    ]
    places = [said.rindex(each) for each in order]
    assert places == sorted(places)
