"""Whether two pods are alike in what counts: containers, sizes, security, volumes, variables. Pure.

Names that a server makes up are not compared, nor what users may change of a pod that runs.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from rescheduler.model import company, resources
from rescheduler.model.objects import Object, annotations, labels, spec

KINDS: Final = ("containers", "initContainers")
TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - the name of a volume
_SIZES: Final = ("requests", "limits")
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


# ---------------------------------------------------------------------- two answers of a dry run


def agree(one: Object, other: Object) -> bool:
    """Whether two pods are the same but for their names: so it is no chance what is in them."""
    return _told(one) == _told(other)


def _told(pod: Object) -> tuple[Any, ...]:
    finalizers = pod["metadata"].get("finalizers") or []
    noted = {key: _words(value) for key, value in annotations(pod).items()}
    return _nameless(spec(pod)), dict(labels(pod)), noted, finalizers


def _words(noted: str) -> list[str]:
    """In any order: VPA tells what it has changed ("cpu request, memory request") in the order in
    which Go goes through a map, which is another one each time.
    """
    return sorted(re.split(r"[\s,;{}\[\]]+", noted))


def _nameless(given: Object) -> dict[str, Any]:
    """The API server ends the name of the token's volume with five characters of its own."""
    found: dict[str, Any] = copy.deepcopy(dict(given))
    for volume in found.get("volumes") or ():
        volume["name"] = _name_of_volume(volume["name"])
    for kind in KINDS:
        for container in found.get(kind) or ():
            for mount in container.get("volumeMounts") or ():
                mount["name"] = _name_of_volume(mount["name"])
    return found


def _name_of_volume(name: str) -> str:
    return TOKEN_VOLUME if name.startswith(TOKEN_VOLUME) else name


def without_steering(answer: Object, template: Object) -> dict[str, Any]:
    """The pod less the preference for a node that another migration has steered it by."""
    found: dict[str, Any] = copy.deepcopy(dict(answer))
    affinity = found["spec"].get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    own = ((spec(template).get("affinity") or {}).get("nodeAffinity") or {}).get(_PREFERRED) or []
    wishes = of_nodes.get(_PREFERRED) or []
    kept = [each for each in wishes if each in own or not _is_by_name(each)]
    if len(kept) == len(wishes):
        return found
    of_nodes[_PREFERRED] = kept
    if not kept:
        del of_nodes[_PREFERRED]
    if not of_nodes:
        del affinity["nodeAffinity"]
    if not affinity:
        del found["spec"]["affinity"]
    return found


def _is_by_name(wish: Object) -> bool:
    return bool((wish.get("preference") or {}).get("matchFields"))


def take_out_merged(given: Object) -> None:
    """What the API server has added to selectors for `matchLabelKeys` and `mismatchLabelKeys`. It
    adds it again, and refuses a key that is there twice.
    """
    for _, term in company.rules(given):
        added = {
            (operator, key)
            for field, operator in company.LABEL_KEYS
            for key in term.get(field) or ()
        }
        selector = term.get("labelSelector") or {}
        said = selector.get("matchExpressions") or ()
        if added and said:
            kept = [each for each in said if (each["operator"], each["key"]) not in added]
            selector["matchExpressions"] = kept
            if not kept:
                del selector["matchExpressions"]


# ---------------------------------------------------------------------- what a copy has to have


def why_unlike(
    made: Object,
    *,
    template: Object,
    answer: Object | None,
    original: Object,
    siblings: Iterable[Object] = (),
) -> str:
    """Why this copy is not what its owner would have made; empty: it is.

    Where admission has a say, as the answer of a dry run shows by differing from the template, that
    is how it should be. Where it has none, the copy should be as the original is: whoever changed
    that one may not do so in dry runs, or not for us. `siblings` count where there is no answer.
    """
    models = [original, *(() if answer else siblings)]
    if why := _why_other_containers(made, answer, models):
        return why
    for each in _aspects(made):
        if why := _why_other(each, made, template, answer, models):
            return why
    return _why_less(made, template, answer, models)


def has_same_shape(one: Object, other: Object) -> bool:
    """Whether nothing of it came twice, or is missing."""
    return _shape(one) == _shape(other)


