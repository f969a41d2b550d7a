"""`rescheduler plan` and `rescheduler explain` on a real control plane: they only look."""

import json
import sys

import pytest

from testbed.audit import Audit
from testbed.world import World
from tests.cluster.snapshots import Ended, run, save
from tests.scenarios.deploying import deploy_web

READING = {"get", "list", "watch"}


async def rescheduler(world: World, *arguments: str) -> Ended:
    """With the rights and the scope that this test has."""
    scope = ("--config", str(world.configuration()))
    login = ("--kubeconfig", str(world.kubeconfig()))
    return await run(world, sys.executable, "-m", "rescheduler", *arguments, *scope, *login)


def assert_only_looked(audit: Audit) -> None:
    assert audit.writes() == []
    assert audit.requests != ()
    assert {request.verb for request in audit.requests} <= READING
    assert (audit.pods_made(), audit.pods_removed()) == ([], [])


async def test_a_plan_of_a_live_cluster_changes_nothing(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    async with world.auditor() as auditor:
        ended = await rescheduler(world, "plan", "-o", "json", "--exit-code")
        audit = await world.audit(auditor)
    assert ended.code == 1, ended
    plan = json.loads(ended.out)
    assert plan["moves"]
    for move in plan["moves"]:
        assert move["pod"]["namespace"] == world.name
        assert move["pod"]["name"].startswith("web-")
        assert (move["from"], move["to"], move["strategy"]) == (full, empty, "LoadBalancing")
        assert move["way"] == "surge"
    cpu = plan["imbalance"]["cpu"]
    assert (cpu["most"], cpu["least"]) == (full, empty)
    assert cpu["after"] < cpu["before"] == 50.0
    assert_only_looked(audit)


async def test_the_same_for_people_and_from_a_file(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    live = await rescheduler(world, "plan")
    assert live.code == 0, live
    [move, *_] = [line for line in live.out.splitlines() if "LoadBalancing  surge" in line]
    assert move.split()[1].startswith(f"{world.name}/web-")
    assert move.split()[2:4] == [full, empty]
    saved, path = await save(world)
    assert saved.code == 0, saved
    from_file = await rescheduler(world, "plan", "-f", str(path), "-o", "json")
    of_server = await rescheduler(world, "plan", "-o", "json")
    assert json.loads(from_file.out)["moves"] == json.loads(of_server.out)["moves"]


async def test_a_balanced_cluster_needs_no_move(world: World) -> None:
    await world.add_nodes(2)
    ended = await rescheduler(world, "plan", "--exit-code")
    assert ended.code == 0, ended
    assert "nothing to move" in ended.out.splitlines()[0]


async def test_a_pod_is_explained_and_nothing_changes(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    [name, *_] = sorted(each["metadata"]["name"] for each in await world.pods("web"))
    [ballast, *_] = sorted(each["metadata"]["name"] for each in await world.pods("ballast"))
    async with world.auditor() as auditor:
        moves = await rescheduler(world, "explain", "pod", f"{world.name}/{name}")
        stays = await rescheduler(world, "explain", "pod", ballast, "-n", world.name)
        audit = await world.audit(auditor)
    assert (moves.code, stays.code) == (0, 0), (moves, stays)
    assert f"Node:       {full}\n" in moves.out
    assert "May move:   yes\n" in moves.out
    assert f"other nodes: {empty}\n" in moves.out
    assert "May move:   no:\n" in stays.out
    assert "scheduler.alpha.kubernetes.io/rescheduling" in stays.out
    assert_only_looked(audit)


@pytest.mark.parametrize("command", [("plan",), ("explain", "pod", "web")])
async def test_a_login_that_is_refused_is_told_in_one_line(
    world: World, command: tuple[str, ...]
) -> None:
    world.token = "of-nobody"  # noqa: S105 - wrong on purpose
    ended = await rescheduler(world, *command)
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith("error: ")
    assert "credentials" in line
