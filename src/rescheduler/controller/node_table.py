"""From a snapshot to the table by which a scheduler is answered. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model import names, podmigration, resources
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, Numbers, PodColumns
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.objects import Object, labels
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.strategies import COST_OPTIMIZATION, NODE_MAINTENANCE
from rescheduler.plan.fitting.nodes import is_cordoned, who_removes
from rescheduler.plan.loads import Loads
from rescheduler.schedule import Figures, NodeTable, Rules, Steering, by_column

NEEDED: Final = ("nodes", "pods", podmigration.PLURAL)
"""What has to be observed for it."""
_NOTHING: Final = (0.0, 0.0)
_EMPTYING: Final = {
    NODE_MAINTENANCE: "it is being emptied for maintenance",
    COST_OPTIMIZATION: "it is being emptied to save what it costs",
}


def rules_of(configuration: Configuration) -> Rules:
    return Rules(
        cpu_threshold_percent=configuration.cpu_threshold_percent,
        memory_threshold_percent=configuration.memory_threshold_percent,
        is_strict=configuration.filter.strict,
        cpu_weight=configuration.score.cpu_weight,
        memory_weight=configuration.score.memory_weight,
        balance_bonus=configuration.score.balance_bonus,
    )


class TableMaker:
    """Remembers how large the pods of migrations are, as a steered one is gone before its successor
    is there; and where pods were.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, tuple[float, float]] = {}
        self._node_before: Numbers | None = None

    def make(self, snapshot: Snapshot, configuration: Configuration, at: float) -> NodeTable:
        """Of a snapshot with usage. `at`: by the clock of whoever answers."""
        loads = Loads(snapshot)
        columns = [
            snapshot.resource_names.index(name) for name in (resources.CPU, resources.MEMORY)
        ]
        records = _unfinished(snapshot)
        self._measure(records, snapshot, columns)
        return NodeTable(
            names=tuple(node.name for node in snapshot.nodes),
            numbers=snapshot.node_numbers,
            capacity=by_column(loads.capacity),
            used=by_column(np.where(loads.known[:, None], loads.used, np.nan)),
            requested=by_column(snapshot.requested[:, columns].astype(np.float64)),
            promised=by_column(self._promised(records, snapshot)),
            word=loads.word,
            in_maintenance=dict(_in_maintenance(snapshot.nodes, configuration)),
            being_emptied=dict(_being_emptied(records, snapshot)),
            steering=_steering(records),
            arrived=self._arrived(snapshot.pods),
            taken_at=at,
        )

    def _measure(
        self, records: Mapping[str, Object], snapshot: Snapshot, columns: list[int]
    ) -> None:
        kept = {key: size for key, size in self._sizes.items() if key in records}
        for key, row in _rows_of(records, snapshot).items():
            cpu, memory = snapshot.requests[snapshot.pods.request_set[row], columns].tolist()
            kept[key] = float(cpu), float(memory)
        self._sizes = kept

    def _arrived(self, pods: PodColumns) -> frozenset[str]:
        """Also who is in another row now, and was on its node before: it is counted, too."""
        before, self._node_before = self._node_before, pods.node
        if before is None:
            return frozenset()
        has_changed = np.full(len(pods.node), fill_value=True)
        both = min(len(before), len(pods.node))
        has_changed[:both] = pods.node[:both] != before[:both]
        rows = np.flatnonzero(has_changed & (pods.node != NONE) & (pods.pod_class != NONE))
        return frozenset(pods.uids[row] for row in rows.tolist())

    def _promised(self, records: Mapping[str, Object], snapshot: Snapshot) -> Figures:
        """Room for copies and successors that are not there yet."""
        total = np.zeros((len(snapshot.nodes), 2))
        there = _copied(snapshot) if records else frozenset()
        for key, record in records.items():
            number = snapshot.node_numbers.get(podmigration.target_of(record))
            is_there = key in there or bool(podmigration.new_pod_of(record).get("uid"))
            if number is not None and not is_there:
                total[number] += self._sizes.get(key, _NOTHING)
        return total


def _unfinished(snapshot: Snapshot) -> Mapping[str, Object]:
    """By the UID of the pod that moves."""
    records = snapshot.objects.get(podmigration.PLURAL, {}).values()
    return {
        podmigration.pod_uid(each): each for each in records if podmigration.is_unfinished(each)
    }


def _steering(records: Mapping[str, Object]) -> Mapping[str, list[Steering]]:
    found: dict[str, list[Steering]] = {}
    for record in records.values():
        owner = podmigration.owner_of(record)
        if names.STEERING not in labels(record) or not owner.get("uid"):
            continue
        steering = Steering(
            pod=podmigration.pod_name(record),
            keeps_name=owner.get("kind") == "StatefulSet",
            source=podmigration.source_of(record),
            target=podmigration.target_of(record),
        )
        found.setdefault(str(owner["uid"]), []).append(steering)
    return found


def _rows_of(records: Mapping[str, Object], snapshot: Snapshot) -> Mapping[str, int]:
    """By UID, of the pods that are there."""
    if not records:
        return {}
    uids = snapshot.pods.uids
    rows: Numbers = snapshot.rows
    return {uids[row]: row for row in rows.tolist() if uids[row] in records}


def _copied(snapshot: Snapshot) -> frozenset[str]:
    """UIDs of pods whose copy is there, or is counted as if it were."""
    found = (each.get(names.ORIGINAL_POD) for each in snapshot.pods.annotations.values())
    return frozenset(uid for uid in found if uid)


def _in_maintenance(
    nodes: Iterable[Node], configuration: Configuration
) -> Iterator[tuple[int, str]]:
    settings = configuration.node_maintenance
    for number, node in enumerate(nodes):
        if is_in_maintenance(node.labels):
            yield number, "it is in maintenance"
        elif settings.cordoned_nodes and is_cordoned(node):
            yield number, "it is cordoned, and being emptied"
        elif settings.removed_nodes and (remover := who_removes(node)):
            yield number, f"{remover} is about to remove it"


def _being_emptied(records: Mapping[str, Object], snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    for record in records.values():
        why = _EMPTYING.get(podmigration.strategy_of(record))
        number = snapshot.node_numbers.get(podmigration.source_of(record))
        if why and number is not None:
            yield number, why
