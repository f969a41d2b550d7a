"""Takes marks off pods whose migration nobody remembers.

A mark outlives its copy only if the process died between the two and a user deleted the copy before
the next run, or if a request of ours arrived after we had given up on it.
"""

from collections.abc import Iterable

import structlog

from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.marks import unmark
from rescheduler.model import names
from rescheduler.model.cluster import Pod
from rescheduler.wire import PODS


async def sweep_marks(kube: KubeApi, pods: Iterable[Pod], unfinished: Iterable[Intent]) -> None:
    """A mark is a stray one unless somebody's copy names the pod that carries it."""
    log = structlog.get_logger()
    spared = {intent.uid for intent in unfinished}
    for pod in pods:
        marked = names.PREVIOUS_DELETION_COST in pod.annotations
        if not marked or pod.terminating or pod.uid in spared:
            continue
        log.warning("takes a stray mark off", pod=pod.full_name)
        change = unmark(pod.annotations)
        try:
            await kube.patch_metadata(PODS, pod.namespace, pod.name, uid=pod.uid, change=change)
        except (errors.NotFound, errors.Conflict):
            continue  # it is gone, and its mark with it
