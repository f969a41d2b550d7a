"""A cluster that was saved, and comes back to life."""

import json
from collections import Counter
from pathlib import Path

import pytest

from rescheduler import wire
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import START
from rescheduler.errors import ReschedulerError
from rescheduler.model import conditions
from rescheduler.observe.files import load, save, take
from rescheduler.simulation.described import Described, Json
from rescheduler.simulation.filling import fill
from rescheduler.simulation.from_files import describe
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import Happening, What, foreseen, happen
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.scenarios import BUILT_IN


async def _saved(described: Described, to: Path) -> None:
    loads = ScenarioLoads(described, BUILT_IN["steady"], seed=1, start=START)
    cluster = EmbeddedCluster(seed=1, loads=loads)
    fill(cluster, described)
    async with cluster:
        await cluster.clock.sleep(60)
        taken = await take(cluster.client(), cluster.clock)
    save(str(to), taken.snapshot, taken_at=taken.taken_at)


async def _left_alone(described: Described) -> tuple[list[str], Counter[str], int]:
    """What was refused, who owns the pods in the end, and how many are Ready where they were."""
    cluster = EmbeddedCluster(seed=2)
    refused = fill(cluster, described).refused
    before = {each["metadata"]["name"]: each for each in cluster.store.all(wire.PODS)}
    async with cluster:
        await cluster.clock.sleep(600)
        after = list(cluster.store.all(wire.PODS))
    owners = Counter(
        (each["metadata"].get("ownerReferences") or [{"kind": "nobody"}])[0]["kind"]
        for each in after
    )
    same = [
        each
        for each in after
        if conditions.holds(each, "Ready")
        and (known := before.get(each["metadata"]["name"])) is not None
        and known["spec"]["nodeName"] == each["spec"]["nodeName"]
    ]
    return refused, owners, len(same)


def test_a_saved_cluster_is_at_rest_and_uses_what_it_used(tmp_path: Path) -> None:
    made = generate(nodes=8, pods=120, seed=5)
    file = tmp_path / "cluster.json.gz"
    virtual_time.run(_saved(made, file))
    described = describe(load(str(file)))
    assert described.notes == ()
    refused, owners, same = virtual_time.run(_left_alone(described))
    assert refused == []
    assert same == 120
    assert owners.keys() == {"ReplicaSet", "StatefulSet", "DaemonSet"}
    used = {name: each.cores for name, each in made.loads.items()}
    for name, base in described.loads.items():
        assert 0.6 * used[name] < base.cores < 1.6 * used[name]


def _object(kind: str, version: str, name: str, **others: object) -> Json:
    metadata: Json = {"name": name, "uid": f"uid-{name}"}
    metadata |= {} if kind == "Node" else {"namespace": "shop"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **others}


