"""Following a kind on a real API server, asked in every way: what there is, and what changes."""

import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube import KubeApi, errors
from rescheduler.kube.following import Manner
from rescheduler.wire import NODES, PODS, Resource
from testbed.builders import pod
from testbed.faultproxy import (
    Fault,
    Match,
    fail,
    inject_event,
    rewrite_events,
    watch_event,
)
from testbed.world import World
from tests.cluster.following import (
    IN_JSON,
    IN_PAGES,
    MANNERS,
    add_pods,
    both_formats,
    both_in_pages,
    door,
    every_manner,
    everything,
    heard_after,
    next_news,
    of,
    present,
    problem_of,
    targets,
)

# What a server without WatchList answers: k8s.io/apimachinery, validateWatchOptions.
NO_WATCH_LIST = (
    'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is '
    "forbidden for watch unless the WatchList feature gate is enabled"
)


# ------------------------------------------------------------------ what there is


async def test_every_way_of_asking_gives_the_same_objects(world: World) -> None:
    names = [f"pod-{number}" for number in range(7)]
    await add_pods(world, *names, labels={"app": "web", "tier": "1"}, annotations={"a": "b"})
    seen = {}
    for way, manner in MANNERS.items():
        async with door(world, manner) as api:
            heard = await everything(api, PODS, of(world))
        seen[way] = present(heard)
        assert [batch.complete for batch in heard] == [False] * (len(heard) - 1) + [True], way
        assert [batch.version for batch in heard[:-1]] == [""] * (len(heard) - 1), way
        assert heard[-1].version, way
    first, *others = seen.values()
    assert sorted(first) == names
    assert all(other == first for other in others)
    assert first["pod-0"]["metadata"]["labels"] == {"app": "web", "tier": "1"}


@every_manner
async def test_nothing_at_all_is_complete_too(world: World, manner: Manner) -> None:
    async with door(world, manner) as api:
        [batch] = await everything(api, PODS, of(world))
    assert not batch.present
    assert batch.complete
    assert batch.version


async def test_pages_are_asked_for_ahead_with_the_token_of_the_page_before(world: World) -> None:
    await add_pods(world, *(f"pod-{number}" for number in range(7)))
    async with world.faults() as proxy, door(world, IN_PAGES) as api:
        assert len(present(await everything(api, PODS, of(world)))) == 7
        assert len(targets(proxy, "limit=3")) == 3
        assert len(targets(proxy, "continue=")) == 2


async def test_all_pages_of_one_namespace_come(world: World) -> None:
    # The server loses all but the first of them.
    await add_pods(world, *(f"pod-{number}" for number in range(4)))
    async with door(world, IN_PAGES) as api:
        heard = await everything(api, PODS, f"metadata.namespace={world.name}")
    assert len(present(heard)) == 4


async def test_pages_are_used_when_the_server_has_no_watch_list_and_that_is_remembered(
    world: World,
) -> None:
    await add_pods(world, "web")
    async with world.faults() as proxy, door(world) as api:
        asks_for_it = Match(verb="watch", predicate=lambda each: "sendInitial" in each.target)
        refusal = proxy.on(asks_for_it, fail(422, message=NO_WATCH_LIST))
        for _ in range(2):
            assert list(present(await everything(api, PODS, of(world)))) == ["web"]
        assert refusal.fired == 1
        # Each kind is asked for on its own: its server may be another one.
        await everything(api, NODES)
        assert refusal.fired == 2


async def test_a_list_that_ends_unfinished_as_a_watch_is_asked_for_in_pages_once(
    world: World,
) -> None:
    await add_pods(world, "web")
    quickly = replace(IN_JSON, listing_seconds=1)
    async with world.faults() as proxy, door(world, quickly) as api:
        # As from a server that ignores what it does not know, until its time is up.
        never_says_so = rewrite_events(lambda line: () if b"events-end" in line else (line,))
        proxy.on(Match(verb="watch"), never_says_so, times=1)
        assert isinstance(await problem_of(api), errors.Unavailable)
        for _ in range(2):
            assert list(present(await everything(api, PODS, of(world)))) == ["web"]
        lists = [*targets(proxy, "limit="), *targets(proxy, "sendInitialEvents")]
    assert ["limit=" in target for target in lists] == [True, False, False]


