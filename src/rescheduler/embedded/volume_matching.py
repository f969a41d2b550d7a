"""Claims and the volumes that satisfy them: what the volume controller and the scheduler share.

Follows pkg/controller/volume/persistentvolume and component-helpers/storage/volume: the smallest
volume that will do is taken; where there is none, the class of the claim makes one.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.store import Key, Store, key_of
from rescheduler.kube import Object
from rescheduler.model import node_affinity, quantities, selectors
from rescheduler.model.objects import annotations, is_terminating, labels

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Place(NamedTuple):
    """The node that a volume is to be reached from."""

    name: str
    labels: Mapping[str, str]


def is_bound(claim: Object) -> bool:
    is_complete = BIND_COMPLETED in annotations(claim)
    is_told = (claim.get("status") or {}).get("phase") == "Bound"
    return bool(claim["spec"].get("volumeName")) and (is_complete or is_told)


def class_of(claim: Object, store: Store) -> Object | None:
    name = claim["spec"].get("storageClassName")
    return store.find(wire.STORAGE_CLASSES, None, name) if name else None


def waits_for_consumer(claim: Object, store: Store) -> bool:
    found = class_of(claim, store)
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


def free_volumes(volume: Object) -> Iterable[str]:
    """Key of an index: those that nobody has, by class."""
    reference = volume["spec"].get("claimRef") or {}
    if not reference.get("uid"):
        yield volume["spec"].get("storageClassName") or ""


def claim_of(volume: Object) -> Iterable[Key]:
    """Key of an index: volumes by the claim that has them, or that they are kept for."""
    reference = volume["spec"].get("claimRef")
    if reference:
        yield reference.get("namespace") or "", reference.get("name") or ""


def smallest(volumes: Iterable[Object], claim: Object, place: Place | None) -> Object | None:
    """Of those that satisfy the claim; one that is kept for it comes first."""
    fitting = [each for each in volumes if _satisfies(each, claim, place)]
    kept = [each for each in fitting if each["spec"].get("claimRef")]
    return min(kept or fitting, key=_size_and_name, default=None)


def _size_and_name(volume: Object) -> tuple[int, str]:
    return _size(volume["spec"].get("capacity")), volume["metadata"]["name"]


def _size(amounts: Mapping[str, str] | None) -> int:
    return quantities.units((amounts or {}).get("storage") or 0)


def _satisfies(volume: Object, claim: Object, place: Place | None) -> bool:
    has, asks = volume["spec"], claim["spec"]
    reference = has.get("claimRef") or {}
    if reference and (reference.get("namespace"), reference.get("name")) != key_of(claim):
        return False
    chooses = asks.get("selector")
    return (
        not is_terminating(volume)
        and (volume.get("status") or {}).get("phase") in (None, "", "Pending", "Available")
        and (has.get("storageClassName") or "") == (asks.get("storageClassName") or "")
        and (has.get("volumeMode") or "Filesystem") == (asks.get("volumeMode") or "Filesystem")
        and set(asks.get("accessModes") or ()) <= set(has.get("accessModes") or ())
        and _size(has.get("capacity")) >= _size((asks.get("resources") or {}).get("requests"))
        and (chooses is None or selectors.from_object(chooses).matches(labels(volume)))
        and (place is None or reaches(volume, place))
    )


def reaches(volume: Object, place: Place) -> bool:
    """Whether the node is one of those that the volume can be used from."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or _matches(required, place)


def _matches(selector: Object, place: Place) -> bool:
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": selector}
    required = node_affinity.required({"affinity": {"nodeAffinity": wanted}})
    return required.allows(place.labels, place.name)


def can_provision(kind: Object, place: Place) -> bool:
    if not provisions(kind):
        return False
    allowed = _allowed(kind)
    return allowed is None or _matches(allowed, place)


def provisions(kind: Object) -> bool:
    return (kind.get("provisioner") or _NO_PROVISIONER) != _NO_PROVISIONER


def _allowed(kind: Object) -> Object | None:
    terms = [
        {
            "matchExpressions": [
                {"key": each["key"], "operator": "In", "values": each["values"]}
                for each in term.get("matchLabelExpressions") or ()
            ]
        }
        for term in kind.get("allowedTopologies") or ()
    ]
    return {"nodeSelectorTerms": terms} if terms else None


# ---------------------------------------------------------------------- acts


def bind(api: ApiServer, claim: Object, volume: Object) -> None:
    metadata = claim["metadata"]
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    by_controller = {_BOUND_BY_CONTROLLER: "yes"}
    volume = api.patch(
        wire.PERSISTENT_VOLUMES,
        None,
        volume["metadata"]["name"],
        {"metadata": {"annotations": by_controller}, "spec": {"claimRef": reference}},
    )
    api.set_status(
        wire.PERSISTENT_VOLUMES, volume, {**(volume.get("status") or {}), "phase": "Bound"}
    )
    claim = api.patch(
        wire.PERSISTENT_VOLUME_CLAIMS,
        metadata["namespace"],
        metadata["name"],
        {
            "metadata": {"annotations": {BIND_COMPLETED: "yes", **by_controller}},
            "spec": {"volumeName": volume["metadata"]["name"]},
        },
    )
    status = {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": volume["spec"].get("accessModes") or [],
        "capacity": volume["spec"].get("capacity") or {},
    }
    api.set_status(wire.PERSISTENT_VOLUME_CLAIMS, claim, status)


def provision(api: ApiServer, claim: Object, kind: Object, place: Place | None) -> None:
    """A volume of its class, where the class allows it and, if told, near this node."""
    name = f"pvc-{claim['metadata']['uid']}"
    if api.store.find(wire.PERSISTENT_VOLUMES, None, name) is None:
        api.create(wire.PERSISTENT_VOLUMES, None, _new_volume(api.store, name, claim, kind, place))
    if place is not None:
        api.patch(
            wire.PERSISTENT_VOLUME_CLAIMS,
            claim["metadata"]["namespace"],
            claim["metadata"]["name"],
            {"metadata": {"annotations": {SELECTED_NODE: place.name}}},
        )
    bind(api, claim, api.get(wire.PERSISTENT_VOLUMES, None, name))


def _new_volume(
    store: Store, name: str, claim: Object, kind: Object, place: Place | None
) -> Object:
    driver = kind["provisioner"]
    spec = {
        "accessModes": claim["spec"].get("accessModes") or [],
        "capacity": (claim["spec"].get("resources") or {}).get("requests") or {},
        "csi": {"driver": driver, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy") or "Delete",
        "storageClassName": kind["metadata"]["name"],
        "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
    }
    where = _near(store, driver, place) or _allowed(kind)
    if where is not None:
        spec["nodeAffinity"] = {"required": where}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}},
        "spec": spec,
    }


def _near(store: Store, driver: str, place: Place | None) -> Object | None:
    """What the driver says of where its volumes can be reached from, on the node's CSINode."""
    found = store.find(wire.CSI_NODES, None, place.name) if place is not None else None
    drivers = ((found or {}).get("spec") or {}).get("drivers") or ()
    keys = [
        key for each in drivers if each["name"] == driver for key in each.get("topologyKeys") or ()
    ]
    if place is None or not keys:
        return None
    values = [(key, place.labels[key]) for key in keys if key in place.labels]
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in values]
    return {"nodeSelectorTerms": [{"matchExpressions": wanted}]} if wanted else None
