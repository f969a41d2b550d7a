"""On a real control plane: who looks sees what Kubernetes lets them see, and acts as themselves."""

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from testbed import builders
from testbed.api import Object
from testbed.instance import Instance
from testbed.scenarios import OWNER
from testbed.world import World, make_world
from tests.browser.stages import API, Stage
from tests.browser.visiting import visit
from tests.control_plane import instance
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import command, name_of, wait_for_plan

__all__ = ["instance"]

REFUSED: Final = ("401 for GET", "403 for", "Failed to load resource")
_LISTS: Final = (
    "overview",
    "cluster",
    "plan",
    "plans",
    "migrations",
    "refusals",
    "pods?q=e",
    "history",
    "settings",
)
_PLANS: Final = {"apiGroups": ["rescheduler.io"], "resources": ["rescheduleplans"]}
_PODS: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    world: World
    stage: Stage
    hidden: str
    """A namespace that only an administrator sees, and part of the names of all in it."""

    async def user(self, name: str, *rules: Object) -> str:
        """The token of somebody who may do that in the namespace of the world, and nothing else."""
        world, api = self.world, self.world.api
        about = {"name": name, "namespace": world.name}
        account = await api.create({"kind": "ServiceAccount", "metadata": about})
        assert account["metadata"]["name"] == name
        await api.create({"kind": "Role", "metadata": about, "rules": list(rules)})
        await api.create(
            {
                "kind": "RoleBinding",
                "metadata": about,
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": name,
                },
                "subjects": [{"kind": "ServiceAccount", **about}],
            }
        )
        path = f"/api/v1/namespaces/{world.name}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = (await api.request("POST", path, body=body))["status"]["token"]
        return token


@pytest_asyncio.fixture(loop_scope="session")
async def shown(instance: Instance, tmp_path: Path) -> AsyncIterator[Shown]:
    async with make_world(instance, tmp_path, "dashboard") as world:
        full, _ = await deploy_web(world, 3)
        hidden = f"hidden-{secrets.token_hex(3)}"
        await world.api.create({"kind": "Namespace", "metadata": {"name": hidden}})
        try:
            await world.api.create(_secret_pod(world, hidden, "first", full))
            dashboard = {
                "enabled": True,
                "port": _free_port(),
                "authentication": "Token",
                "actions": True,
            }
            settings = {"mode": "Approve", "reschedulingInterval": "1s", "dashboard": dashboard}
            async with controller(world, **settings, **election(world)) as running:
                await running.says("pass ended")
                url = f"http://localhost:{dashboard['port']}/"
                yield Shown(world=world, stage=Stage(url=url), hidden=hidden)
                await running.stop()
        finally:
            await world.api.delete("Namespace", None, hidden)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _secret_pod(world: World, namespace: str, name: str, node: str) -> Object:
    """On a node of the world, in a namespace beside it; its names say where it is."""
    spec = builders.pod_spec(cpu="100m") | {
        "nodeName": node,
        "tolerations": [{"key": OWNER, "operator": "Equal", "value": world.name}],
    }
    labels = {"team": namespace}
    about = {"name": f"{name}-{namespace}", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


async def _sign_in(page: Page, token: str) -> None:
    await page.get_by_test_id("token-input").fill(token)
    await page.get_by_role("button", name="Use token").click()
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "open")


async def test_what_a_user_may_not_see_is_not_sent(chromium: Browser, shown: Shown) -> None:
    token = await shown.user("looker", _PODS)
    bearer = {"Authorization": f"Bearer {token}"}
    everything = {"Authorization": f"Bearer {shown.world.instance.tokens['admin']}"}
    node = shown.world.nodes[0]
    for what in (*_LISTS, f"nodes/{node}", "openapi.json"):
        assert shown.hidden not in json.dumps(await shown.stage.asked(what, **bearer)), what
    # It is counted, so that the node is as full as it is; and others do see it.
    document = await shown.stage.asked(f"nodes/{node}", **bearer)
    assert document["otherPods"] >= 1
    assert shown.hidden in json.dumps(await shown.stage.asked(f"nodes/{node}", **everything))
    assert shown.hidden in json.dumps(await shown.stage.asked("cluster", **everything))
    await _nor_in_the_stream(shown, bearer)
    await _nor_in_the_page(chromium, shown, token)


async def _nor_in_the_stream(shown: Shown, bearer: dict[str, str]) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{shown.stage.url}{API}events", headers=bearer) as stream,
        asyncio.timeout(60),
    ):
        heard = await _until(stream, "event: hello")
        api, node = shown.world.api, shown.world.nodes[1]
        await api.create(_secret_pod(shown.world, shown.hidden, "second", node))
        # What comes after it tells of it as a number, or of nothing.
        await api.create(_visible_pod(shown.world, node))
        heard += await _until(stream, '"added":')
    assert shown.hidden not in heard


def _visible_pod(world: World, node: str) -> Object:
    pod = _secret_pod(world, world.name, "seen", node)
    return pod | {"metadata": {"name": "seen", "namespace": world.name}}


