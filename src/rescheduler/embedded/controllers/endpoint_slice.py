"""EndpointSlices: which pods a Service sends traffic to.

Follows pkg/controller/endpointslice and k8s.io/endpointslice: a Service with a selector has at
least one slice, a slice at most 100 endpoints, and an endpoint that stays keeps its place.
"""

import random
from collections.abc import Callable, Collection, Iterable
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import endpoints, owning
from rescheduler.embedded.controllers.endpoints import Identity, Ports
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import selectors
from rescheduler.model.objects import is_terminating, labels, owners, spec

SERVICE_NAME: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_MANAGER: Final = "endpointslice-controller.k8s.io"
_HEADLESS: Final = "service.kubernetes.io/headless"
_RESERVED: Final = frozenset({SERVICE_NAME, _MANAGED_BY, _HEADLESS})
_MOST_ENDPOINTS: Final = 100
_MENDED_AFTER_SECONDS: Final = 1.0
"""What others do to slices is looked at this much later, at the soonest."""


class EndpointSliceController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._queue = Queue("endpoint slice", self._sync, chance)
        self._indexes = Indexes.of(api.store)
        self._services = api.store.index(wire.SERVICES, _first_selected_pair)
        self._slices = api.store.index(wire.ENDPOINT_SLICES, _service_of_slice)
        self._is_writing = False
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._endings = [
            store.listen(wire.SERVICES, lambda change: self._queue.add(key_of(change.object))),
            store.listen(wire.PODS, self._heard_of_pod),
            store.listen(wire.ENDPOINT_SLICES, self._heard_of_slice),
        ]
        for service in store.all(wire.SERVICES):
            self._queue.add(key_of(service))

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()

    def _heard_of_pod(self, change: Change) -> None:
        pod, before = change.object, change.before
        if change.kind != "MODIFIED" or before is None:
            concerned = self._services_of(pod)
        elif labels(before) != labels(pod):
            concerned = {**self._services_of(before), **self._services_of(pod)}
        elif endpoints.are_affected(before, pod):
            concerned = self._services_of(pod)
        else:
            return
        for key in concerned:
            self._queue.add(key)

    def _services_of(self, pod: Object) -> dict[Key, None]:
        marks = labels(pod).items()
        return {
            key_of(service): None
            for pair in _label_pairs(pod)
            for service in self._services.of(pair)
            if spec(service)["selector"].items() <= marks
        }

    def _heard_of_slice(self, change: Change) -> None:
        if not self._is_writing:
            for key in _service_of_slice(change.object):
                self._queue.add(key, after=_MENDED_AFTER_SECONDS)

    def _sync(self, key: Key) -> None:
        service = self._api.store.find(wire.SERVICES, *key)
        if service is None or not _is_served(service):
            return
        present = [each for each in self._slices.of(key) if not is_terminating(each)]
        wanted, without_node = self._wanted(service)
        turn = _Turn(service, present)
        turn.settle(wanted)
        self._is_writing = True
        try:
            self._write(turn)
        finally:
            self._is_writing = False
        if without_node:
            raise errors.NotFound(f"on a node that is not there: {', '.join(without_node)}")

    def _wanted(self, service: Object) -> tuple[dict[Ports, dict[Identity, Object]], list[str]]:
        wanted: dict[Ports, dict[Identity, Object]] = {}
        without_node: list[str] = []
        for pod in self._selected(service):
            if not endpoints.has_one(pod):
                continue
            ports = endpoints.ports_of(service, pod)
            found = wanted.setdefault(ports, {})
            node = self._api.store.find(wire.NODES, None, pod["spec"].get("nodeName") or "")
            if node is None and not spec(service).get("publishNotReadyAddresses"):
                without_node.append(pod["metadata"]["name"])
                continue
            made = endpoints.of_pod(service, pod, node)
            found[endpoints.identity(made)] = made
        return wanted, without_node

    def _selected(self, service: Object) -> Iterable[Object]:
        selector = selectors.from_object({"matchLabels": spec(service)["selector"]})
        return self._indexes.pods_matching(service["metadata"]["namespace"], selector)

    def _write(self, turn: "_Turn") -> None:
        namespace = turn.service["metadata"]["namespace"]
        if not is_terminating(turn.service):
            for body in turn.to_create:
                self._api.create(wire.ENDPOINT_SLICES, namespace, body)
        for body in turn.to_update:
            self._api.replace(wire.ENDPOINT_SLICES, body)
        for item in turn.to_delete:
            self._api.delete(wire.ENDPOINT_SLICES, namespace, item["metadata"]["name"])


