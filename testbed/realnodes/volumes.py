"""Volumes of pods on real nodes, and what our server notes on them: each start, by its name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from testbed.api import Object
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import server
from testbed.world import World

NOTES = "/data/notes"
ENDING = "ending"
PRE_STOP_NOTED = {
    "lifecycle": {
        "preStop": {"exec": {"command": ["/bin/sh", "-c", f"sleep 3; echo {ENDING} >> {NOTES}"]}}
    }
}
_MODES = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
_SIZE = "1Gi"


def noting(**container: object) -> Object:
    """The spec of a pod whose server notes its starts on the volume "data"."""
    return server(
        f"-notes={NOTES}", volumeMounts=[{"name": "data", "mountPath": "/data"}], **container
    )


def on_volume(spec: Object, **source: object) -> Object:
    return spec | {"volumes": [{"name": "data", **source}]}


CLAIMS: Object = {
    "volumeClaimTemplates": [
        {
            "metadata": {"name": "data"},
            "spec": {**_MODES, "resources": {"requests": {"storage": _SIZE}}},
        }
    ]
}
"""Of a StatefulSet: each of its pods claims a disk of its own."""


@asynccontextmanager
async def disk(world: World, of: str, *, on: str = "", **source: object) -> AsyncIterator[None]:
    """A PersistentVolume for what this pod claims, reached from all nodes or from one."""
    made: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{world.name}-{of}"},
        "spec": {
            **_MODES,
            **source,
            "capacity": {"storage": _SIZE},
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": world.name, "name": f"data-{of}"},
        },
    }
    if on:
        term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
        made["spec"]["nodeAffinity"] = {"required": required}
    await world.api.create(made)
    try:
        yield
    finally:
        await world.api.delete("PersistentVolume", None, made["metadata"]["name"])


async def notes(nodes: RealNodes, found: Object) -> list[str]:
    """What the volume of this pod says, as the pod itself reads it."""
    connector = aiohttp.TCPConnector(socket_factory=nodes.sockets(nodes.names[0]), force_close=True)
    url = f"http://{found['status']['podIP']}:8080/notes"
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
        assert answer.ok
        return (await answer.text()).split()
