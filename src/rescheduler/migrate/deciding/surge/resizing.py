"""A pod that was resized in place keeps its size when it moves. Pure.

Who resized it stands in its managed fields, as long as it lives; on a copy that kept a size, in an
annotation.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from rescheduler.migrate.deciding.surge import likeness
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations, spec

_RESIZE: Final = "resize"
_FIELDS: Final = {f"f:{kind}": kind for kind in likeness.KINDS}
WHOLE_POD: Final = ""
"""Among the names of containers: the size of the pod itself was changed."""


def may_be(original: Object, template: Object) -> bool:
    """Whether some size is another than its template has: only then is there a reason to ask."""
    return any(
        likeness.size_of(_resources(original, each)) != likeness.size_of(_resources(template, each))
        for each in (WHOLE_POD, *_names(original))
    )


def resized(pod: Object) -> frozenset[str]:
    """The containers whose size was changed while the pod ran; of a pod as it is read by itself."""
    kept = annotations(pod).get(names.RESIZED)
    found = set() if kept is None else set(kept.split(","))
    for entry in pod["metadata"].get("managedFields") or ():
        if entry.get("subresource") == _RESIZE:
            found |= set(_sized_by((entry.get("fieldsV1") or {}).get("f:spec") or {}))
    return frozenset(found & {WHOLE_POD, *_names(pod)})


def _sized_by(fields: Object) -> Iterable[str]:
    if "f:resources" in fields:
        yield WHOLE_POD
    for kind in _FIELDS:
        for key, changed in (fields.get(kind) or {}).items():
            if key.startswith("k:") and "f:resources" in changed:
                yield json.loads(key.removeprefix("k:")).get("name", WHOLE_POD)


def kept(
    original: Object, template: Object, answer: Object | None, changed: Iterable[str]
) -> tuple[str, ...]:
    """Those that the copy keeps: unless admission itself sets the size, whoever resized the pod
    means it to be so.
    """

    def is_of_admission(name: str) -> bool:
        said = likeness.size_of(_resources(answer, name)) if answer else None
        return said is not None and said != likeness.size_of(_resources(template, name))

    def has_changed(name: str) -> bool:
        now, made = _resources(original, name), _resources(template, name)
        return likeness.size_of(now) != likeness.size_of(made)

    return tuple(
        sorted(each for each in changed if has_changed(each) and not is_of_admission(each))
    )


def keep(made: dict[str, Any], original: Object, containers: Iterable[str]) -> None:
    """Gives the specification the sizes that the original has."""
    for name in containers:
        if name == WHOLE_POD:
            made["resources"] = _resources(original, name)
        for kind in likeness.KINDS:
            for each in made.get(kind) or ():
                if name and each["name"] == name:
                    each["resources"] = _resources(original, name)


def are_alike(one: Object, other: Object, containers: Iterable[str]) -> bool:
    return all(
        likeness.size_of(_resources(one, each)) == likeness.size_of(_resources(other, each))
        for each in containers
    )


def generation(pod: Object) -> int:
    """Another one after each resize; before Kubernetes 1.33 pods have none."""
    return int(pod["metadata"].get("generation") or 0)


def in_words(copy: Object) -> str:
    """For the record; empty: it has the size of any new pod."""
    told = annotations(copy).get(names.RESIZED)
    if told is None:
        return ""
    listed = ", ".join(filter(None, told.split(",")))
    return f"it keeps the size that it was resized to ({listed or 'the whole pod'})"


def _names(pod: Object) -> list[str]:
    return [each["name"] for kind in likeness.KINDS for each in spec(pod).get(kind) or ()]


def _resources(pod: Object, name: str) -> Any:  # noqa: ANN401 - JSON
    if name == WHOLE_POD:
        return spec(pod).get("resources") or {}
    every = [each for kind in likeness.KINDS for each in spec(pod).get(kind) or ()]
    return next((each.get("resources") or {} for each in every if each["name"] == name), {})
