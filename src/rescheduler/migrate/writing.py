"""Does what was decided: one write to the API server for each step."""

from rescheduler.kube import KubeApi, Object
from rescheduler.migrate.deciding.steps import (
    CreateBudget,
    CreateCopy,
    DeleteBudget,
    DeleteCopy,
    Evict,
    LabelRecord,
    PatchPod,
    Write,
)
from rescheduler.migrate.recording import Recorder
from rescheduler.wire import POD_DISRUPTION_BUDGETS, PODS


async def write(kube: KubeApi, recorder: Recorder, namespace: str, step: Write) -> Object | None:
    """What was made or changed by it, as it is now."""
    match step:
        case CreateCopy(body):
            return await kube.create(PODS, namespace, dict(body))
        case CreateBudget(body):
            return await kube.create(POD_DISRUPTION_BUDGETS, namespace, dict(body))
        case PatchPod(_, pod, change):
            meta = pod["metadata"]
            change = {"metadata": change}
            return await kube.patch(PODS, namespace, meta["name"], uid=meta["uid"], change=change)
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
