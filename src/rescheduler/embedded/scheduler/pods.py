"""Pods as the scheduler sees them: read once, asked often."""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rescheduler.embedded.store import Key, key_of
from rescheduler.kube import Object
from rescheduler.model import node_affinity, resources, selectors
from rescheduler.model.objects import is_terminating, labels
from rescheduler.model.resources import Resources
from rescheduler.model.selectors import Operator, Requirement, Selector

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - nothing is bound to it here

_USUAL_CPU: Final = 100
_USUAL_MEMORY: Final = 200 * 1024 * 1024
"""What a pod that asks for none counts as when nodes are compared."""


class Port(NamedTuple):
    address: str
    protocol: str
    number: int


class Term(NamedTuple):
    """Of an affinity to other pods."""

    key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector | None
    weight: int = 0

    def selects(
        self, namespace: str, labels_: Mapping[str, str], of_namespace: Mapping[str, str]
    ) -> bool:
        return self.looks_into(namespace, of_namespace) and self.selector.matches(labels_)

    def looks_into(self, namespace: str, of_namespace: Mapping[str, str]) -> bool:
        return namespace in self.namespaces or (
            self.namespace_selector is not None and self.namespace_selector.matches(of_namespace)
        )


class Neighbours(NamedTuple):
    """What a pod wants to be near to, and far from."""

    near: tuple[Term, ...] = ()
    far: tuple[Term, ...] = ()
    rather_near: tuple[Term, ...] = ()
    rather_far: tuple[Term, ...] = ()


NO_NEIGHBOURS: Final = Neighbours()


class Spread(NamedTuple):
    key: str
    selector: Selector
    max_skew: int
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


class Preference(NamedTuple):
    weight: int
    wanted: node_affinity.Required


@dataclass(slots=True, eq=False)
class Pod:
    key: Key
    uid: str
    raw: Object
    labels: Mapping[str, str]
    alike: tuple[str, tuple[tuple[str, str], ...], str]
    """Pods that have this in common are the same to all other pods."""
    requests: Resources
    usual_cpu: int
    usual_memory: int
    ports: tuple[Port, ...]
    claims: tuple[str, ...]
    disks: tuple[Object, ...]
    priority: int
    neighbours: Neighbours
    is_leaving: bool

    @property
    def namespace(self) -> str:
        return self.key[0]

    @property
    def spec(self) -> Object:
        return self.raw["spec"]  # type: ignore[no-any-return]

    @property
    def tolerations(self) -> tuple[Object, ...]:
        return tuple(self.spec.get("tolerations") or ())

    @property
    def nominated(self) -> str:
        return (self.raw.get("status") or {}).get("nominatedNodeName") or ""


def read(raw: Object) -> Pod:
    spec = raw["spec"]
    requests = _requests(raw)
    affinity = spec.get("affinity") or {}
    near_and_far = {
        kind: affinity[kind] for kind in ("podAffinity", "podAntiAffinity") if affinity.get(kind)
    }
    namespace = raw["metadata"].get("namespace") or ""
    return Pod(
        key=key_of(raw),
        uid=raw["metadata"]["uid"],
        raw=raw,
        labels=labels(raw),
        alike=(
            namespace,
            tuple(sorted(labels(raw).items())),
            json.dumps(near_and_far, sort_keys=True) if near_and_far else "",
        ),
        requests=requests,
        usual_cpu=requests.get(resources.CPU) or _USUAL_CPU,
        usual_memory=requests.get(resources.MEMORY) or _USUAL_MEMORY,
        ports=tuple(_ports(spec)),
        claims=tuple(_claims(raw)),
        disks=tuple(each for each in spec.get("volumes") or () if DISKS & each.keys()),
        priority=spec.get("priority") or 0,
        neighbours=_neighbours(near_and_far, namespace) if near_and_far else NO_NEIGHBOURS,
        is_leaving=is_terminating(raw),
    )


DISKS: Final = frozenset({"gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"})


def _requests(raw: Object) -> Resources:
    status = raw.get("status") if raw["spec"].get("nodeName") else None
    return resources.of_pod(raw["spec"], status)


def _ports(spec: Object) -> Iterable[Port]:
    """Of containers that stay."""
    sidecars = [
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    for container in (*sidecars, *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield Port(
                    port.get("hostIP") or ANY_ADDRESS,
                    port.get("protocol") or "TCP",
                    port["hostPort"],
                )


def _claims(raw: Object) -> Iterable[str]:
    for volume in raw["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{raw['metadata']['name']}-{volume['name']}"


# ---------------------------------------------------------------------- other pods


def _neighbours(affinity: Mapping[str, Any], namespace: str) -> Neighbours:
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    return Neighbours(
        near=_terms(near.get(REQUIRED), namespace),
        far=_terms(far.get(REQUIRED), namespace),
        rather_near=_weighted(near.get(PREFERRED), namespace),
        rather_far=_weighted(far.get(PREFERRED), namespace),
    )


def _terms(given: Iterable[Object] | None, namespace: str) -> tuple[Term, ...]:
    return tuple(_term(each, namespace, 0) for each in given or ())


def _weighted(given: Iterable[Object] | None, namespace: str) -> tuple[Term, ...]:
    return tuple(_term(each["podAffinityTerm"], namespace, each["weight"]) for each in given or ())


def _term(given: Object, namespace: str, weight: int) -> Term:
    """MatchLabelKeys stand in the labelSelector since the pod was created."""
    chooses = given.get("namespaceSelector")
    named = frozenset(given.get("namespaces") or ())
    if not named and chooses is None:
        named = frozenset({namespace})
    return Term(
        key=given["topologyKey"],
        selector=_selector(given.get("labelSelector")),
        namespaces=named,
        namespace_selector=None if chooses is None else _selector(chooses),
        weight=weight,
    )


def _selector(given: Mapping[str, object] | None) -> Selector:
    try:
        return selectors.from_object(given)
    except selectors.InvalidSelectorError:
        # A real API server does not let it in.
        return selectors.NOTHING


def spreads(pod: Pod, when_unsatisfiable: str) -> tuple[Spread, ...]:
    return tuple(
        _spread(pod, each)
        for each in pod.spec.get("topologySpreadConstraints") or ()
        if each["whenUnsatisfiable"] == when_unsatisfiable
    )


def _spread(pod: Pod, given: Object) -> Spread:
    selector = _selector(given.get("labelSelector"))
    more = [
        Requirement(key, Operator.IN, frozenset({pod.labels[key]}))
        for key in given.get("matchLabelKeys") or ()
        if key in pod.labels
    ]
    return Spread(
        key=given["topologyKey"],
        selector=Selector.of([*selector.requirements, *more]),
        max_skew=given["maxSkew"],
        min_domains=given.get("minDomains") or 1,
        honors_affinity=(given.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honors_taints=given.get("nodeTaintsPolicy") == "Honor",
    )


def preferences(pod: Pod) -> tuple[Preference, ...]:
    """Nodes that it would rather have."""
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    return tuple(
        Preference(each["weight"], _as_required(each.get("preference") or {}))
        for each in affinity.get(PREFERRED) or ()
    )


def _as_required(term: Object) -> node_affinity.Required:
    wanted = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    return node_affinity.required({"affinity": wanted})


@functools.cache
def usual_spread(key: str, max_skew: int) -> Spread:
    """Of those who say nothing: its selector is that of whoever owns or serves the pod."""
    return Spread(key, selectors.NOTHING, max_skew, 1, honors_affinity=True, honors_taints=False)
