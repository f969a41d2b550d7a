"""Surges of every shape, what may happen meanwhile, and what must hold at the end of each."""

from collections.abc import Callable, Iterator

import pytest

from rescheduler.model import names
from tests.unit.migrate.driving import Drive
from tests.unit.migrate.toy_cluster import ToyCluster, in_progress, is_marked
from tests.unit.migrate.toy_objects import controller_of, is_active, touch

Disturbance = Callable[[ToyCluster], None]

LOOKS = range(17)
"""An undisturbed surge looks 16 times at most."""

# ---------------------------------------------------------------------- what may happen


def on(which: str, act: Callable[[ToyCluster, str], None]) -> Disturbance:
    def disturbance(cluster: ToyCluster) -> None:
        pods = {"original": [cluster.original], "copy": [cluster.copy]}
        for pod in pods.get(which) or cluster.siblings[:1]:
            if pod is not None:
                act(cluster, pod["metadata"]["uid"])

    return disturbance


def take_aside(cluster: ToyCluster, uid: str) -> None:
    """As one does to debug a pod: its ReplicaSet replaces it, and it stays."""
    cluster.pods[uid]["metadata"]["labels"]["app"] = "aside"
    touch(cluster.pods[uid])


def _delete_workload(cluster: ToyCluster) -> None:
    if cluster.bare:
        cluster.delete_replica_set(orphan=False)
    cluster.deployment = None


def _roll_out(cluster: ToyCluster) -> None:
    if cluster.deployment:
        cluster.roll_out()


def pause(cluster: ToyCluster) -> None:
    if cluster.deployment:
        cluster.deployment["spec"]["paused"] = True
        cluster.deployment["metadata"]["generation"] += 1


def _delete_replica_set(cluster: ToyCluster) -> None:
    if "rs-1" in cluster.replica_sets:
        cluster.delete_replica_set(orphan=False)


def _add_two_budgets(cluster: ToyCluster) -> None:
    for name in ("one", "two"):
        cluster.add_budget(name, min_available=1)


def unready(seconds: int) -> Callable[[ToyCluster, str], None]:
    return lambda cluster, uid: cluster.turn_unready(uid, for_seconds=seconds)


DISTURBANCES: dict[str, Disturbance] = {
    "rolls out": _roll_out,
    "pauses": pause,
    "scales up": lambda cluster: cluster.scale(cluster.wanted + 2),
    "scales down": lambda cluster: cluster.scale(max(0, cluster.wanted - 1)),
    "scales to 0": lambda cluster: cluster.scale(0),
    "deletes the workload": _delete_workload,
    "deletes the ReplicaSet": _delete_replica_set,
    "deletes the original": on("original", ToyCluster.stop),
    "deletes the copy": on("copy", ToyCluster.stop),
    "deletes a sibling": on("sibling", ToyCluster.stop),
    "takes the original aside": on("original", take_aside),
    "takes a sibling aside": on("sibling", take_aside),
    "the original fails": on("original", ToyCluster.fail),
    "the copy fails": on("copy", ToyCluster.fail),
    "a sibling fails": on("sibling", ToyCluster.fail),
    "the original turns unready": on("original", unready(4)),
    "the copy turns unready": on("copy", unready(4)),
    "a sibling turns unready": on("sibling", unready(4)),
    "a sibling turns unready for long": on("sibling", unready(60)),
    "the copy turns unready for long": on("copy", unready(60)),
    "a budget appears": lambda cluster: cluster.add_budget("late", min_available=99),
    "two budgets appear": _add_two_budgets,
}


# ---------------------------------------------------------------------- what must hold at the end


def problems(drive: Drive) -> Iterator[str]:
    """What is not as it should be once all has come to rest."""
    cluster = drive.cluster
    active = [pod for pod in cluster.pods.values() if is_active(pod)]
    aside = [pod for pod in active if pod["metadata"]["labels"]["app"] == "aside"]
    owned = [pod for pod in active if controller_of(pod) in cluster.replica_sets]
    if len(owned) != cluster.wanted:
        yield f"{len(owned)} pods, {cluster.wanted} wanted"
    if strays := [pod for pod in active if pod not in owned and pod not in aside]:
        yield f"pods that nobody owns: {strays}"
    if any(is_active(pod) for pod in in_progress(cluster.pods)):
        yield "a copy is left in the middle"
    if any(is_marked(pod) for pod in cluster.pods.values()):
        yield "a mark is left"
    if cluster.original and is_active(cluster.original):
        cost = cluster.original["metadata"]["annotations"].get(names.DELETION_COST, "")
        if cost != cluster.own_cost:
            yield f"the original's deletion cost is {cost!r}"
    yield from drive.wrongs


SHAPES = [
    pytest.param({"replicas": 1}, 0, id="one-replica-slow-controllers"),
    pytest.param({"replicas": 3}, 1, id="three-replicas-fast-controllers"),
    pytest.param({"replicas": 3, "bare": True, "own_cost": "7"}, 0, id="bare-slow-controllers"),
    pytest.param({"replicas": 1, "bare": True}, 1, id="bare-fast-controllers"),
    pytest.param({"replicas": 1, "by_hash": True}, 0, id="by-hash-slow-controllers"),
    pytest.param(
        {"replicas": 3, "by_hash": True, "bare": True}, 1, id="bare-by-hash-fast-controllers"
    ),
    pytest.param({"replicas": 3, "asked": True}, 1, id="asked-fast-controllers"),
    pytest.param(
        {"replicas": 3, "asked": True, "stuck": 1}, 0, id="asked-beside-stuck-slow-controllers"
    ),
    pytest.param(
        {"replicas": 2, "asked": True, "stuck": 1, "by_hash": True},
        1,
        id="asked-beside-stuck-by-hash",
    ),
    pytest.param(
        {"replicas": 4, "asked": True, "stuck": 2}, 1, id="asked-beside-stuck-fast-controllers"
    ),
]
each_shape = pytest.mark.parametrize(("shape", "ticks"), SHAPES)
