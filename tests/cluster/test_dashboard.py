"""Who sees what in the dashboard, and who may act there: by their own tokens and nothing else."""

# ruff: noqa: S106 - tokens that nobody knows

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testbed.api import Object
from testbed.world import World
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looking import Page, free_port
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.planning import name_of, wait_for_plan

LIST_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
CHANGE_PLANS = {
    "apiGroups": ["rescheduler.io"],
    "resources": ["rescheduleplans"],
    "verbs": ["get", "list", "patch", "create"],
}
APPROVE = {"mode": "Approve", "reschedulingInterval": "1s"}
EVERY_LIST = ("overview", "cluster", "plan", "plans", "migrations", "refusals", "pods", "history")


@dataclass(frozen=True, slots=True)
class Users:
    admin: str
    """Tokens: of whoever may see and do all,"""
    looker: str
    """see all and do nothing,"""
    guest: str
    """see one namespace, which is not that of the test,"""
    stranger: str
    """and nothing at all."""
    garden: str
    """The namespace of the guest."""


@pytest.fixture
async def users(world: World) -> AsyncIterator[Users]:
    garden = f"garden-{secrets.token_hex(3)}"
    made: list[tuple[str, str]] = []
    await world.api.create({"kind": "Namespace", "metadata": {"name": garden}})
    try:
        tokens = {}
        for name in ("admin", "looker", "guest", "stranger"):
            tokens[name] = await _token(world, name)
        for role, rule, namespace, names in (
            ("ClusterRole", LIST_PODS, None, ("admin", "looker")),
            ("Role", LIST_PODS, garden, ("guest",)),
            ("Role", CHANGE_PLANS, world.name, ("admin",)),
        ):
            made += await _bind(world, role, rule, namespace, names)
        yield Users(**tokens, garden=garden)
    finally:
        await world.api.delete("Namespace", None, garden)
        for kind, name in made:
            await world.api.delete(kind, None, name)


async def _token(world: World, name: str) -> str:
    metadata = {"name": name, "namespace": world.name}
    await world.api.create({"kind": "ServiceAccount", "metadata": metadata})
    path = f"/api/v1/namespaces/{world.name}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await world.api.request("POST", path, body=body)
    return str(answer["status"]["token"])


async def _bind(
    world: World, kind: str, rule: Object, namespace: str | None, names: tuple[str, ...]
) -> list[tuple[str, str]]:
    """What has to be deleted by hand."""
    name = f"dashboard-{secrets.token_hex(3)}"
    metadata: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
    group = "rbac.authorization.k8s.io"
    await world.api.create(
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": [rule]}
    )
    await world.api.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [
                {"kind": "ServiceAccount", "name": each, "namespace": world.name} for each in names
            ],
        }
    )
    return [] if namespace else [(f"{kind}Binding", name), (kind, name)]


async def test_each_sees_what_they_may_list(world: World, users: Users) -> None:
    full, _ = await deploy_web(world, 3)
    page = Page(world, free_port(), users.admin)
    settings = page.settings(authentication="Token")
    async with controller(world, **APPROVE, **election(world), **settings) as running:
        await wait_for_plan(world, phase="Waiting")
        # The first question of all: plans are followed from then on, and are in its answer.
        assert (await page.get("plans"))["total"] == 1
        seen = await page.get("pods", query=f"namespace={world.name}")
        assert seen["total"] >= 3
        for path in EVERY_LIST:
            assert (await replace(page, token="").ask(path)).status == 401
            assert (await replace(page, token="not.a.token").ask(path)).status == 401
            for token in (users.guest, users.stranger):
                answer = await replace(page, token=token).ask(path)
                assert answer.status == 200
                assert f'"{world.name}"' not in answer.body, path
                assert f"{world.name}/" not in answer.body, path
        assert (await replace(page, token="").ask("events")).status == 401
        guest = replace(page, token=users.guest)
        node = await guest.get("nodes", full)
        assert node["otherPods"] >= 3
        assert not [each for each in node["pods"] if each["namespace"] == world.name]
        hidden = seen["items"][0]
        assert (await guest.ask("pods", world.name, hidden["name"])).status == 404

        async def totals_stay() -> bool:
            # Nodes of other tests come and go between two answers.
            whole, part = await page.get("cluster"), await guest.get("cluster")
            return bool(part["nodes"]["cpuLoad"] == whole["nodes"]["cpuLoad"])

        await world.wait("totals are the same for both", totals_stay)
        assert (await guest.get("overview"))["viewer"]["seesEverything"] is False
        assert (await page.get("overview"))["viewer"]["name"].endswith(":admin")
        ended = await running.stop()
    for token in (users.admin, users.guest):
        assert token not in ended.err + ended.out, "tokens are in no log"


