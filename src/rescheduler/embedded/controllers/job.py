"""Jobs: pods that run to an end, so many of them.

Follows pkg/controller/job of Kubernetes 1.36, and ttlafterfinished. Not here: policies about
failures (podFailurePolicy, backoffLimitPerIndex, successPolicy), as if they were not set.
"""

import contextlib
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import batches, job_pods, owning
from rescheduler.embedded.controllers.job_turn import Turn
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from rescheduler.model.objects import controller, is_active, is_terminating

KIND: Final = "Job"
_BATCH_SECONDS: Final = 1.0
"""What happens to its pods is looked at together."""
_BURST: Final = 500
_FIRST_DELAY_SECONDS: Final = 10.0
_LONGEST_DELAY_SECONDS: Final = 600.0
_CONTROLLER: Final = "kubernetes.io/job-controller"


class JobController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._indexes = Indexes.of(api.store)
        self._queue = Queue("job", self._sync, chance)
        self._orphans = Queue("orphan of a job", self._sync_orphan, chance)
        self._failures: dict[str, tuple[int, datetime]] = {}
        """UID of a Job -> how many failed since one succeeded, and when the last one did."""
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._endings = [
            store.listen(wire.JOBS, self._heard_of_job),
            store.listen(wire.PODS, self._heard_of_pod),
        ]
        for job in store.all(wire.JOBS):
            self._queue.add(key_of(job))
        for pod in store.all(wire.PODS):
            if job_pods.is_tracked(pod):
                self._orphans.add(key_of(pod))

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()
        self._orphans.end()

    # ------------------------------------------------------------------ hearing

    def _heard_of_job(self, change: Change) -> None:
        uid = change.object["metadata"]["uid"]
        if change.kind == "DELETED":
            self._failures.pop(uid, None)
            for pod in self._indexes.pods_by_owner.of(uid):
                self._orphans.add(key_of(pod))
        else:
            self._queue.add(key_of(change.object))

    def _heard_of_pod(self, change: Change) -> None:
        pod = change.object
        for key in owning.concerned(change, KIND):
            self._queue.add(key, after=_BATCH_SECONDS)
        if change.kind == "DELETED":
            return
        if job_pods.is_tracked(pod) and (controller(pod) is None or is_terminating(pod)):
            self._orphans.add(key_of(pod))
        if owning.is_to_be_had(change):
            for job in self._indexes.selecting(wire.JOBS, pod):
                self._queue.add(key_of(job), after=_BATCH_SECONDS)

    def _sync_orphan(self, key: Key) -> None:
        """A pod that no Job will count any more needs not wait for it."""
        pod = self._api.store.find(wire.PODS, *key)
        if pod is None or not job_pods.is_tracked(pod):
            return
        job = owning.manager(self._api.store, pod, wire.JOBS, KIND)
        if job is None or _is_finished(job):
            self._let_go(pod)

    # ------------------------------------------------------------------ acting

    def _sync(self, key: Key) -> None:
        job = self._api.store.find(wire.JOBS, *key)
        if job is None or job["spec"].get("managedBy", _CONTROLLER) != _CONTROLLER:
            return
        if _is_finished(job):
            self._remove_when_old(key, job)
            return
        mine = [self._held(pod) for pod in owning.claim(self._api, job, selector_of(job))]
        turn = Turn(job, mine, self._api.now())
        self._count_failures(turn)
        problem = self._act(key, turn)
        for pod in turn.uncounted():
            self._let_go(pod)
        self._api.set_status(wire.JOBS, job, turn.status(self._api.stamp()))
        if problem is not None and not batches.is_for_ending_namespace(problem):
            raise problem

    def _act(self, key: Key, turn: Turn) -> errors.KubeError | None:
        turn.judge()
        if turn.ending:
            return self._delete(turn, turn.active)
        if is_terminating(turn.job):
            return None
        if (left := turn.seconds_left) is not None:
            self._queue.add(key, after=left)
        problem = self._manage(key, turn)
        turn.judge_success()
        return problem

    def _manage(self, key: Key, turn: Turn) -> errors.KubeError | None:
        if turn.is_suspended:
            return self._withdraw(turn, turn.active)
        wanted = turn.wanted_active()
        surplus = turn.surplus(wanted)
        if surplus:
            return self._withdraw(turn, surplus[:_BURST])
        missing = min(wanted - len(turn.active) - turn.awaited, _BURST)
        if missing <= 0:
            return None
        if (wait := self._delay(turn)) > 0:
            self._queue.add(key, after=max(wait, _BATCH_SECONDS))
            return None
        indexes = iter(turn.next_indexes(missing))

        def create() -> None:
            body = job_pods.pod_of(turn.job, next(indexes))
            self._api.create(wire.PODS, turn.job["metadata"]["namespace"], body)
            turn.created += 1

        return batches.slow_start(len(turn.next_indexes(missing)), create)

    def _withdraw(self, turn: Turn, doomed: Sequence[Object]) -> errors.KubeError | None:
        """They go because it wants them no more, so that none of them has failed."""
        for pod in doomed:
            self._let_go(pod)
        return self._delete(turn, doomed)

    def _delete(self, turn: Turn, doomed: Iterable[Object]) -> errors.KubeError | None:
        refused = None
        for pod in tuple(doomed):
            try:
                self._api.delete(wire.PODS, *key_of(pod))
            except errors.NotFound:
                pass
            except errors.KubeError as problem:
                refused = problem
                continue
            turn.has_deleted(pod)
        return refused

    def _held(self, pod: Object) -> Object:
        """One that it adopted is not to go uncounted either."""
        if job_pods.is_tracked(pod) or not is_active(pod):
            return pod
        metadata = pod["metadata"]
        finalizers = [*(metadata.get("finalizers") or ()), job_pods.FINALIZER]
        change = {"uid": metadata["uid"], "finalizers": finalizers}
        return self._api.patch(wire.PODS, *key_of(pod), {"metadata": change})

    def _let_go(self, pod: Object) -> None:
        metadata = pod["metadata"]
        others = [each for each in metadata.get("finalizers") or () if each != job_pods.FINALIZER]
        change = {"uid": metadata["uid"], "finalizers": others or None}
        with contextlib.suppress(errors.NotFound, errors.Conflict):
            self._api.patch(wire.PODS, *key_of(pod), {"metadata": change})

    def _count_failures(self, turn: Turn) -> None:
        uid = turn.job["metadata"]["uid"]
        if turn.newly_succeeded:
            self._failures.pop(uid, None)
        if turn.newly_failed:
            count, _ = self._failures.get(uid, (0, turn.now))
            self._failures[uid] = (count + len(turn.newly_failed), turn.now)

    def _delay(self, turn: Turn) -> float:
        """Longer with each failure in a row."""
        count, last = self._failures.get(turn.job["metadata"]["uid"], (0, turn.now))
        if not count:
            return 0.0
        delay = min(_FIRST_DELAY_SECONDS * 2.0 ** min(count - 1, 16), _LONGEST_DELAY_SECONDS)
        return delay - (turn.now - last).total_seconds()

    def _remove_when_old(self, key: Key, job: Object) -> None:
        lasting = job["spec"].get("ttlSecondsAfterFinished")
        if lasting is None or is_terminating(job):
            return
        ended = conditions.find(job, "Complete") or conditions.find(job, "Failed") or {}
        due = datetime.fromisoformat(ended["lastTransitionTime"]) + timedelta(seconds=lasting)
        wait = (due - self._api.now()).total_seconds()
        if wait > 0:
            self._queue.add(key, after=wait)
        else:
            uid = job["metadata"]["uid"]
            self._api.delete(wire.JOBS, *key, uid=uid, propagation="Foreground")


def _is_finished(job: Object) -> bool:
    return conditions.holds(job, "Complete") or conditions.holds(job, "Failed")
