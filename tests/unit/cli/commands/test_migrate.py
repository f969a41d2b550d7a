"""The command line of `rescheduler migrate`; what it does is shown by scenarios."""

from tests.unit.cli.running import Command


def test_a_pod_of_another_namespace_than_the_flag_names_is_wrong_usage(
    rescheduler: Command,
) -> None:
    ended = rescheduler("migrate", "shop/web-0", "-n", "other")
    assert ended.code == 2
    assert "shop/web-0 names another namespace than -n other" in " ".join(ended.err.split())


def test_a_node_without_a_name_is_not_any_node(rescheduler: Command) -> None:
    """As a script has it whose variable is not set."""
    ended = rescheduler("migrate", "shop/web-0", "--to", "")
    assert ended.code == 2
    assert "--to names no node; leave it out for the best one" in " ".join(ended.err.split())
