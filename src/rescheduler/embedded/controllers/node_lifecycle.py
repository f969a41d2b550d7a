"""Nodes that are not Ready, or not heard of: their taints, and the pods on them.

Follows pkg/controller/nodelifecycle, as the testbed runs it: looks at nodes every second, evicts
without a limit to its rate, and drives nobody out while no node at all is Ready. Heartbeats are not
written down (they would be most of what happens in a cluster): a kubelet that does not hang is
heard of.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.behaviours import PREFIX, Behaviours
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.statuses import stamp, with_conditions, with_pod_condition
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import labels

_LOOK_SECONDS: Final = 1.0
_TAINT_SECONDS: Final = 0.1
_HEARTBEAT_SECONDS: Final = 10.0
"""How often a kubelet renews its lease."""
_GRACE_SECONDS: Final = 50.0
_STARTUP_GRACE_SECONDS: Final = 60.0
"""For a node of which nothing was heard yet."""

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_TAINTS: Final = {
    ("Ready", "False"): _NOT_READY,
    ("Ready", "Unknown"): _UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_KEPT: Final = frozenset(_TAINTS.values()) | {_UNSCHEDULABLE}
_HEARD_OF: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_OLD_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeLifecycleController:
    def __init__(self, api: ApiServer, chance: random.Random, *, prefix: str = PREFIX) -> None:
        self._api = api
        self._chance = chance
        self._behaviours = Behaviours(chance, prefix)
        self._taints = Queue("taints of nodes", self._keep_taints, chance)
        self._health = Queue("health of nodes", self._look_at_health, chance)
        self._pods = Queue("pods of nodes", self._look_at_pod, chance)
        self._heard: dict[str, float] = {}
        """When a node that is not heard of any more was heard of last."""
        self._ready: dict[str, bool] = {}
        self._stop: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._by_node = Indexes.of(store).pods_by_node
        for node in store.all(wire.NODES):
            self._ready[node["metadata"]["name"]] = conditions.holds(node, "Ready")
            self._note_silence(node, None)
            self._taints.add(key_of(node))
            self._health.add(key_of(node), after=self._until_next_look())
        self._stop = [
            store.listen(wire.NODES, self._on_node),
            store.listen(wire.PODS, self._on_pod),
        ]

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        for queue in (self._taints, self._health, self._pods):
            queue.end()

    # ------------------------------------------------------------------ what is heard

    def _on_node(self, change: Change) -> None:
        node = change.object
        name = node["metadata"]["name"]
        was_any_ready = any(self._ready.values())
        if change.kind == "DELETED":
            self._ready.pop(name, None)
            self._heard.pop(name, None)
        else:
            self._ready[name] = conditions.holds(node, "Ready")
            self._note_silence(node, change.before)
            self._taints.add(key_of(node))
            if change.before is None or _health(change.before) != _health(node):
                self._health.add(key_of(node), after=self._until_next_look())
        if any(self._ready.values()) != was_any_ready:
            self._reconsider_all(has_ended=not was_any_ready)

    def _on_pod(self, change: Change) -> None:
        before = (change.before or {"spec": {}})["spec"].get("nodeName")
        place = change.object["spec"].get("nodeName")
        if change.kind != "DELETED" and place and place != before:
            self._pods.add(key_of(change.object))

    def _note_silence(self, node: Object, before: Object | None) -> None:
        """Since when its kubelet has not been heard of, if it is not."""
        name = node["metadata"]["name"]
        if not self._behaviours.is_hung(node):
            self._heard.pop(name, None)
            return
        if name not in self._heard:
            lately = 0.0 if before is None else self._chance.uniform(0.0, _HEARTBEAT_SECONDS)
            self._heard[name] = asyncio.get_running_loop().time() - lately
        self._health.add(key_of(node), after=max(self._patience_with(node), 0.0))

    def _patience_with(self, node: Object) -> float:
        """For how long it may still be silent."""
        heard = self._heard[node["metadata"]["name"]]
        return heard + _grace(node) - asyncio.get_running_loop().time()

    def _reconsider_all(self, *, has_ended: bool) -> None:
        """The whole cluster is disrupted: nobody is driven out, for it may be our own fault. When
        that has ended, nodes that are silent get their time once more.
        """
        now = asyncio.get_running_loop().time()
        if has_ended:
            self._heard = dict.fromkeys(self._heard, now)
        for node in self._api.store.all(wire.NODES):
            self._health.add(key_of(node), after=self._until_next_look())

    def _until_next_look(self) -> float:
        return self._chance.uniform(0.0, _LOOK_SECONDS) + _TAINT_SECONDS

    # ------------------------------------------------------------------ taints that keep away

    def _keep_taints(self, key: Key) -> None:
        node = self._api.store.find(wire.NODES, None, key[1])
        if node is None:
            return
        wanted = [
            _TAINTS[each["type"], each["status"]]
            for each in (node.get("status") or {}).get("conditions") or ()
            if (each["type"], each["status"]) in _TAINTS
        ]
        if _spec(node).get("unschedulable"):
            wanted.append(_UNSCHEDULABLE)
        has = [key for key, effect in map(_key_and_effect, _taints(node)) if effect == "NoSchedule"]
        superfluous = [key for key in has if key in _KEPT and key not in wanted]
        missing = [key for key in wanted if key not in has]
        self._swap(node, "NoSchedule", missing, superfluous)
        self._keep_labels(node)

    def _keep_labels(self, node: Object) -> None:
        own = labels(node)
        wanted = {old: own[new] for new, old in _OLD_LABELS.items() if new in own}
        if any(own.get(key) != value for key, value in wanted.items()):
            name = node["metadata"]["name"]
            self._api.patch(wire.NODES, None, name, {"metadata": {"labels": wanted}})

    def _swap(
        self, node: Object, effect: str, missing: Sequence[str], superfluous: Sequence[str]
    ) -> None:
        if not missing and not superfluous:
            return
        kept = [
            each
            for each in _taints(node)
            if _key_and_effect(each) not in [(key, effect) for key in superfluous]
        ]
        now = stamp(self._api.now())
        added = [{"key": key, "effect": effect, "timeAdded": now} for key in missing]
        change = {"spec": {"taints": [*kept, *added] or None}}
        self._api.patch(wire.NODES, None, node["metadata"]["name"], change)

    # ------------------------------------------------------------------ health

    def _look_at_health(self, key: Key) -> None:
        node = self._api.store.find(wire.NODES, None, key[1])
        if node is None:
            return
        if key[1] in self._heard:
            left = self._patience_with(node)
            if left > 0:
                self._health.add(key, after=left)
            else:
                node = self._declare_unknown(node)
        ready = conditions.find(node, "Ready")
        has = [key for key, effect in map(_key_and_effect, _taints(node)) if effect == "NoExecute"]
        ours = [key for key in (_NOT_READY, _UNREACHABLE) if key in has]
        wanted = _TAINTS.get(("Ready", ready["status"])) if ready else None
        if wanted is None or not any(self._ready.values()):
            self._swap(node, "NoExecute", [], ours)
        else:
            missing = [] if wanted in ours else [wanted]
            self._swap(node, "NoExecute", missing, [key for key in ours if key != wanted])

    def _declare_unknown(self, node: Object) -> Object:
        status = node.get("status") or {}
        now = stamp(self._api.now())
        told = []
        for kind in _HEARD_OF:
            known = conditions.find(node, kind)
            if known is None:
                reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
                heartbeat = node["metadata"].get("creationTimestamp")
            elif known["status"] != "Unknown":
                reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
                heartbeat = known.get("lastHeartbeatTime")
            else:
                continue
            told.append(
                {
                    "type": kind,
                    "status": "Unknown",
                    "reason": reason,
                    "message": message,
                    "lastHeartbeatTime": heartbeat,
                    "lastTransitionTime": now,
                }
            )
        if not told:
            return node
        was_ready = conditions.holds(node, "Ready")
        node = self._api.set_status(wire.NODES, node, with_conditions(status, told))
        if was_ready:
            for pod in self._by_node.of(node["metadata"]["name"]):
                self._declare_unready(pod)
        return node

    # ------------------------------------------------------------------ pods

    def _look_at_pod(self, key: Key) -> None:
        """One that came to a node that is not Ready is not, either."""
        pod = self._api.store.find(wire.PODS, *key)
        place = pod["spec"].get("nodeName") if pod else None
        node = self._api.store.find(wire.NODES, None, place) if place else None
        if pod is None or node is None:
            return
        if conditions.find(node, "Ready") is not None and not conditions.holds(node, "Ready"):
            self._declare_unready(pod)

    def _declare_unready(self, pod: Object) -> None:
        ready = conditions.find(pod, "Ready")
        if ready is None or ready["status"] == "False":
            return
        words = {key: ready[key] for key in ("reason", "message") if ready.get(key)}
        status = pod.get("status") or {}
        told = with_pod_condition(status, "Ready", "False", self._api.now(), **words)
        self._api.set_status(wire.PODS, pod, told)


def _spec(node: Object) -> Object:
    return node.get("spec") or {}


def _taints(node: Object) -> list[Object]:
    return _spec(node).get("taints") or []


def _key_and_effect(taint: Object) -> tuple[str, str]:
    return taint["key"], taint.get("effect") or ""


def _health(node: Object) -> tuple[object, ...]:
    ready = conditions.find(node, "Ready")
    return (ready["status"] if ready else None), _taints(node)


def _grace(node: Object) -> float:
    never = conditions.find(node, "Ready") is None
    return _STARTUP_GRACE_SECONDS if never else _GRACE_SECONDS
