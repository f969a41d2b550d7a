"""Puts a described cluster into an embedded one, as if it had been there for long.

Every object goes through the API server, which completes and checks it; then it is put into the
store with its age and its status, as from a backup: nothing has to start first.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import revisions
from rescheduler.embedded.kubelet import container_states, node_statuses
from rescheduler.embedded.statuses import stamp
from rescheduler.kube import errors
from rescheduler.simulation.described import Described, Json
from rescheduler.wire import Resource

_KEPT: Final = ("uid", "creationTimestamp")
_WITH_REVISIONS: Final = {wire.STATEFUL_SETS: "StatefulSet", wire.DAEMON_SETS: "DaemonSet"}
_CONDITIONS: Final = (
    "PodScheduled",
    "Initialized",
    "PodReadyToStartContainers",
    "ContainersReady",
    "Ready",
)


class Cluster(Protocol):
    """As far as it takes one: `EmbeddedCluster` is one."""

    @property
    def api(self) -> ApiServer: ...


@dataclass(slots=True)
class Filled:
    refused: list[str] = field(default_factory=list)
    """What the API server would not have, each with its reason."""


def fill(cluster: Cluster, described: Described) -> Filled:
    """Before the cluster starts."""
    filling = _Filling(cluster.api)
    for resource, item in described.objects:
        filling.add(resource, item)
    return Filled(refused=filling.refused)


class _Filling:
    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._codes: dict[str, str] = {}
        """By UID of a StatefulSet or DaemonSet: what its pods are labelled with."""
        self._addresses = 0
        self._missing: set[str] = set()
        """UIDs of what was refused."""
        self.refused: list[str] = []

    def add(self, resource: Resource, item: Json) -> None:
        item = self._without_missing_owner(item)
        metadata = item["metadata"]
        try:
            made = self._api.create(resource, metadata.get("namespace"), item, dry_run=True)
            if node := made.get("spec", {}).get("nodeName"):
                self._api.get(wire.NODES, None, node)  # it may have been refused itself
        except errors.KubeError as problem:
            name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            self.refused.append(f"{resource.plural} {name}: {problem}")
            self._missing.add(metadata.get("uid", ""))
            return
        own = {key: metadata[key] for key in _KEPT if metadata.get(key)}
        made = {**made, "metadata": made["metadata"] | own}
        if resource == wire.NODES:
            self._addresses += 1
            # A new one is tainted until it is Ready, and these have been for long.
            made["spec"] = {**made.get("spec", {}), "taints": _taints(item)}
            made["status"] = self._status_of_node(made)
        elif resource == wire.PODS:
            made = self._pod(made)
        elif resource in _WITH_REVISIONS:
            self._note_revision(resource, made)
        elif item.get("status") and resource not in _JUDGED:
            made["status"] = item["status"]
        self._api.store.put(resource, made)

    def _without_missing_owner(self, item: Json) -> Json:
        """It stays, as what has no owner in the file does; else it would be garbage."""
        metadata = dict(item["metadata"])
        if all(each["uid"] not in self._missing for each in metadata.get("ownerReferences") or ()):
            return item
        del metadata["ownerReferences"]
        return {**item, "metadata": metadata}

    def _note_revision(self, resource: Resource, made: Json) -> None:
        code = revisions.hash_of(made["spec"]["template"], 0)
        name = made["metadata"]["name"]
        is_stateful = _WITH_REVISIONS[resource] == "StatefulSet"
        self._codes[made["metadata"]["uid"]] = f"{name}-{code}" if is_stateful else code

    # ------------------------------------------------------------------ statuses

    def _status_of_node(self, node: Json) -> Json:
        number = self._addresses
        address = f"10.0.{number >> 8 & 255}.{number & 255}"
        return dict(node_statuses.up(node, self._api.now(), address))

    def _pod(self, pod: Json) -> Json:
        metadata = pod["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            if code := self._codes.get(owner["uid"]):
                labels = {**(metadata.get("labels") or {}), revisions.REVISION_OF_POD: code}
                pod = {**pod, "metadata": {**metadata, "labels": labels}}
        if not pod["spec"].get("nodeName"):
            return pod
        self._addresses += 1
        return {**pod, "status": {**pod["status"], **self._running(pod)}}

    def _running(self, pod: Json) -> Json:
        node = self._api.get(wire.NODES, None, pod["spec"]["nodeName"])
        since = pod["metadata"].get("creationTimestamp") or stamp(self._api.now())
        number, host = self._addresses, node_statuses.address(node)
        own = f"10.{64 + (number >> 16 & 63)}.{number >> 8 & 255}.{number & 255}"
        return {
            "phase": "Running",
            "startTime": since,
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": own,
            "podIPs": [{"ip": own}],
            "containerStatuses": container_states.Containers(pod).running(since, ready=True),
            "conditions": list(_conditions(since)),
        }


_JUDGED: Final = (
    wire.DEPLOYMENTS,
    wire.REPLICA_SETS,
    wire.POD_DISRUPTION_BUDGETS,
    wire.RESOURCE_QUOTAS,
    wire.NAMESPACES,
)
"""Whose status their controllers find out anew."""


def _taints(node: Json) -> list[Json]:
    return list((node.get("spec") or {}).get("taints") or ())


def _conditions(since: str) -> Iterable[Json]:
    for kind in _CONDITIONS:
        yield {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
