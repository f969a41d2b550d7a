"""What the stages may ask of a cluster: of a real API server, and later of an embedded one."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Object = dict[str, Any]
"""A Kubernetes object as the API server sent it. Copies are made from these and never from typed
models, which drop the fields that a newer server knows and they do not."""


@dataclass(frozen=True, slots=True)
class Resource:
    group_version: str
    plural: str

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        parts = ["/api" if self.group_version == "v1" else "/apis", self.group_version]
        if namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        return "/".join(parts)


NODES = Resource("v1", "nodes")
PODS = Resource("v1", "pods")
SERVICES = Resource("v1", "services")
DEPLOYMENTS = Resource("apps/v1", "deployments")
REPLICA_SETS = Resource("apps/v1", "replicasets")
POD_DISRUPTION_BUDGETS = Resource("policy/v1", "poddisruptionbudgets")
NETWORK_POLICIES = Resource("networking.k8s.io/v1", "networkpolicies")
ENDPOINT_SLICES = Resource("discovery.k8s.io/v1", "endpointslices")


class Event(NamedTuple):
    kind: str
    """ADDED, MODIFIED, DELETED or BOOKMARK; an ERROR is raised, never handed on."""
    object: Object


class KubeApi(Protocol):
    """Reads are quorum reads. Every write names the UID of what it means, so that it is safe to
    repeat and can never hit a namesake; the caller re-reads after an error and decides anew.
    """

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object: ...

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = ""
    ) -> list[Object]: ...

    def watch(self, resource: Resource, *, namespace: str | None = None) -> AsyncIterator[Event]:
        """Events from now on, until the server ends the stream."""
        ...

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object: ...

    async def patch_metadata(
        self, resource: Resource, namespace: str, name: str, *, uid: str, change: Mapping[str, Any]
    ) -> Object:
        """Merges `change` into the metadata; a value of None removes a key. `change` may hold a
        resourceVersion, and is then refused if the object has changed since.
        """
        ...

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, resource_version: str
    ) -> None: ...

    async def evict(
        self, namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
    ) -> None: ...
