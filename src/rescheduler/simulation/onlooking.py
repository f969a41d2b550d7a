"""Watches an embedded cluster as any client could, and gives scenes of it."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from rescheduler.embedded.store import Change, Key, Store, key_of
from rescheduler.embedded.usage import InUse, Loads
from rescheduler.kube import Object
from rescheduler.model import conditions, podmigration, resources
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.objects import controller, is_active, is_terminating, labels
from rescheduler.model.podmigration import Phase, Reason
from rescheduler.simulation.scenes import (
    MoveLook,
    MoveScene,
    NodeLook,
    NodeScene,
    PodLook,
    Scene,
)
from rescheduler.wire import NODES, POD_MIGRATIONS, PODS

_MOST_ENDED: Final = 100
"""Moves that are kept to be shown."""
_LOOKS: Final = {
    Phase.PENDING: MoveLook.WAITING,
    Phase.IN_PROGRESS: MoveLook.UNDER_WAY,
    Phase.COMPLETED: MoveLook.MOVED,
    Phase.FAILED: MoveLook.FAILED,
}
_MEASURED: Final = (resources.CPU, resources.MEMORY)
_ENDED: Final = (MoveLook.MOVED, MoveLook.PUT_OFF, MoveLook.FAILED)

Heard = Callable[[MoveScene], None]


@dataclass(frozen=True, slots=True)
class _Pod:
    look: PodLook
    asks: int
    """Thousandths of a core."""
    may_leave: bool


@dataclass(slots=True)
class _Node:
    look: NodeLook
    has: resources.Resources
    pods: dict[Key, _Pod] = field(default_factory=dict)


@dataclass(slots=True)
class _Move:
    scene: MoveScene
    begun: datetime | None = None


class Onlooker:
    """Sees every change, also one that is undone a moment later."""

    def __init__(
        self,
        store: Store,
        loads: Loads,
        now: Callable[[], datetime],
        heard: Heard = lambda _: None,
    ) -> None:
        """`heard` is told of every step of every move."""
        self._now = now
        self._in_use = InUse(store, loads)
        self._heard = heard
        self._nodes: dict[str, _Node] = {}
        self._moves: dict[Key, _Move] = {}
        self._ended: deque[MoveScene] = deque(maxlen=_MOST_ENDED)
        self._news = 0
        self._changed = asyncio.Event()
        self._pods = 0
        self._unready: set[Key] = set()
        self.moved: list[MoveScene] = []
        self.put_off: list[MoveScene] = []
        self.failed: list[MoveScene] = []
        self._by_end = {
            MoveLook.MOVED: self.moved,
            MoveLook.PUT_OFF: self.put_off,
            MoveLook.FAILED: self.failed,
        }
        listeners = {NODES: self._see_node, PODS: self._see_pod, POD_MIGRATIONS: self._see_move}
        for resource, listener in listeners.items():
            for item in store.all(resource):
                listener(Change(store.version, "ADDED", resource, item, None))
            store.listen(resource, listener)

    # ------------------------------------------------------------------ waiting

    async def until(self, condition: Callable[[], bool]) -> None:
        """Asked anew after each change."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def quiet(self, seconds: float) -> None:
        """Until nothing has been moved for so long."""
        news = -1
        while news != self._news:
            await self.until(lambda: self.is_calm)
            news = self._news
            await asyncio.sleep(seconds)

    @property
    def is_calm(self) -> bool:
        """No move has still to end."""
        return not self._moves

    def has_ended(self, moves: int) -> bool:
        """So many, and no other is under way."""
        return self.is_calm and sum(map(len, self._by_end.values())) >= moves

    def has_come_up(self, pods: int) -> bool:
        """So many, and all of them are Ready."""
        return self._pods >= pods and not self._unready

    def pods_on(self, node: str) -> int:
        """Those that do not end with it."""
        found = self._nodes.get(node)
        return _leaving(found) if found else 0

    def takes_pods(self, node: str) -> bool:
        found = self._nodes.get(node)
        return found is not None and found.look is NodeLook.PLAIN

    # ------------------------------------------------------------------ seeing

    def _see_node(self, change: Change) -> None:
        self._changed.set()
        name = change.object["metadata"]["name"]
        if change.kind == "DELETED":
            self._nodes.pop(name, None)
            return
        has = resources.read((change.object.get("status") or {}).get("allocatable"))
        look = _node_look(change.object)
        if (known := self._nodes.get(name)) is None:
            self._nodes[name] = _Node(look, has)
        else:
            known.look, known.has = look, has

    def _see_pod(self, change: Change) -> None:
        self._changed.set()
        self._count(change)
        key, before = key_of(change.object), change.before
        node = self._node_of(change.object)
        if before is not None and (old := self._node_of(before)) is not None and old is not node:
            old.pods.pop(key, None)
        if node is None:
            return
        if change.kind == "DELETED" or not _is_there(change.object):
            node.pods.pop(key, None)
        else:
            node.pods[key] = _pod(change.object)

    def _count(self, change: Change) -> None:
        is_gone = change.kind == "DELETED"
        self._pods += (change.before is None) - is_gone
        if is_gone or conditions.is_well(change.object):
            self._unready.discard(key_of(change.object))
        else:
            self._unready.add(key_of(change.object))

    def _node_of(self, pod: Object) -> _Node | None:
        return self._nodes.get(pod["spec"].get("nodeName") or "")

    def _see_move(self, change: Change) -> None:
        self._changed.set()
        key, record = key_of(change.object), change.object
        known = self._moves.get(key)
        if change.kind == "DELETED":
            self._moves.pop(key, None)
            return
        if known is None:
            if change.before is not None:
                return  # it has ended, and something is written on it still
            known = self._moves[key] = _Move(_scene_of(record))
        scene = _updated(known.scene, record)
        if scene.look is not MoveLook.WAITING and known.begun is None:
            known.begun = self._now()
        if scene == known.scene and change.before is not None:
            return
        self._news += 1
        known.scene = replace(scene, changed=self._news)
        if scene.look in _ENDED:
            self._end_move(key, known)
        self._heard(known.scene)

    def _end_move(self, key: Key, move: _Move) -> None:
        begun = move.begun or self._now()
        move.scene = replace(move.scene, seconds=(self._now() - begun).total_seconds())
        del self._moves[key]
        self._ended.append(move.scene)
        self._by_end[move.scene.look].append(move.scene)

    # ------------------------------------------------------------------ telling

    def scene(self, dips: int = 0) -> Scene:
        nodes = tuple(self._node_scenes())
        under_way = tuple(each.scene for each in self._moves.values())
        return Scene(
            at=self._now(),
            nodes=nodes,
            moves=(*self._ended, *under_way),
            moved=len(self.moved),
            failed=len(self.failed),
            dips=dips,
            imbalance=imbalances(nodes),
        )

    def _node_scenes(self) -> Iterator[NodeScene]:
        moment = self._in_use.at(self._now())
        used = {
            node["metadata"]["name"]: (1000 * float(cpu), float(memory))
            for node, cpu, memory in zip(
                moment.nodes, moment.node_cpu, moment.node_memory, strict=True
            )
        }
        for name in sorted(self._nodes):
            node = self._nodes[name]
            by_resource = dict(zip(_MEASURED, used.get(name, (0.0, 0.0)), strict=True))
            cpu = node.has.get(resources.CPU, 0)
            yield NodeScene(
                name=name,
                requested=_percent(sum(pod.asks for pod in node.pods.values()), cpu),
                used={
                    resource: _percent(amount, node.has.get(resource, 0))
                    for resource, amount in by_resource.items()
                },
                pods=tuple(pod.look for pod in node.pods.values()),
                look=node.look,
                movable=_leaving(node),
            )


