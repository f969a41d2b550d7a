"""Asks the real kube-scheduler about generated pods, and notes what we would have said.

Many small worlds live in one cluster and do not take notice of each other. In each, all nodes but
one are cordoned, so that its verdict on a pod is a verdict on that node; the pod itself is not
pinned, for that would leave its topology spread nothing to compare. Each round has one pod in every
world. It waits at a scheduling gate until we have said what we think of it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rescheduler.clock import SystemClock
from rescheduler.config import UsageSettings
from rescheduler.kube import connect
from rescheduler.model.columns import NONE
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer, observing, sources
from testbed.api import Api, Object, path_of
from testbed.instance import OwnedInstance
from tests.unit.plan.support import random_worlds, scheduler_rules
from tests.unit.plan.support.cluster_objects import Cluster, key_of
from tests.unit.plan.support.random_rules import World
from tests.unit.plan.support.random_worlds import COPY_OF, GATE, PRIORITY_CLASSES

T = TypeVar("T")

AT_ONCE = 32
PATIENCE_SECONDS = 60.0
STAY = 0.5
"""How likely a pod that was bound stays, and takes part in the rounds to come."""

_MERGE = "application/merge-patch+json"
_LOOK_SECONDS = 0.02
_FOLLOWED = [
    "nodes",
    "pods",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "csinodes",
    "volumeattachments",
    "priorityclasses",
    "runtimeclasses",
    "resourcequotas",
    "daemonsets",
]


class Ours(Protocol):
    """What we say of pods in a snapshot."""

    def __call__(
        self, snapshot: Snapshot, asked: Sequence[tuple[int, int]]
    ) -> Sequence[Sequence[str] | None]:
        """Of each row and node: every reason against it; None where there is no such row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question, and three answers."""

    target: str
    pod: Object
    """As the API server has it."""
    objects: Sequence[Object]
    """All others of its world, at that moment."""
    bound: str
    """The node to which the scheduler bound it; empty: it refused."""
    words: str
    """What the scheduler says."""
    rules: Sequence[str]
    """By which the naive judge refuses it; none: it fits."""
    ours: Sequence[str]
    """Our own reasons; none: we say that it fits."""
    of_the_move: Sequence[str] | None
    """Where it is the copy of a pod that is on another node: our reasons against moving that."""

    @property
    def fits(self) -> bool:
        return self.bound == self.target


async def cases(worlds: Sequence[World], rounds: int, ours: Ours, folder: Path) -> list[Case]:
    """One verdict of the scheduler in every round on one pod of every world."""
    async with _control_plane() as (owned, api):
        await asyncio.to_thread(owned.kill, "kube-scheduler")
        await _all(_set_up(api, each) for each in worlds)
        version = (await api.list_page("Pod"))["metadata"]["resourceVersion"]
        # It begins when everything is there, so that it judges nothing it has only half heard of.
        await asyncio.to_thread(owned.start, "kube-scheduler")
        nodes = [node for each in worlds for node in await _seen_nodes(api, each)]
        verdicts = _Verdicts()
        async with _observer(owned, folder) as observer, asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(verdicts.listen(api, version))
            stage = _Stage(api, observer, verdicts, ours, Cluster.of(nodes))
            await stage.wait_for_the_scheduler(worlds[0])
            await _all(_nominate(api, each) for each in worlds)
            found = []
            for number in range(rounds):
                found += await stage.round(worlds, number, last=number == rounds - 1)
            listening.cancel()
    return found


@contextlib.asynccontextmanager
async def _control_plane() -> AsyncIterator[tuple[OwnedInstance, Api]]:
    """One of its own: hundreds of nodes would slow down the scheduler for all other tests. What
    manages nodes, pods and volumes beside the scheduler is not there.
    """
    with OwnedInstance() as owned:
        for program in ("kube-controller-manager", "kwok"):
            await asyncio.to_thread(owned.kill, program)
        there = owned.instance
        async with Api(there.url, there.tokens["admin"], there.client_ssl()) as api:
            for name, (value, policy) in PRIORITY_CLASSES.items():
                made = {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
                await api.create(made | {"preemptionPolicy": policy})
            yield owned, api


@contextlib.asynccontextmanager
async def _observer(owned: OwnedInstance, folder: Path) -> AsyncIterator[Observer]:
    there = owned.instance
    path = folder / "kubeconfig"
    path.write_text(there.kubeconfig(there.tokens["admin"]))
    settings = UsageSettings(source="requests")
    async with (
        connect(str(path)) as kube,
        observing(kube, SystemClock(), sources.BY_NAME.keys() & set(_FOLLOWED), settings) as made,
    ):
        await made.settled()
        assert made.gaps() == ()
        yield made


async def _all(what: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Not more at once than the API server can do quickly."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(each: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await each

    return await asyncio.gather(*map(one, what))


# ---------------------------------------------------------------------- setting up


async def _set_up(api: Api, world: World) -> None:
    for namespace in world.namespaces:
        name = namespace["metadata"]["name"]
        await api.create(namespace)
        account = {"name": "default", "namespace": name}
        await api.create({"kind": "ServiceAccount", "metadata": account})
    for node in world.nodes:
        await api.create(node)
        # A new node has a taint until the node controller finds it ready.
        taints = {"spec": {"taints": node["spec"]["taints"]}}
        await api.patch("Node", None, node["metadata"]["name"], taints)
    for each in world.storage:
        made = await api.create(each)
        if "status" in each:
            path = path_of(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"])
            body = {"status": each["status"]}
            made = await api.request("PATCH", path + "/status", body=body, content_type=_MERGE)
            assert made["status"]["phase"] == each["status"]["phase"], made
    for number, pod in enumerate(world.pods):
        metadata = pod["metadata"]
        name = metadata["name"]
        ends = name in world.ending
        if ends:
            metadata["finalizers"] = ["fit.test/stays"]
        world.pods[number] = await api.create(pod)
        if ends:
            await api.delete("Pod", metadata["namespace"], name)
            world.pods[number] = await api.get("Pod", metadata["namespace"], name)


async def _nominate(api: Api, world: World) -> None:
    """While the scheduler listens: of pods that it finds at a gate, it looks at nothing else."""
    if world.nominee is not None:
        namespace, name = key_of(world.nominee)
        await api.create(world.nominee)
        path = path_of("Pod", namespace, name) + "/status"
        body = {"status": {"nominatedNodeName": world.target}}
        made = await api.request("PATCH", path, body=body, content_type=_MERGE)
        assert made["status"]["nominatedNodeName"] == world.target, made
        world.pods.append(made)


async def _seen_nodes(api: Api, world: World) -> list[Object]:
    return [await api.get("Node", None, each["metadata"]["name"]) for each in world.nodes]


# ---------------------------------------------------------------------- asking


class _Verdicts:
    """What the scheduler says of pods, as it says it."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Object]] = {}

    async def listen(self, api: Api, version: str) -> None:
        while True:
            # Bookmarks have a version and nothing else; the server ends each stream some time.
            async for _, pod in api.watch("Pod", None, version):
                version = pod["metadata"]["resourceVersion"]
                future = self._waiting.get(pod["metadata"].get("name") or "")
                if future and not future.done() and (pod["spec"].get("nodeName") or _words(pod)):
                    future.set_result(pod)

    def of(self, pod: Object) -> asyncio.Future[Object]:
        future = asyncio.get_running_loop().create_future()
        self._waiting[pod["metadata"]["name"]] = future
        return future


