"""Patches: what an object is once a change is merged into it. Pure; shares what stays the same."""

from collections.abc import Mapping
from typing import Any, Final

from rescheduler.kube import Object

_MERGE_KEYS: Final = {
    # By the name of the list, and whose it is where the same name has two meanings.
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "env": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "ownerReferences": "uid",
    "conditions": "type",
    "addresses": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
}
_PORTS_KEYS: Final = ("containerPort", "port")
"""Of a container, and of a Service."""
_PLAIN_SETS: Final = frozenset({"finalizers"})
_DIRECTIVE: Final = "$patch"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"
_RETAIN: Final = "$retainKeys"


def merged(before: Any, change: Any) -> Any:  # noqa: ANN401 - any JSON
    """By RFC 7386: None removes a key, a list is replaced as a whole."""
    if not isinstance(change, Mapping):
        return change
    made: Object = dict(before) if isinstance(before, Mapping) else {}
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def strategically_merged(before: Any, change: Any) -> Any:  # noqa: ANN401 - any JSON
    """As `kubectl patch` does it: lists whose elements have a key are merged by it. Tolerations
    and taints are lists without one, and are replaced.
    """
    if not isinstance(change, Mapping):
        return change
    if change.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in change.items() if key != _DIRECTIVE}
    if change.get(_DIRECTIVE) == "delete":
        return {}
    made: Object = dict(before) if isinstance(before, Mapping) else {}
    if _RETAIN in change:
        made = {key: value for key, value in made.items() if key in change[_RETAIN]}
    for key, value in change.items():
        if key in (_DIRECTIVE, _RETAIN) or key.startswith((_ORDER, _DELETE_FROM)):
            continue
        if value is None:
            made.pop(key, None)
        else:
            made[key] = _of_field(key, made.get(key), value)
    return _put_in_order(made, change)


def _put_in_order(made: Object, change: Mapping[str, Any]) -> Object:
    """Once all is there: what is to go from plain lists, and the order of the others."""
    for key, value in change.items():
        if key.startswith(_DELETE_FROM):
            name = key.removeprefix(_DELETE_FROM)
            made[name] = [each for each in made.get(name) or () if each not in value]
        elif key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            made[name] = _ordered(name, made.get(name) or [], value)
    return made


def _of_field(name: str, before: Any, change: Any) -> Any:  # noqa: ANN401 - any JSON
    if not isinstance(change, list):
        return strategically_merged(before, change)
    known = list(before) if isinstance(before, list) else []
    if name in _PLAIN_SETS:
        return known + [each for each in change if each not in known]
    key = _merge_key(name, [*known, *change])
    return _merged_by(key, known, change) if key else change


def _merge_key(name: str, elements: list[Any]) -> str | None:
    # The same name may belong to a list of another kind, as `conditions` may in a template.
    if not all(isinstance(each, Mapping) for each in elements):
        return None
    if name == "ports":
        return next((key for key in _PORTS_KEYS if any(key in each for each in elements)), None)
    return _MERGE_KEYS.get(name)


def _merged_by(key: str, known: list[Any], change: list[Any]) -> list[Any]:
    if any(each.get(_DIRECTIVE) == "replace" for each in change):
        return [each for each in change if _DIRECTIVE not in each]
    made = list(known)
    for each in change:
        place = next((at for at, old in enumerate(made) if old.get(key) == each.get(key)), None)
        if each.get(_DIRECTIVE) == "delete":
            if place is not None:
                del made[place]
        elif place is None:
            made.append(strategically_merged({}, each))
        else:
            made[place] = strategically_merged(made[place], each)
    return made


def _ordered(name: str, elements: list[Any], order: list[Any]) -> list[Any]:
    key = _merge_key(name, elements)
    wanted = [each.get(key) if key and isinstance(each, Mapping) else each for each in order]

    def rank(element: Any) -> int:  # noqa: ANN401
        value = element.get(key) if key else element
        return wanted.index(value) if value in wanted else len(wanted)

    return sorted(elements, key=rank)
