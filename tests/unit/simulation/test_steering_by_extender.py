"""On a cluster without the admission policy, the extender alone steers successors."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rescheduler.config import Configuration, Migration
from rescheduler.config.scheduling import FILTER, SCORE
from rescheduler.embedded import virtual_time
from rescheduler.embedded.scheduler import Passed
from rescheduler.embedded.scheduler.extending import Extender
from rescheduler.kube import Object
from rescheduler.simulation.running import running
from tests.scenarios.asking import ask
from tests.scenarios.embedded_world import make_embedded_world
from tests.scenarios.steered import load, pod_named, stateful_set

IMPATIENT = Migration(steer_timeout_seconds=1.0, ready_timeout_seconds=30.0)
"""It is found out soon that the API server does not steer."""


class Sampling:
    """A scheduler that does not look at one of its nodes, and asks about the others."""

    def __init__(self, asked: Extender, besides: str) -> None:
        self._asked = asked
        self._besides = besides
        self.weight = asked.weight

    def filter(self, pod: Object, names: Sequence[str]) -> Passed:
        return self._asked.filter(pod, [each for each in names if each != self._besides])

    def prioritize(self, pod: Object, names: Sequence[str]) -> Sequence[int]:
        return self._asked.prioritize(pod, names)


async def moved(folder: Path, *verbs: str, is_sampled: bool = True) -> tuple[dict[str, Any], str]:
    """Status of the migration of one pod, and the target that the scheduler would not take."""
    configuration = replace(
        Configuration(), enabled_strategies=(), migration=IMPATIENT, verbs=verbs
    )
    async with make_embedded_world(folder, "own") as world:
        world.cluster.api.steering = False
        source, target, _ = await world.add_nodes(3)
        await load(world, target)
        await world.deploy(stateful_set(2), on=source)
        async with running(world.cluster, configuration) as controller:
            extender = controller.extender
            if extender is not None and not is_sampled:
                extender = Sampling(extender, target)
            world.cluster.extend_scheduler(extender)
            await ask(world, await pod_named(world, "web-1"), target, mayRecreate=True)
            record = await world.wait_for_record("web-1", phase="Completed")
        return record["status"], target


@pytest.mark.parametrize("verbs", [(FILTER, SCORE), (SCORE,)], ids="+".join)
def test_a_pod_of_a_stateful_set_comes_to_its_target(
    tmp_path: Path, verbs: tuple[str, ...]
) -> None:
    status, target = virtual_time.run(moved(tmp_path, *verbs))
    assert status["newPod"]["name"] == "web-1"
    assert status["newPod"]["node"] == target
    assert "fallback" not in status


def test_without_it_the_scheduler_goes_by_its_own(tmp_path: Path) -> None:
    status, target = virtual_time.run(moved(tmp_path))
    assert status["newPod"]["node"] != target
    assert status["fallback"] == "NotSteered"
    assert status["message"].endswith("not steered: NotSteered")


def test_a_target_that_the_scheduler_did_not_look_at_is_not_steered_to(tmp_path: Path) -> None:
    """A kube-scheduler of a large cluster looks at some of its nodes only."""
    status, target = virtual_time.run(moved(tmp_path, FILTER, SCORE, is_sampled=False))
    assert status["newPod"]["node"] != target
    assert status["fallback"] == "NotSteered"
