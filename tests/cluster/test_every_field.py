"""Both formats say the same of every object, in every field that we read."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from rescheduler import wire
from rescheduler.kube import KubeApi, connect
from rescheduler.kube.following import Manner
from rescheduler.wire import Resource
from rescheduler.wire.schema import MESSAGES, Form, kind_of, kinds
from testbed.api import ApiError
from testbed.world import World
from tests.cluster import full_objects, full_pods, full_workloads
from tests.cluster.full_objects import Full, Object

# By the uid of the object and its version.
Seen = dict[tuple[str, str], Object]

MERGE = "application/merge-patch+json"
NOT_SHOWN = {
    # Behind feature gates that are off in 1.36.
    "PodSpec.schedulingGroup",
    "SchedulingGroup.podGroupName",
    "StatefulSetRollingUpdate.maxUnavailable",
    # Would change the pods of all other tests.
    "PriorityClass.globalDefault",
}


class Listener:
    """Hears every version of every object, in one format."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self.seen: dict[Resource, Seen] = {resource: {} for resource in kinds()}

    async def listen(self, resource: Resource, heard: asyncio.Event) -> None:
        since = ""
        while True:
            async with aclosing(self._api.follow(resource, since=since)) as batches:
                async for batch in batches:
                    assert not batch.malformed
                    since = batch.version
                    for view in (*batch.present, *batch.gone):
                        key = view.metadata.uid, view.metadata.resourceVersion
                        self.seen[resource][key] = wire.to_json(view)
                    if batch.complete:
                        heard.set()


def followed() -> list[Resource]:
    return [resource for resource, kind in kinds().items() if kind.protobuf]


async def create(world: World, full: Full) -> Object:
    path = full.resource.path(world.name if full.namespaced else None)
    return await world.api.request("POST", path, body=full.manifest())


async def fill(world: World, full: Full) -> Object:
    """Returns the version of the object that has all there is to have."""
    made = await create(world, full)
    if full.status:
        path = full.resource.path(world.name if full.namespaced else None, full.name)
        body = {"status": full.status}
        made = await world.api.request("PATCH", f"{path}/status", body=body, content_type=MERGE)
    return made


def covered(message: str, content: Mapping[str, Any]) -> Iterable[str]:
    """The fields of the table, and of the messages inside, that are in an object."""
    for field in MESSAGES[message]:
        inline = field.form is Form.INLINE
        value: Any = content if inline else content.get(field.name)
        if value is None:
            continue
        yield f"{message}.{field.name}"
        if field.is_message:
            values: Iterable[Object] = value if field.form is Form.LIST else [value]
            for each in values:
                yield from covered(field.type, each)


def reachable(message: str) -> set[str]:
    """All fields that an object of this kind could have."""
    found = set()
    for field in MESSAGES[message]:
        found.add(f"{message}.{field.name}")
        if field.is_message:
            found |= reachable(field.type)
    return found


async def test_both_formats_say_the_same_of_every_field_of_every_kind(world: World) -> None:
    world.token = world.instance.tokens["admin"]
    config = str(world.kubeconfig())
    manner = Manner()
    async with (
        connect(config, manner=manner) as one,
        connect(config, manner=replace(manner, protobuf=False)) as other,
        asyncio.TaskGroup() as tasks,
    ):
        listeners = [Listener(one), Listener(other)]
        listening = []
        for listener in listeners:
            for resource in followed():
                heard = asyncio.Event()
                listening.append(tasks.create_task(listener.listen(resource, heard)))
                await asyncio.wait_for(heard.wait(), 30)
        made = await make_all(world)
        await world.wait("both have heard of all", lambda: have_heard(listeners, made))
        for task in listening:
            task.cancel()
    await remove(world)
    compare(*listeners)


async def make_all(world: World) -> list[tuple[Resource, Object]]:
    made = [(full.resource, await fill(world, full)) for full in full_objects.cluster(world.name)]
    rest = [*full_workloads.workloads(), *full_objects.others(world.name)]
    made += [(full.resource, await fill(world, full)) for full in rest]
    # Admission learns of the classes a little later.
    for full in full_pods.pods(world.name, world.name):
        await world.wait("pods are admitted", partial(is_admitted, world, full))
        made.append((full.resource, await fill(world, full)))
    # A finalizer, or a kubelet that does not answer, keeps them for now.
    for resource, name in ((wire.POD_DISRUPTION_BUDGETS, "at-least"), (wire.PODS, "full")):
        path = resource.path(world.name, name)
        gone = await world.api.request("DELETE", path, body={"gracePeriodSeconds": 30})
        made.append((resource, gone))
    return made


async def is_admitted(world: World, full: Full) -> bool:
    path = full.resource.path(world.name)
    try:
        await world.api.request("POST", path, query={"dryRun": "All"}, body=full.manifest())
    except ApiError as problem:
        if problem.status == 403:
            return False
        raise
    return True


async def have_heard(listeners: Iterable[Listener], made: list[tuple[Resource, Object]]) -> bool:
    keys = [
        (resource, (each["metadata"]["uid"], each["metadata"]["resourceVersion"]))
        for resource, each in made
    ]
    return all(key in each.seen[resource] for each in listeners for resource, key in keys)


async def remove(world: World) -> None:
    """What the namespace does not take with it."""
    for full in full_objects.cluster(world.name):
        path = full.resource.path(None, full.name)
        await world.api.request(
            "PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE
        )
        await world.api.request("DELETE", path)
    await world.api.patch(
        "PodDisruptionBudget", world.name, "at-least", {"metadata": {"finalizers": None}}
    )


def compare(one: Listener, other: Listener) -> None:
    wanted: set[str] = set()
    found: set[str] = set()
    for resource in followed():
        both = one.seen[resource].keys() & other.seen[resource].keys()
        assert both, resource
        for key in both:
            assert one.seen[resource][key] == other.seen[resource][key]
        message = kind_of(resource).message
        wanted |= reachable(message)
        for key in both:
            found |= set(covered(message, one.seen[resource][key]))
    assert wanted - found == NOT_SHOWN
