"""The product's own client, on a real API server and through a fault proxy."""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube import connect, errors
from rescheduler.wire import PODS, RESCHEDULE_PLANS
from testbed.builders import pod
from testbed.faultproxy import Match, expired_event, gone, inject_event
from testbed.world import World

MORE_THAN_A_PAGE = 220
MORE_THAN_A_FEW = 25


def kubeconfig(world: World, *, user: Any = None, cluster: Any = None) -> str:  # noqa: ANN401
    """The world's own, with another user or with other settings of the cluster."""
    document = yaml.safe_load(world.kubeconfig().read_text())
    if user:
        document["users"][0]["user"] = user
    document["clusters"][0]["cluster"] |= cluster or {}
    path = world.folder / "other.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def script(path: Path, *lines: str) -> str:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


def plugin(command: str) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {
        "exec": {"apiVersion": version, "command": command, "interactiveMode": "Never"},
    }


async def names_of_pods(config: str, namespace: str) -> list[str]:
    async with connect(config) as api:
        return [each["metadata"]["name"] for each in await api.list(PODS, namespace=namespace)]


# ------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    "name", ["", ".", "..", "web/status", "../pods/web", "web?limit=1", "web#x"]
)
async def test_what_cannot_be_a_name_finds_and_changes_nothing(world: World, name: str) -> None:
    """An empty one is the address of all of them, and a slash leads elsewhere."""
    web = pod("web")
    # Nobody schedules it, so nobody else changes it.
    web["spec"]["schedulerName"] = "nobody"
    await world.create(web)
    async with connect(str(world.kubeconfig())) as api:
        [there] = await api.list(PODS, namespace=world.name)
        uid = there["metadata"]["uid"]
        with pytest.raises(errors.NotFound):
            await api.get(PODS, world.name, name)
        with pytest.raises(errors.KubeError):
            await api.patch(
                PODS, world.name, name, uid=uid, change={"metadata": {"labels": {"a": "b"}}}
            )
        with pytest.raises(errors.KubeError):
            await api.delete(PODS, world.name, name, uid=uid)
        [still] = await api.list(PODS, namespace=world.name)
    assert still["metadata"]["resourceVersion"] == there["metadata"]["resourceVersion"]


async def test_a_list_of_several_pages_is_complete_even_when_it_expires_in_the_middle(
    world: World,
) -> None:
    names = [f"pod-{number:03}" for number in range(MORE_THAN_A_PAGE)]
    # Nobody schedules them, so they cost little.
    made = [pod(name) for name in names]
    for each in made:
        each["spec"]["schedulerName"] = "nobody"
    await asyncio.gather(*(world.create(each) for each in made))
    async with world.faults() as proxy:
        following = Match(verb="list", predicate=lambda request: "continue=" in request.target)
        expired = proxy.on(following, gone(), times=1)
        for times in (1, 1):
            assert sorted(await names_of_pods(kubeconfig(world), world.name)) == names
            assert expired.fired == times
        lists = [request for request in proxy.requests if request.verb == "list"]
    # The first one began anew after its second page was refused.
    assert [each.status for each in lists] == [200, 410, 200, 200, 200, 200]


async def test_plans_come_a_few_at_a_time_for_each_may_be_large(world: World) -> None:
    move = {"namespace": "shop", "pod": "web", "uid": "u", "from": "a", "to": "b"}
    names = [f"plan-{number:02}" for number in range(MORE_THAN_A_FEW)]
    for name in names:
        plan = {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "ReschedulePlan",
            "metadata": {"name": name, "namespace": world.name},
            "spec": {"moves": [move]},
        }
        await world.api.create(plan)
    async with world.faults() as proxy:
        async with connect(kubeconfig(world)) as api:
            found = await api.list(RESCHEDULE_PLANS, namespace=world.name)
        lists = [request for request in proxy.requests if request.verb == "list"]
    assert [each["metadata"]["name"] for each in found] == names
    assert len(lists) == 3


async def test_an_error_in_a_watch_is_raised(world: World) -> None:
    async with world.faults() as proxy:
        proxy.on(Match(verb="watch", resource="pods"), inject_event(expired_event(), after=1))
        async with connect(kubeconfig(world)) as api:
            seen = []
            watch = api.watch(PODS, namespace=world.name)
            first = asyncio.ensure_future(anext(watch))
            await proxy.wait_until(
                lambda: any(each.verb == "watch" and each.status for each in proxy.requests)
            )
            await world.create(pod("web"))
            seen.append(await first)
            with pytest.raises(errors.Expired, match="too old"):
                await anext(watch)
    assert [(event.kind, event.object["metadata"]["name"]) for event in seen] == [("ADDED", "web")]


# ------------------------------------------------------------------ logging in


async def test_a_replaced_token_file_is_read_again_when_the_old_token_is_refused(
    world: World,
) -> None:
    await world.create(pod("web"))
    token = world.folder / "token"
    token.write_text("of-nobody")
    async with connect(kubeconfig(world, user={"tokenFile": str(token)})) as api:
        with pytest.raises(errors.Unauthorized):
            await api.list(PODS, namespace=world.name)
        token.write_text(world.token)
        assert len(await api.list(PODS, namespace=world.name)) == 1


async def test_an_exec_plugin_is_asked_for_the_token(world: World) -> None:
    await world.create(pod("web"))
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": world.token},
    }
    command = script(world.folder / "plugin", f"echo {shlex.quote(json.dumps(credential))}")
    config = kubeconfig(world, user=plugin(command))
    assert await names_of_pods(config, world.name) == ["web"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["echo your session is over >&2", "exit 3"], "your session is over"),
        (["echo no JSON at all"], "exec"),
        (None, "No such file"),
    ],
    ids=["fails", "talks-nonsense", "is-not-there"],
)
async def test_an_exec_plugin_that_fails_is_named(
    world: World, lines: list[str] | None, message: str
) -> None:
    command = script(world.folder / "plugin", *lines) if lines else "/nowhere/plugin"
    with pytest.raises(ConnectionSettingsError, match=message):
        await names_of_pods(kubeconfig(world, user=plugin(command)), world.name)


async def test_says_in_one_line_that_the_server_is_not_to_be_trusted(world: World) -> None:
    other = world.folder / "other.crt"
    trustme.CA().cert_pem.write_to_path(str(other))
    config = kubeconfig(world, cluster={"certificate-authority": str(other)})
    process = await world.start_command(
        "run", "--once", "--config", str(world.configuration()), kubeconfig=config
    )
    run = await process.finish()
    assert run.code == 1
    assert "Traceback" not in run.errors
    [line] = run.errors.splitlines()
    assert line.startswith("error: ")
    assert "certificate" in line.lower()
