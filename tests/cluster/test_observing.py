"""What an observer sees of a real cluster is what is there, however it is asked for."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from rescheduler.kube.following import Manner
from rescheduler.model import names
from rescheduler.model.columns import Flag
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object as Seen
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer
from testbed.api import Object
from testbed.builders import budget, deployment, job, pod, pod_spec, service, workload
from testbed.faultproxy import Fault, Match, rewrite_events
from testbed.world import OWNER, World
from tests.cluster.observing import (
    EVERYTHING,
    blindness_of,
    converges,
    eyes,
    fresh,
    names_of,
    seen,
    sees,
    told,
)

MANNERS = [
    Manner(protobuf=protobuf, watch_list=watch_list, page=3, json_page=3)
    for protobuf in (True, False)
    for watch_list in (True, False)
]
IDS = ["protobuf-as-watch", "protobuf-in-pages", "json-as-watch", "json-in-pages"]
IN_JSON = Manner(protobuf=False)
IN_JSON_PAGES = Manner(protobuf=False, watch_list=False)
ODD = "odd"


# ------------------------------------------------------------------ ordinary life


def quota() -> Object:
    spec = {"hard": {"pods": "50", "requests.cpu": "20"}}
    return {"kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": spec}


def claims() -> list[Object]:
    room = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": room, "storageClassName": "nobody"}
    return [{"metadata": {"name": "data"}, "spec": spec}]


async def live(world: World) -> None:
    """Everything that happens on an ordinary day."""
    _, second, third = await world.add_nodes(3)
    # Pods on it would live on for a minute after it is deleted.
    await world.cordon(third)
    await world.create(
        quota(),
        service("web"),
        budget("web", maxUnavailable=1),
        deployment("web", replicas=3),
        deployment("old", replicas=2),
        workload("DaemonSet", "agent"),
        # Its pod waits for a volume that nobody provides.
        workload("StatefulSet", "db", replicas=1, serviceName="db", volumeClaimTemplates=claims()),
        job("once"),
        pod("alone"),
    )
    await world.wait("web runs", lambda: world.is_complete("web"))
    await world.scale("web", 5)
    await world.cordon(second)
    await world.roll_out("web", "app:2")
    await world.delete_workload("old")
    await world.delete_pod("alone")
    await world.delete_node(third)
    await world.uncordon(second)
    await world.wait("web is rolled out", lambda: world.is_complete("web"))


async def test_an_ordinary_day_leaves_every_observer_with_what_a_fresh_one_sees(
    world: World,
) -> None:
    async with AsyncExitStack() as stack:
        observers: list[Observer] = []
        for manner in MANNERS:
            observer = await stack.enter_async_context(eyes(world, EVERYTHING, manner))
            observers.append(observer)
        await asyncio.gather(*(observer.settled() for observer in observers))
        blindness = [await stack.enter_async_context(blindness_of(each)) for each in observers]
        await live(world)
        found: list[Seen] = []

        async def all_see_the_same() -> bool:
            looks = [await fresh(world, EVERYTHING, manner) for manner in MANNERS]
            looks += [seen(world, observer.snapshot()) for observer in observers]
            found[:] = looks[0]
            return all(look == found for look in looks) and not names_of(found, "Deployment")[1:]

        await world.wait("all observers see the same", all_see_the_same)
        assert [each.gaps for each in blindness] == [[]] * len(MANNERS)
    kinds = {each["kind"] for each in found}
    assert kinds >= {"Namespace", "Node", "Pod", "ReplicaSet", "Deployment", "StatefulSet"}
    assert kinds >= {"DaemonSet", "Job", "PodDisruptionBudget", "ResourceQuota", "Service"}
    assert kinds >= {"EndpointSlice", "PersistentVolumeClaim"}
    assert "alone" not in names_of(found)
    assert len([each for each in names_of(found) if each.startswith("web-")]) == 5


# ------------------------------------------------------------------ what cannot be read


def turned_odd(break_: Callable[[Any], None]) -> Fault:
    """Objects named so come through the proxy in another shape, all others as they are."""

    def rewrite(line: bytes) -> list[bytes]:
        content = json.loads(line)
        objects = content.get("items") or [content.get("object") or {}]
        found = [each for each in objects if ODD in (each.get("metadata") or {}).get("name", "")]
        for each in found:
            break_(each)
        return [json.dumps(content).encode() + b"\n"] if found else [line]

    return rewrite_events(rewrite)


def unreadable_of(world: World, snapshot: Snapshot) -> list[str]:
    return [each for each in snapshot.unreadable if world.name in each]


def ask_for_lots(raw: Any) -> None:  # noqa: ANN401
    raw["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"


def be_a_list(raw: Any) -> None:  # noqa: ANN401
    raw["spec"] = []


def have_lots(raw: Any) -> None:  # noqa: ANN401
    raw.setdefault("status", {}).setdefault("allocatable", {})["cpu"] = "lots"


@pytest.mark.parametrize(
    ("break_", "problem"), [(ask_for_lots, "lots"), (be_a_list, "spec")], ids=["amount", "shape"]
)
async def test_a_pod_that_cannot_be_read_is_told_once_by_name_and_all_others_are_seen(
    world: World, break_: Callable[[Any], None], problem: str
) -> None:
    await world.create(pod("before"), pod(ODD))
    with capture_logs() as lines:
        async with world.faults() as proxy, eyes(world, manner=IN_JSON_PAGES) as observer:
            rule = proxy.on(Match(resource="pods"), turned_odd(break_))
            await observer.settled()
            await sees(world, observer, "before")
            # Heard of again, in the watch, it is no news.
            await world.annotate_pod(ODD, {"a": "b"})
            await rule.wait_fired(times=2)
            await world.create(pod("after"))
            await sees(world, observer, "before", "after")
            [unreadable] = unreadable_of(world, observer.snapshot())
            assert unreadable.startswith(f"pods {world.name}/{ODD}: ")
            assert problem in unreadable
            assert observer.gaps() == ()
            proxy.clear()
            proxy.cut_all()
            await world.annotate_pod(ODD, {"a": "c"})
            assert ODD in names_of(await converges(world, observer))
            assert unreadable_of(world, observer.snapshot()) == []
    own = [line for line in told(lines, "object cannot be read") if world.name in line["name"]]
    assert [line["name"] for line in own] == [f"{world.name}/{ODD}"]


async def test_a_node_that_cannot_be_read_hides_no_other(world: World) -> None:
    [good] = await world.add_nodes(1)
    await bare_node(world, f"{world.name}-{ODD}")
    async with world.faults() as proxy, eyes(world, ["nodes"], IN_JSON_PAGES) as observer:
        proxy.on(Match(resource="nodes"), turned_odd(have_lots))
        await observer.settled()
        found = observer.snapshot()
    assert names_of(seen(world, found), "Node") == [good]
    [unreadable] = unreadable_of(world, found)
    assert unreadable.startswith(f"nodes {world.name}-{ODD}: ")


async def test_a_node_with_no_allocatable_is_there_has_no_room_and_is_told(world: World) -> None:
    [good] = await world.add_nodes(1)
    bare = f"{world.name}-bare"
    await bare_node(world, bare)
    async with eyes(world, ["nodes"]) as observer:
        await observer.settled()
        found = observer.snapshot()
    assert names_of(seen(world, found), "Node") == sorted([bare, good])
    assert f"nodes {bare}: it has no allocatable cpu and memory" in found.unreadable
    assert not found.room[found.node_numbers[bare]].any()
    assert found.room[found.node_numbers[good]].any()


async def bare_node(world: World, name: str) -> None:
    taint = {"key": OWNER, "value": world.name, "effect": "NoSchedule"}
    manifest = {"kind": "Node", "metadata": {"name": name}, "spec": {"taints": [taint]}}
    await world.api.create(manifest)
    world.nodes.append(name)


@pytest.mark.parametrize("manner", MANNERS, ids=IDS)
async def test_large_annotations_are_neither_a_hindrance_nor_kept(
    world: World, manner: Manner
) -> None:
    # The most that a server takes.
    large = pod("large")
    large["metadata"]["annotations"] = {"a": "x" * (256 * 1024 - 1)}
    await world.create(large, pod("small"))
    async with eyes(world, manner=manner) as observer:
        await observer.settled()
        await sees(world, observer, "large", "small")
        later = pod("later")
        later["metadata"]["annotations"] = {"a": "x" * (256 * 1024 - 1)}
        await world.create(later)
        await sees(world, observer, "large", "later", "small")
        assert len(json.dumps(seen(world, observer.snapshot()))) < 2**16
        assert unreadable_of(world, observer.snapshot()) == []


@pytest.mark.parametrize("manner", [IN_JSON, IN_JSON_PAGES], ids=["watch", "pages"])
async def test_nor_is_an_annotation_of_a_megabyte(world: World, manner: Manner) -> None:
    def swell(raw: Any) -> None:  # noqa: ANN401
        raw["metadata"]["annotations"] = {"a": "x" * 2**20}

    await world.create(pod(ODD), pod("small"))
    async with world.faults() as proxy, eyes(world, manner=manner) as observer:
        proxy.on(Match(resource="pods"), turned_odd(swell))
        await observer.settled()
        await sees(world, observer, ODD, "small")
        assert len(json.dumps(seen(world, observer.snapshot()))) < 2**16


# ------------------------------------------------------------------ moves in flight


def on(node: str, name: str, **annotations: str) -> Object:
    """A pod that its kubelet never starts, and nobody schedules: it is where it was put."""
    made = pod(name, spec={**pod_spec(cpu="1"), "nodeName": node})
    made["metadata"]["annotations"] = annotations
    return made


def load(snapshot: Snapshot, node: str) -> tuple[int, int]:
    """Millicores held on a node, and those of pods that stay."""
    number, cpu = snapshot.node_numbers[node], snapshot.resource_names.index("cpu")
    return int(snapshot.requested[number, cpu]), int(snapshot.staying[number, cpu])


async def test_a_move_counts_at_its_target_until_its_copy_is_seen_and_never_twice(
    world: World,
) -> None:
    source, target = await world.add_nodes(2)
    await world.create(on(source, "web"))
    async with world.faults() as proxy, eyes(world) as observer:
        await observer.settled()
        await sees(world, observer, "web")
        found = observer.snapshot()
        [original] = found.pods_on(source)
        move = Move(
            namespace=world.name,
            pod="web",
            uid=original.uid,
            source=source,
            target=target,
            strategy="test",
            reason="test",
        )
        assert load(found, source) == (1000, 1000)
        assert observer.assume(move)
        # News is late: the copy is there, and not heard of.
        proxy.freeze()
        history = {names.ORIGINAL_POD: original.uid, names.ORIGINAL_POD_NAME: "web"}
        await world.create(on(target, "web-copy", **history))
        loads = {(load(observer.snapshot(), source), load(observer.snapshot(), target))}
        [row] = observer.snapshot().rows_on(target)
        assert observer.snapshot().pods.flags[row] & Flag.ASSUMED
        proxy.thaw()

        async def sees_the_copy() -> bool:
            found = observer.snapshot()
            loads.add((load(found, source), load(found, target)))
            return "web-copy" in names_of(seen(world, found))

        await world.wait("the copy is seen", sees_the_copy)
        assert loads == {((1000, 0), (1000, 1000))}
        await world.api.delete("Pod", world.name, "web", {"gracePeriodSeconds": 0})
        await converges(world, observer)
        assert load(observer.snapshot(), source) == (0, 0)
        assert load(observer.snapshot(), target) == (1000, 1000)


async def test_a_move_that_is_given_up_counts_no_more(world: World) -> None:
    source, target = await world.add_nodes(2)
    await world.create(on(source, "web"))
    async with eyes(world) as observer:
        await observer.settled()
        await sees(world, observer, "web")
        [original] = observer.snapshot().pods_on(source)
        move = Move(
            namespace=world.name,
            pod="web",
            uid=original.uid,
            source=source,
            target=target,
            strategy="test",
            reason="test",
        )
        assert observer.assume(move)
        assert load(observer.snapshot(), target) == (1000, 1000)
        observer.forget(move)
        assert load(observer.snapshot(), target) == (0, 0)
        assert load(observer.snapshot(), source) == (1000, 1000)
