"""One look at one Job: what is counted, and what follows from it. Pure."""

from collections.abc import Sequence
from datetime import datetime

from rescheduler.embedded.controllers import job_pods, pods, ranking
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import is_active, is_terminating


class Turn:
    def __init__(self, job: Object, mine: Sequence[Object], now: datetime) -> None:
        self.job = job
        self.now = now
        self.created = 0
        self.ending: Object | None = None
        """The condition by which it ends, if it does."""
        self._before = job.get("status") or {}
        self._spec = job["spec"]
        self._mine = mine
        self._deleted: list[Object] = []
        self.active = [pod for pod in mine if is_active(pod)]
        tracked = [pod for pod in mine if job_pods.is_tracked(pod)]
        self._tracked = tracked
        self.newly_succeeded = [pod for pod in tracked if job_pods.has_succeeded(pod)]
        self.newly_failed = [pod for pod in tracked if job_pods.has_failed(job, pod)]
        self.is_suspended = bool(self._spec.get("suspend"))
        self._done: set[int] = set()
        if job_pods.is_indexed(job):
            self._done = job_pods.indexes_from(self._before.get("completedIndexes") or "") | {
                index
                for pod in mine
                if job_pods.has_succeeded(pod)
                if (index := job_pods.index_of(job, pod)) is not None
            }

    # ------------------------------------------------------------------ judging

    def judge(self) -> None:
        """Whether it is to end, as failed or, its end having begun, as it did."""
        for kind in ("SuccessCriteriaMet", "FailureTarget"):
            if conditions.holds(self.job, kind):
                self.ending = dict(conditions.find(self.job, kind) or {})
                return
        limit = self._spec.get("backoffLimit", 6)
        failed = self._before.get("failed", 0) + len(self.newly_failed)
        if failed > limit or self._restarted_too_often(limit):
            reason, message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        elif (left := self.seconds_left) is not None and left <= 0:
            reason, message = "DeadlineExceeded", "Job was active longer than specified deadline"
        else:
            return
        self.ending = _condition("FailureTarget", reason, message)

    def judge_success(self) -> None:
        wanted = self._spec.get("completions")
        is_enough = self.succeeded > 0 if wanted is None else self.succeeded >= wanted
        if is_enough and not self._active_count:
            self.ending = _condition(
                "SuccessCriteriaMet",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            )

    @property
    def seconds_left(self) -> float | None:
        """Until its deadline; None: it has none."""
        limit = self._spec.get("activeDeadlineSeconds")
        if limit is None or self.is_suspended:
            return None
        begun = self._before.get("startTime")
        since = datetime.fromisoformat(begun) if begun else self.now
        return float(limit - (self.now - since).total_seconds())

    @property
    def succeeded(self) -> int:
        if job_pods.is_indexed(self.job):
            return len(self._done)
        return int(self._before.get("succeeded", 0) + len(self.newly_succeeded))

    def _restarted_too_often(self, limit: int) -> bool:
        if (self._spec["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
            return False
        count = job_pods.restarts(self._mine)
        return count >= limit if limit else count > 0

    # ------------------------------------------------------------------ numbers of pods

    def wanted_active(self) -> int:
        parallel: int = self._spec.get("parallelism", 1)
        completions = self._spec.get("completions")
        if completions is None:
            # None of them is begun any more once one has succeeded.
            return len(self.active) if self.succeeded else parallel
        missing: int = completions - self.succeeded
        return max(min(missing, parallel), 0)

    def surplus(self, wanted: int) -> list[Object]:
        first: list[Object] = []
        if job_pods.is_indexed(self.job):
            first = job_pods.doubled(self.job, self._done, self.active)
        left = [pod for pod in self.active if pod not in first]
        more = len(self.active) - wanted - len(first)
        return first + (ranking.to_delete(left, (), more, self.now) if more > 0 else [])

    @property
    def awaited(self) -> int:
        """Pods that take a place until they have ended."""
        if self._spec.get("podReplacementPolicy") != "Failed":
            return 0
        return sum(map(pods.is_ending, self._mine))

    def next_indexes(self, count: int) -> list[int | None]:
        if not job_pods.is_indexed(self.job):
            return [None] * count
        missing = job_pods.missing_indexes(self.job, self._done, self.active)
        return [index for index, _ in zip(missing, range(count), strict=False)]

    def has_deleted(self, pod: Object) -> None:
        self._deleted.append(pod)

    @property
    def _active_count(self) -> int:
        return len(self.active) - len(self._deleted) + self.created

    # ------------------------------------------------------------------ telling

    def uncounted(self) -> list[Object]:
        """Those that the next status will count, and which are free to go then."""
        if self.ending or is_terminating(self.job):
            return self._tracked
        return self.newly_succeeded + self.newly_failed

    def status(self, stamp: str) -> Object:
        fails = self.ending is not None and self.ending["type"] == "FailureTarget"
        not_succeeded = [pod for pod in self._tracked if not job_pods.has_succeeded(pod)]
        failed = len(not_succeeded) if fails else len(self.newly_failed)
        ending = sum(map(pods.is_ending, self._mine)) + len(self._deleted)
        ready = [pod for pod in self.active if pod not in self._deleted and pods.is_ready(pod)]
        numbers = {
            "active": self._active_count,
            "succeeded": self.succeeded,
            "failed": self._before.get("failed", 0) + failed,
        }
        status = {
            **{name: number for name, number in numbers.items() if number},
            "ready": len(ready),
            "terminating": ending,
            "uncountedTerminatedPods": {},
        }
        if self._done:
            status["completedIndexes"] = job_pods.indexes_in_words(self._done)
        is_over = bool(self.ending) and not ending
        if found := self._conditions(stamp, is_over=is_over):
            status["conditions"] = found
        if not self.is_suspended:
            status["startTime"] = self._start_time(stamp)
        if is_over and not fails:
            status["completionTime"] = stamp
        return status

    def _conditions(self, stamp: str, *, is_over: bool) -> list[Object]:
        found: list[Object] = [dict(each) for each in self._before.get("conditions") or ()]
        suspended = conditions.find(self.job, "Suspended")
        if not self.ending and not is_terminating(self.job):
            words = (
                ("True", "JobSuspended", "Job suspended")
                if self.is_suspended
                else ("False", "JobResumed", "Job resumed")
            )
            if suspended is None and self.is_suspended:
                found.append(_dated(_condition("Suspended", *words[1:]), stamp))
            elif suspended is not None and suspended["status"] != words[0]:
                found = [each for each in found if each["type"] != "Suspended"]
                made = {**_condition("Suspended", *words[1:]), "status": words[0]}
                found.append(_dated(made, stamp))
        if self.ending is not None:
            if conditions.find(self.job, self.ending["type"]) is None:
                found.append(_dated(self.ending, stamp))
            if is_over:
                kind = "Failed" if self.ending["type"] == "FailureTarget" else "Complete"
                found.append(_dated({**self.ending, "type": kind}, stamp))
        return found

    def _start_time(self, stamp: str) -> str:
        """Begun anew when it goes on after a pause."""
        if conditions.holds(self.job, "Suspended"):
            return stamp
        return str(self._before.get("startTime") or stamp)


def _condition(kind: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": "True", "reason": reason, "message": message}


def _dated(condition: Object, stamp: str) -> Object:
    return {**condition, "lastProbeTime": stamp, "lastTransitionTime": stamp}
