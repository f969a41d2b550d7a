"""Judges a recorded history. Pure: the same history always gets the same verdict.

Knows nothing of the product: only what Kubernetes objects showed over time and what the API server
wrote into its audit log.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.api import Object

# Objects of users that a migration must leave as they are.
USER_KINDS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "Service",
    "PodDisruptionBudget",
    "NetworkPolicy",
)
ORIGINAL_POD = "scheduler.alpha.kubernetes.io/original-pod"
"""On a copy: the UID of the pod whose place it takes."""
WATCHED_KINDS = (*USER_KINDS, "Pod", "EndpointSlice")


@dataclass(frozen=True, slots=True)
class Observation:
    """One object as it was from this version on; `object` is None when it was gone."""

    version: int
    kind: str
    uid: str
    object: Object | None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Fewer than there should have been, where before there were enough."""

    what: str
    had: int
    wanted: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One request of the process under test, as the API server logged it."""

    verb: str
    group: str = ""
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    dry_run: bool
    guarded: bool
    """It named the UID that it meant, or created something."""
    grace_seconds: int | None = None
    """What a pod that it ends is given for that; None: whatever the pod says of itself."""

    @property
    def permission(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}" + (f"/{self.subresource}" if self.subresource else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    history: tuple[Observation, ...]
    """In the order of the versions; the first ones are what was there at the beginning."""
    began: int
    """The version at which the recording began."""
    requests: tuple[Write, ...]

    # ------------------------------------------------------------------ what was asked

    def replicas_missing(self) -> list[Shortfall]:
        """Did the ready pods of a workload ever fall below its spec.replicas?"""
        return _falls(self._states(), _ready_and_wanted)

    def endpoints_missing(self) -> list[Shortfall]:
        """Were there ever fewer ready endpoints of a Service than at the beginning?"""
        states = self._states()
        began, first = next(states)
        before = _ready_endpoints(first)

        def count(state: "State") -> dict[str, tuple[int, int]]:
            now = _ready_endpoints(state)
            return {name: (now.get(name, 0), wanted) for name, wanted in before.items()}

        return _falls(itertools.chain([(began, first)], states), count)

    def budgets_violated(self) -> list[Shortfall]:
        """Recomputed from the pods, for a budget's own status lags behind."""
        return _falls(self._states(), _healthy_and_desired)

    def changed_objects(self) -> list[str]:
        """What of the users' objects is not as it was: changed, made or removed."""
        first: dict[str, Object] = {}
        found: dict[str, None] = {}
        for seen in self.history:
            if seen.kind not in USER_KINDS:
                continue
            before = first.get(seen.uid)
            if before is None and seen.object is not None:
                first[seen.uid] = seen.object
                if seen.version > self.began:
                    found[f"{seen.kind} {seen.object['metadata']['name']} was made"] = None
            elif before is not None:
                for change in _differences(before, seen.object):
                    found[f"{seen.kind} {before['metadata']['name']}: {change}"] = None
        return list(found)

    def touched_pods(self) -> list[str]:
        """Pods that were there all the time, and whose labels, annotations or owners changed."""
        first: dict[str, Object] = {}
        last: dict[str, Object | None] = {}
        for seen in self.history:
            if seen.kind == "Pod":
                last[seen.uid] = seen.object
                if seen.version <= self.began and seen.object is not None:
                    first[seen.uid] = seen.object
        return [
            before["metadata"]["name"]
            for uid, before in first.items()
            if (after := last[uid]) is not None and _marks(before) != _marks(after)
        ]

    def permissions_used(self) -> set[str]:
        return {write.permission for write in self.requests}

    def writes(self) -> list[Write]:
        """What took effect, in order, but for Events: nothing rests on those."""
        return [
            write
            for write in self.requests
            if write.verb not in ("get", "list", "watch")
            and not write.dry_run
            and write.code < 300  # noqa: PLR2004
            and write.resource != "events"
        ]

    def pods_before(self) -> list[str]:
        """Those that were there at the beginning."""
        return self._pods(lambda seen: seen.version <= self.began)

    def pods_made(self) -> list[str]:
        return self._pods(lambda seen: seen.version > self.began)

    def pods_removed(self) -> list[str]:
        gone = {seen.uid for seen in self.history if seen.kind == "Pod" and seen.object is None}
        return self._pods(lambda seen: seen.uid in gone)

    # ------------------------------------------------------------------ replaying

    def _pods(self, wanted: Any) -> list[str]:  # noqa: ANN401
        first: dict[str, Observation] = {}
        for seen in self.history:
            if seen.kind == "Pod" and seen.object is not None:
                first.setdefault(seen.uid, seen)
        return [
            seen.object["metadata"]["name"]
            for seen in first.values()
            if seen.object is not None and wanted(seen)
        ]

    def _states(self) -> Iterator[tuple[int, "State"]]:
        """The state at the beginning, and after every change. It is one object that changes: look
        at it before asking for the next.
        """
        state = State()
        opened = False
        for seen in self.history:
            if seen.version > self.began and not opened:
                opened = True
                yield self.began, state
            state.apply(seen)
            if seen.version > self.began:
                yield seen.version, state
        if not opened:
            yield self.began, state


