"""What the workload of a pod says about moving it: its kind, its state, and its user's wishes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from rescheduler.model import names, objects, workloads
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Passing
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.gaps import was_left_out, why_unknown
from rescheduler.plan.movable.holds import TAKE_OFF, Hold, Holds, always

AUTOSCALERS: Final = "horizontalpodautoscalers"
_SOURCES: Final = {
    "ReplicaSet": "replicasets",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
}
_READY: Final = int(Flag.READY)
_LEFT: Final = int(Flag.LEFT)
_TERMINATING: Final = int(Flag.TERMINATING)
_SETTLING: Final = 300.0
"""Seconds for which an autoscaler looks back before it scales down, so that it may scale again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerFacts:
    holds: tuple[Hold, ...] = ()
    """Why its pods stay."""
    of_serving: tuple[Hold, ...] = ()
    """Why those stay that are Ready, beyond that: the others would not be missed."""
    why_recreated: str = ""
    """Why a pod has to end before its successor begins; empty: both can be there."""


class Owners:
    def __init__(self, snapshot: Snapshot, holds: Holds) -> None:
        self._snapshot = snapshot
        self._holds = holds

    def facts(self, namespace: str, owner: Owner | None, rows: Sequence[int]) -> OwnerFacts:
        """`rows`: its pods."""
        if owner is None:
            held = (*self._holds.bare_pod("it is a bare pod"), *self._holds.replicas(1))
            return OwnerFacts(holds=held)
        match owner.kind:
            case "ReplicaSet":
                return self._of_replica_set(namespace, owner)
            case "StatefulSet":
                return self._of_stateful_set(namespace, owner)
            case "Job":
                return self._of_job(namespace, owner)
            case "DaemonSet":
                return OwnerFacts(holds=(always("it belongs to a DaemonSet"),))
            case "Node":
                return OwnerFacts(holds=(always("it is a static pod"),))
        return self._of_other(namespace, owner, rows)

    # ------------------------------------------------------------------ kinds

    def _of_replica_set(self, namespace: str, owner: Owner) -> OwnerFacts:
        replica_set = self._find(namespace, owner)
        if replica_set is None:
            return OwnerFacts(holds=_all(self._why_missing("ReplicaSet")))
        reference = objects.controller(replica_set)
        above = _owner(reference) if reference else None
        is_deployed = above is not None and above.kind == "Deployment"
        deployment = self._find(namespace, above) if above and is_deployed else None
        holds = [
            *_all(self._of_unknown("Deployment" if is_deployed else "")),
            *opted_out(replica_set, "ReplicaSet"),
            *_all(_nailed_down(replica_set, "ReplicaSet")),
            *(opted_out(deployment, "Deployment") if deployment else ()),
        ]
        above_it = (owner, above) if above else (owner,)
        of_serving = (
            # One that is away for long must not keep the others on a node that is to be emptied.
            Hold(
                workloads.why_unsettled(replica_set, deployment, self._left[owner.uid]),
                _passing(workloads.why_changing(replica_set, deployment), deployment),
            ),
            *self._autoscaled(namespace, above_it),
        )
        few = self._holds.replicas(objects.spec(replica_set).get("replicas", 1))
        recreates = deployment is not None and workloads.recreates(deployment)
        why_recreated = "its Deployment has strategy Recreate" if recreates else ""
        return OwnerFacts(holds=(*holds, *few), of_serving=of_serving, why_recreated=why_recreated)

    def _of_stateful_set(self, namespace: str, owner: Owner) -> OwnerFacts:
        why_recreated = "it is one of a StatefulSet"
        stateful_set = self._find(namespace, owner)
        if stateful_set is None:
            missing = _all(self._why_missing("StatefulSet"))
            return OwnerFacts(holds=missing, why_recreated=why_recreated)
        holds = [
            *opted_out(stateful_set, "StatefulSet"),
            *_all(_nailed_down(stateful_set, "StatefulSet")),
        ]
        # Those of higher ordinals are made anew when all before them are Ready, and not earlier.
        of_serving = (
            *_all([_passing(workloads.why_stateful_set_unsettled(stateful_set))]),
            *self._autoscaled(namespace, (owner,)),
        )
        few = self._holds.replicas(objects.spec(stateful_set).get("replicas", 1))
        return OwnerFacts(holds=(*holds, *few), of_serving=of_serving, why_recreated=why_recreated)

    def _of_job(self, namespace: str, owner: Owner) -> OwnerFacts:
        job = self._find(namespace, owner)
        known = opted_out(job, "Job") if job else _all(self._why_missing("Job"))
        few = self._holds.replicas(objects.spec(job).get("parallelism", 1)) if job else ()
        holds = (*self._holds.job("it belongs to a Job"), *known, *few)
        return OwnerFacts(holds=holds, why_recreated="it is one of a Job")

    def _of_other(self, namespace: str, owner: Owner, rows: Sequence[int]) -> OwnerFacts:
        """What it wants is not known, so it is judged by its pods alone."""
        told = f"only its {owner.kind} knows how to make it anew"
        return OwnerFacts(
            holds=(*self._holds.other_controller(told), *self._holds.replicas(len(rows))),
            of_serving=(
                *_all([self._why_one_is_missing(owner, rows)]),
                *self._autoscaled(namespace, (owner,)),
            ),
            why_recreated=f"it is one of a {owner.kind}",
        )

    # ------------------------------------------------------------------ rules

    @cached_property
    def _left(self) -> Counter[str]:
        """By UID of the owner: how many of its pods we have taken out of their Services."""
        pods, rows = self._snapshot.pods, self._snapshot.rows
        numbers = pods.owner[rows[pods.flags[rows] & _LEFT != 0]].tolist()
        found = (self._snapshot.owners[number] for number in numbers if number != NONE)
        return Counter(owner.uid for owner in found if owner)

    def _why_one_is_missing(self, owner: Owner, rows: Sequence[int]) -> str:
        """Nobody could tell whose successor a pod is, and a second eviction may be one too many."""
        pods = self._snapshot.pods
        for row in rows:
            flags = int(pods.flags[row])
            if flags & _TERMINATING or not flags & _READY:
                state = "terminating" if flags & _TERMINATING else "not Ready"
                name = pods.names[row].rpartition("/")[2]
                return Passing(f"{name} of its {owner.kind} is {state}")
        return ""

    def _why_missing(self, kind: str) -> Iterable[str]:
        if why_unknown(self._snapshot, _SOURCES[kind]):
            yield from self._of_unknown(kind)
        elif not was_left_out(self._snapshot, _SOURCES[kind]):
            yield f"its {kind} was not found"

    def _of_unknown(self, kind: str) -> Iterable[str]:
        """It may be out of date too, so it is said even of what was found."""
        if kind and (unknown := why_unknown(self._snapshot, _SOURCES[kind])):
            yield f"its {kind} is not known: {unknown}"

    def _autoscaled(self, namespace: str, owners: Iterable[Owner]) -> Iterable[Hold]:
        """Load tells nothing while it is being scaled. A node that is to be emptied does not wait
        for that: its pods leave, and what scales meanwhile does so elsewhere.
        """
        return (Hold(why, asked="") for why in self._why_autoscaled(namespace, owners))

    def _why_autoscaled(self, namespace: str, owners: Iterable[Owner]) -> Iterable[str]:
        if unknown := why_unknown(self._snapshot, AUTOSCALERS):
            yield f"its HorizontalPodAutoscaler is not known: {unknown}"
        for owner in owners:
            for autoscaler in self._autoscalers.get((namespace, owner.kind, owner.name), ()):
                name = autoscaler["metadata"]["name"]
                if problem := self._why_settling(autoscaler.get("status") or {}):
                    yield f"its HorizontalPodAutoscaler {name} {problem}"

    def _why_settling(self, status: Object) -> str:
        now, wanted = status.get("currentReplicas", 0), status.get("desiredReplicas", 0)
        # An autoscaler that has never had figures wants none.
        if wanted and wanted != now:
            return f"is scaling from {now} to {wanted}"
        scaled = status.get("lastScaleTime")
        if scaled and self._snapshot.taken_at:
            age = self._snapshot.taken_at - datetime.fromisoformat(scaled).timestamp()
            if age < _SETTLING:
                return "has just scaled it"
        return ""

    # ------------------------------------------------------------------ objects

    def _find(self, namespace: str, owner: Owner) -> Object | None:
        found = self._snapshot.find(_SOURCES[owner.kind], namespace, owner.name)
        same = found is not None and found["metadata"].get("uid", "") == owner.uid
        return found if same else None

    @cached_property
    def _autoscalers(self) -> Mapping[tuple[str, str, str], list[Object]]:
        """By namespace, kind and name of what they scale."""
        found: dict[tuple[str, str, str], list[Object]] = {}
        for (namespace, _), raw in sorted(self._snapshot.objects.get(AUTOSCALERS, {}).items()):
            target = objects.spec(raw).get("scaleTargetRef") or {}
            key = namespace, target.get("kind", ""), target.get("name", "")
            found.setdefault(key, []).append(raw)
        return found


