"""The pods of a Job: what they are, how they are counted, and which completions are missing."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rescheduler.embedded.controllers import owning
from rescheduler.kube import Object
from rescheduler.model.objects import annotations, is_terminating

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
"""On a pod until its Job has counted it, so that none goes uncounted."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"


def pod_of(job: Object, index: int | None) -> Object:
    """As it is to be created."""
    metadata, template = job["metadata"], job["spec"]["template"]
    given, spec = template.get("metadata") or {}, template.get("spec") or {}
    name = metadata["name"] if index is None else f"{metadata['name']}-{index}"
    finalizers = [each for each in given.get("finalizers") or () if each != FINALIZER]
    made: Object = {
        "generateName": f"{name}-",
        "namespace": metadata["namespace"],
        "labels": dict(given.get("labels") or {}),
        "annotations": dict(given.get("annotations") or {}),
        "finalizers": [*finalizers, FINALIZER],
        "ownerReferences": [owning.reference(job)],
    }
    if index is not None:
        made["labels"][INDEX] = made["annotations"][INDEX] = str(index)
        spec = {"hostname": name, **spec, "containers": list(map(_told, spec["containers"]))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec}


def is_tracked(pod: Object) -> bool:
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def has_succeeded(pod: Object) -> bool:
    return _phase(pod) == "Succeeded"


def has_failed(job: Object, pod: Object) -> bool:
    """One that is told to end has failed by now, unless only those are replaced that have ended."""
    if _phase(pod) == "Failed":
        return True
    waits: bool = job["spec"].get("podReplacementPolicy") == "Failed"
    return not waits and is_terminating(pod) and _phase(pod) != "Succeeded"


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(job: Object, pod: Object) -> int | None:
    """None: it has none, or none of this Job's."""
    text = annotations(pod).get(INDEX, "")
    if not text.isdecimal():
        return None
    return index if (index := int(text)) < job["spec"]["completions"] else None


def missing_indexes(job: Object, done: set[int], active: Iterable[Object]) -> Iterator[int]:
    taken = done | {index for pod in active if (index := index_of(job, pod)) is not None}
    return (index for index in range(job["spec"]["completions"]) if index not in taken)


def doubled(job: Object, done: set[int], active: Sequence[Object]) -> list[Object]:
    """Those whose index another one has, or has completed, and those without one."""
    found, taken = [], set(done)
    for pod in active:
        index = index_of(job, pod)
        if index is None or index in taken:
            found.append(pod)
        else:
            taken.add(index)
    return found


def indexes_from(text: str) -> set[int]:
    """`0-3,5`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def indexes_in_words(indexes: Iterable[int]) -> str:
    runs = itertools.groupby(enumerate(sorted(indexes)), key=lambda each: each[1] - each[0])
    spans = [[index for _, index in run] for _, run in runs]
    return ",".join(
        str(span[0])
        if len(span) == 1
        # Of two the real one makes no span either.
        else f"{span[0]},{span[1]}"
        if len(span) == 2  # noqa: PLR2004
        else f"{span[0]}-{span[-1]}"
        for span in spans
    )


def restarts(pods: Iterable[Object]) -> int:
    """Of all containers of those that run, or will."""
    return sum(
        container.get("restartCount") or 0
        for pod in pods
        if _phase(pod) in ("Running", "Pending")
        for kind in ("initContainerStatuses", "containerStatuses")
        for container in (pod.get("status") or {}).get(kind) or ()
    )


def _told(container: Object) -> Object:
    """A container may ask which one it is."""
    reference = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    told = {"name": "JOB_COMPLETION_INDEX", "valueFrom": reference}
    return {**container, "env": [*(container.get("env") or ()), told]}


def _phase(pod: Object) -> str:
    return (pod.get("status") or {}).get("phase") or ""
