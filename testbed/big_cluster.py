"""A cluster of thousands of nodes, written straight into etcd, on a real API server.

Of each kind one object goes through the API server, which gives it defaults, managed fields and its
stored form; the clones of that form are written into etcd while the API server is down, in large
transactions. Nobody works on them: no controllers, no scheduler, no kubelets, simulated or not.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, islice

from testbed import prototypes
from testbed.api import Api, ApiError, Object, path_of
from testbed.clones import DAEMON_SETS, Foundry, Mould, Pod, Stored, pods_each
from testbed.etcd import Etcd, Stream
from testbed.instance import OwnedInstance
from testbed.prototypes import NAMESPACE, Prototype

NODES, PODS = 5_000, 150_000

PUTS_AT_ONCE = 100
WRITERS = 4
TICKS_PER_SECOND = 50
STREAMS = 4

# Where the API server keeps a kind, where it does not call it by its plural.
_REGISTRY = {"Node": "minions"}


@dataclass(slots=True)
class BigCluster:
    url: str
    """Of etcd."""
    nodes: int
    pods: list[Pod] = field(default_factory=list)
    objects: int = 0
    """Of all kinds."""
    bytes: int = 0
    """As stored, of all kinds."""
    load_seconds: float = 0.0
    """To make and write them; the API server's own start comes on top."""

    @property
    def daemons(self) -> Sequence[Pod]:
        """The pods of DaemonSets: nobody moves them."""
        return self.pods[: DAEMON_SETS * self.nodes]

    async def churn(
        self, per_second: int, seconds: float, among: Sequence[Pod] | None = None
    ) -> int:
        """Pods turn unready, and ready again the next time round; how many changes there were.

        Past the API server: what it and its clients do about it is theirs alone. A few at a time,
        for the API server drops watchers that do not keep up with a burst. Falls behind, rather
        than hurries, when etcd is slow.
        """
        at_once = max(1, per_second // TICKS_PER_SECOND)
        changes = _changes(self.pods if among is None else among)
        started, done = time.monotonic(), 0
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(Stream(self.url)) for _ in range(STREAMS)]
            for tick in range(round(seconds * TICKS_PER_SECOND)):
                batch = list(islice(changes, at_once))
                parts = [batch[number::STREAMS] for number in range(STREAMS)]
                pairs = zip(streams, parts, strict=True)
                done += sum(await asyncio.gather(*(stream.put(part) for stream, part in pairs)))
                due = started + (tick + 1) / TICKS_PER_SECOND
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        return done


def _changes(pods: Sequence[Pod]) -> Iterator[Stored]:
    order = random.Random(1).sample(pods, len(pods))  # noqa: S311 - repeatable
    for turn in count():
        for pod in order:
            yield pod.key, pod.stored(is_ready=turn % 2 == 1)


@asynccontextmanager
async def big_cluster(
    nodes: int = NODES, pods: int = PODS, *, say: Callable[[str], None] = lambda _: None
) -> AsyncIterator[tuple[OwnedInstance, BigCluster]]:
    """A bare control plane with all of it; the API server has just been started anew."""
    with OwnedInstance(bare=True) as owned:
        started = time.monotonic()
        moulds = await _make_moulds(owned, nodes, pods)
        await asyncio.to_thread(owned.kill, "kube-apiserver")
        foundry = Foundry(moulds=moulds, nodes=nodes, size=pods)
        cluster = BigCluster(owned.instance.urls["etcd"], nodes, foundry.pods)
        await _write(cluster, foundry.everything())
        cluster.load_seconds = time.monotonic() - started
        say(
            f"{cluster.objects} objects, {cluster.bytes / 1e6:.0f} MB, {len(cluster.pods)} of them"
            f" pods, loaded in {cluster.load_seconds:.0f} s"
        )
        started = time.monotonic()
        await asyncio.to_thread(owned.start, "kube-apiserver")
        say(f"the API server is up after {time.monotonic() - started:.0f} s")
        yield owned, cluster


# ---------------------------------------------------------------------- moulds


