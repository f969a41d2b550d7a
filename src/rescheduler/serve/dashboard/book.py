"""The cluster as viewers of the same rights have it, and what changes of it. Pure.

Loads and shares tremble with every measurement: what nobody would see is not sent, and the book
remembers what was.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import numpy as np

from rescheduler.model import podmigration
from rescheduler.model.columns import NONE
from rescheduler.model.snapshot import Snapshot
from rescheduler.serve.dashboard import columns
from rescheduler.serve.dashboard.columns import (
    ABSENT,
    GONE,
    NODE_COLUMNS,
    Ints,
    Names,
    Places,
    Workloads,
)
from rescheduler.serve.dashboard.documents.cluster import (
    Cluster,
    ClusterPatch,
    MoveMark,
    NodeChanges,
    NodeColumns,
    PodColumns,
    PodRows,
    WorkloadColumns,
)
from rescheduler.serve.dashboard.rights import Rights
from rescheduler.serve.dashboard.view import Loads, View

_FLAGS: Final = NODE_COLUMNS.index("flags")
_LOADS: Final = slice(NODE_COLUMNS.index("cpu_load"), NODE_COLUMNS.index("memory_load") + 1)
_PLANNED: Final = slice(NODE_COLUMNS.index("cpu_planned"), NODE_COLUMNS.index("memory_planned") + 1)
_OTHERS: Final = slice(NODE_COLUMNS.index("other_pods"), None)
_STILL: Final = 5
"""By which a load may differ without being sent: half a per cent."""
_STILL_OF_POD: Final = 2
_STILL_SHARE: Final = 8
"""The same of pods, or an eighth of what was sent."""
_MOST_MARKS: Final = 5000
_MOST_GONE: Final = 200
"""Rows of nodes that are gone, beyond which all are numbered anew."""


class Book:
    def __init__(self, rights: Rights, epoch: int = 0) -> None:
        """`epoch`: which no other book begins with, as nodes have other numbers there."""
        self._rights = rights
        self._epoch = epoch
        self._begin()

    def _begin(self) -> None:
        self._epoch += 1
        self._number = 0
        self._serial = -1
        self._at: datetime | None = None
        self._word = ""
        self._zones, self._pools = Names(), Names()
        self._names, self._workloads = Names(), Workloads()
        self._table = columns.NodeTable(self._zones, self._pools)
        self._nodes = np.zeros((0, len(NODE_COLUMNS)), np.int32)
        self._pods = _nothing(0)
        self._marks: list[MoveMark] = []
        self._workload_of_pod: dict[str, int] = {}
        """By UID, of pods that move or may move."""

    @property
    def version(self) -> str:
        return f"{self._epoch}.{self._number}"

    @property
    def serial(self) -> int:
        """Of the view that it is of; -1: of none."""
        return self._serial

    # ------------------------------------------------------------------ what changes

    def update(self, view: View, loads: Loads, *, is_told: bool = True) -> ClusterPatch | None:
        """None: nothing to be seen has changed; or nobody is told, as all who come take the whole.

        Of a large cluster, what has changed since there was nothing is megabytes of numbers.
        """
        if view.serial == self._serial:
            return None
        if int((self._nodes[:, _FLAGS] & GONE != 0).sum()) > _MOST_GONE:
            self._begin()
        since, known = self.version, self._known()
        nodes = self._update_nodes(view, loads)
        removed, added = self._update_pods(view.snapshot, loads, is_told=is_told)
        moves = self._update_marks(view)
        self._serial, self._at = view.serial, view.at
        is_news = nodes is not None or removed is not None or added is not None
        is_news = is_news or moves is not None or loads.word != self._word
        self._word = loads.word
        if is_told and not is_news:
            return None
        self._number += 1
        if not is_told:
            return None
        return ClusterPatch(
            since=since,
            version=self.version,
            taken_at=view.at,
            zones=self._zones.all[known[0] :],
            pools=self._pools.all[known[1] :],
            namespaces=self._workloads.namespaces.all[known[2] :],
            kinds=self._workloads.kinds.all[known[3] :],
            nodes=nodes,
            workloads=self._workloads_from(known[4]) if self._knows_more(known[4]) else None,
            removed=removed,
            added=added,
            moves=moves,
        )

    def _known(self) -> tuple[int, int, int, int, int]:
        workloads = self._workloads
        return (
            len(self._zones.all),
            len(self._pools.all),
            len(workloads.namespaces.all),
            len(workloads.kinds.all),
            len(workloads.rows),
        )

    def _knows_more(self, workloads: int) -> bool:
        return len(self._workloads.rows) > workloads

    def _update_nodes(self, view: View, loads: Loads) -> NodeChanges | None:
        snapshot = view.snapshot
        numbers = self._numbers(snapshot)
        found = self._table.rows(view, loads)
        found[:, _OTHERS] = self._others(snapshot, loads)
        before = self._nodes
        now = np.zeros((len(self._names.all), len(NODE_COLUMNS)), np.int32)
        now[: len(before)] = before
        is_there = np.zeros(len(now), np.bool_)
        is_there[numbers] = True
        now[~is_there, _FLAGS] |= GONE
        is_new = np.ones(len(numbers), np.bool_)
        is_new[numbers < len(before)] = False
        if len(before):
            old = now[numbers]
            still = np.abs(found[:, _LOADS] - old[:, _LOADS]) < _STILL
            # Whether it is known is always told.
            still &= (found[:, _LOADS] < 0) == (old[:, _LOADS] < 0)
            still &= ~is_new[:, None]
            found[:, _LOADS] = np.where(still, old[:, _LOADS], found[:, _LOADS])
        if view.decided is not None:
            ends = columns.ends_of_moves(view)
            stays = np.array([node.name not in ends for node in snapshot.nodes], np.bool_)
            found[stays, _PLANNED] = found[stays, _LOADS]
        now[numbers] = found
        differs = np.ones(len(now), np.bool_)
        differs[: len(before)] = (now[: len(before)] != before).any(axis=1)
        self._nodes = now
        changed = np.flatnonzero(differs)
        if not changed.size:
            return None
        return NodeChanges(number=changed.tolist(), **self._columns_of(changed))

    def _numbers(self, snapshot: Snapshot) -> Ints:
        """Of ours, by place in the snapshot."""
        return np.fromiter(
            (self._names.number(node.name) for node in snapshot.nodes),
            np.int32,
            count=len(snapshot.nodes),
        )

    def _others(self, snapshot: Snapshot, loads: Loads) -> Ints:
        """What is on each node and not seen: pods and their shares."""
        found = np.zeros((len(snapshot.nodes), 3), np.int32)
        if self._rights.sees_everything or not len(snapshot.nodes):
            return found
        rows = snapshot.rows
        rows = rows[~columns.seen(snapshot, self._rights, rows)]
        places = snapshot.place_of_pod[rows]
        rows, places = rows[places != NONE], places[places != NONE]
        cpu, memory = columns.shares(loads, rows, places)
        for column, weights in enumerate((None, cpu, memory)):
            found[:, column] = np.bincount(places, weights, minlength=len(found))
        return found

    def _update_pods(
        self, snapshot: Snapshot, loads: Loads, *, is_told: bool
    ) -> tuple[PodRows | None, PodRows | None]:
        before, now = self._pods, self._pods_of(snapshot, loads)
        size = max(len(before.node), len(now.node))
        before, now = _grown(before, size), _grown(now, size)
        same_place = (before.node == now.node) & (now.node != ABSENT)
        same_place &= before.workload == now.workload
        for old, new in ((before.cpu, now.cpu), (before.memory, now.memory)):
            still = np.abs(new - old) <= np.maximum(_STILL_OF_POD, old // _STILL_SHARE)
            np.copyto(new, old, where=still & same_place)
        differs = (before.node != now.node) | (before.workload != now.workload)
        differs |= (before.cpu != now.cpu) | (before.memory != now.memory)
        differs |= before.state != now.state
        self._pods = now
        if not (is_told and differs.any()):
            return None, None
        changed = np.flatnonzero(differs)
        return _rows(before, changed), _rows(now, changed)

    def _pods_of(self, snapshot: Snapshot, loads: Loads) -> columns.PodRows:
        found = _nothing(len(snapshot.pods))
        rows = snapshot.rows
        rows = rows[columns.seen(snapshot, self._rights, rows)]
        places = snapshot.place_of_pod[rows]
        numbers = np.append(self._numbers(snapshot), np.int32(NONE))
        cpu, memory = columns.shares(loads, rows, places)
        found.node[rows] = numbers[places]
        found.workload[rows] = self._workloads.of(snapshot, rows)
        found.cpu[rows], found.memory[rows] = cpu, memory
        found.state[rows] = columns.states(snapshot, rows, places)
        return found

    # ------------------------------------------------------------------ moves

    def _update_marks(self, view: View) -> list[MoveMark] | None:
        marks = self._marks_of(view)
        if marks == self._marks:
            return None
        self._marks = marks
        return marks

    def _marks_of(self, view: View) -> list[MoveMark]:
        found: list[MoveMark] = []
        moving: set[str] = set()
        wanted = [each for each in view.records.values() if podmigration.is_unfinished(each)]
        planned = view.decided.plan.moves if view.decided else ()
        uids = {podmigration.pod_uid(each) for each in wanted} | {each.uid for each in planned}
        self._look_up(view.snapshot, uids)
        for record in wanted:
            namespace = str(record["metadata"]["namespace"])
            moving.add(podmigration.pod_uid(record))
            if self._rights.sees(namespace) and len(found) < _MOST_MARKS:
                phase = podmigration.phase_of(record).value
                found.append(
                    MoveMark(
                        namespace=namespace,
                        pod=podmigration.pod_name(record),
                        uid=podmigration.pod_uid(record),
                        workload=self._workload_of_pod.get(podmigration.pod_uid(record), NONE),
                        from_=self._number_of(view, podmigration.source_of(record)),
                        to=self._number_of(view, podmigration.target_of(record)),
                        state=phase[0].lower() + phase[1:],
                        step=podmigration.step_name(record),
                        migration=str(record["metadata"]["name"]),
                    )
                )
        done = {podmigration.pod_uid(each) for each in view.records.values()} - moving
        for move in planned:
            is_told = move.uid in moving or move.uid in done
            if not is_told and self._rights.sees(move.namespace) and len(found) < _MOST_MARKS:
                found.append(
                    MoveMark(
                        namespace=move.namespace,
                        pod=move.pod,
                        uid=move.uid,
                        workload=self._workload_of_pod.get(move.uid, NONE),
                        from_=self._number_of(view, move.source),
                        to=self._number_of(view, move.target),
                        state="planned",
                        step="",
                        migration="",
                    )
                )
        return found

    def _number_of(self, view: View, node: str) -> int:
        return self._names.number(node) if node in view.snapshot.node_numbers else NONE

    def _look_up(self, snapshot: Snapshot, uids: set[str]) -> None:
        """All at once, as there are many more pods than moves."""
        known = self._workload_of_pod
        for gone in known.keys() - uids:
            del known[gone]
        missing = uids - known.keys()
        if not missing:
            return
        for row, uid in enumerate(snapshot.pods.uids):
            if uid in missing and row < len(self._pods.node) and self._pods.node[row] != ABSENT:
                known[uid] = int(self._pods.workload[row])
        known.update(dict.fromkeys(missing - known.keys(), NONE))

    # ------------------------------------------------------------------ all of it

    def document(self) -> Cluster:
        there = np.flatnonzero(self._pods.node != ABSENT)
        nodes = self._pods.node[there]
        # Those on no node come last, and alike ones stand together: that is written shorter.
        nodes = np.where(nodes == NONE, len(self._nodes), nodes)
        order = np.lexsort((self._pods.workload[there], nodes))
        rows = there[order]
        return Cluster(
            version=self.version,
            taken_at=self._at or datetime.fromtimestamp(0).astimezone(),
            loads=self._word,
            zones=self._zones.all,
            pools=self._pools.all,
            namespaces=self._workloads.namespaces.all,
            kinds=self._workloads.kinds.all,
            nodes=NodeColumns(**self._columns_of(np.arange(len(self._nodes)))),
            workloads=self._workloads_from(0),
            pods=PodColumns(
                per_node=np.bincount(nodes, minlength=len(self._nodes))[
                    : len(self._nodes)
                ].tolist(),
                workload=self._pods.workload[rows].tolist(),
                cpu=self._pods.cpu[rows].tolist(),
                memory=self._pods.memory[rows].tolist(),
                state=self._pods.state[rows].tolist(),
            ),
            moves=self._marks,
        )

    def _columns_of(self, numbers: Places) -> dict[str, list]:  # type: ignore[type-arg]
        # Names of those that are new are told with them.
        names = self._names.all
        rows = self._nodes[numbers]
        return {
            "name": [names[each] for each in numbers.tolist()],
            **{name: rows[:, place].tolist() for place, name in enumerate(NODE_COLUMNS)},
        }

    def _workloads_from(self, first: int) -> WorkloadColumns:
        rows: Sequence[tuple[int, int, str]] = self._workloads.rows[first:]
        return WorkloadColumns(
            namespace=[each[0] for each in rows],
            kind=[each[1] for each in rows],
            name=[each[2] for each in rows],
        )


def _nothing(size: int) -> columns.PodRows:
    return columns.PodRows(
        node=np.full(size, ABSENT, np.int32),
        workload=np.zeros(size, np.int32),
        cpu=np.zeros(size, np.int32),
        memory=np.zeros(size, np.int32),
        state=np.zeros(size, np.int32),
    )


def _grown(rows: columns.PodRows, size: int) -> columns.PodRows:
    have = len(rows.node)
    if have == size:
        return rows
    found = _nothing(size)
    for name in ("node", "workload", "cpu", "memory", "state"):
        getattr(found, name)[:have] = getattr(rows, name)
    return found


def _rows(rows: columns.PodRows, changed: Places) -> PodRows | None:
    """Of those that changed, the ones that are there."""
    there = changed[rows.node[changed] != ABSENT]
    if not there.size:
        return None
    return PodRows(
        node=rows.node[there].tolist(),
        workload=rows.workload[there].tolist(),
        cpu=rows.cpu[there].tolist(),
        memory=rows.memory[there].tolist(),
        state=rows.state[there].tolist(),
    )
