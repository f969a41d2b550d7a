"""A node with every kind of pod, emptied by label and by command: who leaves, who stays and why."""

from collections.abc import Collection

import pytest

from testbed.audit import Audit, is_ready
from testbed.builders import budget, deployment, service
from testbed.scenarios import OWNER
from tests.scenarios.every_kind import SYSTEM, UNREADY, apps_on, deploy_every_kind
from tests.scenarios.judging import HISTORY
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.own_cluster import OwnCluster
from tests.scenarios.world import World

MAINTENANCE = HISTORY + "maintenance"
DRAIN = "or use rescheduler drain"
RECREATED = frozenset({"numbered"})
"""Those that have to end before their successors begin."""


def settings(world: World, **more: object) -> dict[str, object]:
    scope = {"namespaces": [world.name, SYSTEM], "nodeSelector": f"{OWNER}={world.name}"}
    return {**election(world), "scope": scope, "enabledStrategies": ["NodeMaintenance"], **more}


def assert_nobody_was_missed(audit: Audit, but: Collection[str]) -> None:
    """Unless it had to be, or served nobody before."""
    assert {each.what.split()[1] for each in audit.replicas_missing()} <= {*but, *UNREADY}
    assert audit.endpoints_missing() == []
    assert audit.budgets_violated() == []
    assert audit.changed_objects() == []
    assert [write for write in audit.writes() if not write.guarded] == []


async def assert_all_are_elsewhere(world: World, node: str) -> None:
    """As many as before, and those that were Ready are."""
    for name, count in (("web", 2), ("scratch", 2), ("hosted", 1), ("numbered", 1)):
        where = await world.nodes_of(name)
        assert len(where) == count, name
        assert node not in where, name
    for name in ("never", "crashing", "pulling"):
        assert len(await world.pods(name)) == 1, name
    for name in ("alone", "alone-scratch", "alone-pulling"):
        [copy] = await world.pods(name)
        assert copy["metadata"]["name"].startswith(f"rescheduled-{name}-")


async def test_by_command_all_leave_but_those_that_say_so_themselves(own: OwnCluster) -> None:
    world = own.world
    full = await deploy_every_kind(world)
    path = str(world.configuration(**settings(world)))
    async with world.auditor() as auditor:
        run = await as_admin(world, "drain", full, "--config", path)
        audit = await world.audit(auditor)
    assert await apps_on(world, full) == {"everywhere", "opted-out"}, run
    assert run.code == 1
    [line] = [each for each in run.err.splitlines() if "/opted-out-" in each]
    assert f"its label {HISTORY}rescheduling keeps it out: take it off" in line
    assert "1 pod stays" in run.err
    assert_nobody_was_missed(audit, but=RECREATED)
    await assert_all_are_elsewhere(world, full)
    # Its work begins anew.
    assert len(await world.nodes_of("task")) == 1
    assert all(map(is_ready, await world.api.list("Pod", SYSTEM, "app=dns")))


async def test_by_label_what_is_excluded_stays_too(own: OwnCluster) -> None:
    world = own.world
    full = await deploy_every_kind(world)
    await world.api.patch("Node", None, full, {"metadata": {"labels": {MAINTENANCE: "true"}}})
    stay = {"everywhere", "opted-out", "task", "dns", "critical"}

    async def is_done() -> bool:
        return await apps_on(world, full) == stay

    async with world.auditor() as auditor, controller(world, **settings(world)) as running:
        await world.wait("all have left that may", is_done)
        audit = await world.audit(auditor)
        lines = running.said("pod stays on node in maintenance")
        told = {line["pod"].split("/")[1]: line["because"] for line in lines}
    assert_nobody_was_missed(audit, but=RECREATED)
    await assert_all_are_elsewhere(world, full)
    reasons = {
        "task": f"it belongs to a Job, and pods.jobs is Never: set it to WhenAsked, {DRAIN}",
        "dns": "its namespace is in excludedNamespaces: set nodeMaintenance.excludedNamespaces to "
        f"Move, {DRAIN}",
        "critical": "it is critical to the system: set nodeMaintenance.excludedNamespaces to Move, "
        f"{DRAIN}",
        "opted-out": "keeps it out: take it off",
    }
    for name, reason in reasons.items():
        [because, *_] = [words for each, words in told.items() if each.startswith(f"{name}-")]
        assert because.endswith(reason), because


