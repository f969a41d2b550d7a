"""What a pod, or a template of pods, must be like to be accepted."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rescheduler.embedded.apiserver import pod_placing, refusals
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object
from rescheduler.model import quantities
from rescheduler.model.selectors import InvalidSelectorError, Operator, Requirement

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_INT32: Final = range(-(2**31), 2**31)


def of_new_pod(pod: Object) -> Iterator[FieldProblem]:
    spec = pod["spec"]
    yield from of_spec(spec, "spec")
    if spec.get("ephemeralContainers"):
        yield refusals.forbidden_field("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield refusals.forbidden_field(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )
    if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {}) and not spec.get(
        "nodeName"
    ):
        yield refusals.invalid_value(
            "metadata.annotations[kubernetes.io/config.mirror]",
            "",
            "must set spec.nodeName if mirror pod annotation is set",
        )


def of_deletion_cost(pod: Object) -> Iterator[FieldProblem]:
    cost = (pod["metadata"].get("annotations") or {}).get(_DELETION_COST)
    if cost is not None and not is_deletion_cost(cost):
        path = f"metadata.annotations[{_DELETION_COST}]"
        yield refusals.invalid_value(path, cost, "must be a 32bit integer")


def is_deletion_cost(text: str) -> bool:
    """Plain: no plus, no leading zeros, but for what follows a minus, at which nobody looks."""
    return bool(re.fullmatch(r"-[0-9]+|0|[1-9][0-9]*", text)) and int(text) in _INT32


def of_labels(path: str, labels: Any) -> Iterator[FieldProblem]:  # noqa: ANN401 - any JSON
    for key, value in (labels or {}).items():
        if not isinstance(value, str):
            yield refusals.invalid_value(path, value, "must be a string")
            continue
        try:
            Requirement(key, Operator.EQUALS, frozenset({value}))
        except InvalidSelectorError as problem:
            is_of_key = str(problem).startswith("label key")
            yield refusals.invalid_value(path, key if is_of_key else value, str(problem))


def of_spec(spec: Object, path: str) -> Iterator[FieldProblem]:
    containers = spec.get("containers") or []
    if not containers:
        yield refusals.required(f"{path}.containers")
    seen: set[str] = set()
    for kind in ("initContainers", "containers"):
        for place, container in enumerate(spec.get(kind) or ()):
            where = f"{path}.{kind}[{place}]"
            name = container.get("name") or ""
            if not name:
                yield refusals.required(f"{where}.name")
            elif not LABEL.fullmatch(name):
                yield refusals.invalid_value(f"{where}.name", name, LABEL_RULE)
            elif name in seen:
                yield FieldProblem(f"{where}.name", f'Duplicate value: "{name}"')
            seen.add(name)
            if not container.get("image"):
                yield refusals.required(f"{where}.image")
            yield from _of_resources(container.get("resources") or {}, f"{where}.resources")
    policy = spec.get("restartPolicy")
    if policy not in _RESTART_POLICIES:
        yield refusals.unsupported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    yield from _of_resources(spec.get("resources") or {}, f"{path}.resources")
    yield from _of_gates(spec.get("readinessGates") or (), f"{path}.readinessGates")
    yield from _of_volumes(spec.get("volumes") or (), f"{path}.volumes")
    yield from pod_placing.problems_of(spec, path)


def _of_gates(gates: Sequence[Object], path: str) -> Iterator[FieldProblem]:
    for place, gate in enumerate(gates):
        if not gate.get("conditionType"):
            where = f"{path}[{place}].conditionType"
            yield refusals.invalid_value(where, "", "name part must be non-empty")


def _of_volumes(volumes: Sequence[Object], path: str) -> Iterator[FieldProblem]:
    """Of those that are claimed, what the scheduler looks for them by."""
    seen: set[str] = set()
    for place, volume in enumerate(volumes):
        where, name = f"{path}[{place}]", volume.get("name") or ""
        if not name:
            yield refusals.required(f"{where}.name")
        elif name in seen:
            yield FieldProblem(f"{where}.name", f'Duplicate value: "{name}"')
        seen.add(name)
        claim, own = volume.get("persistentVolumeClaim"), volume.get("ephemeral")
        if claim is not None and not claim.get("claimName"):
            yield refusals.required(f"{where}.persistentVolumeClaim.claimName")
        if own is not None and not (own.get("volumeClaimTemplate") or {}).get("spec"):
            yield refusals.required(f"{where}.ephemeral.volumeClaimTemplate")


def _of_resources(resources: Object, path: str) -> Iterator[FieldProblem]:
    amounts: dict[str, dict[str, int]] = {"requests": {}, "limits": {}}
    for kind, found in amounts.items():
        for name, amount in (resources.get(kind) or {}).items():
            found[name] = quantities.nanos(amount)
            if found[name] < 0:
                where = f"{path}.{kind}[{name}]"
                yield refusals.invalid_value(where, amount, "must be greater than or equal to 0")
    for name, amount in amounts["requests"].items():
        limit = amounts["limits"].get(name)
        if limit is not None and amount > limit:
            shown = (resources.get("requests") or {})[name]
            why = f"must be less than or equal to {name} limit of {resources['limits'][name]}"
            yield refusals.invalid_value(f"{path}.requests", shown, why)
