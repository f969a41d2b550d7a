"""What is left of migrations that nobody remembers: marks, copies, temporary budgets. Finds them,
and puts them in order.

They are left when somebody deletes the record of a migration that was under way, or when a request
of ours arrives after we had given up on it.
"""

from collections.abc import Awaitable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog

from rescheduler.config import Migration, Scope
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import leaving, marks, timeouts
from rescheduler.migrate.worker.executing import status_change
from rescheduler.model import conditions, names, objects, podmigration
from rescheduler.model.cluster import Pod
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.wire import NODES, POD_DISRUPTION_BUDGETS, POD_MIGRATIONS, PODS

_IN_PROGRESS: Final = (names.MIGRATION_STATUS, names.STATUS_IN_PROGRESS)
_TRIES: Final = 3
"""A kubelet that starts a pod writes its status a few times within a moment."""


@dataclass(frozen=True, slots=True)
class Unmark:
    """It is an original, and nobody moves it."""

    pod: Object
    what: str = "stray mark is removed from a pod"


@dataclass(frozen=True, slots=True)
class Complete:
    """It has taken the place of its original, which is gone."""

    pod: Object
    what: str = "stray copy is marked as moved"


@dataclass(frozen=True, slots=True)
class Remove:
    """It is a copy that nobody needs: what it is a copy of is served by others."""

    pod: Object
    what: str = "stray copy is removed"


Verdict = Unmark | Complete | Remove


# ---------------------------------------------------------------------- deciding


def suspects(snapshot: Snapshot, scope: Scope) -> tuple[Pod, ...]:
    """Pods that look as if they were being moved, and of which no record that we know says so."""
    known = unfinished_of(snapshot.objects.get(POD_MIGRATIONS.plural, {}).values())
    marked = [
        row
        for row, annotations in snapshot.pods.annotations.items()
        if names.PREVIOUS_DELETION_COST in annotations or names.PREVIOUS_MIGRATION in annotations
    ]
    # Few pods share such labels, so it is quicker to look at the labels than at the pods.
    sets = [
        number for number, each in enumerate(snapshot.label_sets) if _IN_PROGRESS in (each or ())
    ]
    labelled = snapshot.rows[np.isin(snapshot.pods.own_labels[snapshot.rows], sets)].tolist()
    return tuple(
        pod
        for pod in snapshot.pods_of({*marked, *labelled})
        if scope.covers(pod.namespace)
        and not pod.terminating
        and not {pod.uid, pod.annotations.get(names.ORIGINAL_POD, "")} & known
    )


def suspected_budgets(snapshot: Snapshot, scope: Scope) -> list[Object]:
    """Temporary ones of which no record that we know says so."""
    known = snapshot.objects.get(POD_MIGRATIONS.plural, {})
    found = snapshot.objects.get(POD_DISRUPTION_BUDGETS.plural, {})
    return [
        budget
        for (namespace, _), budget in found.items()
        if names.RECORD in objects.labels(budget)
        and scope.covers(namespace)
        and not _is_guarding(budget, known.get((namespace, objects.labels(budget)[names.RECORD])))
    ]


def _is_guarding(budget: Object, record: Object | None) -> bool:
    """Or it is about to go, or has gone."""
    is_needed = record is not None and podmigration.is_unfinished(record)
    return is_needed or objects.is_terminating(budget)


def unfinished_of(migrations: Iterable[Object]) -> set[str]:
    """The UIDs of the pods that are being moved."""
    return {podmigration.pod_uid(each) for each in migrations if podmigration.is_unfinished(each)}


def judge(pod: Object, unfinished: set[str], original: Object | None) -> Verdict | None:
    """What is wrong with it; `original` is what it is a copy of, if that is there."""
    copy_of = objects.annotations(pod).get(names.ORIGINAL_POD, "")
    is_of_somebody = not unfinished.isdisjoint({pod["metadata"]["uid"], copy_of})
    if objects.is_terminating(pod) or is_of_somebody:
        return None
    if marks.are_on(pod):
        return Unmark(pod)
    if _IN_PROGRESS not in objects.labels(pod).items():
        return None
    # Nobody makes a pod again that has no owner; the ReplicaSet of another one has done so.
    is_needed = original is None and not objects.owners(pod)
    return Complete(pod) if is_needed or objects.controller(pod) else Remove(pod)


# ---------------------------------------------------------------------- acting


async def sweep(kube: KubeApi, snapshot: Snapshot, scope: Scope, limits: Migration) -> None:
    """What cannot be put in order is told, and tried again in the next pass: it is no reason not to
    go on with all others.
    """
    # An original may have to be given back to its Services before its copy goes.
    for pod in sorted(suspects(snapshot, scope), key=_is_copy):
        await _carefully(_sweep_pod(kube, pod, limits), pod.full_name)
    for budget in suspected_budgets(snapshot, scope):
        await _carefully(_sweep_budget(kube, budget), _full_name(budget))


