"""Pods that a kubelet runs by itself, and that the scheduler has not heard of."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from testbed.api import ApiError, Object, path_of
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import server
from testbed.realnodes.settings import STATIC_PODS
from testbed.world import World

_MIRROR = "kubernetes.io/config.mirror"
_KUBELET = "https://127.0.0.1:10250/pods"


@asynccontextmanager
async def static_pod(world: World, nodes: RealNodes, node: str, cpu: str) -> AsyncIterator[None]:
    """One that runs on this node and asks for so much, as long as the block lasts.

    A kubelet tells the API server of it by a mirror, which takes a moment. Here it takes until the
    end, so that what happens in that moment does not happen by chance.
    """
    await _refuse_mirrors(world)
    name = "unheard-of"
    path = nodes.root(node) / str(STATIC_PODS / f"{name}.json").lstrip("/")
    path.write_text(json.dumps(_manifest(world, name, cpu)))
    try:
        await world.wait("the static pod runs", lambda: _runs(nodes, node, name))
        yield
    finally:
        path.unlink()
        await world.wait("it has ended", lambda: _is_gone(nodes, node, name))


def _manifest(world: World, name: str, cpu: str) -> Object:
    resources = {"requests": {"cpu": cpu, "memory": "16Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": world.name},
        "spec": server(resources=resources) | {"terminationGracePeriodSeconds": 1},
    }


async def _refuse_mirrors(world: World) -> None:
    group = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    metadata = {"name": world.name}
    here = {"matchLabels": {"kubernetes.io/metadata.name": world.name}}
    has_mirror = f"has(object.metadata.annotations) && '{_MIRROR}' in object.metadata.annotations"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "matchConstraints": {
                "namespaceSelector": here,
                "resourceRules": [{**group, "resources": ["pods"]}],
            },
            "validations": [{"expression": f"!({has_mirror})"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": world.name, "validationActions": ["Deny"]},
    }
    for manifest in (policy, binding):
        await world.api.create(manifest)
        world.policies.append(manifest)
    await world.wait("mirrors are refused", lambda: _is_refused(world))


async def _is_refused(world: World) -> bool:
    probe = _manifest(world, "probe", "1m")
    probe["metadata"]["annotations"] = {_MIRROR: "probe"}
    probe["spec"]["nodeName"] = "any"
    path = path_of("Pod", world.name)
    try:
        await world.api.request("POST", path, query={"dryRun": "All"}, body=probe)
    except ApiError as problem:
        return f"ValidatingAdmissionPolicy '{world.name}'" in str(problem)
    return False


async def _runs(nodes: RealNodes, node: str, name: str) -> bool:
    phases = [each["status"].get("phase") for each in await _pods(nodes, node, name)]
    return phases == ["Running"]


async def _is_gone(nodes: RealNodes, node: str, name: str) -> bool:
    return not await _pods(nodes, node, name)


async def _pods(nodes: RealNodes, node: str, name: str) -> list[dict[str, Any]]:
    """As the kubelet itself tells of them."""
    connector = aiohttp.TCPConnector(
        socket_factory=nodes.sockets(node), force_close=True, ssl=False
    )
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(_KUBELET) as answer,
    ):
        found = (await answer.json())["items"] or ()
    # A kubelet adds the name of its node.
    return [each for each in found if each["metadata"]["name"] == f"{name}-{node}"]
