"""A test's own piece of a real control plane: a namespace, nodes, the process under test, a judge.

`World` offers the verbs of `testbed.scenarios.Scene`, which most tests are written in. What it has
beyond them is for tests about the process, the API server and the faults between the two.
"""

import asyncio
import base64
import json
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from testbed.api import Api, ApiError
from testbed.auditor import Auditor, auditing
from testbed.faultproxy import FaultProxy
from testbed.forking import fork
from testbed.installing import install_rights, rights_within
from testbed.instance import Instance
from testbed.processes import Process
from testbed.scenarios import OWNER, POLL_SECONDS, Run, Scene

__all__ = ["OWNER", "POLL_SECONDS", "Process", "Run", "World", "install_rights", "make_world"]

SERVICE_ACCOUNT = ("kube-system", "rescheduler-scheduler")


@dataclass(slots=True, kw_only=True)
class World(Scene):
    instance: Instance
    token: str
    credential: str
    """The id by which the audit log tells this test's process from all others."""
    audit_since: int
    """Where the audit log ended before there was that token."""
    api_url: str = ""
    """Where the process under test finds the API server, if not directly: at a fault proxy."""

    # ------------------------------------------------------------------ run

    async def start_command(self, *arguments: str, kubeconfig: str = "") -> Process:
        login = ("--kubeconfig", kubeconfig or str(self.kubeconfig()))
        return await self._start(*arguments, *login, "--log-format", "json", "--v", "4")

    async def start_as_admin(self, *arguments: str) -> Process:
        """Through the fault proxy, if there is one."""
        return await self._start(*arguments, "--kubeconfig", str(self.admin_kubeconfig()))

    async def start_unprivileged(self, *arguments: str) -> Process:
        """With the login that is among its arguments, and nothing else."""
        return await self._start(*arguments)

    async def _start(self, *arguments: str) -> Process:
        process = await fork(
            *arguments,
            # Nothing of the developer's own cluster or shell may leak in.
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            # A line of the log may be long: the configuration, or a plan.
            limit=2**20,
        )
        return Process(process)

    def kubeconfig(self) -> Path:
        """As the process under test gets it, written anew for what `token` and `api_url` are."""
        return self._written("kubeconfig", self.token)

    def admin_kubeconfig(self) -> Path:
        return self._written("admin.kubeconfig", self.instance.tokens["admin"])

    def _written(self, name: str, token: str) -> Path:
        """In one stroke: a process that was started before may be about to read it."""
        path = self.folder / name
        new = path.with_suffix(".new")
        new.write_text(self.instance.kubeconfig(token, self.api_url or None))
        return new.replace(path)

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

    @asynccontextmanager
    async def auditor(self) -> AsyncIterator[Auditor]:
        # Else the audit would begin with fewer endpoints than there should be, and miss their loss.
        await self.wait("the endpoints have caught up", self._endpoints_have_caught_up)
        async with auditing(
            self.instance, self.name, self.credential, since=self.audit_since
        ) as auditor:
            yield auditor


W = TypeVar("W", bound=World)


def make_world(instance: Instance, folder: Path, name: str) -> AbstractAsyncContextManager[World]:
    return make_kind_of_world(World, instance, folder, name)


@asynccontextmanager
async def make_kind_of_world(
    make: type[W], instance: Instance, folder: Path, name: str
) -> AsyncIterator[W]:
    unique = f"{name[:30].strip('-')}-{secrets.token_hex(3)}"
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        await api.create({"kind": "Namespace", "metadata": {"name": unique}})
        for manifest in rights_within(unique):
            await api.create(manifest)
        audit_since = instance.audit_log.stat().st_size
        token, credential = await token_of_ours(api)
        world = make(
            instance=instance,
            api=api,
            folder=folder,
            name=unique,
            token=token,
            credential=credential,
            audit_since=audit_since,
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


async def token_of_ours(api: Api) -> tuple[str, str]:
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