class _Turn:
    """What is to be done about the slices of one Service."""

    def __init__(self, service: Object, present: Collection[Object]) -> None:
        self.service = service
        self.to_create: list[Object] = []
        self.to_update: list[Object] = []
        self.to_delete: list[Object] = []
        self._present = present

    def settle(self, wanted: dict[Ports, dict[Identity, Object]]) -> None:
        uid = self.service["metadata"]["uid"]
        by_ports: dict[Ports, list[Object]] = {}
        for each in self._present:
            if any(owner["uid"] == uid for owner in owners(each)):
                by_ports.setdefault(endpoints.ports_of_slice(each), []).append(each)
            else:
                self.to_delete.append(each)
        for ports, missing in wanted.items():
            self._settle_alike(ports, by_ports.pop(ports, []), dict(missing))
        for unused in by_ports.values():
            self.to_delete += unused
        if len(self._present) == len(self.to_delete) and not self.to_create:
            self._keep_one_empty()
        self._reuse()

    def _settle_alike(
        self, ports: Ports, present: list[Object], missing: dict[Identity, Object]
    ) -> None:
        """Slices with the same ports. What is in one stays there; what is new goes to those that
        change anyhow, then to one with enough room, then to new ones.
        """
        changed, unchanged = [], []
        marks = _labels_of_slice(self.service)
        for each in present:
            before = each.get("endpoints") or []
            after = [
                kept
                for endpoint in before
                if (kept := missing.pop(endpoints.identity(endpoint), None)) is not None
            ]
            if before and not after:
                self.to_delete.append(each)
            elif before != after or labels(each) != marks:
                changed.append({**each, "endpoints": after, "metadata": _marked(each, marks)})
            else:
                unchanged.append(each)
        to_place = list(missing.values())
        for body in sorted(changed, key=lambda body: -len(body["endpoints"])):
            _fill(body, to_place)
        self.to_update += changed
        while to_place:
            roomy = [
                each
                for each in unchanged
                if len(each.get("endpoints") or ()) + len(to_place) <= _MOST_ENDPOINTS
            ]
            if roomy:
                fullest = max(roomy, key=lambda each: len(each.get("endpoints") or ()))
                body = {**fullest, "endpoints": list(fullest.get("endpoints") or ())}
                self.to_update.append(body)
            else:
                body = self._new(ports)
                self.to_create.append(body)
            _fill(body, to_place)

    def _keep_one_empty(self) -> None:
        """A Service without endpoints has a slice all the same, which says so."""
        empty = self._new(())
        if len(self.to_delete) == 1 and _is_like(self.to_delete[0], empty):
            self.to_delete.clear()
        else:
            self.to_create.append(empty)

    def _reuse(self) -> None:
        """One that is to go becomes one that is to come."""
        uid = self.service["metadata"]["uid"]
        for item in tuple(self.to_delete):
            if self.to_create and any(owner["uid"] == uid for owner in owners(item)):
                body = self.to_create.pop()
                self.to_delete.remove(item)
                metadata = _marked(item, body["metadata"]["labels"])
                self.to_update.append({**body, "metadata": metadata})

    def _new(self, ports: Ports) -> Object:
        metadata = self.service["metadata"]
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": f"{metadata['name']}-",
                "namespace": metadata["namespace"],
                "labels": _labels_of_slice(self.service),
                "ownerReferences": [owning.reference(self.service)],
            },
            "addressType": "IPv4",
            "endpoints": [],
            "ports": [dict(port) for port in ports],
        }


def _fill(body: Object, to_place: list[Object]) -> None:
    room = _MOST_ENDPOINTS - len(body["endpoints"])
    body["endpoints"] += to_place[:room]
    del to_place[:room]


def _marked(item: Object, marks: dict[str, str]) -> Object:
    return {**item["metadata"], "labels": marks}


def _is_like(item: Object, empty: Object) -> bool:
    return (
        not item.get("endpoints")
        and not item.get("ports")
        and labels(item) == labels(empty)
        and list(owners(item)) == list(owners(empty))
    )


def _is_served(service: Object) -> bool:
    """Whoever writes no selector writes the slices too."""
    wanted = spec(service)
    return bool(wanted.get("selector")) and wanted.get("type") != "ExternalName"


def _labels_of_slice(service: Object) -> dict[str, str]:
    own = {key: value for key, value in labels(service).items() if key not in _RESERVED}
    if spec(service).get("clusterIP") == "None":
        own[_HEADLESS] = ""
    return own | {SERVICE_NAME: service["metadata"]["name"], _MANAGED_BY: _MANAGER}


def _label_pairs(item: Object) -> Iterable[tuple[str, str, str]]:
    namespace = item["metadata"].get("namespace") or ""
    return [(namespace, key, value) for key, value in labels(item).items()]


def _first_selected_pair(service: Object) -> Iterable[tuple[str, str, str]]:
    """One is enough to come upon the Service of a pod; the others are compared then."""
    if not _is_served(service):
        return ()
    key, value = min(spec(service)["selector"].items())
    return ((service["metadata"]["namespace"], key, value),)


def _service_of_slice(item: Object) -> Iterable[Key]:
    marks = labels(item)
    if marks.get(_MANAGED_BY) != _MANAGER or SERVICE_NAME not in marks:
        return ()
    return ((item["metadata"]["namespace"], marks[SERVICE_NAME]),)
