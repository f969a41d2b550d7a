"""Half a day in mode Approve, with somebody who says yes, no, or nothing, by a script; what came
of his plans, and all of them taken back.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from bench.converging import HOUR, NOISE_POINTS, Noisy, Shape, Steady, describe
from rescheduler import wire
from rescheduler.config import Configuration
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.usage import LoadsOfMany
from rescheduler.embedded.virtual_time import START, VirtualClock
from rescheduler.kube import Object
from rescheduler.model import podmigration, reschedule_plan
from rescheduler.model.objects import annotations, is_active
from rescheduler.model.reschedule_plan import Decision, Phase
from rescheduler.simulation.described import WORKLOAD, Described
from rescheduler.simulation.filling import fill
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import foreseen, happen
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.running import running
from rescheduler.simulation.scenarios import BUILT_IN
from tests.unit.simulation.operator import Operator, Script

FIVE_MINUTES = 300.0
APPROVING = replace(Configuration(), mode="Approve", rescheduling_interval_seconds=FIVE_MINUTES)
SAYS: tuple[Decision | None, ...] = (Decision.APPROVED, Decision.REJECTED, None)


@dataclass
class Stage:
    cluster: EmbeddedCluster
    described: Described
    operator: Operator


@asynccontextmanager
async def at_work(
    described: Described, loads: LoadsOfMany | None, script: Script
) -> AsyncIterator[Stage]:
    cluster = EmbeddedCluster(seed=1, clock=VirtualClock(START), loads=loads)
    fill(cluster, described)
    operator = Operator(cluster, script)
    async with cluster, running(cluster, APPROVING, seed=1):
        working = asyncio.create_task(operator.work())
        try:
            yield Stage(cluster, described, operator)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


# ------------------------------------------------------------------ half a day


def test_half_a_day_with_somebody_who_says_yes_no_or_nothing() -> None:
    operator, records = virtual_time.run(_played(hours=12.0))
    by_word: dict[Decision | None, Counter[str]] = {each: Counter() for each in SAYS}
    for plan in operator.plans():
        said = operator.said.get(reschedule_plan.name_of(plan))
        by_word[said][reschedule_plan.phase_of(plan).value] += 1
    told = {str(said or "nothing"): dict(ended) for said, ended in by_word.items()}
    moved = [each for each in records if not podmigration.has_failed(each)]
    print(f"\n{len(operator.said)} plans: {told}; {len(moved)} pods moved")  # noqa: T201
    assert set(by_word[Decision.APPROVED]) == {"Completed"}
    assert set(by_word[Decision.REJECTED]) == {"Rejected"}
    assert by_word[None].keys() <= {"Expired", "Superseded", "Waiting"}
    assert by_word[None]["Expired"] + by_word[None]["Superseded"] > 0
    # Nothing was moved that nobody has said yes to.
    approved = {name for name, said in operator.said.items() if said is Decision.APPROVED}
    assert moved
    assert {podmigration.plan_of(each) for each in records} <= approved
    completed = operator.of(Phase.COMPLETED)
    assert sum(reschedule_plan.counts_of(each)[0] for each in completed) == len(moved)
    # All that could be observed by the end was.
    for plan in completed[:-1]:
        assert reschedule_plan.verdict_of(plan), plan["status"]


async def _played(hours: float) -> tuple[Operator, list[Object]]:
    described = generate(nodes=8, pods=120, seed=2)
    scenario = BUILT_IN["day"]
    loads = ScenarioLoads(described, scenario, seed=2, start=START)
    happenings = foreseen(scenario, described, seed=2, start=START, hours=hours)
    async with at_work(described, loads, lambda number: SAYS[number % len(SAYS)]) as found:
        beside = asyncio.create_task(happen(found.cluster.api, happenings, []))
        await asyncio.sleep(hours * HOUR)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        return found.operator, list(found.cluster.store.all(wire.POD_MIGRATIONS))


# ------------------------------------------------------------------ predicted and measured


@pytest.mark.parametrize(
    "described",
    [
        pytest.param(
            describe(Shape(seed=7, nodes=6, cores=(8, 4), pods=20, by_usage=False)),
            id="deployments",
        ),
        pytest.param(generate(nodes=8, pods=150, seed=9), id="of all kinds"),
    ],
)
def test_by_requests_all_that_is_judged_comes_exactly_as_predicted(described: Described) -> None:
    plans = [each for each in virtual_time.run(_by_requests(described)) if _judged(each)]
    judged = sum(map(_judged, plans))
    print(f"\n{len(plans)} plans, {judged} nodes judged")  # noqa: T201
    assert judged >= 5
    for plan in plans:
        observed = reschedule_plan.observed_of(plan)
        assert observed["loads"] == "requests"
        assert observed["error"] == observed["largestError"] == {"cpu": "0.0", "memory": "0.0"}
        if not observed["disturbed"]:
            assert observed["imbalance"]
            assert all(each["measured"] == each["predicted"] for each in observed["imbalance"])


def _judged(plan: Object) -> int:
    return int(reschedule_plan.observed_of(plan).get("judged") or 0)


async def _by_requests(described: Described) -> list[Object]:
    async with at_work(described, None, lambda _: Decision.APPROVED) as found:
        await found.operator.rest(3 * FIVE_MINUTES)
        return found.operator.of(Phase.COMPLETED)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_measured_differs_from_what_was_predicted_by_no_more_than_its_noise(
    seed: int,
) -> None:
    """Five points either way on what each node shows, and each pod with its node: what a plan goes
    by and what is held against it are a draw each.
    """
    plans = virtual_time.run(_noisy(seed))
    judged = [each for each in plans if reschedule_plan.observed_of(each).get("judged")]
    assert judged, [reschedule_plan.observed_of(each) for each in plans]
    for plan in judged:
        observed = reschedule_plan.observed_of(plan)
        mean, largest = (
            {name: float(points) for name, points in observed[key].items()}
            for key in ("error", "largestError")
        )
        print(f"\n{observed['judged']} nodes: mean {mean}, largest {largest}")  # noqa: T201
        assert observed["verdict"] == "AsPredicted"
        assert max(mean.values()) <= NOISE_POINTS
        assert max(largest.values()) <= 2 * NOISE_POINTS
    assert reschedule_plan.failing(plans) == {}


async def _noisy(seed: int) -> list[Object]:
    described = describe(Shape(seed=seed, nodes=8, cores=(8,), pods=20, by_usage=True))
    loads = Noisy(Steady(described), described, seed)
    async with at_work(described, loads, lambda _: Decision.APPROVED) as found:
        await asyncio.sleep(3 * HOUR)
        return found.operator.of(Phase.COMPLETED)


# ------------------------------------------------------------------ and back


Places = Counter[tuple[str, str]]
"""How many pods of each workload are on each node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    before: Places
    between: Places
    """When all plans had been carried out."""
    after: Places
    moved: int
    stay: list[tuple[str, str]]
    """Pods that did not come back, and why."""