# ------------------------------------------------------------------ what changes


@both_formats
async def test_a_watch_resumed_hears_exactly_what_came_after(world: World, manner: Manner) -> None:
    await add_pods(world, "old")
    async with door(world, manner) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        await add_pods(world, "one", "two")
        await world.annotate_pod("one", {"a": "b"})
        await world.api.delete("Pod", world.name, "two", {"gracePeriodSeconds": 0})
        await add_pods(world, "three")
        assert await heard_after(api, world, version) == [
            ("present", "one"),
            ("present", "two"),
            ("present", "one"),
            ("present", "two"),  # is to be deleted
            ("gone", "two"),
            ("present", "three"),
        ]


@every_manner
async def test_changes_follow_the_list_and_say_where_to_resume(
    world: World, manner: Manner
) -> None:
    await add_pods(world, "old")
    heard: list[str] = []
    version = ""
    async with door(world, manner) as api:
        async with aclosing(api.follow(PODS, fields=of(world))) as batches:
            async for batch in batches:
                heard += [view.metadata.name for view in batch.present]
                version = batch.version
                if batch.complete:
                    await add_pods(world, "new")
                if "new" in heard:
                    break
        assert heard == ["old", "new"]
        assert await heard_after(api, world, version) == []


@both_formats
async def test_ends_in_order_with_a_bookmark_when_the_time_is_up(
    world: World, manner: Manner
) -> None:
    # The server sends the bookmark two seconds before the end, if it finds the time to.
    async with door(world, replace(manner, watch_seconds=8.0)) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        # Something happens to a pod that is not asked for: a newer version to resume at.
        await world.create(pod("other"))
        async with aclosing(api.follow(PODS, fields=of(world), since=version)) as batches:
            heard = [batch async for batch in batches]
    assert not any(batch.present or batch.gone for batch in heard)
    assert int(heard[-1].version) > int(version)


# ------------------------------------------------------------------ unusual objects


@every_manner
async def test_a_large_object_comes_as_it_is(world: World, manner: Manner) -> None:
    # The largest that a server takes.
    large = "x" * (256 * 1024 - 100)
    await add_pods(world, "large", annotations={"a": large})
    await add_pods(world, "small")
    async with door(world, manner) as api:
        seen = present(await everything(api, PODS, of(world)))
    assert sorted(seen) == ["large", "small"]
    assert seen["large"]["metadata"]["annotations"] == {"a": large}


async def test_a_megabyte_in_one_event_is_no_hindrance(world: World) -> None:
    metadata = {"name": "large", "resourceVersion": "5", "annotations": {"a": "x" * 2**20}}
    async with world.faults() as proxy, door(world, IN_JSON) as api:
        proxy.on(Match(verb="watch"), inject_event(watch_event("ADDED", {"metadata": metadata})))
        async with aclosing(api.follow(PODS, since="1")) as batches:
            batch = await next_news(batches)
    assert len(batch.present[0].metadata.annotations["a"]) == 2**20


def breaking(name: str) -> Fault:
    """A list in which one object has another shape, and all others are as they were."""

    def rewrite(line: bytes) -> list[bytes]:
        try:
            content = json.loads(line)
        except ValueError:
            # Protobuf: the name is no text any more.
            return [line.replace(name.encode(), name[:-1].encode() + b"\xff")]
        for item in content["items"]:
            if item["metadata"]["name"] == name:
                item["spec"]["nodeName"] = {"not": "text"}
        return [json.dumps(content).encode()]

    return rewrite_events(rewrite)


