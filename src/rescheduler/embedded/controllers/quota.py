"""ResourceQuotas: how much of each is used.

Follows pkg/controller/resourcequota. Admission adds what comes in (`apiserver.quotas`); this gives
back what has gone, and counts what was there before the quota was. The real one counts everything
anew each time; here each object is counted when it changes, which comes to the same.
"""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.apiserver import ApiServer, quotas
from rescheduler.embedded.apiserver.quotas import Amounts
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object
from rescheduler.model import quantities
from rescheduler.model.objects import is_terminating
from rescheduler.wire import Resource

_COUNTED: Final = tuple(kind.resource for kind in kinds.KINDS if kind.namespaced)


class QuotaController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._queue = Queue("quota", self._sync, chance)
        self._tallies: dict[str, dict[str, _Tally]] = {}
        """By namespace, and name of the quota."""
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        self._endings = [self._api.store.listen(None, self._heard)]
        for quota in self._api.store.all(wire.RESOURCE_QUOTAS):
            self._queue.add(key_of(quota))

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()

    def _heard(self, change: Change) -> None:
        if change.resource == wire.RESOURCE_QUOTAS:
            self._queue.add(key_of(change.object))
        place = change.object["metadata"].get("namespace")
        for name, tally in self._tallies.get(place or "", {}).items():
            if tally.is_about(change.resource):
                item = None if change.kind == "DELETED" else change.object
                tally.count(change.resource, key_of(change.object), item, self._api.now())
                self._queue.add((place, name))

    def _sync(self, key: Key) -> None:
        namespace, name = key
        quota = self._api.store.find(wire.RESOURCE_QUOTAS, *key)
        tallies = self._tallies.setdefault(namespace, {})
        if quota is None:
            tallies.pop(name, None)
            if not tallies:
                del self._tallies[namespace]
            return
        tally = tallies.get(name)
        if tally is None or tally.spec != quota.get("spec"):
            tally = tallies[name] = self._counted_anew(quota)
        self._recount_ending(key, tally)
        hard = tally.spec.get("hard") or {}
        status = quota.get("status") or {}
        used = status.get("used") or {}
        if status.get("hard") == hard and _nanos(used) == tally.total:
            return
        told = {each: quotas.in_words(tally.total[each], like=hard[each]) for each in hard}
        self._api.set_status(wire.RESOURCE_QUOTAS, quota, {"hard": hard, "used": told})

    def _counted_anew(self, quota: Object) -> "_Tally":
        tally, now = _Tally(quota), self._api.now()
        for resource in _COUNTED:
            if tally.is_about(resource):
                for item in self._api.in_namespace(resource, quota["metadata"]["namespace"]):
                    tally.count(resource, key_of(item), item, now)
        return tally

    def _recount_ending(self, key: Key, tally: "_Tally") -> None:
        """A pod that should be gone long ago, and is not, is charged to nobody."""
        now = self._api.now()
        for pod in tuple(tally.ending.values()):
            tally.count(wire.PODS, key_of(pod), pod, now)
            due = _charged_until(pod)
            if due >= now:
                self._queue.add(key, after=(due - now).total_seconds())


class _Tally:
    """What each object of a namespace takes of one quota, and all of them together."""

    def __init__(self, quota: Object) -> None:
        self._quota = quota
        self.spec: dict[str, Any] = quota.get("spec") or {}
        self._names = tuple(self.spec.get("hard") or {})
        self.total = dict.fromkeys(self._names, 0)
        self.ending: dict[Key, Object] = {}
        """The pods that are told to end."""
        self._of: dict[tuple[Resource, Key], Amounts] = {}
        self._resources = frozenset(
            resource
            for resource in _COUNTED
            if any(quotas.is_about(name, resource) for name in self._names)
        )

    def is_about(self, resource: Resource) -> bool:
        return resource in self._resources

    def count(self, resource: Resource, key: Key, item: Object | None, now: datetime) -> None:
        """None: it is gone."""
        for name, amount in self._of.pop((resource, key), {}).items():
            self.total[name] -= amount
        if resource == wire.PODS:
            self.ending.pop(key, None)
            if item is not None and is_terminating(item):
                self.ending[key] = item
        if item is None or not quotas.matches(self._quota, resource, item):
            return
        usage = quotas.usage_of(resource, item, now)
        taken = {name: usage[name] for name in self._names if name in usage}
        for name, amount in taken.items():
            self.total[name] += amount
        self._of[resource, key] = taken


def _nanos(used: Object) -> dict[str, int]:
    return {name: quantities.nanos(amount) for name, amount in used.items()}


def _charged_until(pod: Object) -> datetime:
    metadata = pod["metadata"]
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return datetime.fromisoformat(metadata["deletionTimestamp"]) + grace
