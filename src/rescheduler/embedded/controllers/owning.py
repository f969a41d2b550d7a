"""Who manages what: controllers adopt what they select and nobody manages, and release what they
manage and select no more (controller_ref_manager.go).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.store import Change, Key, Store
from rescheduler.kube import Object, errors
from rescheduler.model.objects import controller, is_active, is_terminating, labels, owners
from rescheduler.model.selectors import Selector
from rescheduler.wire import Resource


def reference(owner: Object) -> Object:
    """By which an object says that this one manages it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def manager(store: Store, item: Object, resource: Resource, kind: str) -> Object | None:
    """The object of this kind that manages it, if that is still there and no namesake."""
    found = controller(item)
    if found is None or found["kind"] != kind:
        return None
    owner = store.find(resource, item["metadata"].get("namespace"), found["name"])
    return owner if owner is not None and owner["metadata"]["uid"] == found["uid"] else None


def concerned(change: Change, kind: str) -> Iterator[Key]:
    """Who manages a pod that has changed, and who did so before, if they are of this kind."""
    now = controller(change.object)
    before = controller(change.before) if change.before else None
    for each in (now, before if before != now else None):
        if each is not None and each["kind"] == kind:
            yield change.object["metadata"]["namespace"], each["name"]


def is_to_be_had(change: Change) -> bool:
    """Nobody manages the pod, and whether somebody selects it may be another matter now."""
    pod, before = change.object, change.before
    if change.kind == "DELETED" or controller(pod) is not None:
        return False
    return before is None or controller(before) is not None or labels(before) != labels(pod)


def claim(
    api: ApiServer,
    owner: Object,
    selector: Selector,
    *,
    is_member: Callable[[Object], bool] | None = None,
    active_only: bool = False,
) -> list[Object]:
    """The pods that it manages from now on. `is_member`: what it selects must be so, too.
    `active_only`: what has ended, or is told to, is neither adopted, nor released, nor given.
    """

    def is_wanted(pod: Object) -> bool:
        return selector.matches(labels(pod)) and (is_member is None or is_member(pod))

    return claim_of(api, wire.PODS, owner, is_wanted, is_active if active_only else None)


def claim_of(
    api: ApiServer,
    resource: Resource,
    owner: Object,
    is_wanted: Callable[[Object], bool],
    counts: Callable[[Object], bool] | None = None,
) -> list[Object]:
    """The same for objects of any kind. All of them are tried before a refusal is raised."""
    indexes, metadata, is_leaving = Indexes.of(api.store), owner["metadata"], is_terminating(owner)
    claimed: list[Object] = []
    lost: list[Object] = []
    for item in indexes.by_owner(resource).of(metadata["uid"]):
        if counts is None or counts(item):
            (claimed if is_wanted(item) else lost).append(item)
    if is_leaving:
        return claimed
    wanted = [
        item
        for item in indexes.orphans_by_namespace(resource).of(metadata["namespace"])
        if (counts is None or counts(item)) and not is_terminating(item) and is_wanted(item)
    ]
    refused = None
    for item in (*lost, *wanted):
        kept = [each for each in owners(item) if each["uid"] != metadata["uid"]]
        is_adopted = controller(item) is None
        try:
            written = _write_owners(
                api, resource, item, [*kept, reference(owner)] if is_adopted else kept
            )
        except errors.NotFound:
            continue
        except errors.KubeError as problem:
            refused = problem
            continue
        if is_adopted:
            claimed.append(written)
    if refused is not None:
        raise refused
    return claimed


def _write_owners(
    api: ApiServer, resource: Resource, item: Object, references: Sequence[Mapping[str, Any]]
) -> Object:
    metadata = item["metadata"]
    change = {"uid": metadata["uid"], "ownerReferences": references or None}
    return api.patch(resource, metadata.get("namespace"), metadata["name"], {"metadata": change})
