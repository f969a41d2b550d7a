"""Scene (e) of `make compare` in small: its clients notice an eviction, and a move not."""

from bench.compare.requests import OURS, Outcome, measure
from bench.compare.serving import WORKLOADS
from testbed.instance import Instance
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.traffic import LONG, SHORT
from tests.nodes.conftest import say


async def outcome_of(contender: str, *names: str, instance: Instance, nodes: RealNodes) -> Outcome:
    chosen = [each for each in WORKLOADS if each.name in names]
    outcome = await measure(instance, nodes, contender, chosen, rounds=1)
    say(f"{contender}, {', '.join(names)}: {outcome.seen}")
    assert outcome.moved == outcome.pods == sum(each.replicas for each in chosen)
    return outcome


async def test_kubectl_drain_is_noticed(instance: Instance, nodes: RealNodes) -> None:
    drained = await outcome_of("kubectl drain", "slow", instance=instance, nodes=nodes)
    assert drained.seen.of(SHORT).failures


async def test_ours_is_not(instance: Instance, nodes: RealNodes) -> None:
    moved = await outcome_of(OURS, "prestop", "gated", "bare", instance=instance, nodes=nodes)
    assert moved.seen.failures == []
    assert moved.seen.kinds == [*SHORT, *LONG]
    assert all(tally.latencies for tally in moved.seen.tallies.values())
