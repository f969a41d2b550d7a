"""Does what was decided: one write to the API server for each action."""

from collections.abc import Mapping, Sequence
from typing import Any

from rescheduler.kube import KubeApi, Object
from rescheduler.migrate.deciding.actions import (
    CreateBudget,
    CreateCopy,
    DeleteBudget,
    DeleteCopy,
    Evict,
    LabelRecord,
    PatchPod,
    SetReady,
    Write,
)
from rescheduler.migrate.worker.recording import Recorder
from rescheduler.wire import POD_DISRUPTION_BUDGETS, PODS


def status_change(
    pod: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Only as it was judged: its kubelet may be saying something else just now."""
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"conditions": list(conditions)}}


async def write(kube: KubeApi, recorder: Recorder, namespace: str, action: Write) -> Object | None:
    """What was made or changed by it, as it is now."""
    match action:
        case CreateCopy(body):
            return await kube.create(PODS, namespace, dict(body))
        case CreateBudget(body):
            return await kube.create(POD_DISRUPTION_BUDGETS, namespace, dict(body))
        case PatchPod(_, pod, change):
            meta = pod["metadata"]
            change = {"metadata": change}
            return await kube.patch(PODS, namespace, meta["name"], uid=meta["uid"], change=change)
        case SetReady(_, pod, conditions):
            return await kube.patch(
                PODS,
                namespace,
                pod["metadata"]["name"],
                uid=pod["metadata"]["uid"],
                change=status_change(pod, conditions),
                subresource="status",
            )
        case Evict(_, pod, grace, dry_run):
            meta = pod["metadata"]
            await kube.evict(
                namespace, meta["name"], uid=meta["uid"], grace_seconds=grace, dry_run=dry_run
            )
        case DeleteCopy(copy):
            # Only as it was judged: it may serve by now, or have been adopted.
            meta = copy["metadata"]
            version = meta["resourceVersion"]
            await kube.delete(
                PODS, namespace, meta["name"], uid=meta["uid"], resource_version=version
            )
        case DeleteBudget(budget):
            # Ours whatever its version, which changes with every count of its controller.
            meta = budget["metadata"]
            await kube.delete(POD_DISRUPTION_BUDGETS, namespace, meta["name"], uid=meta["uid"])
        case LabelRecord(labels):
            await recorder.label(dict(labels))
    return None