def _pod(name: str, owner: str = "") -> Json:
    asked = {"requests": {"cpu": "200m", "memory": "100Mi"}}
    pod = _object(
        "Pod",
        "v1",
        name,
        spec={
            "nodeName": "n-1",
            "priorityClassName": "gold",
            "priority": 7,
            "containers": [{"name": "c", "resources": asked}],
        },
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )
    if owner:
        reference = {"kind": owner, "name": owner.lower(), "uid": f"uid-{owner}"}
        pod["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    return pod


def test_what_nobody_plays_stays_and_is_told(tmp_path: Path) -> None:
    ready = {"type": "Ready", "status": "True"}
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = _object("Node", "v1", "n-1", status={"allocatable": has, "conditions": [ready]})
    down = _object("Node", "v1", "n-2", status={"allocatable": has})
    leaving = _pod("d")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ended = [_pod("e", "Job") | {"status": {"phase": phase}} for phase in ("Succeeded", "Failed")]
    ended[1]["metadata"]["name"] = "f"
    others = [_pod("a", "Rollout"), _pod("b"), _pod("c", "Job"), leaving]
    items = [node, down, *others, *ended, ended[0]]
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    described = describe(load(str(file)))
    told, left_out = described.notes
    assert told.startswith("pods whose owner is not in the file or not simulated (Job, Rollout): 2")
    assert left_out == "pods left out, as they have ended or are terminating: 3"
    assert described.loads["shop/b"].cores == 0.1
    refused, owners, same = virtual_time.run(_left_alone(described))
    assert refused == []
    assert (owners, same) == (Counter({"nobody": 3}), 3)


def test_what_belongs_to_something_that_is_not_in_the_file(tmp_path: Path) -> None:
    """A workload of an operator stays, a pod on a node that is gone is left out, and both do no
    harm to others.
    """
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    node = _object("Node", "v1", "n-1", status={"allocatable": has, "conditions": [ready]})
    lost = _pod("lost")
    lost["spec"]["nodeName"] = "n-9"
    owned = _pod("owned", "ReplicaSet")
    owned["metadata"]["labels"] = {"app": "x"}
    selector = {"matchLabels": {"app": "x"}}
    owner = _object(
        "ReplicaSet", "apps/v1", "replicaset", spec={"replicas": 1} | {"selector": selector}
    )
    owner["metadata"] |= {
        "uid": "uid-ReplicaSet",
        "ownerReferences": [{"kind": "Rollout", "name": "r", "uid": "uid-r", "controller": True}],
    }
    one = _object("Deployment", "apps/v1", "one", spec={"selector": {"matchLabels": {"app": "y"}}})
    items = [node, owner, one, owned, lost]
    file = tmp_path / "some.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    described = describe(load(str(file)))
    assert described.notes == ("pods left out, as their node is not simulated: 1",)
    happenings = foreseen(BUILT_IN["day"], described, seed=1, start=START, hours=24)
    assert "shop/one" in {each.name for each in happenings}
    refused, owners, same = virtual_time.run(_left_alone(described))
    assert refused == []
    # Its Deployment has one replica by default, which is made there.
    assert (owners, same) == (Counter({"ReplicaSet": 2}), 1)


def _file_of(folder: Path, *items: Json) -> str:
    file = folder / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


def test_a_node_that_is_refused_takes_its_pods_along_and_nothing_happens_to_it(
    tmp_path: Path,
) -> None:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    odd = _object("Node", "v1", "n-1", status={"allocatable": has})
    odd["spec"] = {"taints": [{"key": "a", "effect": "Perhaps"}]}
    described = describe(load(_file_of(tmp_path, odd, _pod("a"))))

    async def main() -> tuple[list[str], int]:
        cluster = EmbeddedCluster(seed=1)
        refused = fill(cluster, described).refused
        async with cluster:
            outages = [
                Happening(at=60, what=What.MAINTAIN, name="n-1", lasts=60),
                Happening(at=60, what=What.ROLL_OUT, name="shop/nobody"),
            ]
            await happen(cluster.api, outages)
            return refused, len(list(cluster.store.all(wire.PODS)))

    refused, pods = virtual_time.run(main())
    assert [each.split(":")[0] for each in refused] == ["nodes n-1", "pods shop/a"]
    assert pods == 0


def test_a_node_that_does_not_say_what_it_has_is_left_out(tmp_path: Path) -> None:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = _object("Node", "v1", "n-2", status={"allocatable": has})
    silent = _object("Node", "v1", "n-1", status={"allocatable": {"cpu": "4"}})
    described = describe(load(_file_of(tmp_path, node, silent, _pod("a"))))
    assert [each["metadata"]["name"] for each in described.all(wire.NODES)] == ["n-2"]
    assert described.notes == ("pods left out, as their node is not simulated: 1",)
    with pytest.raises(ReschedulerError, match="no node in the file says how much cpu"):
        describe(load(_file_of(tmp_path, silent)))


def _ready_node() -> Json:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    return _object("Node", "v1", "n-1", status={"allocatable": has, "conditions": [ready]})


def test_a_pod_of_a_daemon_set_that_waits_is_made_anew(tmp_path: Path) -> None:
    """Which node it is for is not in what is read of it."""
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    agents = _object("DaemonSet", "apps/v1", "daemonset", spec=spec)
    agents["metadata"]["uid"] = "uid-DaemonSet"
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    waiting = _pod("daemonset-1", "DaemonSet")
    waiting["metadata"]["labels"] = {"app": "x"}
    del waiting["spec"]["nodeName"]
    waiting["spec"]["affinity"] = {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}
    waiting["status"] = {"phase": "Pending"}
    described = describe(load(_file_of(tmp_path, _ready_node(), agents, waiting)))

    async def main() -> list[Json]:
        cluster = EmbeddedCluster(seed=1)
        assert fill(cluster, described).refused == []
        async with cluster:
            await cluster.clock.sleep(600)
            return list(map(dict, cluster.store.all(wire.PODS)))

    [pod] = virtual_time.run(main())
    assert pod["spec"].get("nodeName") == "n-1"


def test_pods_of_a_workload_that_is_refused_stay(tmp_path: Path) -> None:
    selector = {"matchLabels": {"app": "x"}}
    owner = _object("ReplicaSet", "apps/v1", "replicaset", spec={"selector": selector})
    owner["metadata"]["uid"] = "uid-ReplicaSet"
    unlike = _pod("unlike", "ReplicaSet")
    unlike["metadata"]["labels"] = {"app": "y"}
    described = describe(load(_file_of(tmp_path, _ready_node(), owner, unlike)))
    refused, owners, same = virtual_time.run(_left_alone(described))
    assert [each.split(":")[0] for each in refused] == ["replicasets shop/replicaset"]
    assert (owners, same) == (Counter({"nobody": 1}), 1)