def _shape(pod: Object) -> list[Any]:
    return [
        [[each["name"] for each in spec(pod).get(kind) or ()] for kind in KINDS],
        [(each, _said(pod, each)) for each in _aspects(pod)],
        sorted(_volumes(pod)),
        [(each, sorted(_variables_of(each)(pod))) for each in _names(pod)],
    ]


def _why_other_containers(made: Object, answer: Object | None, models: Sequence[Object]) -> str:
    """Whether they run first, beside it or all the time: a newer webhook may do it another way."""
    own = {*_names(made)}
    wanted = {*_names(models[0]), *(_names(answer) if answer else ())}
    if lacking := sorted(wanted - own):
        return f"the copy lacks the container {', '.join(lacking)}"
    known = wanted.union(*map(_names, models))
    if extra := sorted(own - known):
        return f"the copy has the container {', '.join(extra)}, which no sibling has"
    return ""


Aspect = tuple[str, str]
"""A container, or none for the whole pod, and a field of it."""


def _aspects(pod: Object) -> list[Aspect]:
    fields = ("resources", "securityContext")
    holders = ["", *_names(pod)]
    return [(holder, field) for holder in holders for field in fields]


def _why_other(
    aspect: Aspect,
    made: Object,
    template: Object,
    answer: Object | None,
    models: Sequence[Object],
) -> str:
    found = _said(made, aspect)
    if answer and _said(answer, aspect) != _said(template, aspect):
        right = [_said(answer, aspect)]
    else:
        right = [_said(each, aspect) for each in models if _has(each, aspect)]
        # New since its siblings were made.
        right = right or [_said(answer or template, aspect)]
    if found in right:
        return ""
    name, field = aspect
    whose = f"container {name} of the copy" if name else "the copy"
    if field == "resources":
        return f"{whose} has another size: {_sized(found)}, where it should be {_sized(right[0])}"
    return f"{whose} has another security context than it should"


def _said(pod: Object, aspect: Aspect) -> Any:  # noqa: ANN401 - JSON
    name, field = aspect
    holder = spec(pod) if not name else _container(pod, name)
    said = holder.get(field) or {}
    return size_of(said) if field == "resources" else said


def _has(pod: Object, aspect: Aspect) -> bool:
    return not aspect[0] or bool(_container(pod, aspect[0]))


def _container(pod: Object, name: str) -> Object:
    every = [each for kind in KINDS for each in spec(pod).get(kind) or ()]
    return next((each for each in every if each["name"] == name), {})


def size_of(said: Object) -> dict[str, Mapping[str, int]]:
    """In numbers, and complete: the API server makes a request of a limit that has none."""
    limits = said.get("limits") or {}
    given = {"limits": limits, "requests": {**limits, **(said.get("requests") or {})}}
    return {each: resources.read(given[each]) for each in _SIZES}


def _sized(size: Mapping[str, Mapping[str, int]]) -> str:
    asked = size["requests"].items()
    words = [f"{resources.in_words(name, amount)} {name}" for name, amount in sorted(asked)]
    return " and ".join(words) or "no requests"


def _why_less(
    made: Object, template: Object, answer: Object | None, models: Sequence[Object]
) -> str:
    """What somebody puts into such pods, and has not put into the copy."""
    for name in ("", *_names(made)):
        held = _variables_of(name) if name else _volumes
        if answer and {*held(answer)} != {*held(template)}:
            wanted = {*held(answer)}
        else:
            wanted = set.intersection(*({*held(each)} for each in models))
        if lacking := sorted(wanted - {*held(made)}):
            what = f"variable {name}/" if name else "volume "
            return f"the copy lacks the {what}{lacking[0]}"
    return ""


def _names(pod: Object) -> list[str]:
    return [each["name"] for kind in KINDS for each in spec(pod).get(kind) or ()]


def _volumes(pod: Object) -> list[str]:
    return [_name_of_volume(each["name"]) for each in spec(pod).get("volumes") or ()]


def _variables_of(name: str) -> Callable[[Object], list[str]]:
    return lambda pod: [each["name"] for each in _container(pod, name).get("env") or ()]