async def test_a_pod_is_explained_as_by_the_command(world: World) -> None:
    await deploy_web(world, 3)
    page = Page(world, free_port())
    async with controller(world, **APPROVE, **election(world), **page.settings()) as running:
        plan = await wait_for_plan(world, phase="Waiting")
        await page.shows("it has decided", lambda found: bool(found["moves"]), "plan")
        await _explains_alike(world, page, plan["spec"]["moves"][0]["pod"])
        await running.stop()


async def _explains_alike(world: World, page: Page, pod: str) -> None:
    explained = await as_admin(
        world,
        *("explain", "pod", f"{world.name}/{pod}", "-o", "json"),
        *("--config", str(world.configured)),
    )
    said, ours = json.loads(explained.out), await page.get("pods", world.name, pod)
    for field in ("pod", "node", "owner", "requests", "mayMove", "stays", "way", "recreated"):
        assert ours[field] == said[field], field
    # Those of other tests come and go between the two.
    nodes, told = (
        [each["name"] for each in by["nodes"] if each["name"].startswith(f"{world.name}-")]
        for by in (ours, said)
    )
    assert nodes == told != []
    assert ours["move"]["to"] == said["move"]["to"]


async def test_whoever_acts_does_so_as_themselves(world: World, users: Users) -> None:
    full, empty = await deploy_web(world, 3)
    admin = Page(world, free_port(), users.admin)
    looker = replace(admin, token=users.looker)
    settings = admin.settings(authentication="Token", actions=True)
    async with controller(world, **APPROVE, **election(world), **settings) as running:
        name = name_of(await wait_for_plan(world, phase="Waiting"))
        await admin.shows("it is listed", lambda found: found["total"] == 1, "plans")
        refused = await looker.ask("plans", name, "approve", method="POST")
        assert refused.status == 403
        assert "no right to patch rescheduleplans" in refused.json["error"]["message"]
        assert "kubectl auth can-i patch" in refused.json["error"]["wayOut"]
        assert (await looker.get("overview"))["viewer"]["mayAct"] is False
        for token in ("", "not.a.token"):
            nobody = replace(admin, token=token)
            assert (await nobody.ask("plans", name, "approve", method="POST")).status == 401
        assert (await world.api.get("ReschedulePlan", world.name, name))["status"]["phase"] == (
            "Waiting"
        )
        assert (await admin.get("overview"))["viewer"]["mayAct"] is True
        done = await admin.ask("plans", name, "approve", method="POST")
        assert (done.status, done.json["changed"]) == (200, True), done.body
        ended = await wait_for_plan(world, phase="Completed")
        assert ended["status"]["approval"]["by"].endswith(f":{world.name}:admin")
        assert (await world.nodes_of("web")).count(empty) == 1
        again = await admin.ask("plans", name, "approve", method="POST")
        assert again.status == 409
        await _undone(world, admin, looker, name)
        await running.stop()
    assert set(await world.nodes_of("web")) == {full}


async def _undone(world: World, admin: Page, looker: Page, name: str) -> None:
    await admin.shows(
        "it may be undone",
        lambda found: (
            [each["may"] for each in found["items"] if each["name"] == name] == [["undo"]]
        ),
        "plans",
    )
    assert (await looker.ask("plans", name, "undo", method="POST")).status == 403
    answer = await admin.ask("plans", name, "undo", method="POST")
    assert answer.status == 200, answer.body
    new = answer.json["plan"]

    async def is_back() -> bool:
        found: Any = await world.api.get("ReschedulePlan", world.name, new)
        return bool((found.get("status") or {}).get("reason") == "AllMoved")

    await world.wait("its pod is back", is_back)