async def _until(stream: aiohttp.ClientResponse, wanted: str) -> str:
    heard = ""
    while wanted not in heard:
        line = await stream.content.readline()
        assert line, heard
        heard += line.decode()
    return heard


async def _nor_in_the_page(chromium: Browser, shown: Shown, token: str) -> None:
    async with visit(chromium, shown.stage.url, expected=REFUSED) as seen:
        await seen.open("cluster?as=table")
        await _sign_in(seen.page, token)
        for view in ("Cluster", "Plan", "Migrations", "Why not", "History", "Settings"):
            await seen.page.get_by_role("link", name=view, exact=True).click()
            await expect(seen.page.locator(".main-" + view.split()[0].lower())).to_be_visible()
            await expect(seen.page.get_by_text("Loading", exact=False)).to_have_count(0)
            assert shown.hidden not in await seen.page.content(), view


async def test_without_a_token_nobody_is_told_anything(chromium: Browser, shown: Shown) -> None:
    async with aiohttp.ClientSession() as session:
        for what in (*_LISTS, "events"):
            async with session.get(f"{shown.stage.url}{API}{what}") as answer:
                assert (what, answer.status) == (what, 401)
    async with visit(chromium, shown.stage.url, expected=REFUSED) as seen:
        await seen.open()
        await expect(seen.page.get_by_test_id("token-input")).to_be_visible()
        assert shown.world.name not in await seen.page.content()


async def test_a_plan_is_approved_by_whoever_may(chromium: Browser, shown: Shown) -> None:
    world = shown.world
    plan = await wait_for_plan(world, phase="Waiting")
    may = await shown.user("decider", _PODS, {**_PLANS, "verbs": ["get", "list", "patch"]})
    may_not = await shown.user("reader", _PODS, {**_PLANS, "verbs": ["get", "list"]})
    # Plans are followed from the first look on.
    await world.wait("it is known", lambda: _is_known(shown, name_of(plan), may))
    await _is_refused(chromium, shown, name_of(plan), may_not)
    async with visit(chromium, shown.stage.url, expected=REFUSED) as seen:
        page = seen.page
        await seen.open(f"plan?plan={name_of(plan)}")
        await _sign_in(page, may)
        await _agree(page, shown, name_of(plan))
        approve = page.get_by_test_id("actions").get_by_role("button", name="Approve")
        await approve.click()
        await page.get_by_test_id("confirm").click()
        await expect(page.get_by_test_id("acted")).to_contain_text("is approved")
        # Carried out before our eyes: nothing is loaded anew.
        await expect(page.get_by_test_id("moves-table")).to_contain_text("Moved")
        await expect(page.get_by_text("Completed").first).to_be_visible()
    done = await wait_for_plan(world, phase="Completed")
    assert name_of(done) == name_of(plan)
    assert done["status"]["approval"]["by"] == f"system:serviceaccount:{world.name}:decider"
    assert world.nodes[1] in await world.nodes_of("web")


async def _is_known(shown: Shown, plan: str, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    address = f"{shown.stage.url}{API}plans/{plan}"
    async with (
        aiohttp.ClientSession() as session,
        session.get(address, headers=headers) as answer,
    ):
        return answer.status == 200


async def _is_refused(chromium: Browser, shown: Shown, plan: str, token: str) -> None:
    async with visit(chromium, shown.stage.url, expected=REFUSED) as seen:
        await seen.open(f"plan?plan={plan}")
        await _sign_in(seen.page, token)
        actions = seen.page.get_by_test_id("actions")
        await expect(actions.get_by_role("button", name="Approve")).to_be_disabled()
        await expect(actions).to_contain_text("no right to patch rescheduleplans")
    headers = {"Authorization": f"Bearer {token}", "X-Rescheduler-Request": "1"}
    address = f"{shown.stage.url}{API}plans/{plan}/approve"
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, json={}, headers=headers) as answer,
    ):
        assert answer.status == 403
        assert (await answer.json())["error"]["wayOut"]
    assert (await wait_for_plan(shown.world, phase="Waiting"))["status"].get("approval") is None


async def _agree(page: Page, shown: Shown, name: str) -> None:
    """The page, the API and the command line, about one plan."""
    printed: dict[str, Any] = json.loads(
        (await command(shown.world, "get", "plans", name, "-o", "json")).out
    )
    everything = {"Authorization": f"Bearer {shown.world.instance.tokens['admin']}"}
    answered = await shown.stage.asked(f"plans/{name}", **everything)
    by_command = {(each["pod"], each["from"], each["to"]) for each in printed["spec"]["moves"]}
    by_api = {
        (each["move"]["pod"]["name"], each["move"]["from"], each["move"]["to"])
        for each in answered["moves"]
    }
    assert by_api == by_command
    rows = page.get_by_test_id("moves-table").locator("tbody tr")
    await expect(rows).to_have_count(len(by_command))
    for pod, source, target in by_command:
        row = rows.filter(has_text=pod)
        await expect(row).to_contain_text(source)
        await expect(row).to_contain_text(target)
    await expect(page.get_by_test_id("actions")).to_contain_text(answered["commands"]["approve"])
