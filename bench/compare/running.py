"""Runs the contenders of each scenario and takes their figures."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.compare import contenders, stages
from bench.compare.contenders import Contender
from bench.compare.recording import recording
from bench.compare.stages import Stage
from testbed.instance import OwnedInstance
from testbed.world import World, install_rights, make_world

_LAST_WORD_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender, and the time it has: whoever is not done by then counts as it stands."""

    contender: Contender
    seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    letter: str
    title: str
    workloads: int
    set_up: Callable[[World, int], Awaitable[Stage]]
    entries: dict[str, Entry]
    ends_with_the_command: bool = False
    """Balance has no end that can be seen: it is reached when the contender stops."""


SCENARIOS = (
    Scenario(
        letter="a",
        title="emptying a node",
        workloads=24,
        set_up=stages.one_node_to_empty,
        entries={
            "kubectl drain": Entry(contenders.kubectl_drain),
            "ours": Entry(contenders.ours_by_label),
        },
    ),
    Scenario(
        letter="b",
        title="the same, budgets of 0",
        workloads=24,
        set_up=stages.one_node_to_empty_under_budgets,
        entries={
            # It would go on asking for ever.
            "kubectl drain": Entry(contenders.kubectl_drain, seconds=30.0),
            "ours": Entry(contenders.ours_by_label),
        },
    ),
    Scenario(
        letter="c",
        title="4 full nodes, 4 empty",
        workloads=28,
        set_up=stages.half_of_the_nodes_full,
        entries={
            "descheduler (20 to 50 %)": Entry(contenders.descheduler),
            "descheduler (mean ± 5 %)": Entry(contenders.fine_descheduler),
            "ours": Entry(contenders.ours_once),
        },
        ends_with_the_command=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    scenario: Scenario
    contender: str
    is_done: bool
    workloads: int
    pods: int
    moved: int
    ever_below: int
    pod_seconds_missing: float
    seconds: float
    objects_changed: int
    spread_before: float
    spread_after: float


async def run(only: str, workloads: int, say: Callable[[str], None]) -> list[Result]:
    """`only` lists scenarios by letter, or letter/contender; empty means all of them. `workloads` 0
    means as many as the scenario is meant to have.
    """
    wanted = set(only.split(",")) if only else {each.letter for each in SCENARIOS}
    results = []
    for scenario in SCENARIOS:
        for contender in scenario.entries:
            if wanted & {scenario.letter, f"{scenario.letter}/{contender}"}:
                say(f"({scenario.letter}) {scenario.title}: {contender}")
                results.append(await _measure(scenario, contender, workloads))
    return results


async def _measure(scenario: Scenario, contender: str, workloads: int) -> Result:
    # A control plane each, so that nobody finds the caches warm or the leftovers of another.
    with OwnedInstance() as owned, tempfile.TemporaryDirectory() as folder:
        await install_rights(owned.instance)
        async with make_world(owned.instance, Path(folder), "compare") as world:
            stage = await scenario.set_up(world, workloads or scenario.workloads)
            return await _let_loose(scenario, contender, stage)


async def _let_loose(scenario: Scenario, contender: str, stage: Stage) -> Result:
    world, entry = stage.world, scenario.entries[contender]
    async with (
        world.auditor() as auditor,
        recording(world.instance, world.name, stage.wanted) as recorder,
        entry.contender(stage, entry.seconds) as start,
    ):
        recorder.start_the_clock()
        acting = asyncio.ensure_future(start())
        is_over = True
        if scenario.ends_with_the_command:
            await asyncio.wait([acting], timeout=entry.seconds)
            is_over = acting.done()
            await recorder.catch_up()
        is_done = await recorder.until(stage.is_done, entry.seconds) and is_over
        timeline = recorder.timeline(done=is_done)
        await asyncio.wait([acting], timeout=_LAST_WORD_SECONDS)
        if acting.done():
            acting.result()
        else:
            acting.cancel()
        audit = await world.audit(auditor)
    return Result(
        scenario=scenario,
        contender=contender,
        is_done=is_done,
        workloads=len(stage.wanted),
        pods=sum(stage.wanted.values()),
        moved=timeline.moved(),
        ever_below=len(timeline.ever_below()),
        pod_seconds_missing=timeline.pod_seconds_missing(),
        seconds=timeline.ended - timeline.began,
        objects_changed=len(audit.changed_objects()),
        spread_before=stage.spread(timeline.at_the_beginning()),
        spread_after=stage.spread(timeline.at_the_end()),
    )
