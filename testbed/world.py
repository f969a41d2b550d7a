"""A test's own piece of a cluster: a namespace, nodes, the process under test, and a judge.

Scenarios are written against these few verbs (create, act, await, run, audit) and know no URL and
no process, so that the same scenarios can run on another cluster behind the same verbs.
"""

import asyncio
import base64
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from testbed import builders
from testbed.api import Api, ApiError, Object
from testbed.audit import Audit, is_ready, is_usable
from testbed.auditor import Auditor, auditing
from testbed.faultproxy import FaultProxy
from testbed.instance import Instance

OWNER = "testbed.rescheduler.io/owner"
RBAC = Path(__file__).parent.parent / "manifests" / "rescheduler" / "rbac.yaml"
SERVICE_ACCOUNT = ("kube-system", "rescheduler-scheduler")

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run of the process under test ended."""

    code: int
    lines: list[dict[str, Any]]
    """Its log, one object per line."""
    errors: str
    """What it printed that was no log line."""

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    @property
    def summary(self) -> str:
        return str(self.said("pass ended")[-1]["summary"])


@dataclass(slots=True, kw_only=True)
class World:
    instance: Instance
    api: Api
    folder: Path
    name: str
    """Of the namespace, and the value of the label and taint of its nodes."""
    token: str
    credential: str
    """The id by which the audit log tells this test's process from all others."""
    nodes: list[str] = field(default_factory=list)
    policies: list[Object] = field(default_factory=list)
    api_url: str = ""
    """Where the process under test finds the API server, if not directly: at a fault proxy."""

    # ------------------------------------------------------------------ create

    async def add_nodes(self, count: int, **size: str) -> list[str]:
        """Nodes that only this test's pods tolerate. Returns when they are Ready."""
        first = len(self.nodes)
        made = [f"{self.name}-n{first + number}" for number in range(count)]
        await asyncio.gather(*(self._add_node(name, **size) for name in made))
        self.nodes += made
        await self.wait("nodes are Ready", lambda: self._are_ready(made))
        return made

    async def _add_node(self, name: str, **size: str) -> None:
        manifest = builders.node(name, **size)
        manifest["metadata"]["labels"][OWNER] = self.name
        manifest["spec"]["taints"] = [{"key": OWNER, "value": self.name, "effect": "NoSchedule"}]
        await self.api.create(manifest)

    async def _are_ready(self, names: Sequence[str]) -> bool:
        found = await self.api.list("Node", selector=f"{OWNER}={self.name}")
        ready = {node["metadata"]["name"] for node in found if is_usable(node)}
        return set(names) <= ready

    async def create(self, *manifests: Object) -> None:
        """Makes the objects in the test's namespace; their pods run on the test's nodes only."""
        for manifest in manifests:
            manifest["metadata"]["namespace"] = self.name
            self._confine(manifest)
            await self.api.create(manifest)

    async def deploy(self, manifest: Object, *, on: str) -> None:
        """Creates a workload whose pods all start on one node, and waits until it is complete."""
        others = [node for node in self.nodes if node != on]
        await asyncio.gather(*(self.cordon(node) for node in others))
        await self.create(manifest)
        name = manifest["metadata"]["name"]
        await self.wait(f"{name} is complete", lambda: self.is_complete(name))
        await asyncio.gather(*(self.uncordon(node) for node in others))

    def _confine(self, manifest: Object) -> None:
        spec = manifest.get("spec") or {}
        pod = spec if manifest["kind"] == "Pod" else (spec.get("template") or {}).get("spec")
        if pod is None:
            return
        toleration = {"key": OWNER, "operator": "Equal", "value": self.name}
        pod["tolerations"] = [*(pod.get("tolerations") or []), toleration]
        pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), OWNER: self.name}

    # ------------------------------------------------------------------ act

    async def cordon(self, node: str) -> None:
        await self.api.patch("Node", None, node, {"spec": {"unschedulable": True}})

    async def uncordon(self, node: str) -> None:
        await self.api.patch("Node", None, node, {"spec": {"unschedulable": None}})
        await self.wait(f"{node} is schedulable", lambda: self._has_no_taint(node, "unschedulable"))

    async def make_not_ready(self, node: str) -> None:
        change = {"metadata": {"annotations": builders.behaviour(down="true")}}
        await self.api.patch("Node", None, node, change)

    async def make_ready_again(self, node: str) -> None:
        change = {"metadata": {"annotations": {builders.BEHAVIOUR + "down": None}}}
        await self.api.patch("Node", None, node, change)

    async def hang(self, node: str) -> None:
        """Its kubelet does nothing more: pods neither start nor end there."""
        change = {"metadata": {"labels": {builders.BEHAVIOUR + "kubelet": "hung"}}}
        await self.api.patch("Node", None, node, change)
        # KWOK hears of nodes in order: when a later one is Ready, it has heard of this one.
        [later] = await self.add_nodes(1)
        await self.cordon(later)

    async def revive(self, node: str) -> None:
        change = {"metadata": {"labels": {builders.BEHAVIOUR + "kubelet": "alive"}}}
        await self.api.patch("Node", None, node, change)

    async def delete_node(self, node: str) -> None:
        await self.api.delete("Node", None, node)

    async def set_ready(self, pod: str, *, ready: bool) -> None:
        """As its kubelet would report a readiness probe."""
        status = "True" if ready else "False"
        conditions = [{"type": kind, "status": status} for kind in ("Ready", "ContainersReady")]
        path = f"/api/v1/namespaces/{self.name}/pods/{pod}/status"
        merge = "application/strategic-merge-patch+json"
        body = {"status": {"conditions": conditions}}
        await self.api.request("PATCH", path, body=body, content_type=merge)

    async def afflict_copies(self, *, image: str = "", **behaviour: str) -> None:
        """From now on pods that carry a migration's label behave so; all others are as they are.

        The API server itself does it, by an admission policy for this namespace.
        """
        annotations = builders.behaviour(**behaviour)
        for manifest in builders.affliction(self.name, self.name, annotations, image):
            await self.api.create(manifest)
            self.policies.append(manifest)
        await self.wait("copies are afflicted", lambda: self._is_afflicted(annotations, image))

    async def _is_afflicted(self, annotations: Mapping[str, str], image: str) -> bool:
        labels = {"scheduler.alpha.kubernetes.io/migration-id": "probe"}
        probe = {"kind": "Pod", "metadata": {"name": "probe", "labels": labels}}
        path = f"/api/v1/namespaces/{self.name}/pods"
        body = {**probe, "spec": builders.pod_spec()}
        made = await self.api.request("POST", path, query={"dryRun": "All"}, body=body)
        has = made["metadata"].get("annotations") or {}
        is_image = not image or made["spec"]["containers"][0]["image"] == image
        return is_image and all(has.get(key) == value for key, value in annotations.items())

    # ------------------------------------------------------------------ await

    async def wait(self, what: str, condition: Callable[[], Awaitable[bool]]) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                # Conditions are about several objects at once, so they are asked, not watched.
                while not await condition():  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise AssertionError(f"waited {WAIT_SECONDS:.0f} s in vain until {what}") from None

    async def pods(self, app: str) -> list[Object]:
        return await self.api.list("Pod", self.name, f"app={app}")

    async def nodes_of(self, app: str) -> list[str]:
        """Where the workload's Ready pods are, sorted."""
        return sorted(pod["spec"]["nodeName"] for pod in await self.pods(app) if is_ready(pod))

    async def is_complete(self, deployment: str) -> bool:
        """All replicas are Ready, none is left over, and the Deployment knows it."""
        found = await self.api.get("Deployment", self.name, deployment)
        wanted, status = found["spec"]["replicas"], found.get("status") or {}
        pods = await self.pods(deployment)
        return (
            status.get("observedGeneration", 0) >= found["metadata"]["generation"]
            and status.get("availableReplicas", 0) == wanted == status.get("replicas", 0)
            and len(pods) == wanted
            and all(is_ready(pod) for pod in pods)
        )

    async def _has_no_taint(self, node: str, kind: str) -> bool:
        found = await self.api.get("Node", None, node)
        keys = [taint["key"] for taint in found["spec"].get("taints") or ()]
        return f"node.kubernetes.io/{kind}" not in keys

    # ------------------------------------------------------------------ run

    async def run(self, **settings: Any) -> Run:  # noqa: ANN401
        """One pass of the process under test: the rights of rbac.yaml, this test's scope."""
        process = await self.start(**settings)
        return await finish(process)

    async def start(self, **settings: Any) -> asyncio.subprocess.Process:  # noqa: ANN401
        return await self.start_command(
            "run", "--once", "--config", str(self.configuration(**settings))
        )

    async def start_command(self, *arguments: str) -> asyncio.subprocess.Process:
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(self.instance.kubeconfig(self.token, self.api_url or None))
        logging = ("--log-format", "json", "--v", "4", "--kubeconfig", str(kubeconfig))
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rescheduler", *arguments, *logging),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Nothing of the developer's own cluster or shell may leak in.
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )

    def configuration(self, **settings: Any) -> Path:  # noqa: ANN401
        document = {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "ReschedulerConfiguration",
            "scope": {"namespaces": [self.name], "nodeSelector": f"{OWNER}={self.name}"},
            **settings,
        }
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    @asynccontextmanager
    async def faults(self) -> AsyncIterator[FaultProxy]:
        """From here on the process under test reaches the API server through a fault proxy."""
        async with FaultProxy(
            self.instance.url,
            upstream_ssl=self.instance.client_ssl(),
            serving_ssl=self.instance.serving_ssl(),
        ) as proxy:
            self.api_url = proxy.url
            try:
                yield proxy
            finally:
                self.api_url = ""

    # ------------------------------------------------------------------ audit

    @asynccontextmanager
    async def auditor(self) -> AsyncIterator[Auditor]:
        async with auditing(self.instance, self.name) as auditor:
            yield auditor

    async def audit(self, auditor: Auditor) -> Audit:
        return await auditor.audit(self.credential)


