"""Objects as the API server gives them, by what they are, and how their labels are matched."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rescheduler.model import resources

Object = dict[str, Any]


@dataclass(slots=True)
class Cluster:
    """Objects by what they are."""

    nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[tuple[str, str], Object] = field(default_factory=dict)
    others: dict[str, dict[tuple[str, str], Object]] = field(default_factory=dict)
    """By kind, then by namespace and name."""

    @classmethod
    def of(cls, objects: Iterable[Object]) -> "Cluster":
        made = cls()
        for each in objects:
            made.add(each)
        return made

    def add(self, each: Object) -> None:
        key = key_of(each)
        if each["kind"] == "Node":
            self.nodes[key[1]] = each
        elif each["kind"] == "Pod":
            self.pods[key] = each
        else:
            self.others.setdefault(each["kind"], {})[key] = each

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        return self.others.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> Iterable[Object]:
        return self.others.get(kind, {}).values()

    def present(self) -> Iterator[tuple[Object, Object]]:
        """Every pod that holds something, with its node."""
        for pod in self.pods.values():
            node = self.nodes.get(pod["spec"].get("nodeName") or "")
            if node is not None and not is_finished(pod):
                yield pod, node

    def pods_on(self, name: str) -> list[Object]:
        return [pod for pod, node in self.present() if node["metadata"]["name"] == name]


def key_of(each: Object) -> tuple[str, str]:
    return each["metadata"].get("namespace") or "", each["metadata"]["name"]


def labels_of(each: Object) -> Mapping[str, str]:
    return each["metadata"].get("labels") or {}


def is_finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def asked_by(pod: Object) -> resources.Resources:
    return resources.of_pod(pod["spec"], pod.get("status"))


def name_of(node: Object) -> str:
    return str(node["metadata"]["name"])


def matches_terms(terms: Sequence[Mapping[str, Any]], node: Object) -> bool:
    """They are alternatives, and an empty one is none."""
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_holds(each, labels_of(node)) for each in term.get("matchExpressions") or ())
        and all(_holds(each, _fields(node)) for each in term.get("matchFields") or ())
        for term in terms
    )


def _fields(node: Object) -> Mapping[str, str]:
    return {"metadata.name": node["metadata"]["name"]}


def _holds(wanted: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(wanted["key"])
    values: Sequence[str] = wanted.get("values") or ()
    match wanted["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number, bound = int(value or ""), int(values[0])
    except ValueError:
        return False
    return number > bound if wanted["operator"] == "Gt" else number < bound
