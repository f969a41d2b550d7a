"""Rules that the configuration sets, or lifts: who they keep, for whom, and what would let go."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rescheduler.config import MOVE, WHEN_ASKED, Configuration, permits
from rescheduler.model import names

TAKE_OFF: Final = "take it off"
_BY_COMMAND: Final = "use rescheduler drain"
_WITH_THE_OTHERS: Final = f"set nodeMaintenance.excludedNamespaces to {MOVE}, or {_BY_COMMAND}"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a pod stays; empty: it may go."""

    unasked: str
    asked: str
    """When a person or a maintenance wants it away: with what would let it go."""

    def why(self, *, asked: bool) -> str:
        return self.asked if asked else self.unasked


def always(why: str, act: str = "") -> Hold:
    """Whatever is configured; `act` is what whoever asks can do about it."""
    return Hold(why, f"{why}: {act}" if act else why)


class Holds:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._pods = configuration.pods
        self._forced = configuration.forced
        self._stay = configuration.node_maintenance.excluded_namespaces != MOVE

    # ------------------------------------------------------------------ kinds of pods

    def job(self, why: str) -> Iterable[Hold]:
        skip = self._forced is not None and self._forced.skip_jobs
        return self._permitted(why, "pods.jobs", self._pods.jobs, "--skip-jobs" if skip else "")

    def bare_pod(self, why: str) -> Iterable[Hold]:
        skip = self._forced is not None and self._forced.skip_bare_pods
        flag = "--skip-bare-pods" if skip else ""
        return self._permitted(why, "pods.barePods", self._pods.bare_pods, flag)

    def other_controller(self, why: str) -> Iterable[Hold]:
        return self._permitted(why, "pods.otherControllers", self._pods.other_controllers, "")

    def empty_dir(self, why: str) -> Iterable[Hold]:
        return self._permitted(why, "pods.emptyDir", self._pods.empty_dir, self._skip_local)

    def local_storage(self, why: str) -> Iterable[Hold]:
        setting = self._pods.local_storage
        return self._permitted(why, "pods.localStorage", setting, self._skip_local)

    @property
    def _skip_local(self) -> str:
        skip = self._forced is not None and self._forced.skip_local_storage
        return "--skip-local-storage" if skip else ""

    def _permitted(self, why: str, setting: str, permission: str, skip: str) -> Iterable[Hold]:
        if self._forced is not None:
            if skip:
                yield always(f"{why}, and {skip} leaves it")
            return
        told = f"{why}, and {setting} is {permission}"
        unasked = "" if permits(permission, asked=False) else told
        asked = f"{told}: set it to {WHEN_ASKED}, or {_BY_COMMAND}"
        yield Hold(unasked, "" if permits(permission, asked=True) else asked)

    def recreate(self, why: str, *, asked: bool) -> Iterable[str]:
        permission = self._pods.recreate
        if self._forced is None and not permits(permission, asked=asked):
            act = f" (set it to {WHEN_ASKED}, or {_BY_COMMAND})" if asked else ""
            told = f"its move would recreate it, and pods.recreate is {permission}{act}"
            yield f"{told}: {why}"

    # ------------------------------------------------------------------ excluded ones

    def namespace(self, namespace: str) -> Iterable[Hold]:
        is_system = namespace == names.SYSTEM_NAMESPACE
        if self._forced is not None:
            if namespace in self._forced.skip_namespaces:
                yield always("--skip-namespace leaves its namespace")
            elif is_system and self._forced.skip_system:
                yield always(f"--skip-system leaves {namespace}")
        elif namespace in self._configuration.excluded_namespaces:
            yield self._unless_moved("its namespace is in excludedNamespaces")
        elif is_system:
            yield self._unless_moved(f"its namespace is {namespace}")

    def priority(self, priority: int) -> Iterable[Hold]:
        threshold = self._pods.priority_threshold
        is_critical = priority >= names.SYSTEM_CRITICAL_PRIORITY
        if self._forced is not None:
            if is_critical and self._forced.skip_system:
                yield always("it is critical to the system, and --skip-system leaves it")
            return
        if is_critical:
            yield self._unless_moved("it is critical to the system")
        if threshold is not None and priority >= threshold:
            why = f"its priority is not below pods.priorityThreshold: {priority}"
            yield Hold(why, f"{why} (raise the threshold, or {_BY_COMMAND})")

    def selected(self) -> Iterable[Hold]:
        if self._forced is None:
            yield always("excludedPodSelector matches it", _BY_COMMAND)

    def replicas(self, replicas: int) -> Iterable[Hold]:
        least = self._pods.min_replicas
        # Of one scaled to 0 that is said already.
        if self._forced is None and 0 < replicas < least:
            why = f"its workload is smaller than pods.minReplicas: {replicas}"
            yield Hold(why, f"{why} (lower minReplicas, or {_BY_COMMAND})")

    def _unless_moved(self, why: str) -> Hold:
        return Hold(why, f"{why}: {_WITH_THE_OTHERS}" if self._stay else "")
