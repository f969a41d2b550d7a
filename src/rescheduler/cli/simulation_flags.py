"""The flags of `rescheduler simulate`, and what they come to: who is compared, on which day."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rescheduler import config
from rescheduler.cli import clusters, contenders
from rescheduler.cli.files import check_writable
from rescheduler.cli.web_flags import check_web
from rescheduler.cli.wrong_flags import Problems
from rescheduler.documents.places import quoted
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.simulation.contending import Contender, Day
    from rescheduler.simulation.described import Described
    from rescheduler.simulation.faulty import Fault
    from rescheduler.simulation.scenarios import Scenario

_MOST_HOURS: Final = 24 * 7


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationFlags:
    files: list[str]
    nodes: int
    pods: int
    seed: int
    scenario: str
    compare: str
    config_file: Path | None
    hours: float
    threshold: float
    faults: list[str]
    svg: Path | None
    extender: bool
    guard: bool
    learned_patience: bool = False
    web: bool = False
    port: int | None = None

    def understood(self) -> "tuple[list[Contender], Day]":
        """Raises ReschedulerError, with all that is wrong."""
        # Slow to import, and not needed to print a usage message.
        from rescheduler.embedded.virtual_time import START
        from rescheduler.simulation.contending import Day
        from rescheduler.simulation.happenings import foreseen

        problems = Problems()
        self._check_numbers(problems)
        check_web(problems, web=self.web, port=self.port)
        faults = self._faults(problems)
        compared = self._contenders(problems)
        scenario = self._scenario(problems)
        described = self._cluster(problems)
        if self.svg is not None:
            svg = self.svg
            problems.read(lambda: check_writable("--svg", svg))
        if scenario is not None and described is not None:
            _refuse_unknown_nodes(self.scenario, scenario, described, problems)
        problems.raise_if_any()
        assert scenario is not None  # noqa: S101 - there is no problem
        assert described is not None  # noqa: S101
        happenings = foreseen(scenario, described, seed=self.seed, start=START, hours=self.hours)
        day = Day(
            port=(self.port or 0) if self.web else None,
            described=described,
            scenario=scenario,
            happenings=happenings,
            seed=self.seed,
            hours=self.hours,
            threshold_percent=self.threshold,
            faults=tuple(faults),
        )
        return compared, day

    def _check_numbers(self, problems: Problems) -> None:
        if not 0 < self.hours <= _MOST_HOURS:
            problems.refuse("--hours", f"{self.hours:g} is not above 0 and up to {_MOST_HOURS}")
        if not 0 < self.threshold <= 100:  # noqa: PLR2004 - per cent
            problems.refuse("--threshold", f"{self.threshold:g} is not above 0 and up to 100")
        problems.refuse_below_zero("--seed", self.seed)

    def _faults(self, problems: Problems) -> "list[Fault]":
        from rescheduler.simulation import faulty

        found = []
        for text in self.faults:
            try:
                found.append(faulty.parse(text))
            except ValueError as problem:
                problems.refuse("--fault", str(problem))
        return found

    def _contenders(self, problems: Problems) -> "list[Contender]":
        file, own = self.config_file, None
        if file is not None:
            own = problems.read(lambda: config.load(file))
        found = contenders.named(self.compare, own, problems, has_own=file is not None)
        if self.extender:
            found = contenders.with_and_without_extender(found)
        if self.guard:
            found = contenders.with_and_without_guard(found)
        return contenders.with_and_without_patience(found) if self.learned_patience else found

    def _scenario(self, problems: Problems) -> "Scenario | None":
        from rescheduler.simulation import scenario_files
        from rescheduler.simulation.scenarios import BUILT_IN

        if self.scenario in BUILT_IN:
            return BUILT_IN[self.scenario]
        if "/" not in self.scenario and not os.access(self.scenario, os.F_OK):
            problems.refuse_unknown(
                "--scenario", self.scenario, BUILT_IN, as_what="{} is neither known nor a file"
            )
            return None
        return problems.read(lambda: scenario_files.load(self.scenario))

    def _cluster(self, problems: Problems) -> "Described | None":
        from rescheduler.simulation import generating

        if self.files:
            return problems.read(self._cluster_of_files)
        try:
            return generating.generate(nodes=self.nodes, pods=self.pods, seed=self.seed)
        except ValueError as problem:
            problems.refuse("--nodes, --pods", str(problem))
            return None

    def _cluster_of_files(self) -> "Described":
        from rescheduler.simulation import from_files

        loaded = clusters.load(self.files, config.Configuration(), None)
        described = from_files.describe(loaded)
        left_out = (*loaded.notes, *clusters.missing(loaded.snapshot))
        return replace(described, notes=(*left_out, *described.notes))


def _refuse_unknown_nodes(
    file: str, scenario: "Scenario", described: "Described", problems: Problems
) -> None:
    from rescheduler.wire import NODES

    known = [each["metadata"]["name"] for each in described.all(NODES)]
    for field, outages in (
        ("maintenances", scenario.maintenances),
        ("failures", scenario.failures),
        ("drains", scenario.drains),
    ):
        for place, each in enumerate(outages):
            if each.node and each.node not in known:
                why = f"{file}: {field}[{place}].node: there is no node {quoted(each.node)}"
                advice = f"leave it out for one that luck decides, or name one such as {known[0]}"
                problems.refuse_file(ReschedulerError(f"{why}; {advice}"))
