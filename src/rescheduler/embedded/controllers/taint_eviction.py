"""Pods on nodes with a NoExecute taint: deleted at once, or when they have tolerated it long
enough. Follows pkg/controller/tainteviction.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.statuses import with_pod_condition
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import taints

_AGAIN_SECONDS: Final = 1.0


class _Eviction(NamedTuple):
    since: float
    timer: asyncio.TimerHandle


class TaintEvictionController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._nodes = Queue("taint eviction of nodes", self._look_at_node, chance)
        self._pods = Queue("taint eviction", self._look_at_pod, chance)
        self._evictions: dict[Key, _Eviction] = {}
        self._stop: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._by_node = Indexes.of(store).pods_by_node
        self._stop = [
            store.listen(wire.NODES, self._on_node),
            store.listen(wire.PODS, self._on_pod),
        ]
        for node in store.all(wire.NODES):
            if _driving_out(node):
                self._nodes.add(key_of(node))

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        self._nodes.end()
        self._pods.end()
        for key in tuple(self._evictions):
            self._cancel(key)

    # ------------------------------------------------------------------ what is heard

    def _on_node(self, change: Change) -> None:
        before = _driving_out(change.before) if change.before else []
        if change.kind != "DELETED" and before != _driving_out(change.object):
            self._nodes.add(key_of(change.object))

    def _on_pod(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._cancel(key_of(change.object))
        elif change.before is None or _stay(change.before) != _stay(change.object):
            self._pods.add(key_of(change.object))

    # ------------------------------------------------------------------ decide

    def _look_at_node(self, key: Key) -> None:
        node = self._api.store.find(wire.NODES, None, key[1])
        if node is not None:
            driving_out = _driving_out(node)
            for pod in self._by_node.of(key[1]):
                self._decide(pod, driving_out)

    def _look_at_pod(self, key: Key) -> None:
        pod = self._api.store.find(wire.PODS, *key)
        place = pod["spec"].get("nodeName") if pod else None
        node = self._api.store.find(wire.NODES, None, place) if place else None
        if pod is not None and node is not None and _driving_out(node):
            self._decide(pod, _driving_out(node))

    def _decide(self, pod: Object, driving_out: Sequence[taints.Taint]) -> None:
        key = key_of(pod)
        if not driving_out:
            self._cancel(key)
            return
        tolerations = pod["spec"].get("tolerations") or ()
        # For each taint the first toleration that matches it counts.
        used = [
            next((each for each in tolerations if taints.is_tolerated(taint, (each,))), None)
            for taint in driving_out
        ]
        if None in used:
            self._cancel(key)
            self._evict(key)
            return
        limits = [
            max(each["tolerationSeconds"], 0)
            for each in used
            if each is not None and each.get("tolerationSeconds") is not None
        ]
        if not limits:
            self._cancel(key)
        else:
            self._evict_after(key, min(limits))

    def _evict_after(self, key: Key, seconds: float) -> None:
        """Counted from when it was first to go."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        known = self._evictions.get(key)
        if known is not None:
            if known.since + seconds < since + seconds:
                # It stays as it was decided: that is earlier.
                return
            since = known.since
            self._cancel(key)
        timer = loop.call_at(since + seconds, self._evict, key)
        self._evictions[key] = _Eviction(since, timer)

    def _cancel(self, key: Key) -> None:
        known = self._evictions.pop(key, None)
        if known is not None:
            known.timer.cancel()

    # ------------------------------------------------------------------ act

    def _evict(self, key: Key) -> None:
        self._evictions.pop(key, None)
        pod = self._api.store.find(wire.PODS, *key)
        if pod is None:
            return
        status = with_pod_condition(
            pod.get("status") or {},
            "DisruptionTarget",
            "True",
            self._api.now(),
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
        )
        try:
            self._api.set_status(wire.PODS, pod, status)
            self._api.delete(wire.PODS, *key)
        except errors.NotFound:
            return
        except errors.KubeError:
            self._pods.add(key, after=_AGAIN_SECONDS)


def _driving_out(node: Object) -> list[taints.Taint]:
    given = (node.get("spec") or {}).get("taints") or ()
    return [
        {"key": each["key"], "value": each.get("value") or "", "effect": "NoExecute"}
        for each in given
        if each.get("effect") == "NoExecute"
    ]


def _stay(pod: Object) -> tuple[object, ...]:
    return pod["spec"].get("nodeName"), pod["spec"].get("tolerations")