class State:
    """All objects of one moment."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], Object] = {}

    def apply(self, seen: Observation) -> None:
        if seen.object is None:
            self._objects.pop((seen.kind, seen.uid), None)
        else:
            self._objects[seen.kind, seen.uid] = seen.object

    def all(self, kind: str) -> list[Object]:
        return [each for (of, _), each in self._objects.items() if of == kind]


def _falls(states: Iterable[tuple[int, State]], count: Any) -> list[Shortfall]:  # noqa: ANN401
    """Every moment at which a count fell, and is below what is wanted."""
    reached: dict[str, int] = {}
    found = []
    for version, state in states:
        for what, (had, wanted) in count(state).items():
            # Who asks for more has lost nothing yet, and who asks for less has not either.
            kept = min(reached.get(what, 0), wanted)
            if had < kept:
                found.append(Shortfall(what, had, wanted, version))
            reached[what] = min(had, wanted)
    return found


def _workloads(state: State) -> dict[str, Object]:
    """Everything that keeps a number of pods; what belongs to a Deployment is counted with it."""
    return {
        f"{kind} {workload['metadata']['name']}": workload
        for kind in ("Deployment", "StatefulSet", "ReplicaSet")
        for workload in state.all(kind)
        if not _is_of_a_deployment(workload)
    }


def _is_of_a_deployment(workload: Object) -> bool:
    owners = workload["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "Deployment" for owner in owners)


def _ready_and_wanted(state: State) -> dict[str, tuple[int, int]]:
    return {
        name: (len(_ready_pods(state, each["spec"]["selector"])), each["spec"].get("replicas", 1))
        for name, each in _workloads(state).items()
    }


def _healthy_and_desired(state: State) -> dict[str, tuple[int, int]]:
    counts = {}
    for budget in state.all("PodDisruptionBudget"):
        spec = budget["spec"]
        expected = sum(
            workload["spec"].get("replicas", 1)
            for workload in _workloads(state).values()
            if _matches(spec["selector"], workload["spec"]["template"]["metadata"]["labels"])
        )
        if "minAvailable" in spec:
            desired = _share(spec["minAvailable"], expected)
        else:
            desired = expected - _share(spec["maxUnavailable"], expected)
        healthy = len(_ready_pods(state, spec["selector"]))
        counts[f"PodDisruptionBudget {budget['metadata']['name']}"] = (healthy, desired)
    return counts


def _ready_endpoints(state: State) -> dict[str, int]:
    slices = state.all("EndpointSlice")
    services = {_service_of(each) for each in slices}
    return {f"Service {name}": len(ready_endpoints(slices, name)) for name in services}


def ready_endpoints(slices: Iterable[Object], service: str) -> set[str]:
    """UIDs of the pods that the Service sends traffic to."""
    return {
        endpoint["targetRef"]["uid"]
        for piece in slices
        if _service_of(piece) == service
        for endpoint in piece.get("endpoints") or ()
        if endpoint["conditions"].get("ready")
    }


def _service_of(piece: Object) -> str:
    return str(piece["metadata"]["labels"].get("kubernetes.io/service-name", ""))


def _ready_pods(state: State, selector: Object) -> list[Object]:
    pods = state.all("Pod")
    return [
        pod
        for pod in pods
        if _matches(selector, pod["metadata"].get("labels") or {})
        and (is_ready(pod) or _is_stood_in_for(pod, selector, pods))
    ]


def _is_stood_in_for(pod: Object, selector: Object, pods: list[Object]) -> bool:
    """It was taken out of its Services, and a copy serves that its workload does not count yet."""
    if "deletionTimestamp" in pod["metadata"] or not _was_taken_out(pod):
        return False
    return any(
        (each["metadata"].get("annotations") or {}).get(ORIGINAL_POD) == pod["metadata"]["uid"]
        and is_ready(each)
        and not _matches(selector, each["metadata"].get("labels") or {})
        for each in pods
    )


def _was_taken_out(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(
        each["type"] == "Ready" and each.get("reason") == "LeavingItsServices"
        for each in conditions
    )


def is_ready(pod: Object) -> bool:
    """Ready, and not told to end."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_usable(node: Object) -> bool:
    """Ready, and free of the taints that the node controller sets."""
    conditions = node.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
    return ready and not any(key.startswith("node.kubernetes.io/") for key in taints)


def _matches(selector: Object, labels: Mapping[str, str]) -> bool:
    # Tests select by matchLabels only; anything else would be judged wrongly, so it is refused.
    assert set(selector) <= {"matchLabels"}, f"the auditor cannot judge {selector}"
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _share(amount: int | str, of: int) -> int:
    if isinstance(amount, int):
        return amount
    return math.ceil(int(amount.removesuffix("%")) * of / 100)


def _marks(pod: Object) -> list[Any]:
    return [pod["metadata"].get(each) for each in ("labels", "annotations", "ownerReferences")]


def _differences(before: Object, after: Object | None) -> list[str]:
    if after is None:
        return ["was removed"]
    fields = ("labels", "annotations", "finalizers", "ownerReferences", "generation")
    found = [
        f"metadata.{field} changed"
        for field in (*fields, "deletionTimestamp")
        if before["metadata"].get(field) != after["metadata"].get(field)
    ]
    if before.get("spec") != after.get("spec"):
        found.append("spec changed")
    return found
