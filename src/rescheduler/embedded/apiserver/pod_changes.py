"""What may be changed on a pod once it is there (`ValidatePodUpdate` of pkg/apis/core)."""

from collections.abc import Iterator
from typing import Any, Final

from rescheduler.embedded.apiserver import refusals
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object

_ALLOWED: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ABSENT: Final[tuple[Any, ...]] = (None, {}, [], "")


def problems_of(before: Object, after: Object, *, is_resize: bool) -> Iterator[FieldProblem]:
    old, new = before["spec"], after.get("spec") or {}
    if old == new:
        return
    for kind in ("containers", "initContainers"):
        if len(new.get(kind) or ()) != len(old.get(kind) or ()):
            yield refusals.forbidden_field(
                f"spec.{kind}", "pod updates may not add or remove containers"
            )
            return
        for place, container in enumerate(new.get(kind) or ()):
            if not container.get("image"):
                yield refusals.required(f"spec.{kind}[{place}].image")
    yield from _of_deadline(old, new)
    yield from _of_tolerations(old, new)
    yield from _of_gates(old, new)
    munged = _munged(old, new, is_resize=is_resize)
    if old.get("schedulingGates"):
        yield from _of_gated(old, new)
        munged = _without_placing(munged, old)
    if _present(munged) != _present(old):
        fields = sorted(key for key in {*munged, *old} if _of(munged, key) != _of(old, key))
        yield refusals.forbidden_field(
            "spec",
            f"pod updates may not change fields other than {_ALLOWED}; changed: "
            + ", ".join(fields),
        )


def _of_deadline(old: Object, new: Object) -> Iterator[FieldProblem]:
    path = "spec.activeDeadlineSeconds"
    was, deadline = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if deadline is None:
        if was is not None:
            why = "must not update from a positive integer to nil value"
            yield refusals.invalid_value(path, None, why)
    elif deadline < 0:
        yield refusals.invalid_value(path, deadline, "must be between 0 and 2147483647, inclusive")
    elif was is not None and was < deadline:
        yield refusals.invalid_value(path, deadline, "must be less than or equal to previous value")


def _of_tolerations(old: Object, new: Object) -> Iterator[FieldProblem]:
    """They may become more, and last longer or shorter."""

    def lasting(toleration: Object) -> Object:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [lasting(each) for each in new.get("tolerations") or ()]
    if any(lasting(each) not in kept for each in old.get("tolerations") or ()):
        yield refusals.forbidden_field(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        )


def _of_gates(old: Object, new: Object) -> Iterator[FieldProblem]:
    known = [each.get("name") for each in old.get("schedulingGates") or ()]
    for place, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield refusals.forbidden_field(f"spec.schedulingGates[{place}].name", why)


def _munged(old: Object, new: Object, *, is_resize: bool) -> Object:
    """As it would be without the changes that are allowed."""
    munged = {**new, "activeDeadlineSeconds": old.get("activeDeadlineSeconds")}
    for key in ("schedulingGates", "tolerations"):
        munged[key] = old.get(key)
    for kind in ("containers", "initContainers"):
        munged[kind] = [
            {
                **container,
                "image": was.get("image"),
                "resources": was.get("resources") if is_resize else container.get("resources"),
            }
            for container, was in zip(new.get(kind) or (), old.get(kind) or (), strict=True)
        ]
    was_negative = (old.get("terminationGracePeriodSeconds") or 0) < 0
    if was_negative and new.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    for key in ("priority", "preemptionPolicy"):
        # What admission has set stays where an update says nothing of it.
        if key not in new and key in old:
            munged[key] = old[key]
    return munged


def _of_gated(old: Object, new: Object) -> Iterator[FieldProblem]:
    """Nobody has looked at where it could run yet: that may still become less."""
    wanted = new.get("nodeSelector") or {}
    if any(wanted.get(key) != value for key, value in (old.get("nodeSelector") or {}).items()):
        yield refusals.invalid_value(
            "spec.nodeSelector",
            wanted,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms, before = _terms(new), _terms(old)
    if before and len(before) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield refusals.invalid_value(path, terms, why)
        return
    for place, (term, was) in enumerate(zip(terms, before, strict=False)):
        for kind in ("matchExpressions", "matchFields"):
            given = was.get(kind) or []
            if (term.get(kind) or [])[: len(given)] != given:
                why = "only additions are allowed (no mutations or deletions)"
                yield refusals.invalid_value(f"{path}[{place}]", term, why)
                break


def _terms(spec: Object) -> list[Object]:
    of_nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return list((of_nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ())


def _without_placing(munged: Object, old: Object) -> Object:
    affinity = {**(munged.get("affinity") or {})}
    affinity["nodeAffinity"] = (old.get("affinity") or {}).get("nodeAffinity")
    return {
        **munged,
        "nodeSelector": old.get("nodeSelector"),
        "affinity": _present(affinity) or old.get("affinity"),
    }


def _of(spec: Object, key: str) -> Any:  # noqa: ANN401 - any JSON
    return _present(spec.get(key))


def _present(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """What is empty is as good as absent."""
    if isinstance(value, dict):
        found = {key: _present(each) for key, each in value.items()}
        return {key: each for key, each in found.items() if each not in _ABSENT}
    if isinstance(value, list):
        return [_present(each) for each in value]
    return value
