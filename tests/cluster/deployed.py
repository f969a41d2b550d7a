"""Replicas that run as the Deployment says, and what they asked of the API server."""

import base64
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import yaml

from testbed.api import Api, Object
from testbed.as_deployed import AsDeployed
from testbed.instance import Instance
from testbed.processes import Process
from testbed.world import World

ACCOUNT = "system:serviceaccount:kube-system:rescheduler-scheduler"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def status(url: str) -> int:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status
    except aiohttp.ClientConnectionError:
        return 0


class Replicas:
    """Processes that are started as the Deployment starts them."""

    def __init__(self, world: World, deployment: Object, config_map: Object) -> None:
        self.world = world
        self._deployment = deployment
        self.config_map = config_map
        self.processes: list[Process] = []
        self.ports: dict[str, int] = {}
        """By name: pods have an address each, and processes share that of the machine."""

    async def start(self, name: str, token: str, **settings: Any) -> AsDeployed:  # noqa: ANN401
        replica = AsDeployed(self.world.instance, self._deployment, self.world.folder, name)
        replica.give(self.with_settings(**settings), token)
        self.ports[name] = free_port()
        port = str(self.ports[name])
        self.processes.append(await replica.start(RESCHEDULER_SERVING_PORT=port))
        return replica

    def answers(self, name: str) -> Callable[[], Awaitable[bool]]:
        """Whether both probes of the manifest are passed."""
        [container] = self._deployment["spec"]["template"]["spec"]["containers"]
        paths = [container[each]["httpGet"]["path"] for each in ("livenessProbe", "readinessProbe")]
        urls = [f"http://127.0.0.1:{self.ports[name]}{path}" for path in paths]

        async def are_passed() -> bool:
            return [await status(url) for url in urls] == [200, 200]

        return are_passed

    async def readiness(self, name: str) -> str:
        """In many words."""
        url = f"http://127.0.0.1:{self.ports[name]}/readyz?verbose"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.text()

    def with_settings(self, **settings: Any) -> Object:  # noqa: ANN401
        [(name, text)] = self.config_map["data"].items()
        scope = {"namespaces": [self.world.name]}
        document = {**yaml.safe_load(text), "scope": scope, **settings}
        return {"data": {name: yaml.safe_dump(document)}}


@asynccontextmanager
async def replicas(world: World) -> AsyncIterator[Replicas]:
    found = Replicas(
        world,
        await world.api.get("Deployment", "kube-system", "rescheduler-scheduler"),
        await world.api.get("ConfigMap", "kube-system", "rescheduler-config"),
    )
    try:
        yield found
    except AssertionError as problem:
        problem.add_note("\n".join(each.told() for each in found.processes))
        raise
    finally:
        for process in found.processes:
            if not process.has_ended:
                process.kill()
            await process.finish()


async def a_token(api: Api, bound_to: str) -> tuple[str, str]:
    """Of the account, as long as the Secret is there; and its id, as the audit log has it."""
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": bound_to}}
    made = await api.request("POST", "/api/v1/namespaces/kube-system/secrets", body=secret)
    reference = {"kind": "Secret", "apiVersion": "v1", "name": bound_to}
    answer = await api.request(
        "POST",
        "/api/v1/namespaces/kube-system/serviceaccounts/rescheduler-scheduler/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"boundObjectRef": {**reference, "uid": made["metadata"]["uid"]}},
        },
    )
    token: str = answer["status"]["token"]
    claims = token.split(".")[1]
    decoded = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return token, f"JTI={decoded['jti']}"


def requests(instance: Instance) -> list[dict[str, Any]]:
    """Of the account, as the API server has them."""
    lines = instance.audit_log.read_text().splitlines()
    found = [json.loads(line) for line in lines if ACCOUNT in line and line.endswith("}")]
    return [each for each in found if each["user"]["username"] == ACCOUNT]


def credentials(instance: Instance) -> set[str]:
    key = "authentication.kubernetes.io/credential-id"
    return {each["user"]["extra"][key][0] for each in requests(instance) if "extra" in each["user"]}
