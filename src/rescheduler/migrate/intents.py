"""From a planned move, or from a copy that an earlier process left, to what is to be done."""

from rescheduler.kube import KubeApi
from rescheduler.migrate import viewing
from rescheduler.migrate.deciding import copies
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.model import names, objects, pins
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.wire import PODS


async def intend(kube: KubeApi, move: Move) -> Intent | Outcome:
    """The live pod decides what the move means: it must still be the one that was planned for."""
    pod = await viewing.find(kube, PODS, move.namespace, move.pod)
    if pod is None or pod["metadata"]["uid"] != move.uid:
        return Outcome(moved=False, reason=Reason.NOT_NOW, message="the pod is gone")
    owner = _replica_set_of(pod)
    if owner is None:
        return Outcome(moved=False, reason=Reason.NOT_MOVABLE, message="it has no ReplicaSet")
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


async def find_unfinished(kube: KubeApi) -> list[Intent]:
    """Migrations, in the whole cluster, that are in the middle: of a process that died, or of one
    that is at it.
    """
    label = f"{names.MIGRATION_STATUS}={names.STATUS_IN_PROGRESS}"
    found = [_intent_of(pod) for pod in await kube.list(PODS, labels=label)]
    return [intent for intent in found if intent]


def _intent_of(copy: Object) -> Intent | None:
    metadata, annotations = copy["metadata"], objects.annotations(copy)
    uid, owner = annotations.get(names.ORIGINAL_POD, ""), _replica_set_of(copy)
    target = pins.target(copy["spec"])
    if owner is None or target is None or not copies.is_copy_of(copy, uid):
        return None
    if objects.is_terminating(copy):
        # Taken back already. A dead node may hold it for hours, and is no reason to wait with it.
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
    return next((each for each in objects.owners(pod) if each["kind"] == "ReplicaSet"), None)
