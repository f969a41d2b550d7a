"""The nodes and what is on them, kept up to date change by change: what the scheduler decides by.

Pods that are alike to all other pods are counted together, so that asking about neighbours and
spread costs as much as there are workloads, not pods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final, TypeVar

from rescheduler import wire
from rescheduler.embedded.scheduler.pods import Neighbours, Pod, read
from rescheduler.embedded.store import Change, Index, Key, Store, key_of
from rescheduler.kube import Object
from rescheduler.model import resources
from rescheduler.model.objects import is_terminating, labels
from rescheduler.model.selectors import Operator, Selector

K = TypeVar("K")

_ENDED: Final = ("Succeeded", "Failed")
_EXACT: Final = (Operator.EQUALS, Operator.IN)
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"


class Node:
    """`is_there`: the object is; pods may name a node that is not, or no longer."""

    __slots__ = (
        "allocatable",
        "cpu",
        "is_there",
        "is_unschedulable",
        "labels",
        "memory",
        "name",
        "pods",
        "ports",
        "requested",
        "soft_taints",
        "taints",
        "usual_cpu",
        "usual_memory",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.pods: dict[Key, Pod] = {}
        self.requested: dict[str, int] = {}
        self.usual_cpu = self.usual_memory = 0
        self.ports: dict[tuple[str, int], list[str]] = {}
        """Protocol and number -> the addresses that they are taken at."""
        self.forget()

    def forget(self) -> None:
        self.is_there = self.is_unschedulable = False
        self.labels: Mapping[str, str] = {}
        self.taints: tuple[Object, ...] = ()
        self.soft_taints: tuple[Object, ...] = ()
        self.allocatable: Mapping[str, int] = {}
        self.cpu = self.memory = 0

    def learn(self, raw: Object) -> None:
        spec = raw.get("spec") or {}
        taints = tuple(spec.get("taints") or ())
        self.is_there = True
        self.is_unschedulable = bool(spec.get("unschedulable"))
        self.labels = labels(raw)
        self.taints = tuple(each for each in taints if each.get("effect") != "PreferNoSchedule")
        self.soft_taints = tuple(
            each for each in taints if each.get("effect") == "PreferNoSchedule"
        )
        self.allocatable = resources.read((raw.get("status") or {}).get("allocatable"))
        self.cpu = self.allocatable.get(resources.CPU, 0)
        self.memory = self.allocatable.get(resources.MEMORY, 0)

    def add(self, pod: Pod) -> None:
        self.pods[pod.key] = pod
        self.usual_cpu += pod.usual_cpu
        self.usual_memory += pod.usual_memory
        for name, amount in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + amount
        for port in pod.ports:
            self.ports.setdefault(port[1:], []).append(port.address)

    def take_out(self, pod: Pod) -> None:
        del self.pods[pod.key]
        self.usual_cpu -= pod.usual_cpu
        self.usual_memory -= pod.usual_memory
        for name, amount in pod.requests.items():
            self.requested[name] -= amount
        for port in pod.ports:
            self.ports[port[1:]].remove(port.address)
            if not self.ports[port[1:]]:
                del self.ports[port[1:]]


class Alike:
    """Pods that are the same to all other pods, and how many of them are where."""

    __slots__ = ("labels", "leaving", "namespace", "neighbours", "places")

    def __init__(self, pod: Pod) -> None:
        self.namespace = pod.namespace
        self.labels = pod.labels
        self.neighbours: Neighbours = pod.neighbours
        self.places: dict[str, int] = {}
        self.leaving: dict[str, int] = {}
        """How many of those are told to end."""


class State:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.nodes: dict[str, Node] = {}
        """Also those that only pods name."""
        self._order: list[Node] | None = None
        self.alike: dict[str, dict[tuple[object, ...], Alike]] = {}
        """By namespace."""
        self._by_label: dict[tuple[str, str, str], dict[tuple[object, ...], Alike]] = {}
        self._interested: dict[tuple[str, str] | None, dict[tuple[object, ...], Alike]] = {}
        """Those who want to be near or far from others, by a label that the others have; None:
        by no such label.
        """
        self.claims: dict[Key, int] = {}
        """How many pods with a node use it."""
        self.nominated: dict[str, dict[Key, Pod]] = {}
        """By node: pods that wait for room that was promised to them there."""
        self._places: dict[Key, str] = {}
        self.attachments: Index = store.index(wire.VOLUME_ATTACHMENTS, _node_of_attachment)
        self._services: Index = store.index(wire.SERVICES, _first_selected)

    # ------------------------------------------------------------------ read

    @property
    def order(self) -> list[Node]:
        """All nodes there are, one zone after the other, so that few of them are of all zones."""
        if self._order is None:
            zones: dict[tuple[str, str], list[Node]] = {}
            for node in self.nodes.values():
                if node.is_there:
                    zone = node.labels.get(_REGION, ""), node.labels.get(_ZONE, "")
                    zones.setdefault(zone, []).append(node)
            rounds = zip_longest(*zones.values())
            self._order = [node for each in rounds for node in each if node is not None]
        return self._order

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self.store.find(wire.NAMESPACES, None, namespace)
        return labels(found) if found else {}

    def selected(self, namespace: str, selector: Selector) -> Iterator[Alike]:
        """Pods of that namespace that it selects, by kind."""
        found = self.alike.get(namespace, {})
        for label in _exact_labels(selector):
            fewer = self._by_label.get((namespace, *label), {})
            found = fewer if len(fewer) < len(found) else found
        return (kind for kind in found.values() if selector.matches(kind.labels))

    def interested_in(self, pod: Pod) -> Iterator[Alike]:
        """Pods that may want to be near it, or far from it."""
        found = dict(self._interested.get(None, {}))
        for label in pod.labels.items():
            found |= self._interested.get(label, {})
        return iter(found.values())

    def services_of(self, pod: Pod) -> Iterator[Object]:
        for label in pod.labels.items():
            for service in self._services.of((pod.namespace, *label)):
                wanted = service["spec"]["selector"]
                if all(pod.labels.get(key) == value for key, value in wanted.items()):
                    yield service

    def place(self, key: Key) -> str:
        """The node that this pod is counted on, if any."""
        return self._places.get(key, "")

    # ------------------------------------------------------------------ hear

    def load(self) -> None:
        for node in self.store.all(wire.NODES):
            self._node(node["metadata"]["name"]).learn(node)
        for pod in self.store.all(wire.PODS):
            self._hear_pod(pod)
        self._order = None

    def hear(self, change: Change) -> None:
        if change.resource == wire.NODES:
            node = self._node(change.object["metadata"]["name"])
            was_there, zones = node.is_there, node.labels
            if change.kind == "DELETED":
                node.forget()
                if not node.pods:
                    del self.nodes[node.name]
            else:
                node.learn(change.object)
            if was_there != node.is_there or zones != node.labels:
                self._order = None
        elif change.resource == wire.PODS:
            if change.kind == "DELETED":
                self._forget_pod(key_of(change.object))
            elif change.before is None or not _is_same(change.before, change.object):
                self._hear_pod(change.object)
            else:
                self._keep(change.object)

    def _keep(self, raw: Object) -> None:
        """Nothing has changed that counts, so it need not be read again."""
        place = self._places.get(key_of(raw))
        if place is not None:
            self.nodes[place].pods[key_of(raw)].raw = raw

    def _hear_pod(self, raw: Object) -> None:
        self._forget_pod(key_of(raw))
        if (raw.get("status") or {}).get("phase") in _ENDED:
            return
        place = raw["spec"].get("nodeName")
        promised = (raw.get("status") or {}).get("nominatedNodeName")
        if place:
            self.add(read(raw), place)
        elif promised and not is_terminating(raw):
            self.nominated.setdefault(promised, {})[key_of(raw)] = read(raw)

    def _forget_pod(self, key: Key) -> None:
        if key in self._places:
            self.take_out(self.nodes[self._places[key]].pods[key])
        for node, promised in tuple(self.nominated.items()):
            if promised.pop(key, None) and not promised:
                del self.nominated[node]

    def _node(self, name: str) -> Node:
        known = self.nodes.get(name)
        if known is None:
            known = self.nodes[name] = Node(name)
        return known

    # ------------------------------------------------------------------ pods come and go

    def add(self, pod: Pod, place: str) -> None:
        """Also to see what would be if it were there; then it is taken out again."""
        self._places[pod.key] = place
        self._node(place).add(pod)
        kinds = self.alike.setdefault(pod.namespace, {})
        kind = kinds.get(pod.alike)
        if kind is None:
            kind = kinds[pod.alike] = Alike(pod)
            for label in pod.labels.items():
                self._by_label.setdefault((pod.namespace, *label), {})[pod.alike] = kind
            for interest in _interests(pod.neighbours):
                self._interested.setdefault(interest, {})[pod.alike] = kind
        kind.places[place] = kind.places.get(place, 0) + 1
        if pod.is_leaving:
            kind.leaving[place] = kind.leaving.get(place, 0) + 1
        for claim in pod.claims:
            key = (pod.namespace, claim)
            self.claims[key] = self.claims.get(key, 0) + 1

    def take_out(self, pod: Pod) -> None:
        place = self._places.pop(pod.key)
        node = self.nodes[place]
        node.take_out(pod)
        if not node.pods and not node.is_there:
            del self.nodes[place]
        kind = self.alike[pod.namespace][pod.alike]
        _count_down(kind.places, place)
        if pod.is_leaving:
            _count_down(kind.leaving, place)
        if not kind.places:
            del self.alike[pod.namespace][pod.alike]
            for label in kind.labels.items():
                del self._by_label[(pod.namespace, *label)][pod.alike]
            for interest in _interests(pod.neighbours):
                self._interested[interest].pop(pod.alike, None)
        for claim in pod.claims:
            _count_down(self.claims, (pod.namespace, claim))


def _exact_labels(selector: Selector) -> Iterator[tuple[str, str]]:
    """All that it selects have these."""
    for each in selector.requirements:
        if each.operator in _EXACT and len(each.values) == 1:
            (value,) = each.values
            yield each.key, value


def _interests(neighbours: Neighbours) -> Iterator[tuple[str, str] | None]:
    for terms in neighbours:
        for term in terms:
            yield next(_exact_labels(term.selector), None)


def _count_down(counts: dict[K, int], key: K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _is_same(before: Object, after: Object) -> bool:
    """To the scheduler."""
    return (
        before["spec"] == after["spec"]
        and labels(before) == labels(after)
        and before["metadata"]["uid"] == after["metadata"]["uid"]
        and is_terminating(before) == is_terminating(after)
        and all(_part(before) == _part(after) for _part in _PARTS)
    )


def _part(name: str) -> Callable[[Object], object]:
    return lambda pod: (pod.get("status") or {}).get(name)


def _has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _resized(pod: Object) -> object:
    """What its status says of a resize, which counts."""
    status = pod.get("status") or {}
    return (
        status.get("resources"),
        status.get("allocatedResources"),
        [
            (each.get("resources"), each.get("allocatedResources"))
            for kind in ("containerStatuses", "initContainerStatuses")
            for each in status.get(kind) or ()
            if "resources" in each or "allocatedResources" in each
        ],
    )


_PARTS: Final = (_part("nominatedNodeName"), _has_ended, _resized)


def _first_selected(service: Object) -> Iterable[tuple[str, str, str]]:
    """One of the labels that all pods of it have: enough to find it by."""
    selector = (service.get("spec") or {}).get("selector")
    if selector:
        yield service["metadata"]["namespace"], *min(selector.items())


def _node_of_attachment(attachment: Object) -> Iterable[str]:
    return (attachment["spec"].get("nodeName") or "",)