def imbalances(nodes: tuple[NodeScene, ...]) -> dict[str, float]:
    able = [each for each in nodes if each.takes_pods]
    return {
        name: max(each.used[name] for each in able) - min(each.used[name] for each in able)
        for name in _MEASURED
        if able
    }


# ---------------------------------------------------------------------- how things look


def _is_there(pod: Object) -> bool:
    return is_active(pod) or is_terminating(pod)


def _pod(pod: Object) -> _Pod:
    owner = controller(pod)
    return _Pod(
        look=_look(pod),
        asks=resources.of_pod(pod["spec"], pod.get("status")).get(resources.CPU, 0),
        may_leave=owner is None or owner["kind"] != "DaemonSet",
    )


def _look(pod: Object) -> PodLook:
    if is_terminating(pod):
        return PodLook.LEAVING
    if conditions.has_left(pod):
        return PodLook.LEAVING
    return PodLook.SERVING if conditions.holds(pod, "Ready") else PodLook.STARTING


def _leaving(node: _Node) -> int:
    return sum(pod.may_leave for pod in node.pods.values())


def _node_look(node: Object) -> NodeLook:
    if is_in_maintenance(labels(node)):
        return NodeLook.MAINTENANCE
    if not conditions.holds(node, "Ready"):
        return NodeLook.NOT_READY
    return NodeLook.CORDONED if node["spec"].get("unschedulable") else NodeLook.PLAIN


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _scene_of(record: Object) -> MoveScene:
    return MoveScene(
        pod=f"{record['metadata']['namespace']}/{podmigration.pod_name(record)}",
        source=podmigration.source_of(record),
        target=podmigration.target_of(record),
        strategy=podmigration.strategy_of(record),
        reason=podmigration.why_of(record),
    )


def _updated(scene: MoveScene, record: Object) -> MoveScene:
    look, reason = _LOOKS[podmigration.phase_of(record)], podmigration.reason_of(record)
    if look is MoveLook.FAILED and reason == Reason.NOT_NOW:
        look = MoveLook.PUT_OFF
    told = (reason, podmigration.message_of(record))
    return replace(
        scene,
        target=podmigration.target_of(record),
        look=look,
        way=podmigration.way_of(record),
        step=podmigration.step_name(record),
        outcome=": ".join(each for each in told if each) if look in _ENDED else "",
    )
