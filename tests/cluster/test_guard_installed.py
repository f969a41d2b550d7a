"""The component of the manifests as `kubectl apply -k` installs it, and a process that finds it."""

import base64
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from testbed.api import Object
from testbed.builders import deployment, pod_spec
from testbed.world import World
from tests.cluster.guarding import Guarded, free_port, webhook
from tests.cluster.snapshots import run
from tests.scenarios.looping import as_admin
from tests.scenarios.own_cluster import OwnControlPlane, own_control_plane

MANIFESTS = Path(__file__).parents[2] / "manifests"
GUIDE = MANIFESTS.parent / "docs" / "guard.md"
WEBHOOK, SECRET = "rescheduler-guard", "rescheduler-guard-tls"


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnControlPlane]:
    async with own_control_plane(tmp_path) as started:
        yield started


def theirs(folder: Path) -> Path:
    """A kustomization as the component says that it is to be used."""
    folder.mkdir()
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / "rescheduler", folder)],
        "components": [os.path.relpath(MANIFESTS / "components" / "guard", folder)],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return folder


async def install(world: World, kubectl: Path) -> None:
    folder = theirs(world.folder / "theirs")
    login = ("--kubeconfig", str(world.admin_kubeconfig()))
    applied = await run(world, kubectl, "apply", "-k", str(folder), *login)
    assert applied.code == 0, applied


async def client_config(world: World) -> Object:
    found = await world.api.get("ValidatingWebhookConfiguration", None, WEBHOOK)
    [only] = found["webhooks"]
    return dict(only["clientConfig"])


async def test_it_makes_its_certificate_and_is_asked(own: OwnControlPlane, kubectl: Path) -> None:
    world = own.real
    await install(world, kubectl)
    assert "caBundle" not in await client_config(world)
    container = await _container(world)
    assert {"name": "RESCHEDULER_GUARD_ENABLED", "value": "true"} in container["env"]
    assert any(each.get("name") == "guard" for each in container["ports"])

    full, _ = await world.add_nodes(2)
    await world.deploy(deployment("web", replicas=2, spec=pod_spec(cpu="100m")), on=full)
    port = free_port()
    url = f"https://127.0.0.1:{port}/guard"
    settings = {
        "guard": {"enabled": True, "port": port, "url": url},
        "leaderElection": {"resourceNamespace": "kube-system"},
    }
    guard = Guarded(world, port, free_port(), {}, b"")
    first, second = sorted(each["metadata"]["name"] for each in await world.pods("web"))
    # With nobody there the API server asks in vain, and the eviction passes.
    assert await guard.evict(first, dryRun=["All"]) == ""
    async with guard.running(**settings) as running:
        await running.says("the API server asks us about evictions from now on")
        told = await client_config(world)
        assert told["url"] == url
        assert b"BEGIN CERTIFICATE" in base64.b64decode(told["caBundle"])
        secret = await world.api.get("Secret", "kube-system", SECRET)
        assert {"ca.crt", "tls.crt", "tls.key"} <= set(secret["data"])

        async def is_held() -> bool:
            return "moves it first" in await guard.evict(second)

        # The API server hears of its configuration a moment later; what it says is no dry run.
        await world.wait("its evictions are held", is_held)
        # Somebody writes into it what the manifests say.
        change = {"webhooks": webhook()["webhooks"]}
        await world.api.patch("ValidatingWebhookConfiguration", None, WEBHOOK, change)

        async def is_put_back() -> bool:
            return await client_config(world) == told

        await world.wait("it is as it was", is_put_back)
        await _apply_anew(world, kubectl, url)
        assert await client_config(world) == told
        await running.stop()
    path = str(
        world.default_configuration(
            guard={"url": url}, leaderElection={"resourceNamespace": "kube-system"}
        )
    )
    cleaned = await as_admin(world, "cleanup", "--config", path)
    assert cleaned.code == 0, cleaned
    assert await world.api.find("ValidatingWebhookConfiguration", None, WEBHOOK) is None


async def _apply_anew(world: World, kubectl: Path, url: str) -> None:
    """The manifests name a Service, and the replicas a URL: both would be refused. So docs/guard.md
    has a patch for whoever sets `guard.url`, and with it they are applied as often as one likes.
    """
    [said] = re.findall(r"(?ms)^patches:.*?(?=^```$)", GUIDE.read_text())
    login = ("--kubeconfig", str(world.admin_kubeconfig()))
    file = world.folder / "theirs" / "kustomization.yaml"
    patched = file.read_text() + said.replace("https://guard.example.com/guard", url)
    file.write_text(patched)
    for _ in range(2):
        applied = await run(world, kubectl, "apply", "-k", str(file.parent), *login)
        assert applied.code == 0, applied


async def _container(world: World) -> Object:
    found = await world.api.get("Deployment", "kube-system", "rescheduler-scheduler")
    [only] = found["spec"]["template"]["spec"]["containers"]
    return dict(only)
