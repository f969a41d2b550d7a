from collections import Counter

import pytest

from rescheduler import wire
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.model import conditions
from rescheduler.simulation.filling import fill
from rescheduler.simulation.generating import generate


def test_the_same_seed_makes_the_same_cluster_and_another_another() -> None:
    first, again, other = (generate(nodes=12, pods=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("nodes", "pods"), [(3, 1), (10, 200), (40, 1000)])
def test_as_many_as_were_asked_for_and_of_all_kinds(nodes: int, pods: int) -> None:
    made = generate(nodes=nodes, pods=pods, seed=3)
    assert made.count(wire.NODES) == nodes
    assert made.count(wire.PODS) == pods
    assert not made.notes
    if pods >= 1000:
        for kind in (wire.STATEFUL_SETS, wire.DAEMON_SETS, wire.POD_DISRUPTION_BUDGETS):
            assert made.count(kind) > 0


def test_it_is_uneven() -> None:
    made = generate(nodes=30, pods=600, seed=1)
    by_node = Counter(each["spec"]["nodeName"] for each in made.all(wire.PODS))
    assert max(by_node.values()) > 3 * min(by_node.values())


@pytest.mark.parametrize(
    ("nodes", "pods", "words"),
    [
        (2, 5, "too few"),
        (3, 0, "at least 1"),
        (3, 10_000, "at most"),
        (10**9, 600, "too many: at most 5000"),
        (5000, 10**9, "at most 150000"),
    ],
)
def test_what_cannot_be_is_refused(nodes: int, pods: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        generate(nodes=nodes, pods=pods, seed=1)


async def filled_and_left_alone() -> tuple[list[str], int, list[str]]:
    """What was refused, the version in the end, and pods that are not as they were."""
    described = generate(nodes=12, pods=240, seed=1)
    cluster = EmbeddedCluster(seed=1)
    refused = fill(cluster, described).refused
    before = {each["metadata"]["name"]: each for each in cluster.store.all(wire.PODS)}
    async with cluster:
        await cluster.clock.sleep(600)
        after = {each["metadata"]["name"]: each for each in cluster.store.all(wire.PODS)}
    changed = [
        name
        for name in before.keys() | after.keys()
        if name not in before
        or name not in after
        or not conditions.holds(after[name], "Ready")
        or before[name]["spec"] != after[name]["spec"]
    ]
    return refused, len(after), sorted(changed)


def test_a_filled_cluster_is_at_rest() -> None:
    """No controller finds anything to mend: nothing starts, nothing is made anew."""
    refused, pods, changed = virtual_time.run(filled_and_left_alone())
    assert refused == []
    assert changed == []
    assert pods == 240
