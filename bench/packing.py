"""How far CostOptimization gets in a given time: on a real contest cluster, and on other shapes.

The contest cluster is not ours to give away: BENCH_DATA names the folder that has it. BENCH_PACKING
says for how many seconds to search, such as `10,60`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.table import Table

from rescheduler.config import Configuration
from rescheduler.observe.files import loading
from rescheduler.plan import Desk, Search, plan_at
from rescheduler.plan.packing.ordering import untangle_by_numbers
from rescheduler.plan.packing.problem import NO_LIMIT, Problem
from rescheduler.plan.packing.search import search

_DATA: Final = Path(__file__).parents[2] / "shared" / "bench"
_BARS: Final = {10: "290,111", 60: "289,700"}
"""What a prototype reached in as many seconds."""
_CONFIGURATION: Final = Configuration(
    enabled_strategies=("CostOptimization",), max_reschedule_pods=0
)


def measure(table: Table) -> None:
    table.add_section()
    seconds = [float(each) for each in os.environ.get("BENCH_PACKING", "10,60").split(",")]
    data = Path(os.environ.get("BENCH_DATA", _DATA)) / "tianchi2020"
    if (data / "data_1.json").exists():
        with tempfile.TemporaryDirectory() as folder:
            _contest(table, data, Path(folder), seconds)
    else:
        table.add_row("packing a contest cluster", "not measured", "no tianchi2020 in BENCH_DATA")
    for shape in _SHAPES:
        _other(table, shape, min(seconds))


# ---------------------------------------------------------------------- the contest


def _contest(table: Table, data: Path, folder: Path, seconds: list[float]) -> None:
    snapshot, moves = folder / "snapshot.json", folder / "plan.json"
    with snapshot.open("wb") as file:
        command = [sys.executable, str(data / "to_snapshot.py"), str(data / "data_1.json")]
        subprocess.run(command, check=True, stdout=file)
    for limit in seconds:
        started = time.monotonic()
        state = loading.load(str(snapshot)).snapshot
        stop = _after(limit)
        plan = plan_at(Desk(state, _CONFIGURATION, search=Search(steps=NO_LIMIT, stop=stop)))
        took = time.monotonic() - started
        listed = [
            {
                "pod": {"namespace": move.namespace, "name": move.pod},
                "from": move.source,
                "to": move.target,
            }
            for move in plan.moves
        ]
        moves.write_text(json.dumps({"moves": listed}))
        scored = subprocess.run(
            [sys.executable, data / "score.py", snapshot, moves],
            check=False,
            capture_output=True,
            text=True,
        )
        valid = "" if scored.returncode == 0 else ", NOT VALID"
        score = scored.stdout.strip().rpartition(" ")[2]
        [report] = plan.reports
        if not plan.moves:
            sys.exit(f"nothing moves on the contest cluster: {report.summary}")
        bound = report.figures["bound"]
        table.add_row(
            f"packing a contest cluster, {limit:g} s of search",
            f"score {int(score):,}{valid}",
            f"start 332,993, greedy 312,167, bar {_BARS.get(int(limit), '-')}, nodes at least "
            f"{bound:,.0f}; {len(listed):,} moves in {took:.1f} s",
        )


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


# ---------------------------------------------------------------------- other shapes


@dataclass(frozen=True, kw_only=True)
class Shape:
    name: str
    nodes: int
    resources: int = 2
    models: int = 2
    sizes: int = 12
    pods: float = 8.0
    """That fit on a node, about."""
    fill: float = 0.85
    move_cost: float = 1.0
    limited: bool = True
    grain: int = 1
    """Sizes are told apart as finely as that."""


_SHAPES: Final = (
    Shape(name="four resources", nodes=300, resources=4, models=3),
    Shape(name="sixty models of nodes", nodes=400, models=60, sizes=20, pods=10, fill=0.8),
    Shape(name="every pod of another size", nodes=200, sizes=2_000, pods=12, grain=997),
    Shape(name="few large nodes", nodes=8, sizes=20, pods=60, fill=0.7, limited=False),
    Shape(name="many small nodes", nodes=2_000, models=3, pods=3, fill=0.9, limited=False),
    Shape(name="dear moves", nodes=300, fill=0.8, move_cost=10.0),
    Shape(name="three nodes", nodes=3, models=1, sizes=3, pods=4, fill=0.6, limited=False),
)


def _other(table: Table, shape: Shape, seconds: float) -> None:
    problem = _instance(shape)
    found = search(
        problem,
        seed=0,
        steps=NO_LIMIT,
        stop=_after(seconds),
        check=lambda place, _final: untangle_by_numbers(problem, place),
    )
    start = problem.cost(problem.home)
    table.add_row(
        f"  {shape.name}: {problem.nodes:,} nodes, {problem.pods:,} pods",
        f"cost {start:,.0f} -> {found.cost:,.0f}",
        f"nodes at least {found.bound:,.0f}: at most {100 * (1 - found.bound / found.cost):.1f} % "
        "less",
    )


def _instance(shape: Shape) -> Problem:
    """Nodes filled by chance, so far that no rule is broken."""
    chance = np.random.default_rng(1)
    models = chance.integers(60, 140, (shape.models, shape.resources)) * shape.grain
    model = chance.integers(0, shape.models, shape.nodes)
    mean = models.mean(axis=0) / shape.pods
    scale = chance.choice([0.5, 1, 1, 2, 3], (shape.sizes, 1))
    ratio = chance.uniform(0.5, 1.6, (shape.sizes, shape.resources))
    sizes = np.maximum(scale * ratio * mean, 1).astype(np.int64)
    groups = 40
    free_of_limits = chance.integers(0, 2, groups) == int(not shape.limited)
    limit = np.where(
        free_of_limits | np.full(groups, not shape.limited), NO_LIMIT, chance.integers(1, 4, groups)
    )
    kinds: dict[tuple[int, int], int] = {}
    kind, home = [], []
    for node in range(shape.nodes):
        free = (models[model[node]] * shape.fill).astype(np.int64)
        held = np.zeros(groups, np.int64)
        for _ in range(int(6 * shape.pods)):
            group = int(chance.integers(groups))
            size = int(chance.integers(shape.sizes)) if shape.grain > 1 else group % shape.sizes
            if (sizes[size] <= free).all() and held[group] < limit[group]:
                free -= sizes[size]
                held[group] += 1
                kind.append(kinds.setdefault((size, group), len(kinds)))
                home.append(node)
    price = models.sum(axis=1) / shape.grain * chance.uniform(0.8, 1.2, shape.models)
    return Problem(
        capacity=models[model],
        node_cost=price[model],
        asks=np.array([sizes[size] for size, _ in kinds], np.int64),
        kind=np.array(kind, np.int64),
        home=np.array(home, np.int64),
        allowed_sets=np.ones((1, shape.nodes), np.bool_),
        allowed=np.zeros(len(kinds), np.int64),
        groups=tuple((group,) for _, group in kinds),
        limit=limit.astype(np.int64),
        extra_cost=np.full(groups, shape.move_cost),
        always_open=np.zeros(shape.nodes, np.bool_),
        move_cost=shape.move_cost,
    )
