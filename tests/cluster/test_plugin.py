"""`kubectl reschedule`: the real kubectl finds us on its PATH, and hands over what was typed."""

import os
import sys
from pathlib import Path

import pytest

from testbed.world import World
from tests.cluster.snapshots import Ended, run
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def reschedule(world: World, kubectl: Path, *arguments: str) -> Ended:
    login = ("--kubeconfig", str(world.admin_kubeconfig()))
    return await run(world, kubectl, "reschedule", *arguments, *login)


async def test_kubectl_lists_it_among_its_plugins(world: World, kubectl: Path) -> None:
    listed = await run(world, kubectl, "plugin", "list")
    assert listed.code == 0, listed
    assert "kubectl-reschedule" in listed.out


async def test_it_lists_migrations_and_shows_how_it_stands(world: World, kubectl: Path) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await ask(world, pod, empty)
    listed = await reschedule(world, kubectl, "get", "migrations", "-A")
    assert listed.code == 0, listed
    head, *rows = listed.out.splitlines()
    assert head.split()[:2] == ["NAMESPACE", "NAME"]
    assert [world.name, pod["metadata"]["name"]] in [row.split()[:2] for row in rows]
    path = str(world.configuration())
    status = await reschedule(world, kubectl, "status", "--config", path)
    assert status.code == 0, status
    assert status.out.startswith("Leader: ")
    assert "0, 1 waiting" in status.out


async def test_it_speaks_of_itself_as_it_was_called(world: World, kubectl: Path) -> None:
    told = await run(world, kubectl, "reschedule", "get", "migrations", "--help")
    assert told.out.startswith("Usage: kubectl reschedule get migrations")
    wrong = await run(world, kubectl, "reschedule", "statsu")
    assert wrong.code == 2
    assert "kubectl reschedule" in wrong.err
