"""What commands say where something is missing: what it is, and the way out."""

import json
import re

import pytest
import yaml

from testbed.faultproxy import Match, fail
from testbed.world import World
from tests.cluster.test_observing_rights import grant, half_blind, rules_without
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import Ended, as_admin, election, ended

INSTALLING = "kubectl apply -k manifests/rescheduler"
READING = [
    ("get", "migrations", "-A"),
    ("get", "migrations", "-n", "default", "-o", "json"),
    ("migrate", "web-1", "-n", "default"),
]


async def without_rights(world: World, *arguments: str) -> Ended:
    """As whoever has the world's token, which half_blind has made a poor one."""
    login = ("--kubeconfig", str(world.kubeconfig()))
    return await ended(await world.start_unprivileged(*arguments, *login))


@pytest.mark.parametrize("command", READING, ids=" ".join)
async def test_without_the_definition_the_way_to_install_it_is_told(
    world: World, command: tuple[str, ...]
) -> None:
    async with world.faults() as proxy:
        proxy.on(Match(resource="podmigrations"), fail(404, "404 page not found\n"))
        told = await as_admin(world, *command)
    assert (told.code, told.out) == (1, "")
    assert told.err == (
        "error: the cluster does not know PodMigrations (404 page not found); install them: "
        + INSTALLING
    )


async def test_without_the_definition_status_tells_the_rest_and_pause_works(world: World) -> None:
    await world.add_nodes(1)
    path = str(world.configuration(**election(world)))
    async with world.faults() as proxy:
        proxy.on(Match(resource="podmigrations"), fail(404, "404 page not found\n"))
        status = await as_admin(world, "status", "--config", path)
        document = json.loads((await as_admin(world, "status", "-o", "json", "--config", path)).out)
        paused = await as_admin(world, "pause", "--wait", "--config", path)
    assert status.code == 1
    assert "Under way:  not known" in status.lines
    assert status.lines[-1] == f"Next:       {INSTALLING}"
    assert document["next"] == INSTALLING
    assert paused.code == 0, paused


@pytest.mark.parametrize("command", READING, ids=" ".join)
async def test_without_rights_the_one_that_is_missing_is_told(
    world: World, command: tuple[str, ...]
) -> None:
    async with half_blind(world, "podmigrations"):
        told = await without_rights(world, *command)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("error: no right to list podmigrations.rescheduler.io in ")
    where = "-A" if "-A" in command else "-n default"
    assert told.err.endswith(f"check: kubectl auth can-i list podmigrations.rescheduler.io {where}")


async def test_who_may_only_look_is_told_which_right_a_migration_needs(world: World) -> None:
    await deploy_web(world, 2)
    pod = (await world.pods("web"))[0]["metadata"]["name"]
    path = str(world.configuration(**election(world)))
    async with half_blind(world):
        lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
        await grant(world, [*rules_without(), lease])
        told = await without_rights(world, "migrate", pod, "-n", world.name, "--config", path)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("error: it cannot be asked for (podmigrations.rescheduler.io "), told
    assert told.err.endswith("can-i create podmigrations.rescheduler.io -n " + world.name), told


async def test_without_rights_to_the_lease_pause_and_status_say_so(world: World) -> None:
    await world.add_nodes(1)
    path = str(world.configuration(**election(world)))
    asking = f"kubectl auth can-i get leases.coordination.k8s.io -n {world.name}"
    async with half_blind(world):
        for command in ("pause", "resume"):
            told = await without_rights(world, command, "--config", path)
            assert (told.code, told.out) == (1, "")
            assert told.err.startswith(f"error: no right to get the lease {world.name}/rescheduler")
            assert told.err.endswith(asking)
        status = await without_rights(world, "status", "--config", path)
    assert status.code == 1
    assert status.lines[:2] == ["Leader:     not known", "Paused:     not known"]
    assert any(each.endswith(asking) for each in status.lines)


ASKING = ["status", "get migrations", "migrate web-1", "pause", "drain n1", "cleanup", "run --once"]


@pytest.mark.parametrize("command", ASKING)
async def test_with_the_api_server_away_one_sentence_tells_what_to_check(
    world: World, command: str
) -> None:
    world.api_url = "https://127.0.0.1:1"
    told = await as_admin(world, *command.split())
    assert (told.code, told.out) == (1, "")
    *log, line = told.err.splitlines()
    assert bool(log) == command.startswith("run")
    assert "Cannot connect to host 127.0.0.1:1: Connection refused; check that it runs" in line
    assert line.endswith("kubectl cluster-info")


async def test_the_context_that_is_named_counts_and_not_the_current_one(world: World) -> None:
    """Of whose cluster, user and namespace."""
    path = world.folder / "two.kubeconfig"
    document = yaml.safe_load(world.admin_kubeconfig().read_text())
    away = {"name": "away", "cluster": {"server": "https://127.0.0.1:1"}}
    document["clusters"].append(away)
    [here] = document["contexts"]
    here["context"]["namespace"] = world.name
    document["contexts"].append(
        {"name": "elsewhere", "context": {"cluster": "away", "user": here["context"]["user"]}}
    )
    document["current-context"] = "elsewhere"
    path.write_text(yaml.safe_dump(document))
    login = ("--kubeconfig", str(path), "--context")
    found = await ended(
        await world.start_unprivileged("get", "migrations", *login, here["name"], "--v=4")
    )
    assert (found.code, found.out) == (0, "")
    assert f"No resources found in {world.name} namespace." in found.err
    assert re.search(
        "asked the API server .*verb=list resource=podmigrations answer=200", found.err
    )
    unknown = await ended(await world.start_unprivileged("status", *login, "nobody's"))
    assert unknown.code == 1
    assert "nobody's" in unknown.err
