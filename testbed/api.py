"""A minimal client for tests and the auditor: raw JSON in and out.

Not the product's client on purpose: a judge that shares code with the judged shares its mistakes.
"""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp

from testbed import build
from testbed.sockets import Sockets

Object = dict[str, Any]

# kind -> (group and version, plural, namespaced)
KINDS: Mapping[str, tuple[str, str, bool]] = {
    "Node": ("v1", "nodes", False),
    "Namespace": ("v1", "namespaces", False),
    "Pod": ("v1", "pods", True),
    "Service": ("v1", "services", True),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "ConfigMap": ("v1", "configmaps", True),
    "Secret": ("v1", "secrets", True),
    "Event": ("v1", "events", True),
    "ReplicationController": ("v1", "replicationcontrollers", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "Deployment": ("apps/v1", "deployments", True),
    "ReplicaSet": ("apps/v1", "replicasets", True),
    "StatefulSet": ("apps/v1", "statefulsets", True),
    "DaemonSet": ("apps/v1", "daemonsets", True),
    "Job": ("batch/v1", "jobs", True),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies", True),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices", True),
    "PriorityClass": ("scheduling.k8s.io/v1", "priorityclasses", False),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "CSINode": ("storage.k8s.io/v1", "csinodes", False),
    "VolumeAttachment": ("storage.k8s.io/v1", "volumeattachments", False),
    "MutatingAdmissionPolicy": (
        build.POLICIES,
        "mutatingadmissionpolicies",
        False,
    ),
    "ValidatingAdmissionPolicy": (
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        False,
    ),
    "ValidatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        False,
    ),
    "ValidatingAdmissionPolicyBinding": (
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        False,
    ),
    "MutatingAdmissionPolicyBinding": (
        build.POLICIES,
        "mutatingadmissionpolicybindings",
        False,
    ),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "CustomResourceDefinition": (
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        False,
    ),
    "PodMigration": ("rescheduler.io/v1alpha1", "podmigrations", True),
    "ReschedulePlan": ("rescheduler.io/v1alpha1", "rescheduleplans", True),
    "VerticalPodAutoscaler": ("autoscaling.k8s.io/v1", "verticalpodautoscalers", True),
    "Rollout": ("argoproj.io/v1alpha1", "rollouts", True),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "horizontalpodautoscalers", True),
    "NodePool": ("karpenter.sh/v1", "nodepools", False),
    "NodeClaim": ("karpenter.sh/v1", "nodeclaims", False),
    "KWOKNodeClass": ("karpenter.kwok.sh/v1alpha1", "kwoknodeclasses", False),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
}


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


def path_of(kind: str, namespace: str | None = None, name: str | None = None) -> str:
    group_version, plural, namespaced = KINDS[kind]
    parts = ["/api" if group_version == "v1" else "/apis", group_version]
    if namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(plural)
    if name:
        parts.append(name)
    return "/".join(parts)


class Api:
    def __init__(self, url: str, token: str, context: ssl.SSLContext) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._ssl = context
        self._session: aiohttp.ClientSession | None = None
        self._sockets = Sockets()

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(
                ssl=self._ssl, limit=100, socket_factory=self._sockets.make
            ),
            read_bufsize=2**21,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()
        await self._sockets.end()

    async def get(self, kind: str, namespace: str | None, name: str) -> Object:
        return await self.request("GET", path_of(kind, namespace, name))

    async def find(self, kind: str, namespace: str | None, name: str) -> Object | None:
        try:
            return await self.get(kind, namespace, name)
        except ApiError as problem:
            if problem.status == 404:  # noqa: PLR2004
                return None
            raise

    async def list(
        self, kind: str, namespace: str | None = None, selector: str = ""
    ) -> list[Object]:
        return (await self.list_page(kind, namespace, selector))["items"]  # type: ignore[no-any-return]

    async def list_page(
        self, kind: str, namespace: str | None = None, selector: str = ""
    ) -> Object:
        query = {"labelSelector": selector} if selector else {}
        return await self.request("GET", path_of(kind, namespace), query=query)

    async def create(self, manifest: Object) -> Object:
        namespace = manifest["metadata"].get("namespace")
        return await self.request("POST", path_of(manifest["kind"], namespace), body=manifest)

    async def apply(self, manifest: Object) -> Object:
        """Server-side apply: creates it, or makes it so."""
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace"), metadata["name"])
        query = {"fieldManager": "testbed", "force": "true"}
        kind = "application/apply-patch+yaml"
        return await self.request("PATCH", path, query=query, body=manifest, content_type=kind)

    async def patch(self, kind: str, namespace: str | None, name: str, change: Object) -> Object:
        path = path_of(kind, namespace, name)
        merge = "application/merge-patch+json"
        return await self.request("PATCH", path, body=change, content_type=merge)

    async def delete(
        self, kind: str, namespace: str | None, name: str, options: Object | None = None
    ) -> Object:
        return await self.request("DELETE", path_of(kind, namespace, name), body=options)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        assert self._session is not None
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type}
        async with self._session.request(
            method, self._url + path, params=query, data=data, headers=headers
        ) as answer:
            text = await answer.text()
            if answer.status >= 400:  # noqa: PLR2004
                raise ApiError(answer.status, text)
            return json.loads(text) if text.startswith("{") else {"text": text}

    async def watch(
        self, kind: str, namespace: str | None, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """Events after a version, until the server ends the stream."""
        assert self._session is not None
        query = {"watch": "1", "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        timeout = aiohttp.ClientTimeout(total=None)
        path = self._url + path_of(kind, namespace)
        async with self._session.get(path, params=query, timeout=timeout) as answer:
            if answer.status >= 400:  # noqa: PLR2004
                raise ApiError(answer.status, await answer.text())
            async for line in answer.content:
                event = json.loads(line)
                yield event["type"], event["object"]
