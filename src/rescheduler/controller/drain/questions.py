"""What a drain asks of a snapshot and of a plan. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from rescheduler.config import Scope
from rescheduler.model import maintenance, podmigration
from rescheduler.model.cluster import Pod, is_part_of_its_node
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase
from rescheduler.model.snapshot import Snapshot


def in_maintenance(snapshot: Snapshot, name: str) -> Snapshot:
    """The same cluster, as if somebody had labelled the node."""
    slots = [
        replace(node, labels={**node.labels, **maintenance.LABELS})
        if node is not None and node.name == name
        else node
        for node in snapshot.node_slots
    ]
    return replace(snapshot, node_slots=slots)


def concerning(moves: Iterable[Move], node: str) -> Iterable[Move]:
    """Those off this node, and of the groups of those: another one may be in maintenance, too."""
    found = list(moves)
    groups = {move.group for move in found if move.source == node and move.group}
    return (move for move in found if move.source == node or move.group in groups)


def should_go(snapshot: Snapshot, node: str, *, even_if_leaving: bool = False) -> list[Pod]:
    """Who is on the node and neither leaves it already nor ends with it."""
    return [
        pod
        for pod in snapshot.pods_on(node)
        if (even_if_leaving or not pod.leaving)
        and not is_part_of_its_node(pod.owner, pod.annotations)
    ]


def ended(snapshot: Snapshot, *, only: Container[str] | None = None) -> frozenset[str]:
    """UIDs of the records of migrations that are over: of all, or only those of these reasons."""
    return frozenset(
        each["metadata"]["uid"]
        for each in _records(snapshot).values()
        if not podmigration.is_unfinished(each)
        and (only is None or podmigration.reason_of(each) in only)
    )


def under_way(snapshot: Snapshot, node: str, scope: Scope, ended: Container[str]) -> frozenset[str]:
    """UIDs of pods whose migration off this node has not ended, as far as is known, and of those to
    it that had begun before it was cordoned: what they bring has to go, too. Those of other
    namespaces are not ours to carry out, and may wait for ever.
    """
    return frozenset(
        podmigration.pod_uid(record)
        for (namespace, _), record in _records(snapshot).items()
        if podmigration.is_unfinished(record)
        # It has a target as soon as its pod is planned.
        and not podmigration.waits_for_target(record)
        and scope.covers(namespace)
        and (podmigration.source_of(record) == node or _is_on_its_way_to(node, record))
        and podmigration.pod_uid(record) not in ended
    )


def completed(snapshot: Snapshot, node: str) -> frozenset[str]:
    """UIDs of the pods that a migration has taken off the node."""
    return frozenset(
        podmigration.pod_uid(record)
        for record in _records(snapshot).values()
        if podmigration.source_of(record) == node
        and podmigration.phase_of(record) is Phase.COMPLETED
    )


def _is_on_its_way_to(node: str, record: Object) -> bool:
    """One that has not begun will not: no copy is made for a node that is cordoned."""
    is_begun = podmigration.phase_of(record) is not Phase.PENDING
    return podmigration.target_of(record) == node and is_begun


def _records(snapshot: Snapshot) -> Mapping[tuple[str, str], Object]:
    return snapshot.objects.get(podmigration.PLURAL, {})