async def _make_moulds(owned: OwnedInstance, nodes: int, pods: int) -> dict[str, list[Mould]]:
    """By kind; of pods each also as it is when it is not Ready."""
    each = pods_each(nodes, pods)
    wanted = {
        "Node": prototypes.node(),
        "Deployment": prototypes.workload("Deployment", each),
        "ReplicaSet": prototypes.workload("ReplicaSet", each),
        "old ReplicaSet": prototypes.workload("ReplicaSet", 0),
        "StatefulSet": prototypes.workload("StatefulSet", each),
        "DaemonSet": prototypes.workload("DaemonSet", nodes),
        "Job": prototypes.job(each),
        "PodDisruptionBudget": prototypes.budget(each),
        "pod of StatefulSet": prototypes.pod_of_stateful_set(),
        "pod of Job": prototypes.pod_of_job(),
        "pod of DaemonSet": prototypes.pod_of_daemon_set(),
    }
    wanted |= {
        f"pod of Deployment {number}": prototypes.pod_of_deployment(number)
        for number in range(len(prototypes.VARIANTS))
    }
    instance = owned.instance
    token, context = instance.tokens["admin"], instance.client_ssl()
    async with Etcd(instance.urls["etcd"]) as etcd, Api(instance.url, token, context) as api:
        space = await api.create({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        # Nobody else makes it, and without it no pod is let in.
        metadata = {"name": "default", "namespace": NAMESPACE}
        account = await api.create({"kind": "ServiceAccount", "metadata": metadata})
        keys = {
            f"/registry/namespaces/{NAMESPACE}": space,
            f"/registry/serviceaccounts/{NAMESPACE}/default": account,
        }
        moulds = {
            made["kind"]: [Mould(await etcd.get(key), made["metadata"]["uid"].encode())]
            for key, made in keys.items()
        }
        for name, prototype in wanted.items():
            moulds[name] = await _moulds_of(prototype, api, etcd)
        await etcd.delete(keys)
    return moulds


async def _moulds_of(prototype: Prototype, api: Api, etcd: Etcd) -> list[Mould]:
    kind = prototype.manifest["kind"]
    metadata = prototype.manifest["metadata"]
    namespace, name = metadata.get("namespace"), metadata["name"]
    made = await _create(api, prototype.manifest)
    if kind == "Node":
        # A new one is tainted until somebody says that it is ready, which its status does.
        await api.patch("Node", None, name, {"spec": {"taints": None}})
    parts = (_REGISTRY.get(kind) or path_of(kind).rsplit("/", 1)[1], namespace, name)
    key = "/".join(["/registry", *filter(None, parts)])
    found = []
    for status in (prototype.status, prototype.other_status):
        if status:
            path, merge = path_of(kind, namespace, name), "application/merge-patch+json"
            query = {"fieldManager": "kubelet" if kind == "Pod" else "kube-controller-manager"}
            body = {"status": status}
            await api.request("PATCH", f"{path}/status", query=query, body=body, content_type=merge)
        found.append(Mould(await etcd.get(key), made["metadata"]["uid"].encode()))
    await etcd.delete([key])
    return found


async def _create(api: Api, manifest: Object) -> Object:
    """Tries again while the API server has not yet heard of the new namespace."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await api.create(manifest)
            except ApiError as problem:
                if problem.status not in (403, 404):
                    raise
            await asyncio.sleep(0.1)


# ---------------------------------------------------------------------- writing


async def _write(cluster: BigCluster, everything: Iterator[Stored]) -> None:
    """Several transactions at a time, so that etcd reads the next while it stores one."""
    async with Etcd(cluster.url) as etcd, asyncio.TaskGroup() as writers:
        for _ in range(WRITERS):
            writers.create_task(_write_some(cluster, everything, etcd))


async def _write_some(cluster: BigCluster, everything: Iterator[Stored], etcd: Etcd) -> None:
    while batch := dict(islice(everything, PUTS_AT_ONCE)):
        await etcd.put(batch)
        cluster.objects += len(batch)
        cluster.bytes += sum(map(len, batch.values()))