async def test_by_label_it_moves_too_where_that_is_set(own: OwnCluster) -> None:
    world = own.world
    full = await deploy_every_kind(world)
    await world.api.patch("Node", None, full, {"metadata": {"labels": {MAINTENANCE: "true"}}})
    more = {
        "excludedNamespaces": [],
        "nodeMaintenance": {"excludedNamespaces": "Move"},
        "pods": {"jobs": "WhenAsked"},
    }

    async def is_done() -> bool:
        return await apps_on(world, full) == {"everywhere", "opted-out"}

    async with controller(world, **settings(world, **more)):
        await world.wait("all have left", is_done)


async def test_a_leader_carries_out_what_a_command_asks_for(own: OwnCluster) -> None:
    """Though its own configuration would keep it: the records say that they are forced."""
    world = own.world
    full = await deploy_every_kind(world)
    path = str(world.configuration(**settings(world)))
    async with controller(world, **settings(world, enabledStrategies=[])) as leader:
        await leader.says("pass ended")
        run = await as_admin(world, "drain", full, "--config", path)
    assert run.lines[0].endswith("is the leader, and carries the moves out")
    assert await apps_on(world, full) == {"everywhere", "opted-out"}, run


async def test_a_sibling_that_is_not_ready_keeps_nobody_there(world: World) -> None:
    """Its ReplicaSet would remove it in place of the pod whose copy is Ready."""
    full, other, third = await world.add_nodes(3)
    await world.create(service("web"), budget("web", minAvailable=3))
    await world.deploy(deployment("web", replicas=3), on=full)
    for node in (full, third):
        await world.cordon(node)
    await world.scale("web", 4)

    async def is_there() -> bool:
        return await world.nodes_of("web") == sorted([full, full, full, other])

    await world.wait("the fourth is there", is_there)
    await world.uncordon(third)
    [away] = [each for each in await world.pods("web") if each["spec"]["nodeName"] == other]
    await world.set_ready(away["metadata"]["name"], ready=False)
    path = str(world.configuration(**election(world)))
    async with world.auditor() as auditor:
        run = await as_admin(world, "drain", full, "--config", path)
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
    # Three are Ready at the beginning, and with their copies more than it wants: never fewer than
    # three is what its Service and its budget see.
    assert_nobody_was_missed(audit, but={"web"})
    await world.wait("it is complete", lambda: _has(world, 4))


async def _has(world: World, replicas: int) -> bool:
    return len(await world.pods("web")) == replicas


@pytest.mark.parametrize(
    ("flags", "stay"),
    [
        (("--skip-jobs", "--skip-system"), {"task", "dns", "critical"}),
        (
            ("--skip-bare-pods", "--skip-local-storage", "--skip-namespace", SYSTEM),
            {"alone", "alone-scratch", "alone-pulling", "scratch", "hosted", "dns"},
        ),
    ],
)
async def test_flags_leave_some_where_they_are(
    own: OwnCluster, flags: tuple[str, ...], stay: set[str]
) -> None:
    world = own.world
    full = await deploy_every_kind(world)
    path = str(world.configuration(**settings(world)))
    run = await as_admin(world, "drain", full, "--config", path, *flags)
    assert await apps_on(world, full) == {"everywhere", "opted-out", *stay}, run
    told = run.err.splitlines()
    for name in stay:
        lines = [line for line in told if f"/{name}-" in line or f"/{name}:" in line]
        assert lines, name
        assert all(" leaves " in line for line in lines), lines


async def test_a_namespace_to_be_skipped_has_to_be_there(own: OwnCluster) -> None:
    world = own.world
    [node] = await world.add_nodes(1)
    path = str(world.configuration(**settings(world)))
    run = await as_admin(world, "drain", node, "--config", path, "--skip-namespace", "kube-sytem")
    assert run.code == 1
    assert 'namespaces "kube-sytem" not found; did you mean "kube-system"?' in run.err
    found = await world.api.get("Node", None, node)
    assert "unschedulable" not in found["spec"]