@pytest.mark.parametrize(
    "described",
    [
        pytest.param(
            describe(Shape(seed=1, nodes=6, cores=(8,), pods=20, by_usage=False)), id="deployments"
        ),
        pytest.param(generate(nodes=8, pods=150, seed=4), id="of all kinds"),
    ],
)
def test_all_plans_undone_bring_every_pod_back_or_say_why_not(described: Described) -> None:
    found = virtual_time.run(_undone(described))
    away, left = (found.before - each for each in (found.between, found.after))
    print(f"\n{found.moved} moved, {away.total()} away, {left.total()} not back: {found.stay}")  # noqa: T201
    assert found.moved > 0
    assert away.total() > 0
    assert all(why for _, why in found.stay)
    assert left.total() <= len(found.stay)


async def _undone(described: Described) -> Undone:
    cluster = EmbeddedCluster(seed=1, clock=VirtualClock(START))
    fill(cluster, described)
    operator = Operator(cluster, lambda _: Decision.APPROVED)
    async with cluster:
        before = _places(cluster)
        async with running(cluster, APPROVING, seed=1):
            working = asyncio.create_task(operator.work())
            await operator.rest(3 * FIVE_MINUTES)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        between, done = _places(cluster), operator.of(Phase.COMPLETED)
        stay: list[tuple[str, str]] = []
        only_undoes = replace(APPROVING, enabled_strategies=())
        async with running(cluster, only_undoes, seed=1):
            for plan in reversed(done):
                stay += await operator.undo(plan, only_undoes)
        return Undone(
            before=before,
            between=between,
            after=_places(cluster),
            moved=sum(reschedule_plan.counts_of(each)[0] for each in done),
            stay=stay,
        )


def _places(cluster: EmbeddedCluster) -> Places:
    return Counter(
        (annotations(each)[WORKLOAD], each["spec"]["nodeName"])
        for each in cluster.store.all(wire.PODS)
        if is_active(each) and WORKLOAD in annotations(each)
    )
