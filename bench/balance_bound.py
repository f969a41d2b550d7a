"""How much of the imbalance LoadBalancing takes away, beside the most that as many moves can.

The optimum is HiGHS': whatever pods to whatever nodes they fit on, with no margin, no cost, and no
regard to the order of the moves. Small clusters, so that it is proven.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import highspy
import numpy as np
from rich.table import Table

from rescheduler import wire
from rescheduler.config import Configuration
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.state import ClusterState
from rescheduler.plan import Desk, plan_at
from rescheduler.wire import NODES, PODS, REPLICA_SETS, Batch, Resource

_GOAL: Final = 0.95
_SECONDS: Final = 60.0
"""For each cluster; where the optimum is not proven by then, the bound counts."""
_USED: Final = 0.45
"""Of all nodes together."""
_LARGEST: Final = 0.35
"""Of an ordinary node, a pod."""
_CONFIGURATION: Final = Configuration(enabled_strategies=("LoadBalancing",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    nodes: int
    pods: int
    """For each node."""
    sigma: float
    """How much the sizes of pods differ: of the logarithm."""
    sizes: tuple[float, ...] = (1.0,)
    """Of the nodes, beside an ordinary one."""
    crowded: float = 3.0
    """How many times as many pods the fullest nodes have as the emptiest."""
    tied: float = 0.0
    """Which part of the pods may be on every other node only."""


SHAPES: Final = (
    Shape(name="few nodes, large pods", nodes=3, pods=4, sigma=0.5),
    Shape(name="few nodes, all sizes", nodes=4, pods=6, sigma=1.0),
    Shape(name="nodes of several sizes", nodes=5, pods=5, sigma=0.7, sizes=(0.5, 1.0, 2.0)),
    Shape(name="many small pods", nodes=5, pods=16, sigma=0.4),
    Shape(name="two crowded nodes", nodes=6, pods=6, sigma=0.6, crowded=8.0),
    Shape(name="pods that are tied to some nodes", nodes=6, pods=5, sigma=0.6, tied=0.4),
)
SEEDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    before: float
    after: float
    best: float
    """What the optimum leaves, or a bound that it cannot be below."""
    proven: bool
    moves: int

    @property
    def share(self) -> float:
        """Of the reduction that is possible."""
        possible = self.before - self.best
        return (self.before - self.after) / possible if possible > 0 else 1.0


def measure(table: Table) -> None:
    table.add_section()
    for shape in SHAPES:
        found = list(_outcomes(shape))
        if not found:
            continue
        shares = [each.share for each in found]
        proven = sum(each.proven for each in found)
        table.add_row(
            f"balance reached: {shape.name}",
            f"{100 * np.mean(shares):.1f} %, the worst of {len(found)} {100 * min(shares):.1f} %",
            f"goal {100 * _GOAL:.0f} % of the optimum with as many moves, "
            f"{np.mean([each.moves for each in found]):.1f} of them; {proven} proven",
        )


def _outcomes(shape: Shape) -> Iterator[Outcome]:
    for seed in range(int(os.environ.get("BENCH_SEEDS", SEEDS))):
        outcome = compare(cluster(shape, seed))
        if outcome.moves or outcome.before > _CONFIGURATION.imbalance_threshold_percent:
            yield outcome


def compare(snapshot: Snapshot) -> Outcome:
    desk = Desk(snapshot, _CONFIGURATION)
    model = _Model(desk)
    decided = plan_at(desk)
    moves = len(decided.moves)
    before = max(each.before for each in decided.imbalances)
    after = max(each.after for each in decided.imbalances)
    # Where it moves nothing, it is measured by what the first move could have done.
    best, proven = model.best(max(moves, 1))
    return Outcome(before=before, after=after, best=best, proven=proven, moves=moves)


# ---------------------------------------------------------------------- the optimum


class _Model:
    """Of the cluster as it is before any move."""

    def __init__(self, desk: Desk) -> None:
        rows = desk.snapshot.rows.tolist()
        self._targets = {row: np.flatnonzero(desk.targets(row)).tolist() for row in rows}
        self._source = {row: int(desk.placement.place[row]) for row in rows}
        self._points = desk.loads.percent.copy()
        self._of_pod = {row: desk.loads.percent_of(row).copy() for row in rows}
        self._asks = {row: desk.placement.asks(row).copy() for row in rows}
        self._free = desk.placement.free.copy()

    def best(self, moves: int) -> tuple[float, bool]:
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.silent()
        solver.setOptionValue("time_limit", _SECONDS)
        solver.setOptionValue("mip_rel_gap", 0.001)
        goes = {
            (row, target): solver.addBinary()
            for row, targets in self._targets.items()
            for target in targets
        }
        for row, targets in self._targets.items():
            if targets:
                solver.addConstr(solver.qsum(goes[row, target] for target in targets) <= 1)
        solver.addConstr(solver.qsum(goes.values()) <= moves)
        widest = solver.addVariable(lb=0)
        for column in range(self._points.shape[1]):
            most, least = solver.addVariable(lb=0), solver.addVariable(lb=0)
            solver.addConstr(widest >= most - least)
            for node, before in enumerate(self._points[:, column].tolist()):
                change = [
                    float(self._of_pod[row][node, column]) * going
                    for (row, target), going in goes.items()
                    if target == node
                ]
                change += [
                    -float(self._of_pod[row][node, column]) * going
                    for (row, _), going in goes.items()
                    if self._source[row] == node
                ]
                load = before + solver.qsum(change)
                solver.addConstr(load <= most)
                solver.addConstr(load >= least)
        self._keep_room(solver, goes)
        solver.minimize(widest)
        info = solver.getInfo()
        proven = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return float(info.objective_function_value if proven else info.mip_dual_bound), proven

    def _keep_room(
        self, solver: highspy.Highs, goes: dict[tuple[int, int], highspy.highs.highs_var]
    ) -> None:
        for node, free in enumerate(self._free.tolist()):
            for column, left in enumerate(free):
                asked = [
                    float(self._asks[row][column]) * going
                    for (row, target), going in goes.items()
                    if target == node and self._asks[row][column]
                ]
                asked += [
                    -float(self._asks[row][column]) * going
                    for (row, _), going in goes.items()
                    if self._source[row] == node and self._asks[row][column]
                ]
                if asked:
                    solver.addConstr(solver.qsum(asked) <= max(left, 0))


# ---------------------------------------------------------------------- clusters


def cluster(shape: Shape, seed: int) -> Snapshot:
    """Every time the same one."""
    luck = np.random.default_rng(seed)
    size = luck.choice(shape.sizes, size=shape.nodes)
    crowd = size * luck.uniform(1, shape.crowded, size=shape.nodes)
    places = luck.choice(shape.nodes, size=shape.nodes * shape.pods, p=crowd / crowd.sum())
    cpu = luck.lognormal(0, shape.sigma, size=len(places))
    memory = cpu * luck.lognormal(0, 0.4, size=len(places))
    tied = luck.random(len(places)) < shape.tied
    asked = np.stack([cpu, memory], axis=1)
    asked *= _USED * size.sum() / asked.sum(axis=0)
    asked = np.minimum(asked, _LARGEST)
    # As full as a scheduler lets a node become, and no fuller.
    for place in range(shape.nodes):
        total = asked[places == place].sum(axis=0).max()
        if total > size[place]:
            asked[places == place] *= size[place] / total
    amounts = np.floor(asked * 10_000).astype(int)
    state = ClusterState()
    _take(state, NODES, [_node(place, float(size[place])) for place in range(shape.nodes)])
    _take(state, REPLICA_SETS, [_replica_set(number) for number in range(len(places))])
    pods = [
        _pod(number, int(places[number]), amounts[number].tolist(), tied=bool(tied[number]))
        for number in range(len(places))
    ]
    _take(state, PODS, pods)
    return state.snapshot()


def _take(state: ClusterState, resource: Resource, raws: list[dict[str, object]]) -> None:
    views = [wire.from_json(resource, raw) for raw in raws]
    state.take(resource, Batch(present=views, complete=True))


def _node(place: int, size: float) -> dict[str, object]:
    room = round(10_000 * size)
    return {
        "metadata": {"name": f"node-{place:02}", "labels": {"parity": str(place % 2)}},
        "status": {
            "allocatable": {"cpu": f"{room}m", "memory": str(room), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _replica_set(number: int) -> dict[str, object]:
    return {
        "metadata": {"namespace": "shop", "name": f"app-{number:03}", "uid": f"app-{number:03}"},
        "spec": {"replicas": 1},
        "status": {"replicas": 1, "readyReplicas": 1},
    }


def _pod(number: int, place: int, amounts: list[int], *, tied: bool) -> dict[str, object]:
    app = f"app-{number:03}"
    requests = {"cpu": f"{amounts[0]}m", "memory": str(amounts[1])}
    owner = {"kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    return {
        "metadata": {
            "namespace": "shop",
            "name": app,
            "uid": f"pod-{app}",
            "labels": {"app": app},
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": f"node-{place:02}",
            "containers": [{"name": "app", "resources": {"requests": requests}}],
            **({"nodeSelector": {"parity": str(place % 2)}} if tied else {}),
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


if __name__ == "__main__":
    from rich.console import Console

    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    measure(rows)
    Console(highlight=False, width=160).print(rows)
