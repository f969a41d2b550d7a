"""A scheduler that asks the product about new pods: what it is answered, and what it is worth."""

import asyncio
from dataclasses import replace

import pytest

from rescheduler.cli.contenders import named, with_and_without_extender
from rescheduler.cli.wrong_flags import Problems
from rescheduler.config import Configuration
from rescheduler.config.scheduling import FILTER, SCORE
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import START
from rescheduler.kube import Object
from rescheduler.model import names
from rescheduler.simulation.comparing import compare
from rescheduler.simulation.contending import Day
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import foreseen
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import BUILT_IN
from rescheduler.wire import NODES

ANSWERING = replace(Configuration(), enabled_strategies=(), verbs=(FILTER, SCORE))
POD: Object = {
    "metadata": {"name": "new", "namespace": "shop", "uid": "u"},
    "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
}


def add_node(cluster: EmbeddedCluster, name: str) -> None:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    made = cluster.api.create(NODES, None, {"metadata": {"name": name}})
    cluster.api.set_status(NODES, made, {"allocatable": room, "capacity": room})


async def test_it_is_answered_by_what_the_controller_knows_at_that_moment() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        for name in ("a", "b"):
            add_node(cluster, name)
        async with running(cluster, ANSWERING) as controller:
            extender = controller.extender
            assert extender is not None
            # Nothing is known yet, so every node passes, and all are alike.
            assert extender.filter(POD, ["a", "b", "new"]) == (["a", "b", "new"], {}, {})
            assert list(extender.prioritize(POD, ["a", "b"])) == [0, 0]
            await asyncio.sleep(10)
            assert list(extender.prioritize(POD, ["a", "b"])) != [0, 0]
            cluster.api.patch(
                NODES, None, "a", {"metadata": {"labels": {names.MAINTENANCE: "true"}}}
            )
            # A table that is as new as any would be is not made anew.
            assert not extender.filter(POD, ["a", "b"]).closed
            await asyncio.sleep(1.5)
            passed = extender.filter(POD, ["a", "b"])
            assert (passed.names, passed.closed) == (["b"], {"a": "it is in maintenance"})
        async with running(cluster, replace(ANSWERING, verbs=())) as silent:
            assert silent.extender is None
        async with running(cluster, replace(ANSWERING, verbs=(SCORE,))) as controller:
            await asyncio.sleep(10)
            assert controller.extender is not None
            assert controller.extender.filter(POD, ["a", "b"]).names == ["a", "b"]


@pytest.mark.timeout(1800)
def test_with_the_extender_busy_days_need_fewer_moves() -> None:
    """In the sum of several: on one so small, chance decides about as many."""
    contenders = with_and_without_extender(named("LoadBalancing", None, Problems(), has_own=False))
    moved = [
        [each.figures.moved for each in compare(contenders, a_busy_day(seed))] for seed in (1, 2, 3)
    ]
    print(f"\nmoves without and with the extender: {moved}")  # noqa: T201 - shown with -s
    without, with_it = map(sum, zip(*moved, strict=True))
    assert 0 < with_it < without


def a_busy_day(seed: int) -> Day:
    """Many pods come and go: about them the scheduler asks."""
    scenario = replace(BUILT_IN["day"], rollouts=24, scalings=24)
    described = generate(nodes=8, pods=120, seed=seed)
    happenings = foreseen(scenario, described, seed=seed, start=START, hours=24)
    return Day(described=described, scenario=scenario, happenings=happenings, seed=seed)
