"""Finds everything of ours on a cluster, and removes it: for whoever leaves for good.

Nothing may be under way meanwhile: what is unfinished has been ended before, by a migrator.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.config import Migration, Scope
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.migrate.hygiene import cordoning, strays
from rescheduler.model import names, objects, podmigration
from rescheduler.model.leases import is_ours
from rescheduler.model.podmigration import Phase
from rescheduler.model.selectors import EVERYTHING
from rescheduler.wire import (
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_MIGRATIONS,
    PODS,
    RESCHEDULE_PLANS,
    Resource,
)

HISTORY_LABELS: Final = (
    names.MIGRATION_ID,
    names.MIGRATION_STATUS,
    names.MIGRATED_FROM,
    names.MIGRATION_REASON,
)
HISTORY_ANNOTATIONS: Final = (
    names.MIGRATION_TIME,
    names.MIGRATED_FROM,
    names.MIGRATION_REASON,
    names.ORIGINAL_POD,
    names.ORIGINAL_POD_NAME,
    names.OWN_DO_NOT_DISRUPT,
)


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object that we made."""

    resource: Resource
    found: Mapping[str, Any]
    kind: str
    done: str = "deleted"


@dataclass(frozen=True, slots=True)
class Ordered:
    """A pod that looks as if it were being moved."""

    verdict: strays.Verdict
    kind: str = "pod"

    @property
    def found(self) -> Mapping[str, Any]:
        return self.verdict.pod

    @property
    def done(self) -> str:
        match self.verdict:
            case strays.Remove():
                return "deleted, a copy that was left behind"
            case strays.Complete():
                return "marked as moved"
            case strays.Unmark():
                return "unmarked"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The history on a pod that was moved."""

    found: Mapping[str, Any]
    kind: str = "pod"
    done: str = "history removed"


@dataclass(frozen=True, slots=True)
class Uncordoned:
    found: Mapping[str, Any]
    change: cordoning.Change
    kind: str = "node"

    @property
    def done(self) -> str:
        if self.change == cordoning.LEAVE_CORDONED:
            name = self.found["metadata"]["name"]
            return f"unannotated, stays cordoned until kubectl uncordon {name}"
        return "unannotated" if self.change.unschedulable is None else "uncordoned"


Finding = Deleted | Ordered | Forgotten | Uncordoned


def name_of(finding: Finding) -> str:
    """As kubectl has it: `pod/web-1`, with the namespace where there is one."""
    metadata = finding.found["metadata"]
    namespace = metadata.get("namespace")
    where = f" in namespace {namespace}" if namespace else ""
    return f"{finding.kind}/{metadata['name']}{where}"


# ---------------------------------------------------------------------- finding


async def find(kube: KubeApi, scope: Scope, *, history: bool) -> AsyncIterator[Finding]:
    """Namespace by namespace, so that not all pods of a cluster are held at once. The records come
    after what they are about: whoever dies in between is followed by one that finds the rest.
    """
    for namespace in await _namespaces(kube, scope):
        migrations = await migrations_of(kube, namespace)
        pods = await kube.list(PODS, namespace=namespace)
        # An original may have to be given back to its Services before its copy goes.
        for pod in sorted(pods, key=_is_copy):
            if finding := await _of_pod(kube, pod, migrations, history=history):
                yield finding
        for budget in await kube.list(
            POD_DISRUPTION_BUDGETS, namespace=namespace, labels=names.RECORD
        ):
            yield Deleted(POD_DISRUPTION_BUDGETS, budget, "poddisruptionbudget.policy")
        for record in migrations:
            yield Deleted(POD_MIGRATIONS, record, "podmigration.rescheduler.io")
    for node in await kube.list(NODES):
        if finding := _of_node(node, scope):
            yield finding


async def plans_of(kube: KubeApi, namespace: str) -> list[Deleted]:
    """Plans, all of them beside the Lease."""
    try:
        found = await kube.list(RESCHEDULE_PLANS, namespace=namespace)
    except errors.NotFound:
        return []  # they are not installed any more
    return [Deleted(RESCHEDULE_PLANS, each, "rescheduleplan.rescheduler.io") for each in found]


async def _namespaces(kube: KubeApi, scope: Scope) -> list[str]:
    if scope.namespaces is not None:
        return sorted(scope.namespaces)
    return sorted(each["metadata"]["name"] for each in await kube.list(NAMESPACES))


async def migrations_of(kube: KubeApi, namespace: str | None) -> list[Object]:
    try:
        return await kube.list(POD_MIGRATIONS, namespace=namespace)
    except errors.NotFound:
        return []  # they are not installed any more


async def _of_pod(
    kube: KubeApi, pod: Object, migrations: list[Object], *, history: bool
) -> Finding | None:
    if not _is_touched(pod) or objects.is_terminating(pod):
        return None
    original = await strays.original_of(kube, pod)
    if verdict := strays.judge(pod, strays.unfinished_of(migrations), original):
        return Ordered(verdict)
    return Forgotten(pod) if history else None


def _is_copy(pod: Object) -> bool:
    return names.ORIGINAL_POD in objects.annotations(pod)


def _is_touched(pod: Object) -> bool:
    keys = {*objects.labels(pod), *objects.annotations(pod)}
    ours = {*HISTORY_LABELS, *HISTORY_ANNOTATIONS, names.PREVIOUS_DELETION_COST}
    return not keys.isdisjoint(ours)


def _of_node(node: Object, scope: Scope) -> Uncordoned | None:
    if scope.node_selector != EVERYTHING and not scope.node_selector.matches(objects.labels(node)):
        return None
    change = cordoning.to_leave_nothing(cordoning.state_of_object(node))
    return Uncordoned(node, change) if change else None


def never_begun(migrations: list[Object]) -> Iterator[Deleted]:
    """Records of moves that wait for their turn: they need no undoing."""
    for record in migrations:
        if podmigration.phase_of(record) is Phase.PENDING:
            yield Deleted(POD_MIGRATIONS, record, "podmigration.rescheduler.io")


# ---------------------------------------------------------------------- removing


async def remove(kube: KubeApi, finding: Finding, limits: Migration) -> None:
    """Raises KubeError when it cannot be; that it is gone by now is none."""
    metadata = finding.found["metadata"]
    namespace, name, uid = metadata.get("namespace", ""), metadata["name"], metadata["uid"]
    try:
        match finding:
            case Deleted(resource):
                # Whatever its version is by now: the status of a budget changes with every pod.
                await kube.delete(resource, namespace, name, uid=uid)
            case Ordered(verdict):
                await strays.put_in_order(kube, verdict, limits)
            case Forgotten():
                change = {"metadata": without_history(finding.found)}
                await kube.patch(PODS, namespace, name, uid=uid, change=change)
            case Uncordoned():
                await cordoning.apply(kube, name, cordoning.to_leave_nothing, uid=uid)
    except errors.NotFound:
        return


def without_history(pod: Mapping[str, Any]) -> dict[str, Any]:
    ours = (names.DO_NOT_DISRUPT,) if is_ours(objects.annotations(pod)) else ()
    return {
        "labels": dict.fromkeys(HISTORY_LABELS),
        "annotations": dict.fromkeys((*HISTORY_ANNOTATIONS, *ours)),
    }
