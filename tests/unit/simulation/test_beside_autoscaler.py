"""LoadBalancing and ResourceOptimization beside an autoscaler that consolidates, over some hours in
which loads change and workloads are scaled: neither undoes what the other has just done.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from bench.converging import HOUR, Shape, Watching, describe
from rescheduler import wire
from rescheduler.config import Configuration, Migration, NodeAutoscaler
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import START, VirtualClock
from rescheduler.model import names, pins, selectors
from rescheduler.model.objects import annotations
from rescheduler.simulation.described import Described
from rescheduler.simulation.filling import fill
from rescheduler.simulation.happenings import foreseen, happen
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import BUILT_IN
from tests.unit.simulation.consolidating import Consolidator

HOURS = 3.0
TEN_MINUTES = 600.0
ONE_MINUTE = 60.0
DEFAULT = Configuration(cpu_threshold_percent=50.0)
"""Nodes are rarely above 60: so some are to be relieved."""
NOT_ASKING = replace(DEFAULT, migration=Migration(do_not_disrupt_seconds=0.0))
EVENING_OUT = replace(DEFAULT, node_autoscaler=NodeAutoscaler(packed_nodes=selectors.NOTHING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    moves: int
    added: int
    removed: int
    in_vain: list[str]
    """Nodes that were filled by us in the ten minutes before it was decided to remove them."""
    returned: list[str]
    """Pods that we moved twice within an hour."""


async def beside(
    after: float, configuration: Configuration, seed: int = 3, *, spares_moved: bool
) -> Outcome:
    shape = Shape(seed=seed, nodes=8, cores=(8,), pods=12, by_usage=True)
    described = of_karpenter(describe(shape))
    # Something is scaled every few minutes, and back some hours later.
    scenario = replace(BUILT_IN["day"], rollouts=0, scalings=120, maintenances=(), failures=())
    loads = ScenarioLoads(described, scenario, seed=seed, start=START)
    cluster = EmbeddedCluster(seed=seed, clock=VirtualClock(START), loads=loads)
    fill(cluster, described)
    watching = Watching(cluster.store, described)
    consolidator = Consolidator(
        cluster, described.all(wire.NODES)[0], after, spares_moved=spares_moved
    )
    happenings = foreseen(scenario, described, seed=seed, start=START, hours=HOURS)
    async with cluster, running(cluster, configuration, seed=seed):
        tasks = [
            asyncio.create_task(happen(cluster.api, happenings)),
            asyncio.create_task(consolidator.work()),
        ]
        await asyncio.sleep(HOURS * HOUR)
        for each in tasks:
            each.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [each for each in ended if isinstance(each, Exception)] == []
    filled = [
        (pins.target(pod["spec"]), datetime.fromisoformat(annotations(pod)[names.MIGRATION_TIME]))
        for pod in watching.copies.values()
    ]
    return Outcome(
        moves=len(watching.copies),
        added=len(consolidator.added),
        removed=len(consolidator.removed),
        in_vain=[
            f"{node}, filled {at - when.timestamp():.0f} s before"
            for node, at in consolidator.removed.items()
            for target, when in filled
            if target == node and 0 <= at - when.timestamp() < TEN_MINUTES
        ],
        returned=watching.returned_within(HOUR),
    )


def of_karpenter(described: Described) -> Described:
    for node in described.all(wire.NODES):
        node["metadata"]["labels"][names.NODE_POOL] = "general"
    return described


@pytest.mark.parametrize(
    ("configuration", "after", "spares_moved"),
    [
        pytest.param(DEFAULT, ONE_MINUTE, True, id="relieved, and asked to wait"),
        pytest.param(NOT_ASKING, ONE_MINUTE, False, id="relieved onto what stays"),
        pytest.param(EVENING_OUT, ONE_MINUTE, True, id="evened out, and asked to wait"),
        pytest.param(EVENING_OUT, TEN_MINUTES, False, id="evened out beside a slow one"),
    ],
)
def test_neither_undoes_what_the_other_has_just_done(
    configuration: Configuration, after: float, *, spares_moved: bool
) -> None:
    """It waits when it is asked to, or by itself (`consolidateAfter`); where it does not, only what
    it will need all the same is filled.
    """
    outcome = virtual_time.run(beside(after, configuration, spares_moved=spares_moved))
    print(f"\n{outcome}")  # noqa: T201 - shown with -s
    assert outcome.moves > 0
    assert outcome.removed > 0
    assert outcome.in_vain == []
    assert outcome.returned == []