@both_in_pages
async def test_a_malformed_object_is_named_and_all_others_come(
    world: World, manner: Manner
) -> None:
    await add_pods(world, "good-1", "strange", "good-2")
    async with world.faults() as proxy, door(world, manner) as api:
        proxy.on(Match(verb="list", resource="pods"), breaking("strange"))
        heard = await everything(api, PODS, of(world))
    assert sorted(present(heard)) == ["good-1", "good-2"]
    [malformed] = [each for batch in heard for each in batch.malformed]
    assert malformed.name in (f"{world.name}/strange", f"{world.name}/strang\ufffd")
    assert malformed.problem


async def test_a_malformed_object_in_a_watch_is_named_and_the_watch_goes_on(
    world: World,
) -> None:
    strange = {"metadata": {"name": "strange", "namespace": "shop"}, "spec": []}
    async with world.faults() as proxy, door(world, IN_JSON) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        proxy.on(Match(verb="watch"), inject_event(watch_event("MODIFIED", strange)), times=1)
        async with aclosing(api.follow(PODS, fields=of(world), since=version)) as batches:
            batch = await next_news(batches)
            assert [each.name for each in batch.malformed] == ["shop/strange"]
            assert batch.version == version
            await add_pods(world, "web")
            batch = await next_news(batches)
            assert [view.metadata.name for view in batch.present] == ["web"]


async def test_a_malformed_object_that_is_deleted_is_named_as_gone(world: World) -> None:
    strange = {"metadata": {"name": "strange", "namespace": "shop"}, "spec": []}
    async with world.faults() as proxy, door(world, IN_JSON) as api:
        proxy.on(Match(verb="watch"), inject_event(watch_event("DELETED", strange)), times=1)
        async with aclosing(api.follow(PODS, fields=of(world), since="1")) as batches:
            batch = await next_news(batches)
    assert [(each.name, each.gone) for each in batch.malformed] == [("shop/strange", True)]


@pytest.mark.parametrize("metadata", [[], {"namespace": "shop"}], ids=["none", "nameless"])
async def test_what_is_deleted_and_cannot_be_named_makes_a_list_necessary(
    world: World, metadata: object
) -> None:
    strange = watch_event("DELETED", {"metadata": metadata, "spec": []})
    async with world.faults() as proxy, door(world, IN_JSON) as api:
        proxy.on(Match(verb="watch"), inject_event(strange), times=1)
        assert isinstance(await problem_of(api, since="1"), errors.Expired)


async def test_custom_resources_come_as_json_with_all_that_is_in_them(world: World) -> None:
    world.token = world.instance.tokens["admin"]
    things = Resource(f"{world.name}.example.com/v1", "things")
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    async with door(world) as api:
        await world.api.request("POST", definitions, body=_definition(things))
        try:
            await world.wait("things are served", lambda: _are_served(api, things))
            made = await world.api.request("POST", things.path(world.name), body=_thing(things))
            heard = await everything(api, things)
            [view] = [view for batch in heard for view in batch.present]
            assert view.spec == made["spec"]
            assert view.status == {"phase": "Ready"}
            assert view.metadata.uid == made["metadata"]["uid"]
        finally:
            name = _definition(things)["metadata"]["name"]
            await world.api.request("DELETE", f"{definitions}/{name}")


def _thing(things: Resource) -> dict[str, Any]:
    return {
        "apiVersion": things.group_version,
        "kind": "Thing",
        "metadata": {"name": "one"},
        # As a line of a watch this is longer than any buffer.
        "spec": {"target": "node-1", "deep": [{"er": None}], "long": "x" * 10**6},
        "status": {"phase": "Ready"},
    }


def _definition(things: Resource) -> dict[str, Any]:
    group, version = things.group_version.split("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{things.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": things.plural, "kind": "Thing"},
            "versions": versions,
        },
    }


async def _are_served(api: KubeApi, things: Resource) -> bool:
    try:
        await everything(api, things)
    except (errors.NotFound, errors.Throttled):
        return False
    return True
