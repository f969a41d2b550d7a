"""`make compare` in small: its judge sees what eviction does, and that ours does not."""

import io

from rich.console import Console

from bench.compare import guard_tables, guarding
from bench.compare.running import Result, run
from bench.compare.tables import show

WORKLOADS = 4


async def results_of(only: str) -> list[Result]:
    return await run(only, WORKLOADS, say=print)


async def test_emptying_a_node_beside_kubectl_drain() -> None:
    drained, ours, by_drain = await results_of("a")
    assert (drained.moved, drained.pods, drained.is_done) == (7, 7, True)
    assert drained.ever_below == WORKLOADS
    # Each pod of the node is missing while its successor starts, which takes it three seconds.
    assert drained.pod_seconds_missing > 7 * 2
    for each in (ours, by_drain):
        assert (each.moved, each.pods, each.is_done) == (7, 7, True)
        assert (each.ever_below, each.pod_seconds_missing) == (0, 0)
        assert drained.objects_changed == each.objects_changed == 0
    printed = printed_table([drained, ours, by_drain])
    assert "kubectl drain" in printed
    assert "7 of 7" in printed
    assert "all pods moved: yes" in printed


async def test_emptying_a_node_where_budgets_allow_no_disruption() -> None:
    [ours] = await results_of("b/ours (label)")
    assert (ours.moved, ours.pods, ours.is_done) == (6, 6, True)
    assert (ours.ever_below, ours.objects_changed) == (0, 0)


async def test_balancing() -> None:
    """Without descheduler, which tests do not build."""
    [ours] = await results_of("c/ours (to 10; 50 a pass)")
    assert (ours.moved > 0, ours.is_done) == (True, True)
    assert ours.spread_before > 10 >= ours.spread_after
    assert (ours.ever_below, ours.objects_changed) == (0, 0)


async def test_somebody_else_empties_a_node_beside_the_guard() -> None:
    """With the default configuration, and the certificate that it makes itself."""
    only = "f/kubectl drain (guarded)"
    [ours, *_] = results = await run(only, WORKLOADS, print, guarding.SCENARIOS[:1])
    assert (ours.moved, ours.pods, ours.is_done) == (7, 7, True)
    assert (ours.ever_below, ours.pod_seconds_missing) == (0, 0)
    assert (ours.exit_code, ours.objects_changed) == (0, 0)
    console = Console(file=io.StringIO(), highlight=False, width=200)
    guard_tables.show(results, console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert "0 of 4 below, goal 0: yes" in printed
    assert "exit code 0, goal 0: yes" in printed


def printed_table(results: list[Result]) -> str:
    console = Console(file=io.StringIO(), highlight=False, width=120)
    show(results, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
