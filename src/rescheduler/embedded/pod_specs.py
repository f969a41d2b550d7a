"""What a pod, or a template of pods, must be like to be accepted."""

import re
from collections.abc import Iterator
from typing import Final

from rescheduler.embedded import refusals
from rescheduler.embedded.refusals import FieldProblem
from rescheduler.kube import Object
from rescheduler.model import quantities

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
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
    """Plain: no plus, no leading zeros."""
    return bool(re.fullmatch(r"0|-?[1-9][0-9]*", text)) and int(text) in _INT32


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
    yield from _of_affinity(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _of_label_keys(spec, path)


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


def _of_affinity(affinity: Object, path: str) -> Iterator[FieldProblem]:
    of_nodes = affinity.get("nodeAffinity") or {}
    preferred = of_nodes.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    terms: list[tuple[str, Object]] = []
    for place, wish in enumerate(preferred):
        where = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{place}]"
        if wish.get("weight") not in range(1, 101):
            why = "must be in the range 1-100"
            yield refusals.invalid_value(f"{where}.weight", wish.get("weight"), why)
        terms.append((f"{where}.preference", wish.get("preference") or {}))
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        where = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        given = required.get("nodeSelectorTerms") or ()
        if not given:
            why = "must have at least one node selector term"
            yield refusals.required(f"{where}.nodeSelectorTerms", why)
        terms += [(f"{where}.nodeSelectorTerms[{i}]", each) for i, each in enumerate(given)]
    for where, term in terms:
        for place, field in enumerate(term.get("matchFields") or ()):
            yield from _of_match_field(field, f"{where}.matchFields[{place}]")


def _of_match_field(field: Object, path: str) -> Iterator[FieldProblem]:
    if field.get("key") != "metadata.name":
        yield refusals.invalid_value(f"{path}.key", field.get("key"), "not a valid field selector")
    if field.get("operator") not in ("In", "NotIn"):
        yield refusals.invalid_value(
            f"{path}.operator", field.get("operator"), "not a valid selector operator"
        )
    elif len(field.get("values") or ()) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield refusals.required(f"{path}.values", why)


def _of_label_keys(spec: Object, path: str) -> Iterator[FieldProblem]:
    """By now what they stand for is in the selector: no key may be there twice."""
    terms = [
        (f"{path}.topologySpreadConstraints[{place}].matchLabelKeys", each)
        for place, each in enumerate(spec.get("topologySpreadConstraints") or ())
    ]
    for kind in ("podAffinity", "podAntiAffinity"):
        given = (spec.get("affinity") or {}).get(kind) or {}
        for strength in ("required", "preferred"):
            name = f"{strength}DuringSchedulingIgnoredDuringExecution"
            # Here the real one forgets to say in which field it is.
            terms += [
                (f"{path}.affinity.{kind}.{name}[{place}]", each.get("podAffinityTerm") or each)
                for place, each in enumerate(given.get(name) or ())
            ]
    for where, term in terms:
        selector = term.get("labelSelector") or {}
        seen = set(selector.get("matchLabels") or {})
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key")
            for keys in ("matchLabelKeys", "mismatchLabelKeys"):
                if key in seen and key in (term.get(keys) or ()):
                    place = term[keys].index(key)
                    why = "exists in both matchLabelKeys and labelSelector"
                    yield refusals.invalid_value(f"{where}[{place}]", key, why)
            seen.add(key)
