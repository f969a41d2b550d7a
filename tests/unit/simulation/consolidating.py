"""An autoscaler of nodes in few lines, after karpenter: it adds a node for pods that wait, and
removes one whose pods all have room elsewhere and that no pod has come to or left for a while.

As karpenter 1.14 does, it ignores that pods are held on a node by its name, and leaves those alone
that are not to be disrupted for a while; earlier ones knew no such time.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any

from rescheduler import wire
from rescheduler.documents import durations
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.store import Change
from rescheduler.kube import Object, errors
from rescheduler.model import names, pins, quantities
from rescheduler.model.objects import annotations, controller, is_active

EVERY_SECONDS = 10.0
STARTS_SECONDS = 60.0
"""So long a new node is waited for before another is added."""
TAINT = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}

Size = tuple[float, float]


class Consolidator:
    def __init__(
        self,
        cluster: EmbeddedCluster,
        example: Mapping[str, Any],
        after: float,
        *,
        spares_moved: bool,
    ) -> None:
        """`after`: seconds without a pod that came or went (`consolidateAfter`). `spares_moved`: it
        knows of pods that are not to be disrupted for a while.
        """
        self._spares_moved = spares_moved
        self._api = cluster.api
        self._clock = cluster.clock
        self._example = example
        self._after = after
        self._changed: dict[str, float] = {}
        """By node: when a pod came to it, or began to leave it."""
        self._added_at = 0.0
        self.added: list[str] = []
        self.removed: dict[str, float] = {}
        """By node: when that was decided."""
        cluster.store.listen(wire.PODS, self._hear)

    async def work(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            self._provide()
            if removing := [each for each in self._nodes() if each in self.removed]:
                self._empty(removing[0])
            else:
                self._consolidate()

    def _hear(self, change: Change) -> None:
        before, pod = change.before, change.object
        node = pod["spec"].get("nodeName")
        came = node and not (before and before["spec"].get("nodeName"))
        went = change.kind == "DELETED" or (before and is_active(before) and not is_active(pod))
        if node and (came or went) and _is_guest(pod):
            self._changed[node] = self._now()

    # ------------------------------------------------------------------ looking

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _nodes(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self._api.store.all(wire.NODES)}

    def _pods(self) -> list[Object]:
        return [each for each in self._api.store.all(wire.PODS) if is_active(each)]

    def _room(self) -> dict[str, list[float]]:
        """Of nodes that take pods."""
        room = {
            name: list(_amounts(node["status"]["allocatable"]))
            for name, node in self._nodes().items()
            if not node["spec"].get("taints") and not node["spec"].get("unschedulable")
        }
        for pod in self._pods():
            if left := room.get(pod["spec"].get("nodeName", "")):
                cpu, memory = _size(pod)
                left[0], left[1] = left[0] - cpu, left[1] - memory
        return room

    # ------------------------------------------------------------------ acting

    def _provide(self) -> None:
        waits = any(
            each.get("reason") == "Unschedulable"
            for pod in self._pods()
            if not pod["spec"].get("nodeName") and not pins.target(pod["spec"])
            for each in pod["status"].get("conditions") or ()
        )
        if waits and self._now() - self._added_at > STARTS_SECONDS:
            self._added_at = self._now()
            name = f"added-{len(self.added)}"
            labels = self._example["metadata"]["labels"] | {"kubernetes.io/hostname": name}
            made = self._api.create(
                wire.NODES, None, {"metadata": {"name": name, "labels": labels}}
            )
            has = {key: self._example["status"][key] for key in ("allocatable", "capacity")}
            self._api.set_status(wire.NODES, made, {**made.get("status", {}), **has})
            self._changed[name] = self._now()
            self.added.append(name)

    def _consolidate(self) -> None:
        """The one with the fewest pods first."""
        guests: dict[str, list[Object]] = {name: [] for name in self._room()}
        for pod in filter(_is_guest, self._pods()):
            if (node := pod["spec"].get("nodeName")) in guests:
                guests[node].append(pod)
        for name in sorted(guests, key=lambda each: (len(guests[each]), each)):
            is_quiet = self._now() - self._changed.get(name, 0.0) >= self._after
            if any(map(self._is_spared, guests[name])):
                continue
            if is_quiet and self._have_room(name, guests[name]):
                self.removed[name] = self._now()
                self._api.patch(wire.NODES, None, name, {"spec": {"taints": [TAINT]}})
                return

    def _is_spared(self, pod: Object) -> bool:
        told = annotations(pod).get(names.DO_NOT_DISRUPT)
        if told is None or not self._spares_moved:
            return False
        began = datetime.fromisoformat(pod["status"]["startTime"]).timestamp()
        return self._now() - began < durations.parse_nanoseconds(told) / durations.SECOND

    def _have_room(self, node: str, guests: list[Object]) -> bool:
        others = [left for name, left in self._room().items() if name != node]
        for cpu, memory in sorted(map(_size, guests), reverse=True):
            taker = next((left for left in others if cpu <= left[0] and memory <= left[1]), None)
            if taker is None:
                return False
            taker[0], taker[1] = taker[0] - cpu, taker[1] - memory
        return bool(others)

    def _empty(self, node: str) -> None:
        there = [pod for pod in self._api.store.all(wire.PODS) if _is_on(pod, node)]
        for pod in filter(is_active, there):
            with suppress(errors.KubeError):  # a budget says not yet
                self._api.evict(pod["metadata"]["namespace"], pod["metadata"]["name"])
        if not there:
            self._api.delete(wire.NODES, None, node)


def _is_on(pod: Object, node: str) -> bool:
    return _is_guest(pod) and pod["spec"].get("nodeName") == node


def _is_guest(pod: Object) -> bool:
    owner = controller(pod)
    is_of_node = names.MIRROR_POD in annotations(pod)
    return not is_of_node and (owner is None or owner["kind"] != "DaemonSet")


def _size(pod: Object) -> Size:
    asked = [each.get("resources", {}).get("requests", {}) for each in pod["spec"]["containers"]]
    sizes = [_amounts(each) for each in asked]
    return sum(each[0] for each in sizes), sum(each[1] for each in sizes)


def _amounts(asked: Mapping[str, str]) -> Size:
    return _parsed(asked.get("cpu", "0")), _parsed(asked.get("memory", "0"))


@cache
def _parsed(quantity: str) -> float:
    return float(quantities.parse(quantity))
