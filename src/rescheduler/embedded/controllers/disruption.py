"""Keeps the status of PodDisruptionBudgets: how many of their pods may go now
(pkg/controller/disruption).

It hears of pods and budgets only, as the real one does: not of a workload that is scaled, until
there are other pods; nor of a pod that a budget selects no more.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer, refusals
from rescheduler.embedded.conditions import with_condition
from rescheduler.embedded.controllers import owning, pods, portions
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.kinds import KINDS, Kind
from rescheduler.embedded.store import Change, Key, Store, key_of
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import controller, is_terminating

_CONDITION: Final = "DisruptionAllowed"
_DISRUPTED: Final = "DisruptionTarget"
_DELETION_TIMEOUT: Final = timedelta(minutes=2)
"""An evicted pod that is not being deleted by then never will be."""
_STALE_TIMEOUT: Final = timedelta(minutes=2)
_SCALABLE: Final = (wire.DEPLOYMENTS, wire.REPLICA_SETS, wire.STATEFUL_SETS)


class _Unknowable(Exception):
    """How many pods there should be."""


class DisruptionController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._store = api.store
        self._indexes = Indexes.of(api.store)
        self._queue = Queue("disruption", self._sync, chance)
        self._stale = Queue("stale_pod_disruption", self._sync_stale, chance)
        self._deaf: list[Callable[[], None]] = []

    def start(self) -> None:
        self._deaf = [
            self._store.listen(wire.POD_DISRUPTION_BUDGETS, self._hear_budget),
            self._store.listen(wire.PODS, self._hear_pod),
        ]
        for budget in self._store.all(wire.POD_DISRUPTION_BUDGETS):
            self._queue.add(key_of(budget))
        for pod in self._store.all(wire.PODS):
            self._watch_mark(pod)

    def end(self) -> None:
        for each in self._deaf:
            each()
        self._queue.end()
        self._stale.end()

    # ------------------------------------------------------------------ hearing

    def _hear_budget(self, change: Change) -> None:
        if change.kind != "DELETED":
            self._queue.add(key_of(change.object))

    def _hear_pod(self, change: Change) -> None:
        for budget in self._indexes.selecting(wire.POD_DISRUPTION_BUDGETS, change.object):
            self._queue.add(key_of(budget))
        if change.kind != "DELETED":
            self._watch_mark(change.object)

    def _watch_mark(self, pod: Object) -> None:
        after = self._stale_in(pod)
        if after is not None:
            self._stale.add(key_of(pod), after=after)

    # ------------------------------------------------------------------ budgets

    def _sync(self, key: Key) -> None:
        budget = self._store.find(wire.POD_DISRUPTION_BUDGETS, *key)
        if budget is None:
            return
        found = list(self._indexes.pods_matching(key[0], selector_of(budget)))
        try:
            expected, desired = expectation(self._store, budget, found)
        except (_Unknowable, portions.NoPortion) as problem:
            self._fail_safe(budget, str(problem))
            return
        now = self._api.now()
        disrupted = _still_disrupted(budget, found, now)
        self._write(budget, expected, desired, _healthy(found, disrupted), disrupted)
        if disrupted:
            due = min(map(pods.moment, disrupted.values())) + _DELETION_TIMEOUT
            self._queue.add(key, after=max((due - now).total_seconds(), 0.0))

    def _write(
        self,
        budget: Object,
        expected: int,
        desired: int,
        healthy: int,
        disrupted: Mapping[str, str],
    ) -> None:
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        generation = budget["metadata"]["generation"]
        known = (budget.get("status") or {}).get("conditions") or ()
        condition = _condition(
            "True" if allowed else "False",
            "SufficientPods" if allowed else "InsufficientPods",
            "",
            generation,
        )
        status = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
            "observedGeneration": generation,
            "conditions": with_condition(known, condition, self._api.stamp()),
        }
        if disrupted:
            status["disruptedPods"] = dict(disrupted)
        self._api.set_status(wire.POD_DISRUPTION_BUDGETS, budget, status)

    def _fail_safe(self, budget: Object, why: str) -> None:
        """Nothing may go while nobody knows how many there should be. The rest stays as it was, and
        so does the generation that it was of.
        """
        before = budget.get("status") or {}
        generation = before.get("observedGeneration", 0)
        condition = _condition("False", "SyncFailed", why, generation)
        known = before.get("conditions") or ()
        counts = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
        status = {
            **counts,
            **before,
            "disruptionsAllowed": 0,
            "conditions": with_condition(known, condition, self._api.stamp()),
        }
        self._api.set_status(wire.POD_DISRUPTION_BUDGETS, budget, status)

    # ------------------------------------------------------------------ marks on pods

    def _sync_stale(self, key: Key) -> None:
        pod = self._store.find(wire.PODS, *key)
        after = None if pod is None else self._stale_in(pod)
        if pod is None or after is None:
            return
        if after > 0:
            self._stale.add(key, after=after)
            return
        status = pod["status"]
        condition = {"type": _DISRUPTED, "status": "False"}
        changed = with_condition(status["conditions"], condition, self._api.stamp())
        self._api.set_status(wire.PODS, pod, {**status, "conditions": changed})

    def _stale_in(self, pod: Object) -> float | None:
        """In how many seconds nobody believes any more that it is to go; None: it is not marked so,
        or rightly.
        """
        mark = conditions.find(pod, _DISRUPTED)
        if mark is None or mark["status"] != "True":
            return None
        is_kubelets = mark.get("reason") == "TerminationByKubelet"
        if is_kubelets or is_terminating(pod) or pods.has_ended(pod):
            return None
        due = pods.moment(mark["lastTransitionTime"]) + _STALE_TIMEOUT
        return max((due - self._api.now()).total_seconds(), 0.0)


def expectation(store: Store, budget: Object, selected: Sequence[Object]) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    spec = budget["spec"]
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        expected = _scale_of_all(store, selected)
        return expected, max(expected - portions.rounded_up(most, expected), 0)
    if isinstance(least, str):
        expected = _scale_of_all(store, selected)
        return expected, portions.rounded_up(least, expected)
    return (len(selected), least) if least is not None else (0, 0)


def _scale_of_all(store: Store, selected: Iterable[Object]) -> int:
    """Of the workloads of these pods; a pod that nobody manages belongs to none."""
    scales: dict[str, int] = {}
    known: set[str] = set()
    for pod in selected:
        reference = controller(pod)
        if reference is None or reference["uid"] in known:
            continue
        workload = _workload(store, reference, pod["metadata"]["namespace"])
        if workload is None:
            raise _Unknowable(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        known.add(reference["uid"])
        scales[workload["metadata"]["uid"]] = workload["spec"].get("replicas", 1)
    return sum(scales.values())


def _workload(store: Store, reference: Mapping[str, Any], namespace: str) -> Object | None:
    """Which has the scale that counts: the Deployment of a ReplicaSet, if it is there."""
    kind = _kind(reference)
    if kind.resource not in _SCALABLE:
        what = refusals.qualified(kind.resource)
        raise _Unknowable(f"{what} does not implement the scale subresource")
    found = store.find(kind.resource, namespace, reference["name"])
    if found is None or found["metadata"]["uid"] != reference["uid"]:
        return None
    if kind.resource == wire.REPLICA_SETS:
        return owning.manager(store, found, wire.DEPLOYMENTS, "Deployment") or found
    return found


def _kind(reference: Mapping[str, Any]) -> Kind:
    group = reference["apiVersion"].rpartition("/")[0]
    for kind in KINDS:
        its_group = kind.resource.group_version.rpartition("/")[0]
        if kind.name == reference["kind"] and its_group == group:
            return kind
    raise _Unknowable(
        f'no matches for kind "{reference["kind"]}" in version "{reference["apiVersion"]}"'
    )


def _still_disrupted(budget: Object, selected: Iterable[Object], now: datetime) -> dict[str, str]:
    """Which pods were evicted, and when: those that are not yet seen to go, and may still."""
    noted = (budget.get("status") or {}).get("disruptedPods") or {}
    disrupted = {}
    for pod in selected:
        since = noted.get(pod["metadata"]["name"])
        if since is None or is_terminating(pod):
            continue
        if pods.moment(since) + _DELETION_TIMEOUT >= now:
            disrupted[pod["metadata"]["name"]] = since
    return disrupted


def _healthy(selected: Iterable[Object], disrupted: Mapping[str, str]) -> int:
    return sum(
        pods.is_ready(pod) and not is_terminating(pod) and pod["metadata"]["name"] not in disrupted
        for pod in selected
    )


def _condition(status: str, reason: str, message: str, generation: int) -> Object:
    made = {"type": _CONDITION, "status": status, "reason": reason, "message": message}
    return {**made, "observedGeneration": generation} if generation else made
