"""A toy operator: owns pods by a custom kind, and makes them anew as it likes.

It goes by the API alone, as a real one does. The real control plane has its kind as a
CustomResourceDefinition; the embedded cluster serves no such kinds, and its pods have an owner that
nobody can read, which is all that the product may rely on.
"""

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from testbed.api import ApiError, Object
from testbed.audit import is_ready
from testbed.builders import pod_spec
from testbed.scenarios import POLL_SECONDS, Scene

KINDS: Final = {
    "Cluster": ("postgresql.cnpg.io", "v1"),
    "StrimziPodSet": ("core.strimzi.io", "v1beta2"),
    "CloneSet": ("apps.kruise.io", "v1alpha1"),
    "StatefulSet": ("apps.kruise.io", "v1beta1"),
    "RayCluster": ("ray.io", "v1"),
}
"""Of which an operator makes pods, with their groups and versions."""
_RENAMED: Final = ("CloneSet", "RayCluster")
"""Their pods have another name each time."""
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


@dataclass(kw_only=True)
class Operator:
    world: Scene
    kind: str = "CloneSet"
    name: str = "web"
    replicas: int = 3
    late_seconds: float = 0.0
    """How long a pod that is missing is left so."""
    replaces: bool = True
    puts_on: str = ""
    """The node that new ones are put on, past the scheduler."""
    spec: Object = field(default_factory=lambda: pod_spec(cpu="100m", memory="32Mi"))
    fewest_ready: int = 0
    """As far as it looked since it was complete."""
    _uid: str = ""
    _made: Counter[int] = field(default_factory=Counter)
    """By ordinal, how often."""
    _missing_since: dict[int, float] = field(default_factory=dict)

    # ------------------------------------------------------------------ what users do

    @asynccontextmanager
    async def at_work(self, *, on: str) -> AsyncIterator["Operator"]:
        """From when all its pods are Ready on this node."""
        manners = self.late_seconds, self.puts_on, self.replaces
        self.late_seconds, self.puts_on, self.replaces = 0.0, on, True
        self._uid = await self._own()
        work = asyncio.create_task(self._work(), name="toy operator")
        try:
            await self.world.wait("the operator's pods are Ready", self._is_complete)
            self.late_seconds, self.puts_on, self.replaces = manners
            self.fewest_ready = self.replicas
            yield self
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def pods(self) -> list[Object]:
        found = await self.world.pods(self.name)
        return [each for each in found if "ordinal" in each["metadata"]["labels"]]

    async def _is_complete(self) -> bool:
        return sum(map(is_ready, await self.pods())) == self.replicas

    async def _own(self) -> str:
        """The UID of the object that owns the pods."""
        group, version = KINDS[self.kind]
        plural = f"{self.kind.lower()}s"
        definition = _definition(self.kind, plural)
        try:
            await self.world.api.apply(definition)
        except ApiError as problem:
            if problem.status != _NOT_FOUND:
                raise
            return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.world.name}/{self.name}"))
        path = f"/apis/{group}/{version}/namespaces/{self.world.name}/{plural}"
        made: list[Object] = []

        async def is_made() -> bool:
            """A kind is served some time after it was defined."""
            body = {
                "apiVersion": f"{group}/{version}",
                "kind": self.kind,
                "metadata": {"name": self.name},
            }
            try:
                made.append(await self.world.api.request("POST", path, body=body))
            except ApiError as problem:
                if problem.status != _NOT_FOUND:
                    raise
            return bool(made)

        await self.world.wait(f"{self.kind} is served", is_made)
        return str(made[0]["metadata"]["uid"])

    # ------------------------------------------------------------------ what it does

    async def _work(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(POLL_SECONDS)

    async def _look(self) -> None:
        found = await self.pods()
        ready = [pod for pod in found if is_ready(pod)]
        self.fewest_ready = min(self.fewest_ready, len(ready))
        there = {pod["metadata"]["name"] for pod in found}
        active = {
            int(pod["metadata"]["labels"]["ordinal"])
            for pod in found
            if "deletionTimestamp" not in pod["metadata"]
        }
        now = asyncio.get_running_loop().time()
        for ordinal in range(self.replicas):
            if ordinal in active:
                self._missing_since.pop(ordinal, None)
                continue
            since = self._missing_since.setdefault(ordinal, now)
            is_free = self._name_of(ordinal) not in there
            if self.replaces and is_free and now - since >= self.late_seconds:
                await self._make(ordinal)

    def _name_of(self, ordinal: int) -> str:
        suffix = f"-{self._made[ordinal]}" if self.kind in _RENAMED else ""
        return f"{self.name}-{ordinal}{suffix}"

    async def _make(self, ordinal: int) -> None:
        group, version = KINDS[self.kind]
        owner = {
            "apiVersion": f"{group}/{version}",
            "kind": self.kind,
            "name": self.name,
            "uid": self._uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        placed = {"nodeName": self.puts_on} if self.puts_on else {}
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self._name_of(ordinal),
                "labels": {"app": self.name, "ordinal": str(ordinal)},
                "ownerReferences": [owner],
            },
            "spec": {**self.spec, **placed},
        }
        try:
            await self.world.create(manifest)
        except ApiError as problem:
            if problem.status != _CONFLICT:
                raise
        self._made[ordinal] += 1


def _definition(kind: str, plural: str) -> Object:
    group, version = KINDS[kind]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                }
            ],
        },
    }
