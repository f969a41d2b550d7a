"""How objects go: at once, after their grace, or when nobody holds them any more.

As k8s.io/apiserver/pkg/registry/{rest/delete.go,generic/registry/store.go} do it, and
pkg/registry/core/pod: a pod is given time when it runs somewhere, everything else is not.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rescheduler import wire
from rescheduler.embedded.statuses import stamp
from rescheduler.kube import Object
from rescheduler.wire import Resource

if TYPE_CHECKING:
    from rescheduler.embedded.apiserver.server import ApiServer

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_FINALIZER_OF: Final = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


def delete(
    api: "ApiServer",
    resource: Resource,
    before: Object,
    *,
    grace_seconds: int | None = None,
    propagation: str = "Background",
    dry_run: bool = False,
) -> None:
    """`propagation`: empty leaves it as it is."""
    if resource == wire.JOBS and not propagation:
        # Of old, and of Jobs only: whoever does not say what is to become of its pods keeps them.
        propagation = "Orphan"
    finalizers = _finalizers(before, propagation)
    if resource == wire.PODS:
        _delete_pod(api, before, finalizers, grace_seconds, dry_run=dry_run)
        return
    metadata = before["metadata"]
    if resource == wire.NAMESPACES and (before.get("spec") or {}).get("finalizers"):
        after = _marked(api, before, finalizers)
        after["status"] = {**(before.get("status") or {}), "phase": "Terminating"}
    elif finalizers:
        after = _marked(api, before, finalizers)
        after["metadata"]["deletionGracePeriodSeconds"] = 0
    else:
        if not dry_run:
            api.store.remove(resource, *place_of(before))
        return
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        after["metadata"]["generation"] = metadata["generation"] + 1
    if after != before and not dry_run:
        api.store.put(resource, after)


def _delete_pod(
    api: "ApiServer", pod: Object, finalizers: list[str], asked: int | None, *, dry_run: bool
) -> None:
    metadata = dict(pod["metadata"])
    if "deletionTimestamp" in metadata:
        current = metadata["deletionGracePeriodSeconds"]
        # Only less is given, never more.
        if asked is None or asked >= current:
            return
        grace = max(asked, 0)
        begun = _moment(metadata["deletionTimestamp"]) - timedelta(seconds=current)
    else:
        grace, begun = _grace(pod, asked), api.now()
        metadata["generation"] = metadata.get("generation", 0) + 1
    metadata["deletionTimestamp"] = stamp(begun + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    after = {**pod, "metadata": _with_finalizers(metadata, finalizers)}
    if dry_run:
        return
    api.store.put(wire.PODS, after)
    if nothing_holds(wire.PODS, after):
        api.store.remove(wire.PODS, *place_of(after))


def _grace(pod: Object, asked: int | None) -> int:
    status, spec = pod.get("status") or {}, pod["spec"]
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        # Nothing of it runs anywhere.
        return 0
    grace = int(spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked)
    return grace if grace >= 0 else 1


def nothing_holds(resource: Resource, item: Object) -> bool:
    """It is to go, and there is nothing more to wait for."""
    metadata = item["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if resource == wire.NAMESPACES and (item.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def place_of(item: Object) -> tuple[str | None, str]:
    return item["metadata"].get("namespace"), item["metadata"]["name"]


def _finalizers(item: Object, propagation: str) -> list[str]:
    given = item["metadata"].get("finalizers") or []
    if not propagation:
        return list(given)
    wanted = _FINALIZER_OF.get(propagation)
    return [each for each in given if each not in (FOREGROUND, ORPHAN)] + (
        [wanted] if wanted else []
    )


def _marked(api: "ApiServer", item: Object, finalizers: list[str]) -> Object:
    metadata = _with_finalizers({**item["metadata"]}, finalizers)
    metadata.setdefault("deletionTimestamp", api.stamp())
    return {**item, "metadata": metadata}


def _with_finalizers(metadata: Object, finalizers: list[str]) -> Object:
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    return metadata


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
