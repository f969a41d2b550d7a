"""Binds claims to volumes, or makes volumes for them, as their StorageClass says; and makes the
claims of ephemeral volumes. Claims that wait for their first consumer are the scheduler's.
"""

import random
from collections.abc import Callable, Iterable

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.embedded.volume_matching import (
    bind,
    claim_of,
    class_of,
    free_volumes,
    is_bound,
    provision,
    provisions,
    smallest,
    waits_for_consumer,
)
from rescheduler.kube import Object, errors
from rescheduler.model.objects import is_terminating


class VolumeController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        store = api.store
        self._claims = Queue("claims", self._look_at_claim, chance)
        self._volumes = Queue("volumes", self._look_at_volume, chance)
        self._pods = Queue("ephemeral volumes", self._look_at_pod, chance)
        self._free = Indexes.of(store).by(wire.PERSISTENT_VOLUMES, free_volumes)
        self._of_claims = store.index(wire.PERSISTENT_VOLUMES, claim_of)
        self._unbound = store.index(wire.PERSISTENT_VOLUME_CLAIMS, _class_if_unbound)
        self._stop: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._stop = [
            store.listen(wire.PERSISTENT_VOLUME_CLAIMS, self._on_claim),
            store.listen(wire.PERSISTENT_VOLUMES, self._on_volume),
            store.listen(wire.STORAGE_CLASSES, self._on_class),
            store.listen(wire.PODS, self._on_pod),
        ]
        for claim in store.all(wire.PERSISTENT_VOLUME_CLAIMS):
            self._claims.add(key_of(claim))
        for volume in store.all(wire.PERSISTENT_VOLUMES):
            self._volumes.add(key_of(volume))
        for pod in store.all(wire.PODS):
            if _ephemeral(pod):
                self._pods.add(key_of(pod))

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        for queue in (self._claims, self._volumes, self._pods):
            queue.end()

    # ------------------------------------------------------------------ what is heard

    def _on_claim(self, change: Change) -> None:
        self._claims.add(key_of(change.object))
        if change.kind == "DELETED":
            for volume in self._of_claims.of(key_of(change.object)):
                self._volumes.add(key_of(volume))

    def _on_volume(self, change: Change) -> None:
        if change.kind != "DELETED":
            self._volumes.add(key_of(change.object))
        self._wake(change.object["spec"].get("storageClassName") or "")

    def _on_class(self, change: Change) -> None:
        self._wake(change.object["metadata"]["name"])

    def _on_pod(self, change: Change) -> None:
        if change.kind == "ADDED" and _ephemeral(change.object):
            self._pods.add(key_of(change.object))

    def _wake(self, name: str) -> None:
        for claim in self._unbound.of(name):
            self._claims.add(key_of(claim))

    # ------------------------------------------------------------------ claims

    def _look_at_claim(self, key: Key) -> None:
        claim = self._api.store.find(wire.PERSISTENT_VOLUME_CLAIMS, *key)
        if claim is None or is_terminating(claim) or is_bound(claim):
            return
        named = claim["spec"].get("volumeName")
        if named:
            volume = self._api.store.find(wire.PERSISTENT_VOLUMES, None, named)
            if volume is not None and _may_have(claim, volume):
                bind(self._api, claim, volume)
            return
        if waits_for_consumer(claim, self._api.store):
            self._show_pending(claim)
            return
        free = self._free.of(claim["spec"].get("storageClassName") or "")
        volume = smallest(free, claim, None)
        kind = class_of(claim, self._api.store)
        if volume is not None:
            bind(self._api, claim, volume)
        elif kind is not None and provisions(kind):
            provision(self._api, claim, kind, None)
        else:
            self._show_pending(claim)

    def _show_pending(self, claim: Object) -> None:
        status = {**(claim.get("status") or {}), "phase": "Pending"}
        self._api.set_status(wire.PERSISTENT_VOLUME_CLAIMS, claim, status)

    # ------------------------------------------------------------------ volumes

    def _look_at_volume(self, key: Key) -> None:
        volume = self._api.store.find(wire.PERSISTENT_VOLUMES, None, key[1])
        if volume is None or is_terminating(volume):
            return
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            self._show(volume, "Available")
            return
        claim = self._api.store.find(
            wire.PERSISTENT_VOLUME_CLAIMS, reference.get("namespace"), reference.get("name", "")
        )
        if claim is not None and claim["metadata"]["uid"] == reference["uid"]:
            self._show(volume, "Bound")
        elif volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._api.delete(wire.PERSISTENT_VOLUMES, None, key[1], uid=volume["metadata"]["uid"])
        else:
            self._show(volume, "Released")

    def _show(self, volume: Object, phase: str) -> None:
        status = {**(volume.get("status") or {}), "phase": phase}
        self._api.set_status(wire.PERSISTENT_VOLUMES, volume, status)

    # ------------------------------------------------------------------ ephemeral volumes

    def _look_at_pod(self, key: Key) -> None:
        pod = self._api.store.find(wire.PODS, *key)
        if pod is None or is_terminating(pod):
            return
        for volume in _ephemeral(pod):
            try:
                self._api.create(wire.PERSISTENT_VOLUME_CLAIMS, key[0], _claim_for(pod, volume))
            except errors.AlreadyExists:
                continue


def _ephemeral(pod: Object) -> list[Object]:
    return [each for each in pod["spec"].get("volumes") or () if "ephemeral" in each]


def _claim_for(pod: Object, volume: Object) -> Object:
    template = volume["ephemeral"]["volumeClaimTemplate"]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        **(template.get("metadata") or {}),
        "name": f"{pod['metadata']['name']}-{volume['name']}",
        "namespace": pod["metadata"]["namespace"],
        "ownerReferences": [owner],
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template["spec"],
    }


def _may_have(claim: Object, volume: Object) -> bool:
    reference = volume["spec"].get("claimRef") or {}
    is_its = (reference.get("namespace"), reference.get("name")) == key_of(claim)
    return not reference or (
        is_its and reference.get("uid") in (None, "", claim["metadata"]["uid"])
    )


def _class_if_unbound(claim: Object) -> Iterable[str]:
    if not is_bound(claim):
        yield claim["spec"].get("storageClassName") or ""
