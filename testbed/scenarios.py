"""What a scenario may ask of a cluster: create, act, await, run, audit.

Scenarios (`tests/scenarios`) are written against `Scene` and know no URL and no process, so that
they run on any cluster whose API server can be asked through an `Api`: `testbed.world.World` has a
real control plane, `tests.scenarios.embedded_world` the embedded cluster.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import yaml

from testbed import builders
from testbed.api import Api, ApiError, Object, path_of
from testbed.audit import Audit, is_ready, is_usable, ready_endpoints
from testbed.faultproxy import Faults
from testbed.processes import WAIT_SECONDS, Run, Running

__all__ = ["OWNER", "POLL_SECONDS", "WAIT_SECONDS", "Recording", "Run", "Running", "Scene"]

OWNER = "testbed.rescheduler.io/owner"
POLL_SECONDS = 0.1

_STRATEGIC = "application/strategic-merge-patch+json"


class Recording(Protocol):
    """What an auditor has seen so far."""

    async def audit(self) -> Audit: ...


@dataclass(slots=True, kw_only=True)
class Scene(ABC):
    """One scenario's own namespace and nodes; nobody else's pods come here."""

    api: Api
    folder: Path
    name: str
    """Of the namespace, and the value of the label and taint of its nodes."""
    nodes: list[str] = field(default_factory=list)
    policies: list[Object] = field(default_factory=list)
    """What was made outside of the namespace, and goes with it."""
    configured: Path = field(default=Path("config.yaml"), init=False)
    """The file of settings that was written last."""

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

    async def deploy(self, *manifests: Object, on: str) -> None:
        """Creates workloads whose pods all start on one node; returns when all are complete."""
        others = [node for node in self.nodes if node != on]
        await asyncio.gather(*(self.cordon(node) for node in others))
        await self.create(*manifests)
        await self.wait("the workloads are complete", lambda: self._are_complete(manifests, on))
        await asyncio.gather(*(self.uncordon(node) for node in others))

    async def _are_complete(self, manifests: Sequence[Object], on: str) -> bool:
        known = [(each["metadata"]["name"], each["kind"]) for each in manifests]
        if not all([await self.is_complete(name, kind) for name, kind in known]):
            return False
        strays = [
            pod["metadata"]["name"]
            for name, _ in known
            for pod in await self.pods(name)
            if pod["spec"]["nodeName"] != on
        ]
        # A busy scheduler hears of a pod before it hears that the other nodes are cordoned.
        await asyncio.gather(*(self.delete_pod(name) for name in strays))
        return not strays

    async def place(self, pod: Callable[[], Object], *, on: str) -> None:
        """Starts a pod that belongs to nobody on this node; returns when it is Ready."""
        others = [node for node in self.nodes if node != on]
        await asyncio.gather(*(self.cordon(node) for node in others))
        name, is_there = pod()["metadata"]["name"], False
        while not is_there:
            await self.create(pod())
            await self.wait(f"{name} is Ready", lambda: self._is_ready(name))
            found = await self.api.get("Pod", self.name, name)
            is_there = found["spec"]["nodeName"] == on
            if not is_there:
                await self.delete_pod(name)
                await self.wait(f"{name} is gone", lambda: self._is_gone(name))
        await asyncio.gather(*(self.uncordon(node) for node in others))

    async def _is_ready(self, name: str) -> bool:
        return is_ready(await self.api.get("Pod", self.name, name))

    async def _is_gone(self, name: str) -> bool:
        return await self.find_pod(name) is None

    def _confine(self, manifest: Object) -> None:
        spec = manifest.get("spec") or {}
        pod = spec if manifest["kind"] == "Pod" else (spec.get("template") or {}).get("spec")
        if pod is None:
            return
        toleration = {"key": OWNER, "operator": "Equal", "value": self.name}
        pod["tolerations"] = [*(pod.get("tolerations") or []), toleration]
        pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), OWNER: self.name}

    # ------------------------------------------------------------------ act, as users do

    async def scale(self, deployment: str, replicas: int) -> None:
        await self._change(deployment, {"replicas": replicas})

    async def roll_out(self, deployment: str, image: str) -> None:
        containers = [{"name": "app", "image": image}]
        await self._change(deployment, {"template": {"spec": {"containers": containers}}})

    async def pause(self, deployment: str) -> None:
        await self._change(deployment, {"paused": True})

    async def _change(self, deployment: str, spec: Object) -> None:
        path = path_of("Deployment", self.name, deployment)
        await self.api.request("PATCH", path, body={"spec": spec}, content_type=_STRATEGIC)

    async def delete_workload(self, deployment: str) -> None:
        await self.api.delete("Deployment", self.name, deployment)

    async def delete_pod(self, pod: str) -> None:
        await self.api.delete("Pod", self.name, pod)

    async def annotate_pod(self, pod: str, annotations: Mapping[str, str]) -> None:
        change = {"metadata": {"annotations": dict(annotations)}}
        await self.api.patch("Pod", self.name, pod, change)

    async def evict_pod(self, pod: str) -> bool:
        path = f"/api/v1/namespaces/{self.name}/pods/{pod}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        try:
            await self.api.request("POST", path, body=body)
        except ApiError:
            return False
        return True

    async def cordon(self, node: str) -> None:
        await self.api.patch("Node", None, node, {"spec": {"unschedulable": True}})

    async def uncordon(self, node: str) -> None:
        await self.api.patch("Node", None, node, {"spec": {"unschedulable": None}})
        await self.wait(f"{node} is schedulable", lambda: self._has_no_taint(node, "unschedulable"))

    # ------------------------------------------------------------------ act, as fate does

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

    async def set_ready(self, pod: str, *, ready: bool, at: datetime | None = None) -> None:
        """As its kubelet would report a readiness probe; with the time, if that matters."""
        changed = {"status": str(ready)}
        if at is not None:
            changed["lastTransitionTime"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [{"type": kind, **changed} for kind in ("Ready", "ContainersReady")]
        path = path_of("Pod", self.name, pod) + "/status"
        body = {"status": {"conditions": conditions}}
        await self.api.request("PATCH", path, body=body, content_type=_STRATEGIC)

    async def afflict_copies(self, *, image: str = "", **behaviour: str) -> None:
        """From now on pods that carry a migration's label behave so; all others are as they are.

        The API server itself does it, by an admission policy for this namespace.
        """
        annotations = builders.behaviour(**behaviour)
        for manifest in builders.affliction(self.name, self.name, annotations, image):
            await self.api.create(manifest)
            self.policies.append(manifest)
        await self.wait("copies are afflicted", lambda: self._is_afflicted(annotations, image))

    async def heal_copies(self) -> None:
        """The affliction ends, for those that are made from now on."""
        for policy in self.policies:
            await self.api.delete(policy["kind"], None, policy["metadata"]["name"])
        await self.wait("copies are not afflicted any more", self._is_healed)

    async def size_owned_pods(self, cpu: str) -> None:
        """From now on pods that have a controller get so much cpu, as an autoscaler would do it."""
        for manifest in builders.sizing(self.name, self.name, cpu):
            await self.api.create(manifest)
            self.policies.append(manifest)
        await self.wait("owned pods are sized", lambda: self._is_sized(cpu))

    async def _is_sized(self, cpu: str) -> bool:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "any", "uid": "any"}
        body = builders.pod("probe")
        body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        path = path_of("Pod", self.name)
        made = await self.api.request("POST", path, query={"dryRun": "All"}, body=body)
        return bool(made["spec"]["containers"][0]["resources"]["requests"]["cpu"] == cpu)

    async def _is_afflicted(self, annotations: Mapping[str, str], image: str) -> bool:
        made = await self._would_be_copy()
        has = made["metadata"].get("annotations") or {}
        is_image = not image or made["spec"]["containers"][0]["image"] == image
        return is_image and all(has.get(key) == value for key, value in annotations.items())

    async def _is_healed(self) -> bool:
        made = await self._would_be_copy()
        [asked], [container] = builders.pod_spec()["containers"], made["spec"]["containers"]
        return container["image"] == asked["image"] and not made["metadata"].get("annotations")

    async def _would_be_copy(self) -> Object:
        """As the API server would make it at this moment."""
        labels = {builders.MIGRATION: "probe"}
        probe = {"kind": "Pod", "metadata": {"name": "probe", "labels": labels}}
        body = {**probe, "spec": builders.pod_spec()}
        query = {"dryRun": "All"}
        return await self.api.request("POST", path_of("Pod", self.name), query=query, body=body)

    # ------------------------------------------------------------------ await

    async def wait(
        self, what: str, condition: Callable[[], Awaitable[bool]], *, seconds: float = WAIT_SECONDS
    ) -> None:
        try:
            async with asyncio.timeout(seconds):
                # Conditions are about several objects at once, so they are asked, not watched.
                while not await condition():  # noqa: ASYNC110
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise AssertionError(f"waited {seconds:.0f} s in vain until {what}") from None

    async def wait_for_copy(self, app: str) -> Object:
        """The copy by which a pod of this workload is being moved, as soon as there is one."""
        found: list[Object] = []

        async def is_there() -> bool:
            selector = f"app={app},{builders.MOVED}"
            found[:] = await self.api.list("Pod", self.name, selector)
            return bool(found)

        await self.wait(f"a pod of {app} is being moved", is_there)
        return found[0]

    async def records(self, name: str = "") -> list[Object]:
        """The PodMigrations of this pod, or of this workload's pods, or all; the oldest first."""
        found = [
            record
            for record in await self.api.list("PodMigration", self.name)
            if f"{record['spec']['pod']['name']}-".startswith(f"{name}-" if name else "")
        ]
        return sorted(
            found,
            key=lambda each: (each["metadata"]["creationTimestamp"], each["spec"]["attempt"]),
        )

    async def wait_for_record(self, name: str = "", **status: str) -> Object:
        """One of `records` that is so, for example phase="Completed", as soon as there is one."""
        found: list[Object] = []

        async def is_there() -> bool:
            found[:] = [
                record
                for record in await self.records(name)
                if status.items() <= (record.get("status") or {}).items()
            ]
            return bool(found)

        await self.wait(f"a migration of {name or 'any pod'} has {status}", is_there)
        return found[0]

    async def find_pod(self, pod: str) -> Object | None:
        return await self.api.find("Pod", self.name, pod)

    async def pods(self, app: str) -> list[Object]:
        return await self.api.list("Pod", self.name, f"app={app}")

    async def nodes_of(self, app: str) -> list[str]:
        """Where the workload's Ready pods are, sorted."""
        return sorted(pod["spec"]["nodeName"] for pod in await self.pods(app) if is_ready(pod))

    async def is_complete(self, workload: str, kind: str = "Deployment") -> bool:
        """All replicas are Ready, none is left over, and the workload knows it."""
        found = await self.api.get(kind, self.name, workload)
        wanted, status = found["spec"]["replicas"], found.get("status") or {}
        pods = await self.pods(workload)
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
        return await process.finish()

    async def audited_run(self, **settings: Any) -> tuple[Run, Audit]:  # noqa: ANN401
        """And what the auditor has seen of it."""
        async with self.auditor() as auditor:
            return await self.run(**settings), await self.audit(auditor)

    async def start(self, **settings: Any) -> Running:  # noqa: ANN401
        """One pass in which something happens meanwhile."""
        return await self.start_command(
            "run", "--once", "--config", str(self.configuration(**settings))
        )

    @abstractmethod
    async def start_command(self, *arguments: str) -> Running:
        """The rescheduler with these arguments, the rights of rbac.yaml, and a log in JSON."""

    @abstractmethod
    async def start_as_admin(self, *arguments: str) -> Running:
        """A command of a person who may do everything."""

    def configuration(self, **settings: Any) -> Path:  # noqa: ANN401
        # Long enough to be seen, on a control plane without virtual time.
        migration = {"linger": "1s", **settings.pop("migration", {})}
        return self.default_configuration(
            **{
                "migration": migration,
                # Alone in its scope, a process needs no lease; and one that was killed leaves none
                # that the next would have to wait for. make_world grants a Lease here, for tests
                # about it.
                "leaderElection": {"leaderElect": False, "resourceNamespace": self.name},
                # One move a pass, and the next pass may go on at once: what most tests look at.
                "maxReschedulePods": 1,
                "stability": {"cooldown": dict.fromkeys(("pod", "workload", "node"), "0s")},
                **settings,
            }
        )

    def default_configuration(self, **settings: Any) -> Path:  # noqa: ANN401
        """As a user has it who sets nothing but these, within what belongs to this test. The same
        settings are the same file.
        """
        document = {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "ReschedulerConfiguration",
            "scope": {"namespaces": [self.name], "nodeSelector": f"{OWNER}={self.name}"},
            "leaderElection": {"resourceNamespace": self.name},
            # Several run on this machine at the same time.
            "serving": {"port": 0},
            **settings,
        }
        text = yaml.safe_dump(document)
        # A process follows its file: what is written for another one must not be taken for news.
        path = self.folder / f"config-{sha256(text.encode()).hexdigest()[:10]}.yaml"
        path.write_text(text)
        self.configured = path
        return path

    @abstractmethod
    def faults(self) -> AbstractAsyncContextManager[Faults]:
        """From here on faults can be planted between what is started and the API server."""

    # ------------------------------------------------------------------ audit

    async def _endpoints_have_caught_up(self) -> bool:
        """Every Service has the Ready pods that it selects as ready endpoints, and no others."""
        pods = [pod for pod in await self.api.list("Pod", self.name) if is_ready(pod)]
        slices = await self.api.list("EndpointSlice", self.name)
        for service in await self.api.list("Service", self.name):
            wanted = service["spec"]["selector"].items()
            selected = [pod for pod in pods if wanted <= pod["metadata"]["labels"].items()]
            uids = {pod["metadata"]["uid"] for pod in selected}
            if ready_endpoints(slices, service["metadata"]["name"]) != uids:
                return False
        return True

    @abstractmethod
    def auditor(self) -> AbstractAsyncContextManager[Recording]:
        """Records what happens in the namespace, from here on."""

    async def audit(self, auditor: Recording) -> Audit:
        return await auditor.audit()
