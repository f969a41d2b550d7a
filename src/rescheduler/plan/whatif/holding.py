"""What could be changed about rules that hold a pod wherever it would go.

All that may matter is offered: whether it does is found out by asking again.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from rescheduler.config import ALLOWED, WHEN_ASKED
from rescheduler.config.migration import AUTO
from rescheduler.model import controllers, copying, names, objects
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import NONE
from rescheduler.model.objects import Object
from rescheduler.model.selectors import EVERYTHING, NOTHING
from rescheduler.model.snapshot import Key
from rescheduler.plan import budgets
from rescheduler.plan.whatif import editing
from rescheduler.plan.whatif.changes import Change, Kind, setting
from rescheduler.plan.whatif.quota_room import more_quota
from rescheduler.plan.whatif.waiting import later
from rescheduler.plan.whatif.worlds import World

_SOURCES: Final = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "Job": "jobs"}
_KEEPING: Final = (names.SAFE_TO_EVICT, names.DO_NOT_DISRUPT, names.PREFER_NO_EVICTION, names.WAY)
"""Annotations of pods that may."""


def against_holds(world: World) -> Iterator[Change]:
    """Of the pod, and of all that would move with it."""
    offered: set[tuple[str, str, str]] = set()
    for change in _all(world):
        if change.identity not in offered:
            offered.add(change.identity)
            yield change


def _all(world: World) -> Iterator[Change]:
    yield from later(world)
    for row in world.desk.unit(world.row):
        yield from _labels_and_annotations(world, row)
        yield from _settings(world, row)
        yield from _states(world, row)
        yield from _budgets(world, row)
        yield from _its_own(world, row)
    yield from more_quota(world)
    if len(world.desk.unit(world.row)) > 1:
        yield setting("groups.allowRecreate", words="set groups.allowRecreate to true", value=True)


# ------------------------------------------------------------------ marks


def _labels_and_annotations(world: World, row: int) -> Iterator[Change]:
    snapshot, pod = world.snapshot, world.desk.name(row)
    labels = {**snapshot.class_of(row).labels, **snapshot.own_labels_of(row)}
    if labels.get(names.RESCHEDULING, "enabled") != "enabled":
        yield _taken_off(
            Kind.LABEL, "pods", pod, names.RESCHEDULING, partial(_without_label, row=row)
        )
    for annotation in _KEEPING:
        if annotation in snapshot.pods.annotations.get(row, {}):
            without = partial(_without_annotation, row=row)
            yield _taken_off(Kind.ANNOTATION, "pods", pod, annotation, without)
    for resource, key, raw in _above(world, row):
        for kind, told in (
            (Kind.LABEL, objects.labels(raw)),
            (Kind.ANNOTATION, objects.annotations(raw)),
        ):
            for mark in (names.RESCHEDULING, names.DO_NOT_DISRUPT):
                if mark in told:
                    without = partial(_without_mark, resource=resource, key=key, kind=kind)
                    yield _taken_off(kind, resource, "/".join(filter(None, key)), mark, without)


def _taken_off(kind: Kind, resource: str, name: str, mark: str, without: Any) -> Change:  # noqa: ANN401
    return Change(
        kind=kind,
        subject=name,
        words=f"take the {kind} {mark} off {_SINGULAR[resource]} {name}",
        details={"resource": resource, "name": mark},
        made_in=lambda world: without(world, mark=mark),
    )


_SINGULAR: Final[Mapping[str, str]] = {
    "pods": "pod",
    "replicasets": "ReplicaSet",
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "jobs": "Job",
    "namespaces": "namespace",
}


def _without_label(world: World, *, row: int, mark: str) -> World:
    return world.but(snapshot=editing.without_label(world.snapshot, row, mark))


def _without_annotation(world: World, *, row: int, mark: str) -> World:
    return world.but(snapshot=editing.without_annotation(world.snapshot, row, mark))


def _without_mark(world: World, *, resource: str, key: Key, kind: Kind, mark: str) -> World:
    raw = world.snapshot.objects[resource][key]
    place = "labels" if kind is Kind.LABEL else "annotations"
    left = {name: value for name, value in raw["metadata"][place].items() if name != mark}
    made = {**raw, "metadata": {**raw["metadata"], place: left}}
    return world.but(snapshot=editing.with_object(world.snapshot, resource, key, made))


def _above(world: World, row: int) -> Iterator[tuple[str, Key, Object]]:
    """Its namespace, its owner, and the owner of that."""
    snapshot = world.snapshot
    namespace = snapshot.class_of(row).namespace
    if found := snapshot.find("namespaces", "", namespace):
        yield "namespaces", ("", namespace), found
    owner = _owner(world, row)
    if owner is None or owner.kind not in _SOURCES:
        return
    source = _SOURCES[owner.kind]
    raw = snapshot.find(source, namespace, owner.name)
    if raw is None:
        return
    yield source, (namespace, owner.name), raw
    reference = objects.controller(raw)
    if reference and reference.get("kind") == "Deployment":
        above = snapshot.find("deployments", namespace, reference["name"])
        if above is not None:
            yield "deployments", (namespace, reference["name"]), above


def _owner(world: World, row: int) -> Owner | None:
    number = int(world.snapshot.pods.owner[row])
    return world.snapshot.owners[number] if number != NONE else None


# ------------------------------------------------------------------ settings


def _settings(world: World, row: int) -> Iterator[Change]:
    configuration, snapshot = world.configuration, world.snapshot
    namespace, template = snapshot.class_of(row).namespace, snapshot.template_of(row)
    for name, value in _permissions(world, row):
        wanted = WHEN_ASKED if world.asked else ALLOWED
        if value not in (wanted, ALLOWED):
            yield setting(f"pods.{name}", wanted, f"set pods.{name} to {wanted}")
    excluded = configuration.excluded_namespaces
    if namespace in excluded:
        left = [each for each in excluded if each != namespace]
        yield setting("excludedNamespaces", left, f"take {namespace} out of excludedNamespaces")
    scope = configuration.scope
    if scope.namespaces is not None and namespace not in scope.namespaces:
        more = [*scope.namespaces, namespace]
        yield setting("scope.namespaces", more, f"add {namespace} to scope.namespaces")
    if scope.node_selector != EVERYTHING:
        yield setting("scope.nodeSelector", "", "leave scope.nodeSelector empty")
    if configuration.excluded_pod_selector != NOTHING:
        yield setting("excludedPodSelector", "", "leave excludedPodSelector empty")
    threshold = configuration.pods.priority_threshold
    if threshold is not None and template.priority >= threshold:
        higher = template.priority + 1
        words = f"raise pods.priorityThreshold to {higher}"
        yield setting("pods.priorityThreshold", higher, words, amount=higher - threshold)
    if configuration.migration.way != AUTO:
        yield setting("migration.way", AUTO, f"set migration.way to {AUTO}")
    yield from _fewer_replicas(world, row)


def _permissions(world: World, row: int) -> Iterable[tuple[str, str]]:
    pods, owner = world.configuration.pods, _owner(world, row)
    if world.desk.movable.why_recreated(row):
        yield "recreate", pods.recreate
    if owner is None:
        yield "barePods", pods.bare_pods
    if owner is None or owner.kind == "Job" or controllers.is_foreign(owner.kind):
        yield "jobs", pods.jobs
    if owner is not None and controllers.is_foreign(owner.kind):
        yield "otherControllers", pods.other_controllers
    if b'"volumes":' in world.snapshot.template_of(row).spec_json:
        yield "emptyDir", pods.empty_dir
        yield "localStorage", pods.local_storage


def _fewer_replicas(world: World, row: int) -> Iterator[Change]:
    least = world.configuration.pods.min_replicas
    found = [objects.spec(raw) for _, _, raw in _above(world, row) if "spec" in raw]
    sizes = [each.get("replicas", each.get("parallelism", 1)) for each in found]
    if _owner(world, row) is None:
        sizes = [1]
    for replicas in sizes:
        if 0 < replicas < least:
            words = f"lower pods.minReplicas to {replicas}"
            yield setting("pods.minReplicas", replicas, words, amount=least - replicas)


# ------------------------------------------------------------------ states


def _states(world: World, row: int) -> Iterator[Change]:
    pod = world.desk.name(row)
    if not world.desk.movable.is_ready(row):
        yield Change(
            kind=Kind.READY,
            subject=pod,
            words=f"pod {pod} to be Running and Ready",
            made_in=partial(_ready, row=row),
        )
    for resource, key, raw in _above(world, row):
        if resource not in ("replicasets", "statefulsets"):
            continue
        wanted = objects.spec(raw).get("replicas", 1)
        status = raw.get("status") or {}
        missing = wanted - status.get("readyReplicas", 0)
        if missing > 0:
            name = "/".join(key)
            yield Change(
                kind=Kind.REPLICAS,
                subject=name,
                words=f"{missing} more of the {wanted} pods of {_SINGULAR[resource]} {name} Ready",
                details={"resource": resource, "ready": wanted},
                amount=missing,
                made_in=partial(_all_ready, resource=resource, key=key, wanted=wanted),
            )


def _ready(world: World, *, row: int) -> World:
    """Its owner counts it then."""
    made = world.but(snapshot=editing.as_ready(world.snapshot, row))
    for resource, key, raw in _above(world, row):
        if resource in ("replicasets", "statefulsets"):
            wanted = objects.spec(raw).get("replicas", 1)
            now = (raw.get("status") or {}).get("readyReplicas", 0)
            return _all_ready(made, resource=resource, key=key, wanted=min(now + 1, wanted))
    return made


def _all_ready(world: World, *, resource: str, key: Key, wanted: int) -> World:
    raw = world.snapshot.objects[resource][key]
    made = {**raw, "status": {**(raw.get("status") or {}), "readyReplicas": wanted}}
    return world.but(snapshot=editing.with_object(world.snapshot, resource, key, made))


# ------------------------------------------------------------------ budgets


def _budgets(world: World, row: int) -> Iterator[Change]:
    snapshot = world.snapshot
    pod_class = snapshot.class_of(row)
    labels = {**pod_class.labels, **snapshot.own_labels_of(row)}
    found = budgets.Budgets(snapshot).names(pod_class.namespace, labels)
    for name in found:
        key = pod_class.namespace, name
        if len(found) > 1:
            yield Change(
                kind=Kind.BUDGETS,
                subject="/".join(key),
                words=f"delete PodDisruptionBudget {name}, or let it not select the pod",
                made_in=partial(_with_budget, key=key, allowed=None),
            )
        elif (snapshot.objects[budgets.SOURCE][key].get("status") or {}).get(
            "disruptionsAllowed", 0
        ) < 1:
            yield Change(
                kind=Kind.BUDGET,
                subject="/".join(key),
                words=f"PodDisruptionBudget {name} to allow 1 disruption",
                amount=1,
                made_in=partial(_with_budget, key=key, allowed=1),
            )


def _with_budget(world: World, *, key: Key, allowed: int | None) -> World:
    """None: without it."""
    raw = world.snapshot.objects[budgets.SOURCE][key]
    made: Object | None = None
    if allowed is not None:
        status = {
            **(raw.get("status") or {}),
            "disruptionsAllowed": allowed,
            "observedGeneration": raw["metadata"].get("generation", 0),
            "conditions": [],
        }
        made = {**raw, "status": status}
    return world.but(snapshot=editing.with_object(world.snapshot, budgets.SOURCE, key, made))


# ------------------------------------------------------------------ its own specification


def _its_own(world: World, row: int) -> Iterator[Change]:
    template, pod = world.snapshot.template_of(row), world.desk.name(row)
    highest = names.SYSTEM_CRITICAL_PRIORITY - 1
    if template.priority > highest:
        yield Change(
            kind=Kind.PRIORITY,
            subject=pod,
            words=f"a priority of pod {pod} below {highest + 1:,} (it has {template.priority:,})",
            details={"priority": highest},
            amount=template.priority - highest,
            made_in=lambda world: world.but(
                snapshot=editing.with_template(world.snapshot, row, priority=highest)
            ),
        )
    volumes = template.spec().get("volumes") or []
    exclusive = [each["name"] for each in volumes if copying.why_volumes_are_exclusive([each])]
    if exclusive:
        yield Change(
            kind=Kind.VOLUME,
            subject=pod,
            words=f"pod {pod} without its volume {', '.join(exclusive)}, or with a claim for it",
            details={"volumes": exclusive},
            made_in=partial(_without_volumes, row=row, without=exclusive),
        )


def _without_volumes(world: World, *, row: int, without: list[str]) -> World:
    spec = dict(world.snapshot.template_of(row).spec())
    spec["volumes"] = [each for each in spec["volumes"] if each["name"] not in without]
    return world.but(snapshot=editing.with_template(world.snapshot, row, spec=spec))
