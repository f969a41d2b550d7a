"""A real kube-scheduler that asks us, with the configuration that we print for it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import pod, pod_spec, workload
from testbed.faultproxy import Match, drop_reply
from testbed.processes import stopped
from tests.cluster.extending import Extended, all_placed, by_node, extended, free_port, pods_of
from tests.scenarios.looping import as_admin
from tests.scenarios.own_cluster import OwnControlPlane, own_control_plane
from tests.scenarios.world import RealWorld

MAINTENANCE = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "rescheduler-binding"},
    "rules": [{"apiGroups": [""], "resources": ["bindings"], "verbs": ["create"]}],
}


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnControlPlane]:
    async with own_control_plane(tmp_path) as started:
        yield started


async def test_new_pods_keep_away_from_maintenance_and_overload(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "filter", "score", cpuThreshold=50)
    kept, full, free = await world.add_nodes(3, cpu="8", memory="32Gi")
    await world.deploy(pods_of(5, "filler", cpu="1"), on=full)
    await world.api.patch("Node", None, kept, {"metadata": {"labels": MAINTENANCE}})
    async with asked.running():
        await world.create(pods_of(20))
        found = await all_placed(world, "burst", 20)
        assert found == {kept: 0, full: 0, free: 20}
        await asked.counts('extender_refused_nodes_total{reason="maintenance"}', 20)
        await asked.counts('extender_refused_nodes_total{reason="load"}')
        # Beyond the threshold everywhere: a full cluster must still schedule.
        await world.create(pods_of(60, "more"))
        found = await all_placed(world, "more", 60)
        assert found[kept] == 0
        await asked.counts('extender_requests_total{result="lenient",verb="filter"}')


BURST = 500
CORES = 16
HOGS = 5
HOG_CORES = 8


async def test_a_burst_lands_by_what_is_really_used(own: OwnControlPlane) -> None:
    """Beside the same burst by the scheduler alone, which goes by what pods ask for."""
    world = own.real
    nodes = await world.add_nodes(10, cpu=str(CORES), memory="64Gi", pods="250")
    await asyncio.to_thread(own.owned.start, "metrics-server")
    for number, node in enumerate(nodes[:HOGS]):
        await world.place(partial(hog, f"hog-{number}"), on=node)
    await world.create(pods_of(BURST, "alone"))
    alone = imbalance(await all_placed(world, "alone", BURST), nodes)
    await world.delete_workload("alone")
    await world.wait("they are gone", lambda: _none(world, "alone"))
    # Named, for metrics-server may have no figure yet when a source would be chosen.
    measured = {"source": "metrics-server", "debounce": 1}
    asked = await extended(own, "filter", "score", patience="1m", usage=measured)
    async with asked.running():
        await world.wait("all nodes are measured", lambda: _prefers(asked, nodes))
        await world.create(pods_of(BURST, "asked"))
        together = imbalance(await all_placed(world, "asked", BURST), nodes)
    before = imbalance(dict.fromkeys(nodes, 0), nodes)
    tell(f"imbalance {before:.1f}; after {BURST} pods {alone:.1f} alone, {together:.1f} asking us")
    # The scheduler's own wish to spread the pods of a workload weighs against us: the faster it is,
    # the more come to hogs before we hear of them.
    assert together < 0.9 * alone
    assert together < 0.9 * before


def tell(words: str) -> None:
    """With pytest -s."""
    sys.stdout.write(f"{words}\n")


def hog(name: str) -> Object:
    """Asks for little, and uses half a node."""
    spec = pod_spec(cpu="100m", memory="64Mi")
    return pod(name, spec=spec, cpu_usage=str(HOG_CORES))


def imbalance(placed: dict[str, int], nodes: list[str]) -> float:
    """In points of cpu, by what is used: each new pod uses what it asks for."""
    used = [
        placed[node] * 0.1 + (HOG_CORES if number < HOGS else 0)
        for number, node in enumerate(nodes)
    ]
    return 100 * (max(used) - min(used)) / CORES


async def _none(world: RealWorld, app: str) -> bool:
    return await world.pods(app) == []


async def _prefers(asked: Extended, nodes: list[str]) -> bool:
    """Whether each node that nobody uses is rated well above all with a hog, as it is once they
    were measured for a whole span.
    """
    scores = await asked.scores(nodes)
    hogs, free = nodes[:HOGS], nodes[HOGS:]
    return min(scores[node] for node in free) >= max(scores[node] for node in hogs) + 5


async def test_pods_are_scheduled_while_it_is_killed_stopped_or_answers_rubbish(
    own: OwnControlPlane,
) -> None:
    world = own.real
    asked = await extended(own, "filter", "score")
    await world.add_nodes(4, cpu="16", memory="32Gi")
    async with asked.running() as ours:
        await world.create(pods_of(60))
        await world.wait("some are placed", lambda: _some(world, "burst", 5))
        ours.kill()
        await all_placed(world, "burst", 60)
        await ours.finish()
    async with asked.running() as ours, stopped(ours):
        await world.create(pods_of(3, "slow"))
        await all_placed(world, "slow", 3)
    async with rubbish(asked.port) as answered:
        await world.create(pods_of(10, "rubbish"))
        await all_placed(world, "rubbish", 10)
        assert len(answered) >= 10


async def _some(world: RealWorld, app: str, number: int) -> bool:
    return sum((await by_node(world, app)).values()) >= number


@asynccontextmanager
async def rubbish(port: int) -> AsyncIterator[list[str]]:
    answered: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        answered.append(request.path)
        bodies = ("{", '{"NodeNames": ["nobody"]}', '[{"Host": 1}]', '{"Error": "no"}', "")
        return web.Response(text=bodies[len(answered) % len(bodies)])

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield answered
    finally:
        await runner.cleanup()


async def test_bound_by_us_once_however_late_the_answer(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "filter", "score", "preBind", cpuThreshold=20)
    await world.add_nodes(3, cpu="16", memory="32Gi")
    await grant_binding(world)
    async with world.faults() as faults, asked.running() as ours:
        await world.create(pods_of(10, "first"))
        await all_placed(world, "first", 10)
        await asked.counts('extender_requests_total{result="ok",verb="preBind"}', 10)
        await assert_told_apart(asked, (await world.pods("first"))[0])
        # Bindings take effect, and nobody hears of it.
        lost = faults.on(Match(verb="create", resource="bindings"), drop_reply(), times=3)
        await world.create(pods_of(6, "late"))
        found = await all_placed(world, "late", 6)
        assert sum(found.values()) == 6
        await lost.wait_fired(times=3)
        await world.wait("all of them run", lambda: world.is_complete("late"))
        # Beyond its threshold: a pass comes long before its interval is over.
        await world.create(pods_of(3, "heavy", cpu="4"))
        await all_placed(world, "heavy", 3)
        await ours.says("pass ended", where=_is_preventive)


def _is_preventive(line: Object) -> bool:
    return "will be above its threshold" in line.get("early", "")


async def test_without_the_right_to_bind_the_scheduler_does(own: OwnControlPlane) -> None:
    world = own.real
    asked = await extended(own, "preBind", "score")
    await world.add_nodes(2, cpu="16", memory="32Gi")
    async with asked.running() as ours:
        await world.create(pods_of(3))
        await all_placed(world, "burst", 3)
        await asked.counts('extender_requests_total{result="error",verb="preBind"}', 3)
    assert 'cannot create resource \\"bindings\\"' in ours.told()


async def assert_told_apart(asked: Extended, bound: Object) -> None:
    """A binding that comes once more, and those that came too late."""
    uid, node = bound["metadata"]["uid"], bound["spec"]["nodeName"]
    other = next(each for each in asked.world.nodes if each != node)
    assert await asked.bind(bound, uid, node) == ""
    assert await asked.bind(bound, uid, other) == f"it is on {node} already"
    assert await asked.bind(bound, "another", node) == "there is another pod of that name by now"


async def grant_binding(world: RealWorld) -> None:
    await world.api.create(BINDING)
    subject = {
        "kind": "ServiceAccount",
        "name": "rescheduler-scheduler",
        "namespace": "kube-system",
    }
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    await world.api.create(
        {
            **{key: BINDING[key] for key in ("apiVersion",)},
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "rescheduler-binding"},
            "roleRef": {**reference, "name": "rescheduler-binding"},
            "subjects": [subject],
        }
    )


async def test_steers_where_the_api_server_does_not(own: OwnControlPlane) -> None:
    world = own.real
    await own.stop_steering()
    asked = await extended(own, "score")
    source, _, _, target = await world.add_nodes(4, cpu="8", memory="32Gi")
    made = workload("StatefulSet", "db", replicas=1, serviceName="db")
    await world.deploy(made, on=source)
    # The scheduler by itself would rather go elsewhere.
    await world.deploy(pods_of(6, "filler", cpu="1"), on=target)
    async with asked.running() as ours:
        original = (await world.pods("db"))[0]
        run = await as_admin(
            world, "migrate", original["metadata"]["name"], "--to", target, "-n", world.name
        )
        assert run.code == 0, (run, ours.told())
        await world.wait("it is on the target", lambda: _is_on(world, "db", target))
        await asked.counts('extender_steered_pods_total{result="steered"}')
        [record] = await world.api.list("PodMigration", world.name)
        assert "not steered" not in record["status"]["message"]
        assert "fallback" not in record["status"]


async def test_who_stands_by_answers_too(own: OwnControlPlane, tmp_path: Path) -> None:
    world = own.real
    nodes = await world.add_nodes(2, cpu="8", memory="32Gi")
    await world.deploy(pods_of(6, "filler", cpu="1"), on=nodes[0])
    async with contextlib.AsyncExitStack() as stack:
        for _ in ("leader", "follower"):
            port, metrics_port = free_port(), free_port()
            file = replica_file(world, tmp_path, port, metrics_port)
            asked = Extended(own, file, port, metrics_port)
            await stack.enter_async_context(asked.running())
            scores = await asked.scores(nodes)
            assert scores[nodes[0]] < scores[nodes[1]]
        told = await asked.says_ready()
    assert "standing by" in told


def replica_file(world: RealWorld, folder: Path, port: int, metrics_port: int) -> Path:
    document = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulerConfiguration",
        "scope": {"namespaces": [world.name]},
        "leaderElection": {"resourceNamespace": world.name},
        "enabledStrategies": [],
        "extender": {"port": port, "verbs": ["score"]},
        "serving": {"port": metrics_port, "bindAddress": "127.0.0.1"},
    }
    path = folder / f"replica-{port}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


async def _is_on(world: RealWorld, app: str, node: str) -> bool:
    pods = await world.pods(app)
    return [each["spec"].get("nodeName") for each in pods if is_ready(each)] == [node]
