"""PodMigrations as an API server takes them that has our resource definition installed.

The wheel ships no manifests, so the schema stands here once more; a test holds both against each
other, word for word but for descriptions.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from rescheduler.embedded import refusals, schemas
from rescheduler.embedded.refusals import FieldProblem
from rescheduler.kube import Object

_LONGEST_NAME: Final = 63
_TIME: Final = {"type": "string", "format": "date-time"}
_DURATION: Final = {"type": "string", "maxLength": 64}
_DURATION_RULE: Final = re.compile(r"(0|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)")
_SHARE: Final = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "maxLength": 16,
}
_METHODS: Final = ["Surge", "Steer", "Copy"]
_DURATIONS: Final = (
    "readyTimeout",
    "settle",
    "evictionGracePeriod",
    "budgetTimeout",
    "steerTimeout",
    "cleanUpTimeout",
)


def _text(longest: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a schema
    return {"type": "string", "maxLength": longest, **more}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "object", "properties": properties, **more}


_NODE: Final = _text(253, minLength=1)
_SPEC: Final = _object(
    {
        "pod": _object(
            {
                "name": _text(253, minLength=1),
                "uid": _text(63, pattern="^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"),
            },
            required=["name"],
        ),
        "source": _NODE,
        "target": _NODE,
        "strategy": _text(253),
        "reason": _text(4096),
        "asked": {"type": "boolean"},
        "forced": {"type": "boolean"},
        "attempt": {"type": "integer", "format": "int32", "minimum": 1, "default": 1},
        "method": {"type": "string", "enum": _METHODS},
        "mayInterrupt": {"type": "boolean", "default": False},
        "group": _object(
            {
                "id": _text(63, pattern="^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
                "size": {"type": "integer", "format": "int32", "minimum": 1},
            },
            required=["id", "size"],
        ),
        "settings": _object(
            {
                **dict.fromkeys(_DURATIONS, _DURATION),
                "fallback": {"type": "string", "enum": ["Evict", "Never"]},
                "coordination": {"type": "boolean"},
                "temporaryBudget": _object(
                    {
                        "enabled": {"type": "boolean"},
                        "minAvailable": _SHARE,
                        "maxUnavailable": _SHARE,
                    }
                ),
            }
        ),
    },
    required=["pod", "source", "target"],
)
_POD: Final = _object({"name": _text(253), "uid": _text(63), "node": _text(253)})
_STEPS: Final = [
    "Check",
    "Mark",
    "Create",
    "WaitReady",
    "WaitGroup",
    "HandOver",
    "Protect",
    "Steer",
    "Evict",
    "WaitGone",
    "WaitReplacement",
    "CleanUp",
    "TakeBack",
    "Done",
]
_CONDITION_TYPE: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_CONDITION: Final = _object(
    {
        "type": _text(316, pattern=_CONDITION_TYPE),
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": _text(1024, minLength=1, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        "message": _text(32768),
        "lastTransitionTime": _TIME,
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
    },
    required=["type", "status", "lastTransitionTime", "reason", "message"],
)
_STATUS: Final = _object(
    {
        "phase": {"type": "string", "enum": ["Pending", "InProgress", "Completed", "Failed"]},
        "step": {"type": "string", "enum": _STEPS},
        "method": {"type": "string", "enum": _METHODS},
        "reason": _text(1024, pattern="^([A-Z][A-Za-z0-9]*)?$"),
        "message": _text(32768),
        "startTime": _TIME,
        "stepTime": _TIME,
        "completionTime": _TIME,
        "oldPod": _POD,
        "newPod": _POD,
        "budget": _text(253),
        "owner": _object(
            {"apiVersion": _text(317), "kind": _text(63), "name": _text(253), "uid": _text(63)}
        ),
        "siblings": {
            "type": "array",
            "x-kubernetes-list-type": "atomic",
            "items": _text(63),
        },
        "unready": {"type": "boolean"},
        "fallback": _text(1024),
        "holder": _text(317),
        "fence": {"type": "integer", "format": "int64", "minimum": 0},
        "observedGeneration": {"type": "integer", "format": "int64"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": _CONDITION,
        },
    },
    default={"phase": "Pending"},
)
SCHEMA: Final = _object({"spec": _SPEC, "status": _STATUS}, required=["spec"])


def complete(item: Object) -> None:
    known = {key: value for key, value in item.items() if key in SCHEMA["properties"]}
    for key in [key for key in item if key not in ("apiVersion", "kind", "metadata")]:
        del item[key]
    item.update(schemas.completed(SCHEMA, known))


def problems_of(item: Object) -> list[FieldProblem]:
    known = {key: value for key, value in item.items() if key in SCHEMA["properties"]}
    # What is of the wrong shape is not looked into any further.
    return list(schemas.problems_of(SCHEMA, known, "")) or list(_of_rules(item))


def problems_of_change(before: Object, after: Object) -> Iterator[FieldProblem]:
    if before.get("spec") != after.get("spec"):
        yield refusals.forbidden_field(
            "spec",
            "the spec of a migration cannot be changed; to ask for another one, create another "
            "PodMigration",
        )


def _of_rules(item: Object) -> Iterator[FieldProblem]:
    """Its x-kubernetes-validations."""
    name, spec = item["metadata"].get("name") or "", item["spec"]
    if len(name) > _LONGEST_NAME:
        why = (
            "metadata.name: may have 63 characters at most, as what is made on the way is labelled "
            "with it"
        )
        yield refusals.invalid_value("<nil>", "object", why)
    if spec["source"] == spec["target"]:
        why = f"the pod is to leave the node {spec['source']}, so the target must be another node"
        yield refusals.invalid_value("spec.target", spec["target"], why)
    if not spec["pod"].get("uid"):
        yield refusals.required(
            "spec.pod.uid",
            "is needed, so that no later pod of the same name is moved; the command that prints "
            f"it: kubectl get pod {spec['pod']['name']} -o jsonpath={{.metadata.uid}}",
        )
    settings = spec.get("settings") or {}
    for key in _DURATIONS:
        if key in settings and not _DURATION_RULE.fullmatch(settings[key]):
            why = "must be a duration such as 30s, 5m or 1h30m"
            yield refusals.invalid_value(f"spec.settings.{key}", settings[key], why)
