"""What learned patience is worth: LoadBalancing without and with it over three simulated days, on
ten generated clusters. Once with loads that are the same each day, and beside them with loads whose
peaks are at another time every day, of which nothing can be learnt.
"""

from dataclasses import dataclass, replace
from os import environ
from typing import Final

from rich.console import Console
from rich.table import Table

from rescheduler.cli import contenders
from rescheduler.cli.wrong_flags import Problems
from rescheduler.embedded.virtual_time import START
from rescheduler.model.strategies import LOAD_BALANCING
from rescheduler.simulation import generating
from rescheduler.simulation.comparing import compare
from rescheduler.simulation.contending import Day
from rescheduler.simulation.happenings import foreseen
from rescheduler.simulation.scenarios import BUILT_IN, HOUR, Scenario
from rescheduler.simulation.summaries import summarised

_SEEDS: Final = environ.get("BENCH_PATIENCE_SEEDS", "0-9")
"""First and last."""
_NODES: Final = 10
_PODS: Final = 150
_HOURS: Final = float(environ.get("BENCH_PATIENCE_HOURS", "72"))

_REPEATING: Final = replace(BUILT_IN["commuting"], name="the same each day")
_RESTLESS: Final = replace(_REPEATING, name="another each day", wander_seconds=12 * HOUR)


@dataclass(slots=True)
class _Sum:
    moved: int = 0
    hot_minutes: float = 0.0
    deviation: float = 0.0


def measure(table: Table) -> None:
    table.add_section()
    first, last = (int(each) for each in _SEEDS.split("-"))
    seeds = range(first, last + 1)
    for scenario in (_REPEATING, _RESTLESS):
        without, learnt = _compared(scenario, seeds)
        table.add_row(
            f"{_HOURS:.0f} h, loads {scenario.name}, {len(seeds)} clusters: with learned patience",
            _in_words(learnt, len(seeds)),
            f"without: {_in_words(without, len(seeds))}",
        )


def _compared(scenario: Scenario, seeds: range) -> tuple[_Sum, _Sum]:
    both = _Sum(), _Sum()
    for seed in seeds:
        described = generating.generate(nodes=_NODES, pods=_PODS, seed=seed)
        day = Day(
            described=described,
            scenario=scenario,
            happenings=foreseen(scenario, described, seed=seed, start=START, hours=_HOURS),
            seed=seed,
            hours=_HOURS,
        )
        named = contenders.named(LOAD_BALANCING, None, Problems(), has_own=False)
        outcomes = compare(contenders.with_and_without_patience(named), day)
        for found, outcome in zip(both, outcomes, strict=True):
            summary = summarised(outcome)
            found.moved += summary.moved
            found.hot_minutes += summary.hot_minutes
            found.deviation += summary.deviation[0].mean
    return both


def _in_words(found: _Sum, seeds: int) -> str:
    deviation = found.deviation / seeds
    return (
        f"{found.moved} moves, {found.hot_minutes:.0f} hot node-minutes, "
        f"deviation of CPU {deviation:.1f}"
    )


if __name__ == "__main__":
    own = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    measure(own)
    Console(highlight=False, width=160).print(own)
