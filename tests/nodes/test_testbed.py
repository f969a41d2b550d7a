"""The real nodes themselves: real, apart from the machine, and gone without a trace in the end."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from testbed import build
from testbed.api import Api, Object
from testbed.audit import is_ready
from testbed.instance import Instance
from testbed.marks import has_mark
from testbed.realnodes import cgroups, traces
from testbed.realnodes.cgroups import MARK
from testbed.realnodes.nodes import PINS, RealNodes
from testbed.realnodes.settings import IMAGE
from testbed.realnodes.supervisor import FOLDER_PREFIX, NodesError

ROOT = Path(build.__file__).parent.parent
PATIENCE_SECONDS = 120.0
TRACED = "traced-1"

# An owner in a process of its own: says when its node runs a pod, and stays until it is ended.
OWNER = """
import json, signal, sys
from testbed.instance import Instance
from testbed.realnodes.nodes import RealNodes
instance = Instance.from_json(sys.argv[1])
with RealNodes(instance, count=1, prefix="traced-") as nodes:
    pids = [*nodes.pids.values(), nodes.start_metrics_server()["pid"]]
    print(json.dumps({"supervisor": nodes.supervisor, "pids": pids}), flush=True)
    signal.pause()
"""


def pod(name: str, node: str) -> Object:
    volume = {"name": "scratch", "emptyDir": {}}
    container = {
        "name": "app",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1},
    }
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "containers": [container],
            "volumes": [volume],
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 1,
        },
    }


@asynccontextmanager
async def running_pods(instance: Instance, **on: str) -> AsyncIterator[dict[str, Object]]:
    """Pods by name on these nodes, Ready."""
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        for name, node in on.items():
            await api.create(pod(name, node))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    found = {each: await api.get("Pod", "default", each) for each in on}
                    if all(map(is_ready, found.values())):
                        break
                    await asyncio.sleep(0.1)
            yield found
        finally:
            now = {"gracePeriodSeconds": 0}
            for name in on:
                await api.delete("Pod", "default", name, now)


async def forget_node(instance: Instance) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        if await api.find("Node", None, TRACED):
            await api.delete("Node", None, TRACED)


def await_that(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}"
        time.sleep(0.1)


def folders(parent: Path) -> list[Path]:
    return list(parent.glob(f"{FOLDER_PREFIX}*"))


@contextmanager
def owner_process(instance: Instance, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Runs `OWNER` in a process group of its own; its temporary files go to the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, instance.to_json()],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# ------------------------------------------------------------------ real


async def get(nodes: RealNodes, node: str, url: str, from_port: int = 0) -> str:
    """As a client on this node gets it."""
    make = nodes.sockets(node)

    def bound(address: tuple[Any, ...]) -> socket.socket:
        made = make(address)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("", from_port))
        return made

    connector = aiohttp.TCPConnector(socket_factory=bound if from_port else make, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
        assert answer.status == 200
        return (await answer.text()).strip()


async def test_their_kubelets_and_proxies_are_of_the_control_planes_own_version(
    instance: Instance, nodes: RealNodes
) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        server = (await api.request("GET", "/version"))["gitVersion"]
        for name in nodes.names:
            found = (await api.get("Node", None, name))["status"]["nodeInfo"]
            assert found["kubeletVersion"] == server
            assert found["containerRuntimeVersion"].startswith("containerd://2.")
    [pins, _] = map(build.read_pins, PINS)
    assert pins.version == server


async def test_pods_run_on_every_node_and_are_reached_from_every_node(
    instance: Instance, nodes: RealNodes
) -> None:
    places = {f"on-{node}": node for node in nodes.names}
    async with running_pods(instance, **places) as pods:
        for name, found in pods.items():
            for node in nodes.names:
                assert await get(nodes, node, f"http://{found['status']['podIP']}:8080/") == name


def served_service(name: str) -> Object:
    return {
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    }


async def test_every_nodes_proxy_serves_a_cluster_ip(instance: Instance, nodes: RealNodes) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        address = (await api.create(served_service("served")))["spec"]["clusterIP"]
        async with running_pods(instance, served=nodes.names[0]):
            for node in nodes.names:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    assert await until_served(nodes, node, f"http://{address}/") == "served"
        await api.delete("Service", "default", "served")


async def until_served(nodes: RealNodes, node: str, url: str) -> str:
    while True:
        try:
            return await get(nodes, node, url)
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(0.1)  # its proxy has not heard of it yet


async def test_what_no_proxy_knows_is_out_of_reach_and_nobody_waits_for_it(
    nodes: RealNodes,
) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(aiohttp.ClientConnectorError):
            await get(nodes, nodes.names[0], "http://10.0.255.254/")


async def test_who_asked_before_the_proxy_knew_the_service_is_served_once_it_does(
    instance: Instance, nodes: RealNodes
) -> None:
    """Also by the very port of the client's by which nobody could be reached."""
    node, name = nodes.names[0], "asked-early"
    address, port = "10.0.255.253", 40_404
    service = served_service(name) | {"spec": served_service(name)["spec"] | {"clusterIP": address}}
    async with (
        Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api,
        running_pods(instance, **{name: node}),
    ):
        with pytest.raises(aiohttp.ClientConnectorError):
            await get(nodes, node, f"http://{address}/", from_port=port)
        await api.create(service)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await until_served(nodes, node, f"http://{address}/") == name
        assert await get(nodes, node, f"http://{address}/", from_port=port) == name
        await api.delete("Service", "default", name)


# ------------------------------------------------------------------ without a trace


