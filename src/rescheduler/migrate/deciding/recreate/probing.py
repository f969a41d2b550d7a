"""Whether the API server steers the pods of an owner: a pod is shown to it, and never made. Pure.

The admission policy adds its preference to what it is shown, a moment after it has seen the record.
"""

import copy
from typing import Any, Final

from rescheduler.migrate.deciding.copy import bare_copies
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.model.objects import Object, spec

_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME_LIMIT: Final = 63
_ID_LENGTH: Final = 5

_Made = tuple[dict[str, str], dict[str, str], dict[str, Any]]
"""Labels, annotations and specification."""


def body(intent: Intent, owner: Owner, workload: Object) -> dict[str, Any]:
    """A pod just as the owner would make it, but for its name."""
    return _body(intent, owner, _from_template(intent, workload))


def body_like(intent: Intent, owner: Owner, original: Object) -> dict[str, Any]:
    """The same of an owner whose template nobody but it can read: as the pod that it made."""
    return _body(intent, owner, _from_pod(intent, original))


def _body(intent: Intent, owner: Owner, made: _Made) -> dict[str, Any]:
    labels, annotations, pod = made
    suffix = f"-probe-{intent.id[:_ID_LENGTH]}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": intent.pod[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix,
            "namespace": intent.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                }
            ],
        },
        "spec": pod,
    }


def _from_template(intent: Intent, workload: Object) -> _Made:
    template = copy.deepcopy(dict(workload["spec"]["template"]))
    metadata = template.get("metadata") or {}
    pod = template["spec"]
    if claimed := _claimed_volumes(intent, workload):
        own = [each for each in pod.get("volumes") or () if each["name"] not in claimed]
        pod["volumes"] = [*own, *claimed.values()]
    return metadata.get("labels") or {}, metadata.get("annotations") or {}, pod


def _from_pod(intent: Intent, original: Object) -> _Made:
    labels, annotations, pod = bare_copies.as_made(original)
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    if wishes := affinity.get(_PREFERRED):
        # It may have been steered there before, and not have come.
        affinity[_PREFERRED] = [each for each in wishes if not _is_wished(each, intent)]
    return labels, annotations, pod


def is_steered(pod: Object, intent: Intent) -> bool:
    """Whether the answer of the dry run has our preference."""
    affinity = (spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    return any(_is_wished(each, intent) for each in affinity.get(_PREFERRED) or ())


def _is_wished(preferred: Object, intent: Intent) -> bool:
    wanted = {"key": "metadata.name", "operator": "In", "values": [intent.target]}
    return wanted in ((preferred.get("preference") or {}).get("matchFields") or ())


def _claimed_volumes(intent: Intent, workload: Object) -> dict[str, dict[str, Any]]:
    """What a StatefulSet adds to its template for each pod; without it the mounts name nothing."""
    named = [each["metadata"]["name"] for each in spec(workload).get("volumeClaimTemplates") or ()]
    return {
        each: {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{intent.pod}"}}
        for each in named
    }
