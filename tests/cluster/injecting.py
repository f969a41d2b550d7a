"""A mutating webhook, as meshes and autoscalers run one: what it gives a pod is up to the test."""

import base64
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiohttp import web

from testbed.api import ApiError, Object, path_of
from testbed.builders import pod
from testbed.world import World

US: Final = "system:serviceaccount:kube-system:rescheduler-scheduler"
SIDECAR: Final = "mesh"
SIZE: Final = "1"
"""The cores that it gives each pod, where the template asks for less."""
_PATH: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

_CLOSED_PORT: Final = 1

Gives = Callable[[Object], bool]
"""Whether what is asked for, as an AdmissionReview has it, gets anything."""


def everywhere(_: Object) -> bool:
    return True


def by_owner(request: Object) -> bool:
    """As VerticalPodAutoscaler does: pods without a controller are not its business."""
    found = request["object"]["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") for each in found)


def not_in_dry_runs(request: Object) -> bool:
    return not request.get("dryRun")


def not_for_us(request: Object) -> bool:
    return bool(request["userInfo"]["username"] != US)


def all_of(*rules: Gives) -> Gives:
    return lambda request: all(rule(request) for rule in rules)


def sidecar(_: Object) -> list[Object]:
    """Once more for whoever has one, as a careless one does."""
    added = {"name": SIDECAR, "image": "mesh:1", "resources": {"requests": {"cpu": "10m"}}}
    return [{"op": "add", "path": "/spec/containers/-", "value": added}]


def size(_: Object) -> list[Object]:
    path = "/spec/containers/0/resources/requests/cpu"
    return [{"op": "replace", "path": path, "value": SIZE}]


def luck(request: Object) -> list[Object]:
    """Another annotation each time."""
    known = request["object"]["metadata"].get("annotations") or {}
    value = {**known, "luck": secrets.token_hex(8)}
    return [{"op": "add", "path": "/metadata/annotations", "value": value}]


def any_size(_: Object) -> list[Object]:
    value = f"{100 + secrets.randbelow(800)}m"
    return [{"op": "replace", "path": "/spec/containers/0/resources/requests/cpu", "value": value}]


@asynccontextmanager
async def injecting(
    world: World,
    gives: Gives,
    *changes: Callable[[Object], list[Object]],
    allows: Gives = everywhere,
) -> AsyncIterator[list[Object]]:
    """From here on, in the test's namespace. What it hands out: the requests that it got."""
    seen: list[Object] = []

    async def answer(request: web.Request) -> web.Response:
        asked: Object = (await request.json())["request"]
        seen.append(asked)
        patch = [each for change in changes for each in change(asked)] if gives(asked) else []
        response: dict[str, Any] = {"uid": asked["uid"], "allowed": allows(asked)}
        if patch:
            encoded = base64.b64encode(json.dumps(patch).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": encoded}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return web.json_response({**review, "response": response})

    server = web.Application()
    server.router.add_post("/", answer)
    runner = web.AppRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=world.instance.serving_ssl())
    await site.start()
    port = runner.addresses[0][1]
    await world.api.request("POST", _PATH, body=_configuration(world, port))
    try:
        await world.wait("the webhook is asked", lambda: _is_asked(world, seen))
        seen.clear()
        yield seen
    finally:
        await world.api.request("DELETE", f"{_PATH}/{world.name}")
        await runner.cleanup()


@asynccontextmanager
async def nobody_answering(world: World) -> AsyncIterator[None]:
    """A webhook that is down: nobody can make a pod in the test's namespace."""

    async def is_missed() -> bool:
        path, query = path_of("Pod", world.name), {"dryRun": "All"}
        try:
            await world.api.request("POST", path, query=query, body=pod("probe"))
        except ApiError as problem:
            return "failed calling webhook" in str(problem)
        return False

    await world.api.request("POST", _PATH, body=_configuration(world, _CLOSED_PORT))
    try:
        await world.wait("the webhook is missed", is_missed)
        yield
    finally:
        await world.api.request("DELETE", f"{_PATH}/{world.name}")


def _configuration(world: World, port: int) -> Object:
    authority = base64.b64encode((world.instance.folder / "ca.crt").read_bytes()).decode()
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": world.name},
        "webhooks": [
            {
                "name": "inject.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.name}},
                "rules": [{**rule, "resources": ["pods"]}],
            }
        ],
    }


async def _is_asked(world: World, seen: list[Object]) -> bool:
    path, query = path_of("Pod", world.name), {"dryRun": "All"}
    with suppress(ApiError):
        await world.api.request("POST", path, query=query, body=pod("probe"))
    return bool(seen)
