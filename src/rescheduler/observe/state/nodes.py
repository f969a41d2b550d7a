"""Nodes, each in a slot that pods name. A pod may be heard of before its node, and outlive it."""

from collections.abc import Iterator
from typing import Final

from rescheduler.model import conditions, names, objects, resources
from rescheduler.model.cluster import Node
from rescheduler.model.columns import Amounts
from rescheduler.model.objects import Object
from rescheduler.observe.state.amounts import AmountTable, ResourceNames
from rescheduler.observe.state.interning import Interner
from rescheduler.observe.state.sharing import CopyOnWrite

_NEEDED: Final = (resources.CPU, resources.MEMORY)


def read(raw: Object) -> Node:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    annotations = objects.annotations(raw)
    return Node(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        labels=objects.labels(raw),
        annotations={key: annotations[key] for key in names.READ_ON_NODES & annotations.keys()},
        taints=tuple(spec.get("taints") or ()),
        allocatable=resources.read(status.get("allocatable")),
        ready=conditions.holds(raw, "Ready"),
        unschedulable=bool(spec.get("unschedulable")),
        deleted_at=metadata.get("deletionTimestamp") or "",
    )


class NodeTable:
    def __init__(self, resource_names: ResourceNames) -> None:
        self._slots: Interner[str, str] = Interner()
        self._nodes: CopyOnWrite[list[Node | None]] = CopyOnWrite([])
        self._allocatable = AmountTable(resource_names)
        self._unheard: set[str] | None = None
        self.revision = 0
        """Another number for every change, of which heartbeats are none."""

    def __len__(self) -> int:
        return sum(node is not None for node in self._nodes.value)

    # ------------------------------------------------------------------ slots, for pods

    def use_slot(self, name: str) -> int:
        return self._slots.use(name, lambda: name)

    def release_slot(self, slot: int) -> None:
        self._slots.release(slot)

    # ------------------------------------------------------------------ nodes

    def put(self, raw: Object) -> str:
        """What is odd about it; empty: nothing."""
        node = read(raw)
        slot = self._slots.find(node.name)
        before = (
            self._nodes.value[slot] if slot is not None and slot < len(self._nodes.value) else None
        )
        if slot is None or before is None:
            slot = self.use_slot(node.name)  # the node's own use of it, as long as it lives
        if node != before:
            # Most news of a node is its heartbeat: who kept something about it may go on.
            nodes = self._nodes.own()
            nodes.extend([None] * (slot + 1 - len(nodes)))
            nodes[slot] = node
            self.revision += 1
            self._allocatable.write(slot, node.allocatable)
        if self._unheard is not None:
            self._unheard.discard(node.name)
        missing = [name for name in _NEEDED if not node.allocatable.get(name)]
        return f"it has no allocatable {' and '.join(missing)}" if missing else ""

    def remove(self, name: str) -> None:
        slot = self._slots.find(name)
        if slot is None or slot >= len(self._nodes.value) or self._nodes.value[slot] is None:
            return
        self._nodes.own()[slot] = None
        self.revision += 1
        self.release_slot(slot)

    def begin_listing(self) -> None:
        self._unheard = {node.name for node in self._nodes.value if node is not None}

    def end_listing(self) -> None:
        for name in self._unheard or ():
            self.remove(name)
        self._unheard = None

    def present(self) -> Iterator[Node]:
        return (node for node in self._nodes.value if node is not None)

    # ------------------------------------------------------------------ sharing

    def share(self) -> tuple[list[Node | None], list[str | None], Amounts]:
        names_by_slot = self._slots.values.share()
        missing = len(names_by_slot) - len(self._nodes.value)
        if missing > 0:
            self._nodes.own().extend([None] * missing)
        return self._nodes.share(), names_by_slot, self._allocatable.share(len(names_by_slot))
