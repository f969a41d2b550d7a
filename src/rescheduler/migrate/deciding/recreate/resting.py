"""Whether the workload of a pod that is to be evicted is at rest, and whether it will make a
successor. Pure.
"""

from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.model import conditions, workloads
from rescheduler.model.objects import Object, annotations, is_active, is_terminating, spec

_ENDED: Final = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
_BACK_OFF_LIMIT: Final = 6
"""What Kubernetes takes where a Job does not say."""
_FAILURES_OF_INDEX: Final = "batch.kubernetes.io/job-index-failure-count"


def why_changed(view: View) -> str:
    """Why its user has other plans with it. A pod that is missing for a while is no plan."""
    if view.replica_set:
        return workloads.why_changed(view.replica_set, view.deployment)
    if view.stateful_set:
        return workloads.why_stateful_set_unsettled(_at_full_strength(view.stateful_set))
    return _why_job_ended(view.job) if view.job else ""


def why_ending(intent: Intent, view: View) -> str:
    """Why it will not need the pod any more. Of a kind that we do not know, only time will tell."""
    if intent.is_of_foreign:
        return ""
    workload = view.workload
    if workload is None or is_terminating(workload):
        return "its workload is being deleted"
    if view.job is None and spec(workload).get("replicas", 1) == 0:
        return "its workload is scaled to 0"
    return _why_job_ended(view.job) if view.job else ""


def stuck(intent: Intent, view: View, now: datetime) -> frozenset[str]:
    """UIDs of pods that have not been Ready for as long as we would wait for it. They must not keep
    the others on a node that is to be emptied: a ReplicaSet makes those anew whatever they are.
    """
    if not intent.asked or view.replica_set is None:
        return frozenset()
    limit = now - timedelta(seconds=intent.settings.ready_timeout_seconds)
    return frozenset(
        pod["metadata"]["uid"]
        for pod in view.pods
        if (since := conditions.unready_since(pod)) and since < limit
    )


def why_unready(intent: Intent, view: View, stuck: Container[str] = ()) -> str:
    """An eviction on top of a pod that is missing already would be one too many; and a StatefulSet
    makes no pod anew before all those of lower ordinals are Ready. Those that are `stuck` will not
    come back, whatever is waited for.
    """
    if intent.is_of_foreign:
        return _why_one_is_missing(view)
    workload = view.replica_set or view.stateful_set
    if workload is None:
        return ""
    if view.replica_set:
        why = workloads.why_changing if stuck else workloads.why_unsettled
        if said := why(view.replica_set, view.deployment):
            return said
    if view.stateful_set and (said := workloads.why_stateful_set_unsettled(view.stateful_set)):
        return said
    # The status of a workload lags behind its pods.
    wanted = spec(workload).get("replicas", 1)
    active = [pod for pod in view.pods if is_active(pod)]
    if len(active) != wanted:
        return f"its workload has {len(active)} of {wanted} pods"
    waited_for = [pod for pod in active if pod["metadata"]["uid"] not in stuck]
    unready = [p["metadata"]["name"] for p in waited_for if not conditions.holds(p, "Ready")]
    return f"{min(unready)} is not Ready" if unready else ""


def _why_one_is_missing(view: View) -> str:
    """As far as it can be seen: how many there should be, only their controller knows."""
    for pod in view.pods:
        name = pod["metadata"]["name"]
        if is_terminating(pod):
            return f"{name} is terminating"
        if is_active(pod) and not conditions.holds(pod, "Ready"):
            return f"{name} is not Ready"
    return ""


def why_no_successor(intent: Intent, view: View, *, was_ready: bool = True) -> str:
    """Why the workload will not make the evicted pod anew; empty: it should, or nobody knows."""
    if intent.is_of_foreign:
        return ""
    if view.workload is None:
        return "its workload is gone"
    # One that was not Ready may have been evicted in the middle of a rollout.
    if changed := why_changed(view) if was_ready else why_ending(intent, view):
        return changed
    active = sum(is_active(pod) for pod in view.pods)
    if view.replica_set:
        enough = active >= spec(view.replica_set).get("replicas", 1)
    elif view.stateful_set:
        enough = _ordinal(intent.pod) >= _end_of_ordinals(view.stateful_set)
    else:
        enough = active >= _wanted_by_job(view.workload)
    return "its workload wants fewer pods by now" if enough else ""


def why_job_would_fail(job: Object, pod: Object) -> str:
    """A pod that is evicted counts as one that failed, and a Job bears only so many of those."""
    rules = (spec(job).get("podFailurePolicy") or {}).get("rules") or ()
    if any(_forgives_evictions(rule) for rule in rules):
        return ""
    per_index = spec(job).get("backoffLimitPerIndex")
    if per_index is not None:
        spent, limit = int(annotations(pod).get(_FAILURES_OF_INDEX, "0")), per_index
    else:
        spent = (job.get("status") or {}).get("failed", 0)
        limit = spec(job).get("backoffLimit", _BACK_OFF_LIMIT)
    return "its Job would fail: it bears no further failure" if spent >= limit else ""


def _forgives_evictions(rule: Mapping[str, Any]) -> bool:
    met = (each.get("type") for each in rule.get("onPodConditions") or ())
    return rule.get("action") == "Ignore" and "DisruptionTarget" in met


def _why_job_ended(job: Object) -> str:
    if is_terminating(job):
        return "its Job is being deleted"
    if spec(job).get("suspend"):
        return "its Job is suspended"
    if any(conditions.holds(job, each) for each in _ENDED):
        return "its Job has ended"
    return ""


def _at_full_strength(stateful_set: Object) -> Object:
    """As if no pod were missing: what is wrong then, its user wanted."""
    replicas = spec(stateful_set).get("replicas", 1)
    full = {"replicas": replicas, "readyReplicas": replicas}
    return {**stateful_set, "status": {**(stateful_set.get("status") or {}), **full}}


def _ordinal(pod: str) -> int:
    return int(pod.rpartition("-")[2])


def _end_of_ordinals(stateful_set: Object) -> int:
    start: int = (spec(stateful_set).get("ordinals") or {}).get("start") or 0
    return start + int(spec(stateful_set).get("replicas", 1))


def _wanted_by_job(job: Object) -> int:
    parallelism: int = spec(job).get("parallelism", 1)
    completions: int | None = spec(job).get("completions")
    if completions is None:
        return parallelism
    succeeded: int = (job.get("status") or {}).get("succeeded", 0)
    return min(parallelism, completions - succeeded)
