"""Pods that nobody else ends: those of nodes that are gone, or out of service, and those that never
had one. Follows pkg/controller/podgc, which looks every 20 s and gives a node 40 s to come back;
here it looks only when there is something to see.
"""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.statuses import with_pod_condition
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating

_LOOK_SECONDS: Final = 20.0
_QUARANTINE_SECONDS: Final = 40.0
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_ENDED: Final = ("Succeeded", "Failed")


class PodGarbageCollector:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._phase = chance.uniform(0.0, _LOOK_SECONDS)
        self._lost: dict[str, asyncio.TimerHandle] = {}
        """Nodes that pods name and that are not there."""
        self._next_look: asyncio.TimerHandle | None = None
        self._ending: dict[Key, None] = {}
        """Pods that are told to end and that nobody may be there to end."""
        self._stop: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._by_node = Indexes.of(store).pods_by_node
        self._stop = [
            store.listen(wire.NODES, self._on_node),
            store.listen(wire.PODS, self._on_pod),
        ]
        for pod in store.all(wire.PODS):
            self._note(pod)

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        for timer in self._lost.values():
            timer.cancel()
        if self._next_look is not None:
            self._next_look.cancel()

    # ------------------------------------------------------------------ what is heard

    def _on_node(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.kind == "DELETED":
            if self._by_node.of(name):
                self._note_lost(name)
        elif _is_out_of_service(change.object):
            for pod in self._by_node.of(name):
                self._note(pod)

    def _on_pod(self, change: Change) -> None:
        if change.kind != "DELETED":
            self._note(change.object)
        else:
            self._ending.pop(key_of(change.object), None)

    def _note(self, pod: Object) -> None:
        place = pod["spec"].get("nodeName")
        node = self._api.store.find(wire.NODES, None, place) if place else None
        if place and node is None:
            self._note_lost(place)
        if is_terminating(pod) and (not place or (node and _is_out_of_service(node))):
            self._ending[key_of(pod)] = None
            if self._next_look is None:
                self._next_look = self._at(self._look_time(), self._end_the_abandoned)

    def _note_lost(self, node: str) -> None:
        if node not in self._lost:
            when = self._look_time() + _QUARANTINE_SECONDS
            self._lost[node] = self._at(when, lambda: self._end_the_lost(node))

    def _look_time(self) -> float:
        """The next one at which a real one would look."""
        now = asyncio.get_running_loop().time()
        rounds = math.floor((now - self._phase) / _LOOK_SECONDS) + 1
        return self._phase + rounds * _LOOK_SECONDS

    def _at(self, when: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_at(when, act)

    # ------------------------------------------------------------------ act

    def _end_the_lost(self, node: str) -> None:
        del self._lost[node]
        if self._api.store.find(wire.NODES, None, node) is not None:
            return
        for pod in self._by_node.of(node):
            self._end(pod, "PodGC: node no longer exists")

    def _end_the_abandoned(self) -> None:
        self._next_look = None
        for key in tuple(self._ending):
            del self._ending[key]
            pod = self._api.store.find(wire.PODS, *key)
            if pod is None or not is_terminating(pod):
                continue
            place = pod["spec"].get("nodeName")
            node = self._api.store.find(wire.NODES, None, place) if place else None
            if not place or (node is not None and _is_out_of_service(node)):
                self._end(pod)

    def _end(self, pod: Object, why: str = "") -> None:
        status = pod.get("status") or {}
        try:
            if status.get("phase") not in _ENDED:
                status = {**status, "phase": "Failed"}
                if why:
                    status = with_pod_condition(
                        status,
                        "DisruptionTarget",
                        "True",
                        self._api.now(),
                        reason="DeletionByPodGC",
                        message=why,
                    )
                self._api.set_status(wire.PODS, pod, status)
            self._api.delete(wire.PODS, *key_of(pod), grace_seconds=0)
        except errors.NotFound:
            return


def _is_out_of_service(node: Object) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return not conditions.holds(node, "Ready") and any(
        each["key"] == _OUT_OF_SERVICE for each in taints
    )
