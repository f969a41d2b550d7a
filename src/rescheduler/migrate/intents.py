"""From a planned move, or from a copy that an earlier process left, to what is to be done."""

from collections.abc import Iterable

from rescheduler.kube import PODS, KubeApi, Object
from rescheduler.migrate import copies, viewing
from rescheduler.migrate.facts import Intent
from rescheduler.migrate.outcomes import Outcome
from rescheduler.model import names, pins
from rescheduler.model.moves import Move


async def intend(kube: KubeApi, move: Move) -> Intent | Outcome:
    """The live pod decides what the move means: it must still be the one that was planned for."""
    pod = await viewing.find(kube, PODS, move.namespace, move.pod)
    if pod is None or pod["metadata"]["uid"] != move.uid:
        return Outcome(moved=False, reason="NotNow", message="the pod is gone")
    owner = _replica_set_of(pod)
    if owner is None:
        return Outcome(moved=False, reason="NotMovable", message="it belongs to no ReplicaSet")
    return Intent(
        namespace=move.namespace,
        pod=move.pod,
        uid=move.uid,
        replica_set=owner["name"],
        replica_set_uid=owner["uid"],
        source=move.source,
        target=move.target,
        strategy=move.strategy,
        reason=move.reason,
    )


async def find_unfinished(
    kube: KubeApi, *, namespaces: Iterable[str] | None, nodes: Iterable[str]
) -> list[Intent]:
    """Migrations to one of these nodes that a process before this one left in the middle."""
    wanted, targets = namespaces and set(namespaces), set(nodes)
    label = f"{names.MIGRATION_STATUS}={names.STATUS_IN_PROGRESS}"
    found = [_intent_of(pod) for pod in await kube.list(PODS, labels=label)]
    return [
        intent
        for intent in found
        if intent and intent.target in targets and (not wanted or intent.namespace in wanted)
    ]


def _intent_of(copy: Object) -> Intent | None:
    metadata = copy["metadata"]
    annotations = metadata.get("annotations") or {}
    uid, owner = annotations.get(names.ORIGINAL_POD, ""), _replica_set_of(copy)
    target = pins.target(copy["spec"])
    if owner is None or target is None or not copies.is_copy_of(copy, uid):
        return None
    return Intent(
        namespace=metadata["namespace"],
        pod=annotations.get(names.ORIGINAL_POD_NAME, ""),
        uid=uid,
        replica_set=owner["name"],
        replica_set_uid=owner["uid"],
        source=annotations.get(names.MIGRATED_FROM, ""),
        target=target,
        strategy=metadata["labels"].get(names.MIGRATION_REASON, ""),
        reason="left unfinished by an earlier run",
        resumed=True,
    )


def _replica_set_of(pod: Object) -> Object | None:
    references = pod["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each["kind"] == "ReplicaSet"), None)