def _is_copy(pod: Pod) -> bool:
    return names.ORIGINAL_POD in pod.annotations


async def _carefully(sweeping: Awaitable[None], name: str) -> None:
    try:
        await sweeping
    except errors.NotLeading:
        raise
    except (errors.NotFound, errors.Conflict, errors.BudgetRefused):
        return  # it has changed meanwhile, or may not go yet
    except errors.KubeError as problem:
        structlog.get_logger().warning(
            "leftovers of a migration could not be cleaned up", name=name, problem=str(problem)
        )


async def _sweep_pod(kube: KubeApi, pod: Pod, limits: Migration) -> None:
    """Judged anew when it has changed meanwhile: whoever runs once has no next pass."""
    for tries_left in reversed(range(_TRIES)):
        verdict = await look(kube, pod.namespace, pod.name)
        if verdict is None:
            return
        try:
            await put_in_order(kube, verdict, limits)
        except errors.Conflict:
            if tries_left:
                continue
            raise
        structlog.get_logger().warning(verdict.what, pod=pod.full_name)
        return


async def _sweep_budget(kube: KubeApi, budget: Object) -> None:
    metadata = budget["metadata"]
    namespace, owner = metadata["namespace"], objects.labels(budget)[names.RECORD]
    # It was made after its record: one that is not to be seen now was deleted.
    if _is_guarding(budget, await _record(kube, namespace, owner)):
        return
    structlog.get_logger().warning(
        "stray temporary PodDisruptionBudget is deleted", budget=_full_name(budget)
    )
    # Whatever its version is by now: its status changes with every pod.
    await kube.delete(POD_DISRUPTION_BUDGETS, namespace, metadata["name"], uid=metadata["uid"])


def _full_name(each: Object) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['name']}"


async def _record(kube: KubeApi, namespace: str, name: str) -> Object | None:
    try:
        return await kube.get(POD_MIGRATIONS, namespace, name)
    except errors.NotFound:
        return None


async def look(kube: KubeApi, namespace: str, name: str) -> Verdict | None:
    """The pod first, then the records: who is marked now has had a record before. Should that be
    over by the time it is read, the pod has another version by then, too.
    """
    pod = await kube.get(PODS, namespace, name)
    unfinished = unfinished_of(await kube.list(POD_MIGRATIONS, namespace=namespace))
    return judge(pod, unfinished, await original_of(kube, pod))


async def original_of(kube: KubeApi, pod: Object) -> Object | None:
    annotations = objects.annotations(pod)
    uid, name = annotations.get(names.ORIGINAL_POD), annotations.get(names.ORIGINAL_POD_NAME)
    if not uid or not name:
        return None
    try:
        found = await kube.get(PODS, pod["metadata"]["namespace"], name)
    except errors.NotFound:
        return None
    is_there = found["metadata"]["uid"] == uid and not objects.is_terminating(found)
    return found if is_there else None


async def put_in_order(kube: KubeApi, verdict: Verdict, limits: Migration) -> None:
    metadata = verdict.pod["metadata"]
    namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
    version = metadata["resourceVersion"]
    match verdict:
        case Remove(pod) if conditions.holds(pod, "Ready"):
            # It counts for budgets, and others may have been evicted on its account.
            grace = timeouts.grace(pod, limits)
            try:
                await kube.evict(namespace, name, uid=uid, grace_seconds=grace)
            except errors.SeveralBudgets:
                # So it is for everybody, and it would stay for ever.
                await kube.delete(PODS, namespace, name, uid=uid, resource_version=version)
        case Remove():
            await kube.delete(PODS, namespace, name, uid=uid, resource_version=version)
        case Unmark(pod):
            pod = await _given_back(kube, pod)
            version = pod["metadata"]["resourceVersion"]
            change = {"metadata": {**marks.unmark(pod), "resourceVersion": version}}
            await kube.patch(PODS, namespace, name, uid=uid, change=change)
        case Complete():
            labels = {names.MIGRATION_STATUS: names.STATUS_COMPLETED}
            change = {"metadata": {"labels": labels, "resourceVersion": version}}
            await kube.patch(PODS, namespace, name, uid=uid, change=change)


async def _given_back(kube: KubeApi, pod: Object) -> Object:
    """To its Services, if we had taken it out of them. Where we may not, its kubelet will."""
    if not conditions.has_left(pod) or not await _would_be_ready(kube, pod):
        return pod
    metadata = pod["metadata"]
    change = status_change(pod, leaving.back_again(pod))
    with suppress(errors.Forbidden, errors.Invalid):
        return await kube.patch(
            PODS,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            change=change,
            subresource="status",
        )
    return pod


async def _would_be_ready(kube: KubeApi, pod: Object) -> bool:
    try:
        node = await kube.get(NODES, None, pod["spec"].get("nodeName") or "")
    except errors.NotFound:
        return False
    return leaving.would_be_ready(pod, node)
