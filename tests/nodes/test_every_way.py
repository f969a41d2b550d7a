"""Every way in which pods leave a node, and every kind of volume, under traffic.

What is Ready elsewhere before it goes is the only one of its kind here, so that nobody else could
answer for it. What has to end first has a sibling that does.
"""

from pathlib import Path
from typing import Any

from testbed.api import Object
from testbed.audit import Audit
from testbed.builders import budget, deployment, pod, service, workload
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import PRE_STOP, server
from testbed.realnodes.traffic import traffic
from testbed.realnodes.volumes import (
    CLAIMS,
    ENDING,
    PRE_STOP_NOTED,
    disk,
    notes,
    noting,
    on_volume,
)
from testbed.world import World
from tests.nodes.serving import drain, report
from tests.scenarios.gates import GATES, load_balancer
from tests.scenarios.judging import assert_nobody_noticed, assert_nothing_of_ours_is_left

HOSTED, LOCAL = "run/hosted", "run/local"
"""Folders of a node, in its own memory: they go with it."""


# ---------------------------------------------------------------------- Ready before they go


async def test_the_only_one_of_its_kind_is_ready_elsewhere_before_it_goes(
    world: World, nodes: RealNodes
) -> None:
    full = nodes.names[0]
    names = ("gated", "scratch", "alone")
    gated = deployment("gated", replicas=1, spec=server(**PRE_STOP) | GATES)
    scratch = deployment("scratch", replicas=1, spec=on_volume(noting(**PRE_STOP), emptyDir={}))
    await world.create(
        *map(service, names),
        # `kubectl drain` would wait for ever.
        budget("gated", maxUnavailable=0),
        budget("scratch", maxUnavailable=0),
    )
    async with load_balancer(world, of="gated"):
        await world.deploy(gated, scratch, on=full)
        await world.place(lambda: pod("alone", spec=server(**PRE_STOP)), on=full)
        async with (
            world.auditor() as auditor,
            traffic(world.instance, nodes, world.name, *names) as seen,
        ):
            run = await drain(world, full)
            assert run.code == 0, run
            assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
            await world.wait("all are elsewhere", lambda: are_elsewhere(world, names, full))
            audit = await world.audit(auditor)
    report("rescheduler drain, a gate, scratch and a bare pod, one of each", seen)
    assert seen.failures == []
    assert_nobody_noticed(audit)
    [copy] = await world.pods("alone")
    assert copy["metadata"]["name"].startswith("rescheduled-alone-")
    # Scratch begins empty wherever a pod runs.
    [copy] = await world.pods("scratch")
    assert await notes(nodes, copy) == [copy["metadata"]["name"]]
    await assert_nothing_of_ours_is_left(world)


async def are_elsewhere(world: World, names: tuple[str, ...], left: str) -> bool:
    """One of each, and none, also none that is ending, is where they were."""
    pods = [each for name in names for each in await world.pods(name)]
    return len(pods) == len(names) and all(each["spec"].get("nodeName") != left for each in pods)


# ---------------------------------------------------------------------- end first


def stateful_set(name: str, replicas: int, spec: Object, **settings: Any) -> Object:  # noqa: ANN401
    return workload(
        "StatefulSet",
        name,
        spec=spec,
        replicas=replicas,
        serviceName=name,
        podManagementPolicy="Parallel",
        **settings,
    )


def ending_first() -> list[Object]:
    spec = server("-sigterm=exit", **PRE_STOP)
    recreate = {"strategy": {"type": "Recreate"}}
    path = {"path": f"/{HOSTED}", "type": "DirectoryOrCreate"}
    return [
        stateful_set("numbered", 2, spec),
        workload("Deployment", "recreated", spec=spec, replicas=2, **recreate),
        stateful_set("hosted", 2, on_volume(noting(**PRE_STOP), hostPath=path)),
        stateful_set("local", 1, noting(**PRE_STOP), **CLAIMS),
        stateful_set("disk", 1, noting(**PRE_STOP_NOTED), **CLAIMS),
    ]


async def test_what_has_to_end_first_goes_one_at_a_time_and_by_the_rules_of_its_data(
    world: World, nodes: RealNodes, tmp_path: Path
) -> None:
    full = nodes.names[0]
    served = ("numbered", "recreated", "hosted", "local")
    (nodes.root(full) / LOCAL).mkdir(exist_ok=True)
    await world.create(*map(service, served))
    async with (
        disk(world, "local-0", on=full, local={"path": f"/{LOCAL}"}),
        # The nodes have the files of one machine, as they would have those of a file server.
        disk(world, "disk-0", hostPath={"path": str(tmp_path)}),
    ):
        await world.deploy(*ending_first(), on=full)
        [stays] = await world.pods("local")
        async with (
            world.auditor() as auditor,
            traffic(world.instance, nodes, world.name, *served) as seen,
        ):
            run = await drain(world, full)
            audit = await world.audit(auditor)
        report("rescheduler drain, StatefulSets and Recreate", seen)
        assert seen.failures == []
        assert run.code == 1, run
        assert f'1 pod stays on node "{full}", 7 moved' in run.err, run
        unreachable = "the volume of its claim data-local-0 cannot be reached from there"
        assert f"local-0: no node takes it: {unreachable}" in run.err, run
        assert_one_at_a_time(audit)
        for name in ("numbered", "recreated", "hosted"):
            where = await world.nodes_of(name)
            assert len(where) == 2, name
            assert full not in where, name
        await assert_nothing_of_ours_is_left(world)
        await assert_stays_with_its_data(world, nodes, stays)
        await assert_went_with_its_data(world, nodes)
        await assert_began_anew(world, nodes, full)


def assert_one_at_a_time(audit: Audit) -> None:
    assert audit.budgets_violated() == []
    assert audit.touched_pods() == []
    for short in audit.replicas_missing():
        assert short.had >= short.wanted - 1, short


async def assert_stays_with_its_data(world: World, nodes: RealNodes, stays: Object) -> None:
    """A volume of the node itself keeps its pod there, untouched."""
    [found] = await world.pods("local")
    assert found["metadata"]["uid"] == stays["metadata"]["uid"]
    assert await notes(nodes, found) == ["local-0"]


async def assert_went_with_its_data(world: World, nodes: RealNodes) -> None:
    """And not before the original had ended, its preStop too."""
    [found] = await world.pods("disk")
    assert await notes(nodes, found) == ["disk-0", ENDING, "disk-0"]


async def assert_began_anew(world: World, nodes: RealNodes, left: str) -> None:
    """A path of the node is another one elsewhere; what was there stays. Who asks accepts that."""
    for each in await world.pods("hosted"):
        assert (await notes(nodes, each)).count(each["metadata"]["name"]) == 1
    there = (nodes.root(left) / HOSTED / "notes").read_text().split()
    assert sorted(there) == ["hosted-0", "hosted-1"]
