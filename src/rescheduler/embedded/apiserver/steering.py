"""What the admission policy `rescheduler-steering` does to a pod that is made.

A test holds it against manifests/components/admission-policy/steering-policy.yaml.
"""

from typing import TYPE_CHECKING, Any, Final

from rescheduler import wire
from rescheduler.kube import Object
from rescheduler.model import names, objects

if TYPE_CHECKING:
    from rescheduler.embedded.apiserver.server import ApiServer

_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_TARGET_WEIGHT: Final = 100
_SOURCE_WEIGHT: Final = 50


def steered(api: "ApiServer", pod: Object) -> Object:
    """The pod with the wishes of every migration that steers now, in the order of their names, as
    a list has them.
    """
    if objects.labels(pod).get(names.MIGRATED_FROM) is not None:
        return pod
    owners = {each.get("uid") for each in objects.owners(pod)}
    if not owners:
        return pod
    found = api.in_namespace(wire.POD_MIGRATIONS, pod["metadata"]["namespace"])
    steering = [each for each in found if objects.labels(each).get(names.STEERING) == "true"]
    for migration in sorted(steering, key=lambda each: str(each["metadata"]["name"])):
        owner = ((migration.get("status") or {}).get("owner") or {}).get("uid")
        if owner and owner in owners:
            pod = _with_wishes(pod, migration["spec"])
    return pod


def _with_wishes(pod: Object, spec: Object) -> Object:
    affinity = pod["spec"].get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    wishes = [
        *(of_nodes.get(_PREFERRED) or ()),
        _wish(_TARGET_WEIGHT, "In", spec["target"]),
        _wish(_SOURCE_WEIGHT, "NotIn", spec["source"]),
    ]
    wanted = {**affinity, "nodeAffinity": {**of_nodes, _PREFERRED: wishes}}
    return {**pod, "spec": {**pod["spec"], "affinity": wanted}}


def _wish(weight: int, operator: str, node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": operator, "values": [node]}
    return {"weight": weight, "preference": {"matchFields": [field]}}
