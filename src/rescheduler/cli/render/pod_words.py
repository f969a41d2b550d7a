"""The rules of a pod in words: what its specification asks of the node that it is on. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rescheduler.model import resources
from rescheduler.model.cluster import Pod

Object = Mapping[str, Any]

_STOCK_TOLERATIONS: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)
"""Every pod has these for a while, by an admission plugin."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def amounts(found: Mapping[str, float]) -> str:
    """`cpu 500m, memory 1Gi`; that it is one pod goes without saying."""
    told = [
        f"{name} {resources.in_words(name, found[name])}"
        for name in sorted(found)
        if name != resources.PODS
    ]
    return ", ".join(told) or "nothing"


def rules(pod: Pod, claims: Iterable[str]) -> list[str]:
    return [*_of_nodes(pod.spec), *_of_pods(pod.spec), *_of_things(pod.spec, claims)]


def _of_nodes(spec: Object) -> Iterator[str]:
    if selector := spec.get("nodeSelector"):
        yield "nodes with " + _labels(selector)
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    if required := affinity.get(_REQUIRED):
        terms = [
            _all(
                _expression(each)
                for kind in ("matchExpressions", "matchFields")
                for each in term.get(kind) or ()
            )
            for term in required.get("nodeSelectorTerms") or ()
        ]
        yield "nodes with " + (", or ".join(terms) or "what no node has")
    told = [
        _toleration(each)
        for each in spec.get("tolerations") or ()
        if each.get("key") not in _STOCK_TOLERATIONS
    ]
    if told:
        yield "tolerates " + ", ".join(told)


def _of_pods(spec: Object) -> Iterator[str]:
    affinity = spec.get("affinity") or {}
    for kind, words in (("podAffinity", "together with"), ("podAntiAffinity", "apart from")):
        for term in (affinity.get(kind) or {}).get(_REQUIRED) or ():
            where = f", in every {term.get('topologyKey')}" if kind == "podAntiAffinity" else ""
            where = where or f", in the same {term.get('topologyKey')}"
            yield f"{words} pods with {_selector(term.get('labelSelector'))}{where}"
    for each in spec.get("topologySpreadConstraints") or ():
        soft = "" if each.get("whenUnsatisfiable") == "DoNotSchedule" else " (a wish)"
        yield (
            f"pods with {_selector(each.get('labelSelector'))} spread over "
            f"{each.get('topologyKey')}, at most {each.get('maxSkew')} apart{soft}"
        )


def _of_things(spec: Object, claims: Iterable[str]) -> Iterator[str]:
    if named := ", ".join(claims):
        yield f"mounts the claims {named}"
    local = [
        each["name"] for each in spec.get("volumes") or () if each.keys() & {"emptyDir", "hostPath"}
    ]
    if local:
        yield "has local data in " + ", ".join(local)
    if spec.get("hostNetwork"):
        yield "is in the network of its node"
    ports = [
        str(port["hostPort"])
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]
    if ports:
        yield "takes ports of its node: " + ", ".join(ports)
    if spec.get("resourceClaims"):
        yield "has resource claims: " + ", ".join(each["name"] for each in spec["resourceClaims"])
    if (scheduler := spec.get("schedulerName", "default-scheduler")) != "default-scheduler":
        yield f"is placed by {scheduler}"


def _all(told: Iterable[str]) -> str:
    return " and ".join(told) or "what no node has"


def _labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _selector(selector: Object | None) -> str:
    if selector is None:
        return "no labels at all, so none of them"
    told = [_labels(selector["matchLabels"])] if selector.get("matchLabels") else []
    told += map(_expression, selector.get("matchExpressions") or ())
    return " and ".join(told) or "any labels"


def _expression(each: Object) -> str:
    key, operator, values = each.get("key"), each.get("operator"), each.get("values") or ()
    listed = ", ".join(values)
    words = {
        "In": f"{key}={listed}" if len(values) == 1 else f"{key} in ({listed})",
        "NotIn": f"{key} not in ({listed})",
        "Exists": f"{key}",
        "DoesNotExist": f"no {key}",
        "Gt": f"{key} above {listed}",
        "Lt": f"{key} below {listed}",
    }
    return words.get(str(operator), f"{key} {operator} {listed}")


def _toleration(each: Object) -> str:
    key, value, effect = (each.get(name) or "" for name in ("key", "value", "effect"))
    if not key:
        return f"every taint{f' of {effect}' if effect else ''}"
    told = key if each.get("operator") == "Exists" or not value else f"{key}={value}"
    return f"{told}:{effect}" if effect else told
