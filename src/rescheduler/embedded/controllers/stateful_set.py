"""StatefulSets: pods that have a name each, and come and go one after the other.

Follows stateful_set_control.go of Kubernetes 1.36, with its feature gates as they are by default:
MaxUnavailableStatefulSet is off, so that a rolling update takes one pod at a time.
"""

import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import batches, owning, pods, revisions, stateful_pods
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.controllers.revisions import Revisions, Settled
from rescheduler.embedded.controllers.stateful_claims import Claims
from rescheduler.embedded.indexes import selector_of
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating, labels

_KIND: Final = "StatefulSet"
_KEPT_REVISIONS: Final = 10


class StatefulSetController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._queue = Queue("stateful set", self._sync, chance)
        self._revisions = Revisions(api, "controller.kubernetes.io/hash")
        self._claims = Claims(api)
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._endings = [
            store.listen(wire.STATEFUL_SETS, lambda change: self._queue.add(key_of(change.object))),
            store.listen(wire.PODS, self._heard_of_pod),
        ]
        for stateful_set in store.all(wire.STATEFUL_SETS):
            self._queue.add(key_of(stateful_set))

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()

    def _heard_of_pod(self, change: Change) -> None:
        for key in owning.concerned(change, _KIND):
            self._queue.add(key)
        if owning.is_to_be_had(change):
            # Only the one whose name it has would adopt it.
            key = change.object["metadata"]["namespace"], _parent(change.object)
            if self._api.store.find(wire.STATEFUL_SETS, *key):
                self._queue.add(key)

    def _sync(self, key: Key) -> None:
        stateful_set = self._api.store.find(wire.STATEFUL_SETS, *key)
        if stateful_set is None:
            return
        settled = self._revisions.settle(stateful_set)
        mine = owning.claim(
            self._api,
            stateful_set,
            selector_of(stateful_set),
            is_member=lambda pod: _parent(pod) == key[1],
        )
        turn = _Turn(self._api, self._claims, stateful_set, settled, mine)
        problem = turn.act()
        status = turn.status()
        self._api.set_status(wire.STATEFUL_SETS, stateful_set, status)
        self._forget_history(stateful_set, settled, turn)
        if problem is not None:
            raise problem
        if status.get("readyReplicas", 0) != status["availableReplicas"]:
            minimum = stateful_set["spec"].get("minReadySeconds") or 0
            wait = pods.next_availability(mine, minimum, self._api.now())
            self._queue.add(key, after=minimum if wait is None else wait)

    def _forget_history(self, stateful_set: Object, settled: Settled, turn: "_Turn") -> None:
        limit = stateful_set["spec"].get("revisionHistoryLimit")
        limit = _KEPT_REVISIONS if limit is None else limit
        if len(settled.all) <= limit:
            return
        past = [each for each in settled.all if each["metadata"]["name"] not in turn.in_use()]
        self._revisions.drop_oldest(past, len(past) - limit, lambda _: False)