def test_what_a_run_leaves_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the comparison around all of these tests (conftest.py) can fail."""
    monkeypatch.setenv(traces.OURS, "given back in the end")
    run = traces.Run()
    assert run.changes() == {}
    own = next(iter(cgroups.controllers().values())) / f"{cgroups.PREFIX}0"
    own.mkdir()
    left = subprocess.Popen(["/bin/sleep", str(PATIENCE_SECONDS)])
    try:
        await_that("it has begun", lambda: "processes" in run.changes())
        command = f"{left.pid}: /bin/sleep {PATIENCE_SECONDS} "
        assert run.changes() == {"processes": [command], "cgroups and folders": [str(own)]}
    finally:
        left.kill()
        left.wait()
        own.rmdir()
    assert run.changes() == {}


async def test_the_machine_stays_as_it_is_while_they_run(instance: Instance) -> None:
    before = traces.of_the_machine()
    with RealNodes(instance, count=1, prefix="traced-") as nodes:
        asking = nodes.start_metrics_server()
        async with running_pods(instance, traced=TRACED):
            assert traces.of_the_machine() == before
            assert len(traces.cgroups_of(nodes.supervisor)) >= 7
            assert len(traces.namespaces_of(nodes.pids.values())) == 6
            # metrics-server is in the network between them.
            apart = traces.namespaces_of([*nodes.pids.values(), asking["pid"]])
            assert len(apart) == 7
            # The first process, containerd, kubelet, kube-proxy, the shim, the sandbox, the server.
            assert len(traces.inhabitants(apart)) >= 7 + 1
        supervisor, folder = nodes.supervisor, nodes.folder
    assert traces.of_the_machine() == before
    assert traces.inhabitants(apart) == []
    assert traces.cgroups_of(supervisor) == []
    assert not folder.exists()
    await forget_node(instance)


async def test_they_end_with_a_test_that_fails(instance: Instance) -> None:
    before = traces.of_the_machine()
    nodes = RealNodes(instance, count=1, prefix="traced-")
    with pytest.raises(ZeroDivisionError), nodes:
        raise ZeroDivisionError
    assert traces.of_the_machine() == before
    assert traces.cgroups_of(nodes.supervisor) == []
    assert not nodes.folder.exists()
    assert not has_mark(nodes.supervisor, MARK)
    await forget_node(instance)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_they_end_with_their_owner_however_it_ends(
    how: signal.Signals, instance: Instance, tmp_path: Path
) -> None:
    before = traces.of_the_machine()
    with owner_process(instance, tmp_path) as owner:
        assert owner.stdout is not None
        told = json.loads(await asyncio.to_thread(owner.stdout.readline))
        async with running_pods(instance, traced=TRACED):
            apart = traces.namespaces_of(told["pids"])
            assert traces.inhabitants(apart)
            owner.send_signal(how)
            await_that("their supervisor is gone", lambda: not has_mark(told["supervisor"], MARK))
    assert traces.inhabitants(apart) == []
    assert traces.cgroups_of(told["supervisor"]) == []
    assert folders(tmp_path) == []
    assert traces.of_the_machine() == before
    await forget_node(instance)


async def test_they_end_with_their_owner_also_when_they_are_just_starting(
    instance: Instance, tmp_path: Path
) -> None:
    before = traces.of_the_machine()
    with owner_process(instance, tmp_path) as owner:
        await_that("they are starting", lambda: list(tmp_path.glob(f"{FOLDER_PREFIX}*/*.log")))
        [folder] = folders(tmp_path)
        supervisor = int(folder.name.removeprefix(FOLDER_PREFIX).split("-")[0])
        owner.kill()
        await_that("their supervisor is gone", lambda: not has_mark(supervisor, MARK))
    assert not folder.exists()
    assert traces.cgroups_of(supervisor) == []
    assert traces.of_the_machine() == before
    await forget_node(instance)


async def test_when_the_supervisor_is_killed_the_kernel_ends_them_and_the_next_start_cleans_up(
    instance: Instance, tmp_path: Path
) -> None:
    before = traces.of_the_machine()
    with owner_process(instance, tmp_path) as owner:
        assert owner.stdout is not None
        told = json.loads(await asyncio.to_thread(owner.stdout.readline))
        async with running_pods(instance, traced=TRACED):
            apart = traces.namespaces_of(told["pids"])
            os.kill(told["supervisor"], signal.SIGKILL)
            await_that("all of them have ended", lambda: not traces.inhabitants(apart))
    assert traces.of_the_machine() == before
    with owner_process(instance, tmp_path) as owner:
        assert owner.stdout is not None
        assert json.loads(await asyncio.to_thread(owner.stdout.readline))
        assert traces.cgroups_of(told["supervisor"]) == []
        assert len(folders(tmp_path)) == 1
    await_that("it has cleaned up", lambda: not folders(tmp_path))
    await forget_node(instance)


async def test_a_program_that_cannot_start_is_reported_and_nothing_is_left(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces.of_the_machine()
    broken = tmp_path / "programs"
    shutil.copytree(build.programs("nodes"), broken, symlinks=True)
    (broken / "kubelet").write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    real = build.programs
    monkeypatch.setattr(build, "programs", lambda name: broken if name == "nodes" else real(name))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    complaint = r"kubelet ended by itself:\n.*no such luck"
    with (
        pytest.raises(NodesError, match=complaint),
        RealNodes(instance, count=1, prefix="traced-"),
    ):
        pass
    assert list(temporary.iterdir()) == []
    assert traces.of_the_machine() == before
