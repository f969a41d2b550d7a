"""What the pods of a StatefulSet are: their names, their templates and their claims.

Follows stateful_set_utils.go. Decides nothing and writes nothing.
"""

import re
from collections.abc import Iterable
from typing import Final

from rescheduler.embedded.controllers import owning
from rescheduler.embedded.controllers.revisions import REVISION_OF_POD
from rescheduler.kube import Object
from rescheduler.model.objects import labels

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"

_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
_LARGEST_ORDINAL: Final = 2**31 - 1


def parent_and_ordinal(pod_name: str) -> tuple[str, int]:
    """An ordinal of -1: it has none."""
    found = _NAME.fullmatch(pod_name)
    if found is None:
        return "", -1
    ordinal = int(found.group(2))
    return found.group(1), ordinal if ordinal <= _LARGEST_ORDINAL else -1


def ordinal_of(pod: Object) -> int:
    return parent_and_ordinal(pod["metadata"]["name"])[1]


def wanted_ordinals(stateful_set: Object) -> range:
    spec = stateful_set["spec"]
    start = (spec.get("ordinals") or {}).get("start") or 0
    replicas = spec.get("replicas")
    return range(start, start + (1 if replicas is None else replicas))


def pod_of(stateful_set: Object, template: Object, revision: str, ordinal: int) -> Object:
    """As it is to be created."""
    metadata, given = stateful_set["metadata"], template.get("metadata") or {}
    name = f"{metadata['name']}-{ordinal}"
    made = {
        "generateName": f"{metadata['name']}-",
        "name": name,
        "namespace": metadata["namespace"],
        "labels": {
            **(given.get("labels") or {}),
            **_identity(name, ordinal),
            REVISION_OF_POD: revision,
        },
        "annotations": dict(given.get("annotations") or {}),
        "finalizers": list(given.get("finalizers") or ()),
        "ownerReferences": [owning.reference(stateful_set)],
    }
    spec = {**(template.get("spec") or {}), "hostname": name}
    if service := stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = service
    if volumes := _volumes(stateful_set, spec.get("volumes") or (), ordinal):
        spec["volumes"] = volumes
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: value for key, value in made.items() if value},
        "spec": spec,
    }


def mended(stateful_set: Object, pod: Object) -> Object:
    """The change that gives a pod back its identity and its storage; empty when it has them."""
    ordinal = ordinal_of(pod)
    change: Object = {}
    name = pod["metadata"]["name"]
    if labels(pod).get(POD_NAME) != name:
        change["metadata"] = {"labels": _identity(name, ordinal)}
    mounted = {
        each["name"]: (each.get("persistentVolumeClaim") or {}).get("claimName")
        for each in pod["spec"].get("volumes") or ()
    }
    claims = claim_names(stateful_set, ordinal)
    if any(mounted.get(volume) != claim for volume, claim in claims.items()):
        volumes = pod["spec"].get("volumes") or ()
        change["spec"] = {"volumes": _volumes(stateful_set, volumes, ordinal)}
    return change


def claim_names(stateful_set: Object, ordinal: int) -> dict[str, str]:
    """Name of a volume -> of the claim behind it."""
    return {
        volume: f"{volume}-{stateful_set['metadata']['name']}-{ordinal}"
        for volume in map(_claim_name, _claim_templates(stateful_set))
    }


def claims_of(stateful_set: Object, ordinal: int) -> Iterable[Object]:
    """As they are to be created."""
    selected = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
    names = claim_names(stateful_set, ordinal)
    for template in _claim_templates(stateful_set):
        metadata = template.get("metadata") or {}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **metadata,
                "name": names[_claim_name(template)],
                "namespace": stateful_set["metadata"]["namespace"],
                "labels": {**(metadata.get("labels") or {}), **selected},
            },
            "spec": template.get("spec") or {},
        }


def _identity(name: str, ordinal: int) -> dict[str, str]:
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def _volumes(stateful_set: Object, given: Iterable[Object], ordinal: int) -> list[Object]:
    claims = claim_names(stateful_set, ordinal)
    return [
        {"name": volume, "persistentVolumeClaim": {"claimName": claim}}
        for volume, claim in claims.items()
    ] + [each for each in given if each["name"] not in claims]


def _claim_templates(stateful_set: Object) -> Iterable[Object]:
    return stateful_set["spec"].get("volumeClaimTemplates") or ()


def _claim_name(template: Object) -> str:
    """Empty: nobody checks it before a claim is to be made of it."""
    return str((template.get("metadata") or {}).get("name") or "")
