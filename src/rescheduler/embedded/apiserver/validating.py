"""What an object must be like to be accepted, and what of it may change afterwards."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import (
    json_types,
    pod_changes,
    pod_migrations,
    pod_specs,
    refusals,
    reschedule_plans,
    workload_specs,
)
from rescheduler.embedded.apiserver.pod_specs import LABEL, LABEL_RULE
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.embedded.kinds import Kind
from rescheduler.kube import Object
from rescheduler.model import quantities
from rescheduler.model.selectors import InvalidSelectorError, Operator, Requirement
from rescheduler.wire import Resource

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_NAMED_BY_LABEL: Final = (wire.NAMESPACES, wire.SERVICES, wire.STATEFUL_SETS)
_SELECTING: Final = (
    wire.DEPLOYMENTS,
    wire.REPLICA_SETS,
    wire.STATEFUL_SETS,
    wire.DAEMON_SETS,
)
_FIXED_OF_STATEFUL_SET: Final = (
    "serviceName",
    "podManagementPolicy",
    "volumeClaimTemplates",
    "selector",
)
_FIXED_OF_JOB: Final = ("template", "completions", "completionMode")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PORTS: Final = range(1, 65536)
_NEVER_BLINDLY: Final = (
    wire.POD_DISRUPTION_BUDGETS,
    wire.POD_MIGRATIONS,
    wire.RESCHEDULE_PLANS,
    wire.LEASES,
    wire.CSI_NODES,
    wire.VOLUME_ATTACHMENTS,
    wire.RUNTIME_CLASSES,
)
"""Who replaces one of these must name the version that it has seen."""

_OfItem = Callable[[Object], Iterable[FieldProblem]]
_OfChange = Callable[[Object, Object], Iterable[FieldProblem]]
_CUSTOM: Final[Mapping[Resource, tuple[_OfItem, _OfChange]]] = {
    wire.POD_MIGRATIONS: (
        pod_migrations.DEFINITION.problems_of,
        pod_migrations.DEFINITION.problems_of_change,
    ),
    wire.RESCHEDULE_PLANS: (
        reschedule_plans.DEFINITION.problems_of,
        reschedule_plans.DEFINITION.problems_of_change,
    ),
}
"""Our own kinds: as their definitions say."""


def check_types(kind: Kind, item: Object) -> None:
    """What is of other types cannot even be read."""
    if problem := json_types.problem_of(kind, item):
        name, version = kind.name, kind.resource.group_version.rpartition("/")[2]
        raise refusals.bad_request(
            f'{name} in version "{version}" cannot be handled as a {name}: {problem}'
        )


def check_new(kind: Kind, item: Object) -> None:
    problems = [*_of_metadata(kind, item["metadata"]), *_of_kind(kind.resource, item)]
    if problems:
        raise refusals.invalid(kind.resource, item["metadata"]["name"], problems)


def check_change(kind: Kind, before: Object, after: Object, subresource: str) -> None:
    resource, name = kind.resource, before["metadata"]["name"]
    problems: list[FieldProblem] = []
    if subresource == "status":
        if resource in _CUSTOM:
            problems += _CUSTOM[resource][0](after)
    else:
        problems += _of_metadata(kind, after["metadata"])
        problems += _of_finalizers(before["metadata"], after["metadata"])
        problems += _of_change(resource, before, after, subresource)
    if problems:
        raise refusals.invalid(resource, name, problems)


def check_names_version(resource: Resource, metadata: Object) -> None:
    """Of who replaces an object."""
    if resource in _NEVER_BLINDLY and not metadata.get("resourceVersion"):
        why = "must be specified for an update"
        problem = refusals.invalid_value("metadata.resourceVersion", 0, why)
        raise refusals.invalid(resource, metadata["name"], [problem])


def is_another_generation(kind: Kind, before: Object, after: Object) -> bool:
    if kind.resource == wire.ENDPOINT_SLICES:
        return {**before, "metadata": None} != {**after, "metadata": None}
    if before.get("spec") != after.get("spec"):
        return True
    # Annotations of a Deployment are copied to its ReplicaSets: they are work for its controller.
    return kind.resource == wire.DEPLOYMENTS and (
        before["metadata"].get("annotations") != after["metadata"].get("annotations")
    )


# ------------------------------------------------------------------ metadata


def _of_metadata(kind: Kind, metadata: Object) -> Iterator[FieldProblem]:
    name = metadata["name"]
    if kind.resource in _NAMED_BY_LABEL:
        if len(name) > _LONGEST_LABEL or not LABEL.fullmatch(name):
            yield refusals.invalid_value("metadata.name", name, LABEL_RULE)
    elif len(name) > _LONGEST_NAME or not _SUBDOMAIN.fullmatch(name):
        yield refusals.invalid_value("metadata.name", name, _SUBDOMAIN_RULE)
    yield from pod_specs.of_labels("metadata.labels", metadata.get("labels"))
    annotations = metadata.get("annotations") or {}
    for key, value in annotations.items():
        if not isinstance(value, str):
            yield refusals.invalid_value(f"metadata.annotations.{key}", value, "must be a string")
    if problem := _key_problem(annotations):
        yield refusals.invalid_value("metadata.annotations", *problem)
    yield from _of_owners(metadata.get("ownerReferences") or ())


def _key_problem(annotations: Object) -> tuple[str, str] | None:
    for key in annotations:
        try:
            # Keys of annotations are those of labels, but for the case of letters.
            Requirement(key.lower(), Operator.EXISTS)
        except InvalidSelectorError as problem:
            return key, str(problem)
    return None


def _of_owners(owners: Iterable[Object]) -> Iterator[FieldProblem]:
    controllers = [each for each in owners if each.get("controller")]
    for place, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"metadata.ownerReferences[{place}].{field}"
                yield refusals.required(path, f"{field} must not be empty")
    if len(controllers) > 1:
        names = " and ".join(f"{each.get('kind')}/{each.get('name')}" for each in controllers[:2])
        yield refusals.invalid_value(
            "metadata.ownerReferences",
            names,
            "Only one reference can have Controller set to true. Found two with true",
        )


def _of_finalizers(before: Object, after: Object) -> Iterator[FieldProblem]:
    if "deletionTimestamp" in before:
        known = before.get("finalizers") or ()
        added = [each for each in after.get("finalizers") or () if each not in known]
        if added:
            yield refusals.forbidden_field(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers {added}",
            )


# ------------------------------------------------------------------ kinds


def _of_kind(resource: Resource, item: Object) -> Iterable[FieldProblem]:
    if resource == wire.PODS:
        return [*pod_specs.of_new_pod(item), *pod_specs.of_deletion_cost(item)]
    if resource in _SELECTING:
        return workload_specs.of_workload(resource, item)
    if resource == wire.JOBS:
        return workload_specs.of_job(item)
    if resource == wire.POD_DISRUPTION_BUDGETS:
        return workload_specs.of_budget(item)
    if resource == wire.NODES:
        return [*_of_taints(item["spec"].get("taints") or ()), *_of_amounts(item)]
    if resource == wire.SERVICES:
        return _of_service(item["spec"])
    if resource in _CUSTOM:
        return _CUSTOM[resource][0](item)
    return ()


def _of_change(
    resource: Resource, before: Object, after: Object, subresource: str
) -> Iterable[FieldProblem]:
    if resource == wire.PODS:
        changed = pod_changes.problems_of(before, after, is_resize=subresource == "resize")
        return [*changed, *pod_specs.of_deletion_cost(after)]
    if resource in _CUSTOM:
        of_item, of_change = _CUSTOM[resource]
        return [*of_item(after), *of_change(before, after)]
    problems = list(_of_kind(resource, after))
    if resource in _SELECTING or resource == wire.JOBS:
        problems += _of_selector_change(before, after)
    if resource == wire.STATEFUL_SETS:
        problems += _of_stateful_set_change(before, after)
    if resource == wire.JOBS:
        fixed = [each for each in _FIXED_OF_JOB if _differs(before, after, each)]
        problems += [_immutable(f"spec.{each}") for each in fixed]
    return problems


def _of_taints(taints: Iterable[Object]) -> Iterator[FieldProblem]:
    seen = []
    for place, taint in enumerate(taints):
        # Where the real one says that they are.
        path, effect = f"metadata.taints[{place}]", taint.get("effect")
        if not effect:
            yield refusals.required(f"{path}.effect")
        elif effect not in _EFFECTS:
            yield refusals.unsupported(f"{path}.effect", effect, _EFFECTS)
        if not taint.get("key"):
            yield refusals.invalid_value(f"{path}.key", "", "name part must be non-empty")
        if (taint.get("key"), effect) in seen:
            why = "taints must be unique by key and effect pair"
            yield FieldProblem(path, f"Duplicate value: {taint}: {why}")
        seen.append((taint.get("key"), effect))


def _of_amounts(node: Object) -> Iterator[FieldProblem]:
    for kind in ("capacity", "allocatable"):
        for name, amount in ((node.get("status") or {}).get(kind) or {}).items():
            if quantities.nanos(amount) < 0:
                why = "must be greater than or equal to 0"
                yield refusals.invalid_value(f"status.{kind}[{name}]", amount, why)


def _of_service(spec: Object) -> Iterator[FieldProblem]:
    yield from pod_specs.of_labels("spec.selector", spec.get("selector"))
    for place, port in enumerate(spec.get("ports") or ()):
        number = port.get("port", 0)
        if number not in _PORTS:
            why = "must be between 1 and 65535, inclusive"
            yield refusals.invalid_value(f"spec.ports[{place}].port", number, why)


def _of_selector_change(before: Object, after: Object) -> Iterator[FieldProblem]:
    if _differs(before, after, "selector"):
        yield _immutable("spec.selector")


def _of_stateful_set_change(before: Object, after: Object) -> Iterator[FieldProblem]:
    if any(_differs(before, after, field) for field in _FIXED_OF_STATEFUL_SET):
        yield refusals.forbidden_field(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden",
        )


def _immutable(path: str) -> FieldProblem:
    return FieldProblem(path, "Invalid value: field is immutable")


def _differs(before: Object, after: Object, field: str) -> bool:
    return bool((before.get("spec") or {}).get(field) != (after.get("spec") or {}).get(field))