class _Turn:
    """One look at one StatefulSet, and what is done about it."""

    def __init__(
        self,
        api: ApiServer,
        claims: Claims,
        stateful_set: Object,
        settled: Settled,
        mine: Sequence[Object],
    ) -> None:
        self._api = api
        self._claims = claims
        self._set = stateful_set
        self._now = api.now()
        self._min_ready_seconds: int = stateful_set["spec"].get("minReadySeconds") or 0
        self._is_ordered: bool = stateful_set["spec"].get("podManagementPolicy") != "Parallel"
        self._collisions = settled.collisions
        self._update = settled.newest
        was = (stateful_set.get("status") or {}).get("currentRevision")
        self._current = next(
            (each for each in settled.all if each["metadata"]["name"] == was), settled.newest
        )
        self._pods = mine
        self._removed_for_update = 0
        ordinals = stateful_pods.wanted_ordinals(stateful_set)
        there = {stateful_pods.ordinal_of(pod): pod for pod in mine}
        self._replicas = [there.get(each) or self._unborn(each) for each in ordinals]
        self._condemned = [
            there[each]
            for each in sorted(there, reverse=True)
            if each >= 0 and each not in ordinals
        ]
        # The lowest ordinal that is to stay, else the lowest that is to go.
        self._first_unavailable = next(
            (pod for pod in (*self._replicas, *self._condemned[::-1]) if self._is_unavailable(pod)),
            None,
        )

    def act(self) -> errors.KubeError | None:
        """Gives what went wrong: all that was done until then has its place in the status."""
        if is_terminating(self._set):
            return None
        try:
            self._create_and_remove()
        except errors.KubeError as problem:
            return problem
        return None

    def status(self) -> Object:
        counted = self._pods if is_terminating(self._set) else (*self._replicas, *self._condemned)
        update, current = _name(self._update), _name(self._current)
        ready = [pod for pod in counted if _is_running_and_ready(pod)]
        lasting = [_revision(pod) for pod in counted if _phase(pod) and not is_terminating(pod)]
        replicas = sum(bool(_phase(pod)) for pod in counted)
        updated = lasting.count(update)
        has_current = lasting.count(current) - self._removed_for_update
        wanted = len(stateful_pods.wanted_ordinals(self._set))
        if self._strategy == "RollingUpdate" and wanted == updated == len(ready) == replicas:
            has_current, current = updated, update
        given = {
            "observedGeneration": self._set["metadata"].get("generation", 0),
            "readyReplicas": len(ready),
            "currentReplicas": has_current,
            "updatedReplicas": updated,
        }
        return {
            "replicas": replicas,
            "availableReplicas": sum(self._is_available(pod) for pod in ready),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": self._collisions,
            **{name: number for name, number in given.items() if number},
        }

    def in_use(self) -> set[str]:
        """The names of revisions that somebody still needs."""
        return {_name(self._current), _name(self._update), *map(_revision, self._pods)}

    # ------------------------------------------------------------------ deciding

    def _create_and_remove(self) -> None:
        # Scaling comes before updating, and each must have come to its end.
        if (
            self._for_all(self._replicas, self._is_to_wait_for_replica)
            and self._for_all(self._condemned, self._settle_claims)
            and self._for_all(self._condemned, self._is_to_wait_for_condemned)
            and self._strategy == "RollingUpdate"
        ):
            self._update_one()

    def _for_all(self, some: Sequence[Object], is_to_wait: Callable[[Object], bool]) -> bool:
        """Whether the next step may begin. In order, nothing happens behind one to wait for."""
        if self._is_ordered:
            return not any(is_to_wait(pod) for pod in some)
        each = iter(some)
        if refused := batches.slow_start(len(some), lambda: is_to_wait(next(each))):
            raise refused
        return True

    def _is_to_wait_for_replica(self, pod: Object) -> bool:
        phase = _phase(pod)
        if phase in ("Failed", "Succeeded"):
            if not is_terminating(pod):
                self._delete(pod)
            return True
        if not phase:
            return self._create(pod)
        if phase == "Pending":
            self._claims.create_missing(self._set, stateful_pods.ordinal_of(pod))
            self._claims.settle_owners(self._set, pod)
        if self._is_ordered and (is_terminating(pod) or not self._is_running_and_available(pod)):
            return True
        self._claims.settle_owners(self._set, pod)
        self._mend(pod)
        return False

    def _create(self, pod: Object) -> bool:
        ordinal = stateful_pods.ordinal_of(pod)
        if self._claims.are_stale(self._set, pod["metadata"]["name"], ordinal):
            return True
        self._claims.create_missing(self._set, ordinal)
        self._api.create(wire.PODS, pod["metadata"]["namespace"], pod)
        self._claims.settle_owners(self._set, pod)
        return self._is_ordered

    def _settle_claims(self, pod: Object) -> bool:
        self._claims.settle_owners(self._set, pod)
        return False

    def _is_to_wait_for_condemned(self, pod: Object) -> bool:
        if is_terminating(pod):
            return True
        if (
            self._is_ordered
            and not self._is_running_and_available(pod)
            and pod is not self._first_unavailable
        ):
            return True
        self._delete(pod)
        return True

    def _update_one(self) -> None:
        """The highest that has another revision, once all above it are available again."""
        partition = (self._rolling_update or {}).get("partition") or 0
        for pod in self._replicas[partition:][::-1]:
            if _revision(pod) != _name(self._update) and not is_terminating(pod):
                self._delete(pod)
                self._removed_for_update = 1
                return
            if self._is_unavailable(pod):
                return

    @property
    def _strategy(self) -> str:
        given = self._set["spec"].get("updateStrategy") or {}
        return str(given.get("type") or "RollingUpdate")

    @property
    def _rolling_update(self) -> Object | None:
        given = self._set["spec"].get("updateStrategy") or {}
        settings: Object | None = given.get("rollingUpdate")
        return {} if settings is None and not given.get("type") else settings

    # ------------------------------------------------------------------ pods

    def _unborn(self, ordinal: int) -> Object:
        """A pod that is missing, of the revision that it is to have."""
        start = stateful_pods.wanted_ordinals(self._set).start
        settings = self._rolling_update
        if settings is not None:
            kept = settings.get("partition") or 0
        elif self._strategy == "RollingUpdate":
            kept = (self._set.get("status") or {}).get("currentReplicas") or 0
        else:
            kept = 0
        revision = self._current if ordinal < start + kept else self._update
        template = revisions.template_of(revision)
        return stateful_pods.pod_of(self._set, template, _name(revision), ordinal)

    def _mend(self, pod: Object) -> None:
        change = stateful_pods.mended(self._set, pod)
        if not change:
            return
        if "spec" in change:
            self._claims.create_missing(self._set, stateful_pods.ordinal_of(pod))
        metadata = pod["metadata"]
        change["metadata"] = {**change.get("metadata", {}), "uid": metadata["uid"]}
        self._api.patch(wire.PODS, metadata["namespace"], metadata["name"], change)

    def _delete(self, pod: Object) -> None:
        with contextlib.suppress(errors.NotFound):
            self._api.delete(wire.PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _is_available(self, pod: Object) -> bool:
        return pods.is_available(pod, self._min_ready_seconds, self._now)

    def _is_unavailable(self, pod: Object) -> bool:
        return is_terminating(pod) or not self._is_available(pod)

    def _is_running_and_available(self, pod: Object) -> bool:
        return _is_running_and_ready(pod) and self._is_available(pod)


def _parent(pod: Object) -> str:
    return stateful_pods.parent_and_ordinal(pod["metadata"]["name"])[0]


def _phase(pod: Object) -> str:
    """Empty for one that is not created yet."""
    return (pod.get("status") or {}).get("phase") or ""


def _revision(pod: Object) -> str:
    return labels(pod).get(revisions.REVISION_OF_POD, "")


def _name(revision: Object) -> str:
    return str(revision["metadata"]["name"])


def _is_running_and_ready(pod: Object) -> bool:
    return _phase(pod) == "Running" and conditions.holds(pod, "Ready")