def _all(reasons: Iterable[str]) -> tuple[Hold, ...]:
    return tuple(always(each) for each in reasons if each)


def _passing(why: str, deployment: Object | None = None) -> str:
    """A change that somebody has paused does not pass; any other one is on its way."""
    is_paused = deployment is not None and objects.spec(deployment).get("paused")
    return why if is_paused or not why else Passing(why)


def _owner(reference: Object) -> Owner:
    kind, name, uid = (reference.get(key, "") for key in ("kind", "name", "uid"))
    return Owner(kind=kind, name=name, uid=uid)


def _nailed_down(raw: Object, kind: str) -> Iterable[str]:
    template = (objects.spec(raw).get("template") or {}).get("spec") or {}
    if node := template.get("nodeName"):
        yield f"its {kind} puts its pods on {node}, whatever a scheduler says (nodeName)"


def opted_out(raw: Object, kind: str) -> Iterable[Hold]:
    for place, given in (("label", objects.labels(raw)), ("annotation", objects.annotations(raw))):
        if given.get(names.RESCHEDULING, "enabled") != "enabled":
            yield always(f"the {place} {names.RESCHEDULING} of its {kind} keeps it out", TAKE_OFF)
    if objects.annotations(raw).get(names.DO_NOT_DISRUPT) == "true":
        yield always(f"the annotation {names.DO_NOT_DISRUPT} of its {kind} keeps it out", TAKE_OFF)
