"""Who owns the claims of a StatefulSet's pods, by its persistentVolumeClaimRetentionPolicy.

A claim that is to go with the set, or with a pod that was scaled away, belongs to it, and then the
garbage collector deletes it. By default nobody owns a claim, and it stays.
"""

from collections.abc import Mapping
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import owning, stateful_pods
from rescheduler.kube import Object, errors
from rescheduler.model.objects import is_terminating, owners

Reference = Mapping[str, Any]

_DELETE: Final = "Delete"


class Claims:
    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def create_missing(self, stateful_set: Object, ordinal: int) -> None:
        """Those that its pod needs.

        Raises:
            Conflict: one is there, and being deleted: its pod must wait for another.
        """
        leaving = []
        for claim in stateful_pods.claims_of(stateful_set, ordinal):
            metadata = claim["metadata"]
            there = self._find(metadata["namespace"], metadata["name"])
            if there is None:
                self._api.create(wire.PERSISTENT_VOLUME_CLAIMS, metadata["namespace"], claim)
            elif is_terminating(there):
                leaving.append(metadata["name"])
        if leaving:
            raise errors.Conflict(f"being deleted: {', '.join(leaving)}")

    def are_stale(self, stateful_set: Object, pod_name: str, ordinal: int) -> bool:
        """Whether one belongs to a pod of this name that is gone, and will go with it."""
        if not _goes_when_scaled(stateful_set):
            return False
        return any(
            each["kind"] == "Pod" and each["name"] == pod_name
            for claim in self._of(stateful_set, ordinal)
            for each in owners(claim)
        )

    def settle_owners(self, stateful_set: Object, pod: Object) -> None:
        """`pod` may be one that was just created, or is about to be deleted."""
        for claim in self._of(stateful_set, stateful_pods.ordinal_of(pod)):
            wanted = _wanted_owners(claim, stateful_set, pod)
            if wanted != list(owners(claim)):
                metadata = claim["metadata"]
                self._api.patch(
                    wire.PERSISTENT_VOLUME_CLAIMS,
                    metadata["namespace"],
                    metadata["name"],
                    {"metadata": {"uid": metadata["uid"], "ownerReferences": wanted}},
                )

    def _of(self, stateful_set: Object, ordinal: int) -> list[Object]:
        namespace = stateful_set["metadata"]["namespace"]
        names = stateful_pods.claim_names(stateful_set, ordinal).values()
        found = (self._find(namespace, name) for name in names)
        return [claim for claim in found if claim is not None]

    def _find(self, namespace: str, name: str) -> Object | None:
        return self._api.store.find(wire.PERSISTENT_VOLUME_CLAIMS, namespace, name)


def _wanted_owners(claim: Object, stateful_set: Object, pod: Object) -> list[Reference]:
    present = list(owners(claim))
    ours = {_shape(stateful_set, "StatefulSet"), _shape(pod, "Pod")}
    uids = {stateful_set["metadata"]["uid"], pod["metadata"].get("uid")}
    if any(_shape_of(each) in ours and each["uid"] not in uids for each in present):
        # Of a set or a pod of this name that is gone: the garbage collector sees to it.
        return present
    others = [each for each in present if _shape_of(each) not in ours]
    if any(each.get("controller") for each in others):
        return others
    return others + _ours(stateful_set, pod)


def _ours(stateful_set: Object, pod: Object) -> list[Reference]:
    is_scaled_away = stateful_pods.ordinal_of(pod) not in stateful_pods.wanted_ordinals(
        stateful_set
    )
    if is_scaled_away and _goes_when_scaled(stateful_set):
        return [owning.reference(pod)]
    if _policy(stateful_set).get("whenDeleted") == _DELETE:
        return [owning.reference(stateful_set)]
    return []


def _goes_when_scaled(stateful_set: Object) -> bool:
    return _policy(stateful_set).get("whenScaled") == _DELETE


def _policy(stateful_set: Object) -> Object:
    return stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}


def _shape(item: Object, kind: str) -> tuple[str, str]:
    return kind, item["metadata"]["name"]


def _shape_of(reference: Reference) -> tuple[str, str]:
    return reference["kind"], reference["name"]
