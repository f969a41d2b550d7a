"""Keeps as many pods of a template as its user wants (pkg/controller/replicaset).

A real one decides on what its cache shows, and that is a moment old when it acts; until its cache
shows what it did, it decides nothing more. So does this one: what it has decided it does a moment
later, whatever has happened since, and until then it decides nothing for that ReplicaSet.
"""

import asyncio
import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import structlog

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import batches, owning, pods, ranking
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from rescheduler.model.objects import controller, is_terminating, labels

KIND: Final = "ReplicaSet"
_FAILURE: Final = "ReplicaFailure"
_BURST: Final = 500
"""So many at once, at most; the rest when these are seen."""
_LEAST_LAG_SECONDS: Final = 0.001
_MOST_LAG_SECONDS: Final = 0.01
"""Between what the cache shows and what a request finds."""
_FIRST_AGAIN_SECONDS: Final = 0.005
_LAST_AGAIN_SECONDS: Final = 1000.0
_MOST_DOUBLINGS: Final = 18
"""Then it is the last one."""


class ReplicaSetController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._store = api.store
        self._indexes = Indexes.of(api.store)
        self._chance = chance
        self._queue = Queue("replicaset", self._sync, chance)
        self._acting: dict[Key, asyncio.TimerHandle] = {}
        self._refused: dict[Key, int] = {}
        """How often in a row."""
        self._deaf: list[Callable[[], None]] = []

    def start(self) -> None:
        self._deaf = [
            self._store.listen(wire.REPLICA_SETS, self._hear_replica_set),
            self._store.listen(wire.PODS, self._hear_pod),
        ]
        for replica_set in self._store.all(wire.REPLICA_SETS):
            self._queue.add(key_of(replica_set))

    def end(self) -> None:
        for each in self._deaf:
            each()
        self._queue.end()
        for timer in self._acting.values():
            timer.cancel()
        self._acting.clear()

    # ------------------------------------------------------------------ hearing

    def _hear_replica_set(self, change: Change) -> None:
        key = key_of(change.object)
        if change.kind == "DELETED":
            self._refused.pop(key, None)
        else:
            self._queue.add(key)

    def _hear_pod(self, change: Change) -> None:
        pod, before = change.object, change.before
        self._wake_manager(pod)
        has_another = before is None or controller(before) != controller(pod)
        if before is not None and has_another:
            self._wake_manager(before)
        is_to_be_had = controller(pod) is None and not is_terminating(pod)
        if change.kind == "DELETED" or not is_to_be_had or not labels(pod):
            return
        if before is None or has_another or labels(before) != labels(pod):
            for replica_set in self._indexes.selecting(wire.REPLICA_SETS, pod):
                self._queue.add(key_of(replica_set))

    def _wake_manager(self, pod: Object) -> None:
        manager = owning.manager(self._store, pod, wire.REPLICA_SETS, KIND)
        if manager is not None:
            self._queue.add(key_of(manager))

    # ------------------------------------------------------------------ deciding

    def _sync(self, key: Key) -> None:
        replica_set = self._store.find(wire.REPLICA_SETS, *key)
        if replica_set is None:
            return
        active = owning.claim(self._api, replica_set, selector_of(replica_set), active_only=True)
        if key not in self._acting:
            self._decide(key, replica_set, active)
        # What becomes of it stands in the status when it is done.
        failure = conditions.find(replica_set, _FAILURE) if key in self._acting else None
        self._write_status(replica_set, active, failure)
        self._look_again(key, replica_set, active)

    def _decide(self, key: Key, replica_set: Object, active: Sequence[Object]) -> None:
        surplus = 0 if is_terminating(replica_set) else len(active) - _wanted(replica_set)
        if surplus < 0:
            act = functools.partial(self._create, replica_set, min(-surplus, _BURST))
        elif surplus > 0:
            related = self._related(replica_set)
            doomed = ranking.to_delete(active, related, min(surplus, _BURST), self._api.now())
            act = functools.partial(self._delete, doomed)
        else:
            self._refused.pop(key, None)
            return
        lag = self._chance.uniform(_LEAST_LAG_SECONDS, _MOST_LAG_SECONDS)
        loop = asyncio.get_running_loop()
        self._acting[key] = loop.call_later(lag, self._act, key, act)

    def _related(self, replica_set: Object) -> Iterable[Object]:
        """The pods that its owner's ReplicaSets select, whoever manages them."""
        owner = controller(replica_set)
        if owner is None:
            return
        seen = set()
        for each in self._indexes.by_owner(wire.REPLICA_SETS).of(owner["uid"]):
            for pod in self._indexes.pods_matching(
                each["metadata"]["namespace"], selector_of(each)
            ):
                if pod["metadata"]["uid"] not in seen:
                    seen.add(pod["metadata"]["uid"])
                    yield pod

    # ------------------------------------------------------------------ acting

    def _act(self, key: Key, act: Callable[[], errors.KubeError | None]) -> None:
        del self._acting[key]
        refused = act()
        if refused is None:
            self._refused.pop(key, None)
            # Even if nothing was written: something may have happened since it was decided.
            self._queue.add(key)
            return
        times = self._refused[key] = self._refused.get(key, -1) + 1
        structlog.get_logger().debug(
            "ReplicaSet refused", key=key, problem=str(refused), times=times
        )
        after = _FIRST_AGAIN_SECONDS * 2 ** min(times, _MOST_DOUBLINGS)
        self._queue.add(key, after=min(after, _LAST_AGAIN_SECONDS))
        if not batches.is_for_ending_namespace(refused):
            self._note_refusal(key, refused)

    def _note_refusal(self, key: Key, refused: errors.KubeError) -> None:
        replica_set = self._store.find(wire.REPLICA_SETS, *key)
        if replica_set is None or conditions.find(replica_set, _FAILURE) is not None:
            return
        active = owning.claim(self._api, replica_set, selector_of(replica_set), active_only=True)
        missing = len(active) < _wanted(replica_set)
        failure = {
            "type": _FAILURE,
            "status": "True",
            "lastTransitionTime": self._api.stamp(),
            "reason": "FailedCreate" if missing else "FailedDelete",
            "message": str(refused),
        }
        self._write_status(replica_set, active, failure)

    def _create(self, replica_set: Object, count: int) -> errors.KubeError | None:
        metadata, template = replica_set["metadata"], replica_set["spec"]["template"]
        given = template.get("metadata") or {}
        pod = {
            "metadata": {
                "generateName": f"{metadata['name']}-",
                "labels": given.get("labels"),
                "annotations": given.get("annotations"),
                "finalizers": given.get("finalizers"),
                "ownerReferences": [owning.reference(replica_set)],
            },
            "spec": template["spec"],
        }
        place = metadata["namespace"]
        return batches.slow_start(count, lambda: self._api.create(wire.PODS, place, pod))

    def _delete(self, doomed: Iterable[Object]) -> errors.KubeError | None:
        """By their names, without any condition, as the real one does."""
        refused = None
        for pod in doomed:
            try:
                self._api.delete(wire.PODS, *key_of(pod))
            except errors.NotFound:
                continue
            except errors.KubeError as problem:
                refused = refused or problem
        return refused

    # ------------------------------------------------------------------ telling

    def _write_status(
        self, replica_set: Object, active: Sequence[Object], failure: Mapping[str, Any] | None
    ) -> None:
        status = {
            "replicas": len(active),
            **_counted(replica_set, active, self._api.now()),
            "terminatingReplicas": len(self._ending(replica_set)),
            "observedGeneration": replica_set["metadata"]["generation"],
        }
        if failure is not None:
            status["conditions"] = [failure]
        self._api.set_status(wire.REPLICA_SETS, replica_set, status)

    def _ending(self, replica_set: Object) -> list[Object]:
        selector = selector_of(replica_set)
        return [
            pod
            for pod in self._indexes.pods_by_owner.of(replica_set["metadata"]["uid"])
            if pods.is_ending(pod) and selector.matches(labels(pod))
        ]

    def _look_again(self, key: Key, replica_set: Object, active: Iterable[Object]) -> None:
        """When time alone will have made one of them available."""
        if seconds := _min_ready_seconds(replica_set):
            after = pods.next_availability(active, seconds, self._api.now())
            if after is not None:
                self._queue.add(key, after=after)


def _wanted(replica_set: Object) -> int:
    wanted: int = replica_set["spec"].get("replicas", 1)
    return wanted


def _min_ready_seconds(replica_set: Object) -> int:
    seconds: int = replica_set["spec"].get("minReadySeconds", 0)
    return seconds


def _counted(replica_set: Object, active: Sequence[Object], now: datetime) -> dict[str, int]:
    """Those of nothing are left out, as the API server does."""
    template = replica_set["spec"]["template"].get("metadata") or {}
    wanted = (template.get("labels") or {}).items()
    ready, seconds = list(filter(pods.is_ready, active)), _min_ready_seconds(replica_set)
    counted = {
        "fullyLabeledReplicas": sum(wanted <= labels(pod).items() for pod in active),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pods.is_available(pod, seconds, now) for pod in ready)
        if seconds
        else len(ready),
    }
    return {name: count for name, count in counted.items() if count}