async def finish(process: asyncio.subprocess.Process) -> Run:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        process.send_signal(signal.SIGKILL)
        out, err = await process.communicate()
        raise AssertionError(f"it did not end:\n{err.decode()}") from None
    lines, rest = [], [out.decode()]
    for line in err.decode().splitlines():
        if line.startswith("{"):
            lines.append(json.loads(line))
        else:
            rest.append(line)
    assert process.returncode is not None
    return Run(code=process.returncode, lines=lines, errors="\n".join(rest).strip())


@asynccontextmanager
async def make_world(instance: Instance, folder: Path, name: str) -> AsyncIterator[World]:
    unique = f"{name[:30].strip('-')}-{secrets.token_hex(3)}"
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        await api.create({"kind": "Namespace", "metadata": {"name": unique}})
        token, credential = await _token(api)
        world = World(
            instance=instance,
            api=api,
            folder=folder,
            name=unique,
            token=token,
            credential=credential,
        )
        await world.wait("the namespace has its service account", lambda: _has_account(api, unique))
        try:
            yield world
        finally:
            # What is outside the namespace goes too; a test may have deleted some of it itself.
            await asyncio.gather(
                api.delete("Namespace", None, unique),
                *(api.delete("Node", None, node) for node in world.nodes),
                *(api.delete(each["kind"], None, unique) for each in world.policies),
                return_exceptions=True,
            )


async def install_rights(instance: Instance) -> None:
    """Applies rbac.yaml, as an operator would."""
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        for manifest in yaml.safe_load_all(RBAC.read_text()):
            await api.apply(manifest)


async def _token(api: Api) -> tuple[str, str]:
    """A token of its own for each test: its id stands beside each request in the audit log."""
    namespace, name = SERVICE_ACCOUNT
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await api.request("POST", path, body=body)
    token: str = answer["status"]["token"]
    claims = token.split(".")[1]
    padded = claims + "=" * (-len(claims) % 4)
    return token, "JTI=" + json.loads(base64.urlsafe_b64decode(padded))["jti"]


async def _has_account(api: Api, namespace: str) -> bool:
    try:
        return await api.find("ServiceAccount", namespace, "default") is not None
    except ApiError:
        return False