def _words(pod: Object) -> str:
    """Why the scheduler refused it; empty where it has not, or not yet."""
    for each in pod["status"].get("conditions") or ():
        if each["type"] == "PodScheduled" and each.get("reason") in _REFUSALS:
            return str(each.get("message") or each["reason"])
    return ""


_REFUSALS = ("Unschedulable", "SchedulerError")


def _original(pod: Object) -> str:
    """Of which it is a copy; empty: of none."""
    name = (pod["metadata"].get("annotations") or {}).get(COPY_OF)
    return f"{pod['metadata']['namespace']}/{name}" if name else ""


@dataclass(slots=True)
class _Stage:
    api: Api
    observer: Observer
    verdicts: _Verdicts
    ours: Ours
    everywhere: Cluster
    """The nodes of all worlds: to some rules, each of them is a domain."""

    async def wait_for_the_scheduler(self, world: World) -> None:
        """Whoever judges a pod has seen all that was there before it."""
        pod = await self._gated(world, f"{world.name}-first", last=False)
        namespace, name = key_of(await self._let_go(pod))
        await self.api.delete("Pod", namespace, name, {"gracePeriodSeconds": 0})

    async def round(self, worlds: Sequence[World], number: int, *, last: bool) -> list[Case]:
        pods = await _all(self._gated(each, f"{each.name}-p{number}", last=last) for each in worlds)
        snapshot = await self._snapshot(pods)
        rows = {name: row for row, name in enumerate(snapshot.pods.names) if name}
        targets = [snapshot.node_numbers[world.target] for world in worlds]
        asked = [rows["/".join(key_of(pod))] for pod in pods]
        originals = [rows.get(_original(pod), NONE) for pod in pods]
        said = self.ours(snapshot, list(zip(asked + originals, targets * 2, strict=True)))
        ours, of_moves = said[: len(pods)], said[len(pods) :]
        rules = [self._judge(world, pod) for world, pod in zip(worlds, pods, strict=True)]
        before = [tuple(each.pods) for each in worlds]
        decided = await _all(self._let_go(pod) for pod in pods)
        await _all(self._clear(world, pod) for world, pod in zip(worlds, decided, strict=True))
        return [
            Case(
                target=world.target,
                pod=pod,
                objects=random_worlds.objects_of(world, there),
                bound=verdict["spec"].get("nodeName") or "",
                words=_words(verdict),
                rules=naive,
                ours=own or (),
                of_the_move=of_the_move,
            )
            for world, pod, there, verdict, naive, own, of_the_move in zip(
                worlds, pods, before, decided, rules, ours, of_moves, strict=True
            )
        ]

    async def _gated(self, world: World, name: str, *, last: bool) -> Object:
        pod = random_worlds.candidate(world, name, last=last)
        pod["spec"]["schedulingGates"] = [{"name": GATE}]
        return await self.api.create(pod)

    async def _snapshot(self, pods: Sequence[Object]) -> Snapshot:
        """As soon as all of them are in it: then it has everything that came before them, too."""
        uids = {pod["metadata"]["uid"] for pod in pods}
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                snapshot = self.observer.snapshot()
                if uids <= set(snapshot.pods.uids):
                    return snapshot
                await asyncio.sleep(_LOOK_SECONDS)

    def _judge(self, world: World, pod: Object) -> list[str]:
        there = Cluster.of(random_worlds.objects_of(world, world.pods))
        there.nodes = self.everywhere.nodes
        return scheduler_rules.why_not(there, pod, world.target)

    async def _let_go(self, pod: Object) -> Object:
        verdict = self.verdicts.of(pod)
        namespace, name = key_of(pod)
        await self.api.patch("Pod", namespace, name, {"spec": {"schedulingGates": None}})
        try:
            return await asyncio.wait_for(verdict, PATIENCE_SECONDS)
        except TimeoutError:
            seen = await self.api.get("Pod", namespace, name)
            raise AssertionError(f"the scheduler says nothing of {seen}") from None

    async def _clear(self, world: World, pod: Object) -> None:
        if pod["spec"].get("nodeName") and world.luck.random() < STAY:
            world.pods.append(pod)
            return
        namespace, name = key_of(pod)
        await self.api.delete("Pod", namespace, name, {"gracePeriodSeconds": 0})
