"""Runs the contenders of each scenario and takes their figures."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from bench.compare import contenders, stages
from bench.compare.contenders import Contender, Start
from bench.compare.recording import recording
from bench.compare.stages import Stage
from bench.compare.timeline import Pods
from testbed.instance import OwnedInstance
from testbed.world import World, install_rights, make_world

_BALANCE = "LoadBalancing"


class Until(Enum):
    """When a contender is done."""

    EMPTY = "the node is empty, and every workload complete"
    """As it has to be in any case."""
    COMMAND = "its command has ended"
    """And all that it evicted is back."""
    BALANCE = "the spread is within the threshold"
    RELIEVED = "no node is above its threshold"


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender, and the time it has: whoever is not done by then counts as it stands."""

    contender: Contender
    seconds: float = 120.0
    until: Until = Until.EMPTY
    threshold: float = 0.0
    """Of the spread, in points."""
    last_word_seconds: float = 10.0
    """For its command to end, once all is done."""

    def is_done(self, stage: Stage, pods: Pods) -> bool:
        return (
            stage.is_done(pods)
            and (self.until is not Until.BALANCE or stage.spread(pods) <= self.threshold)
            and (self.until is not Until.RELIEVED or not stage.overloaded(pods))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    letter: str
    title: str
    workloads: int
    set_up: Callable[[World, int], Awaitable[Stage]]
    entries: dict[str, Entry]
    is_about_load: bool = False


_BY_LABEL = "ours (label)"
_BY_DRAIN = "ours (rescheduler drain)"

SCENARIOS = (
    Scenario(
        letter="a",
        title="emptying a node",
        workloads=24,
        set_up=stages.one_node_to_empty,
        entries={
            "kubectl drain": Entry(contenders.kubectl_drain),
            _BY_LABEL: Entry(contenders.ours_by_label),
            _BY_DRAIN: Entry(contenders.ours_by_drain),
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
            _BY_LABEL: Entry(contenders.ours_by_label),
            _BY_DRAIN: Entry(contenders.ours_by_drain),
        },
    ),
    Scenario(
        letter="c",
        title="4 full nodes, 4 empty",
        workloads=28,
        set_up=stages.half_of_the_nodes_full,
        entries={
            "descheduler (20 to 50 %)": Entry(contenders.descheduler, until=Until.COMMAND),
            "descheduler (mean ± 5 %)": Entry(contenders.fine_descheduler, until=Until.COMMAND),
            "ours (10 a pass)": Entry(
                contenders.ours([_BALANCE]), until=Until.BALANCE, threshold=20
            ),
            "ours (to 10; 50 a pass)": Entry(
                contenders.ours([_BALANCE], contenders.TEN_POINTS),
                until=Until.BALANCE,
                threshold=10,
            ),
            "ours (set free)": Entry(
                contenders.ours([_BALANCE], contenders.SET_FREE), until=Until.BALANCE, threshold=3
            ),
        },
        is_about_load=True,
    ),
    Scenario(
        letter="d",
        title="120 large nodes, 6,000 small pods",
        workloads=200,
        set_up=stages.large_nodes_and_small_pods,
        entries={
            "descheduler (20 to 50 %)": Entry(contenders.descheduler, until=Until.COMMAND),
            "ours (10 a pass)": Entry(contenders.ours(), until=Until.RELIEVED),
            "ours (1% a pass)": Entry(
                contenders.ours(settings=contenders.A_SHARE), until=Until.RELIEVED, seconds=600.0
            ),
        },
        is_about_load=True,
    ),
)
"""Ours with the default configuration: set are the strategy, and what its name says."""


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
    overloaded_before: int
    overloaded_after: int
    command_seconds: float | None = None
    """Until its command had ended; None: it has none, or was still at it."""
    exit_code: int | None = None


async def run(
    only: str,
    workloads: int,
    say: Callable[[str], None],
    scenarios: Sequence[Scenario] = SCENARIOS,
) -> list[Result]:
    """`only` lists scenarios by letter, or letter/contender; empty means all of them. `workloads` 0
    means as many as the scenario is meant to have.
    """
    results = []
    for scenario, contender in chosen(only, scenarios):
        say(f"({scenario.letter}) {scenario.title}: {contender}")
        results.append(await _measure(scenario, contender, workloads))
    return results


def chosen(only: str, scenarios: Sequence[Scenario] = SCENARIOS) -> list[tuple[Scenario, str]]:
    return [
        (scenario, contender)
        for scenario in scenarios
        for contender in scenario.entries
        if is_chosen(only, scenario.letter, contender)
    ]


def is_chosen(only: str, letter: str, contender: str) -> bool:
    return not only or not {letter, f"{letter}/{contender}"}.isdisjoint(only.split(","))


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
        acting = asyncio.ensure_future(_timed(start))
        is_over = True
        if entry.until is Until.COMMAND:
            await asyncio.wait([acting], timeout=entry.seconds)
            is_over = acting.done()
            await recorder.catch_up()
        is_reached = partial(entry.is_done, stage)
        is_done = await recorder.until(is_reached, entry.seconds) and is_over
        timeline = recorder.timeline(done=is_done)
        await asyncio.wait([acting], timeout=entry.last_word_seconds)
        code, command_seconds = await _end(acting)
        # Who still evicts somebody now is not let off.
        whole = recorder.timeline(done=False)
        audit = await world.audit(auditor)
    return Result(
        scenario=scenario,
        contender=contender,
        is_done=is_done,
        workloads=len(stage.wanted),
        pods=sum(stage.wanted.values()),
        moved=timeline.moved(),
        ever_below=len(whole.ever_below()),
        pod_seconds_missing=whole.pod_seconds_missing(),
        seconds=timeline.ended - timeline.began,
        objects_changed=len(audit.changed_objects()),
        spread_before=stage.spread(timeline.at_the_beginning()),
        spread_after=stage.spread(timeline.at_the_end()),
        overloaded_before=stage.overloaded(timeline.at_the_beginning()),
        overloaded_after=stage.overloaded(timeline.at_the_end()),
        command_seconds=command_seconds,
        exit_code=code,
    )


async def _timed(start: Start) -> tuple[int | None, float]:
    began = time.monotonic()
    code = await start()
    return code, time.monotonic() - began


async def _end(
    acting: "asyncio.Future[tuple[int | None, float]]",
) -> tuple[int | None, float | None]:
    """The exit code of its command and its seconds, if it has one that has ended."""
    if not acting.done():
        acting.cancel()
        return None, None
    code, seconds = acting.result()
    return code, None if code is None else seconds
