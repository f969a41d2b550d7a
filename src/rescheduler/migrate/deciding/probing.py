"""Whether the API server steers the pods of an owner: a pod is shown to it, and never made. Pure.

The admission policy adds its preference to what it is shown, a moment after it has seen the record.
"""

import copy
from typing import Any, Final

from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.model.objects import Object, spec

_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME_LIMIT: Final = 63
_ID_LENGTH: Final = 5


def body(intent: Intent, owner: Owner, workload: Object) -> dict[str, Any]:
    """A pod just as the owner would make it, but for its name."""
    template = copy.deepcopy(dict(workload["spec"]["template"]))
    metadata = template.get("metadata") or {}
    suffix = f"-probe-{intent.id[:_ID_LENGTH]}"
    pod = template["spec"]
    if claimed := _claimed_volumes(intent, workload):
        own = [each for each in pod.get("volumes") or () if each["name"] not in claimed]
        pod["volumes"] = [*own, *claimed.values()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": intent.pod[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix,
            "namespace": intent.namespace,
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
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


def is_steered(pod: Object, intent: Intent) -> bool:
    """Whether the answer of the dry run has our preference."""
    affinity = (spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    wanted = {"key": "metadata.name", "operator": "In", "values": [intent.target]}
    return any(
        wanted in ((each.get("preference") or {}).get("matchFields") or ())
        for each in affinity.get(_PREFERRED) or ()
    )


def _claimed_volumes(intent: Intent, workload: Object) -> dict[str, dict[str, Any]]:
    """What a StatefulSet adds to its template for each pod; without it the mounts name nothing."""
    named = [each["metadata"]["name"] for each in spec(workload).get("volumeClaimTemplates") or ()]
    return {
        each: {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{intent.pod}"}}
        for each in named
    }
