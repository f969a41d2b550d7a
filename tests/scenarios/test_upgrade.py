"""What every released version has left in a cluster, today's code finishes or undoes: migrations in
each step of each way, taken up at once, or when their time has long run out.

All of them run on the embedded cluster; of a real one each case needs its own, so few are drawn.
"""

from datetime import timedelta
from functools import partial

import pytest

from rescheduler.controller.certificates import Keeper
from rescheduler.model.podmigration import Step
from testbed.api import Object
from testbed.audit import Audit
from tests.scenarios import left_behind
from tests.scenarios.drawing import drawn
from tests.scenarios.every_way import SETTINGS, WAYS, Way
from tests.scenarios.judging import assert_nothing_of_ours_is_left
from tests.scenarios.left_behind import Scene
from tests.scenarios.looping import as_admin, cleanup, controller, election
from tests.scenarios.own_cluster import OwnCluster, OwnEmbedded
from tests.scenarios.pausing import SAYS_PAUSED
from tests.scenarios.test_crash_matrix import is_complete
from tests.scenarios.world import World

# On a busy machine a control plane takes its time, too, and what is to complete shall.
UNHURRIED = {**SETTINGS, "migration": {"readyTimeout": "2m", "retry": {"attempts": 1}}}
AGO = {"at-once": timedelta(0), "an-hour-later": timedelta(hours=1)}
CASES = [
    pytest.param(scene, how, id=f"{version}-{way}-{scene.number}-{how}")
    for version in left_behind.VERSIONS
    for way in left_behind.ways(version)
    if left_behind.is_news(version, way)
    for scene in left_behind.scenes(version, way)
    for how in (*AGO, "cleanup")
]


@pytest.mark.parametrize("version", left_behind.VERSIONS)
def test_there_is_one_of_each_step(version: str) -> None:
    known = [each for way in left_behind.ways(version) for each in left_behind.scenes(version, way)]
    steps = {step for scene in known for step in scene.steps.values()}
    assert steps == {"", *Step}


@pytest.mark.parametrize(("scene", "how"), drawn(CASES, matrix="UPGRADE", share=1 / 100))
async def test_what_it_left_is_brought_to_its_end(own: OwnCluster, scene: Scene, how: str) -> None:
    way, world = WAYS[scene.way], own.world
    await left_behind.lay(own, scene, ago=AGO.get(how, timedelta(0)))
    if way.afflicted:
        await world.afflict_copies(**way.afflicted)
    async with world.auditor() as auditor:
        if how == "cleanup":
            code = (await cleanup(world, **SETTINGS)).code
        else:
            settings = UNHURRIED if way.ends == "Completed" else SETTINGS
            code = (await world.run(**settings)).code
        for app in way.apps:
            await world.wait(f"{app} is complete", partial(is_complete, world, app))
        audit = await world.audit(auditor)
    # On a real one too much differs: a copy that the embedded API server has completed is not what
    # this one makes of its siblings, and is taken back.
    if how == "at-once" and isinstance(own, OwnEmbedded):
        ended = [record["status"] for record in await world.records()]
        assert [each["phase"] for each in ended] == [way.ends] * len(way.apps), ended
        assert code in (0, way.code)
    await _assert_it_ended_well(world, scene, way, audit)


async def _assert_it_ended_well(world: World, scene: Scene, way: Way, audit: Audit) -> None:
    """Completed or as if it had never been; whatever it is, nothing is left over."""
    for app in way.apps:
        assert len(await world.nodes_of(app)) == _replicas(scene, app)
    for record in await world.records():
        app = next(each for each in way.apps if record["spec"]["pod"]["name"].startswith(each))
        moved = record["status"]["phase"] == "Completed"
        assert (await world.nodes_of(app)).count(world.nodes[1]) == moved, record
    await assert_nothing_of_ours_is_left(world)
    assert [write for write in audit.writes() if not write.guarded] == []
    changed = [each for each in audit.changed_objects() if "-rescheduler-pdb" not in each]
    assert changed == []
    if not way.is_noticed:
        assert audit.replicas_missing() == []
        assert audit.budgets_violated() == []


def _replicas(scene: Scene, app: str) -> int:
    workloads = ("Deployment", "ReplicaSet", "StatefulSet")
    wanted = [
        each["spec"]["replicas"]
        for each in scene.objects
        if each["metadata"]["name"] == app and each["kind"] in workloads
    ]
    return int(wanted[0]) if wanted else 1


# ---------------------------------------------------------------------- what is no migration


@pytest.mark.parametrize("version", left_behind.VERSIONS)
async def test_a_pause_a_maintenance_and_a_guard_are_taken_over(
    own: OwnCluster, version: str
) -> None:
    world = own.world
    await world.add_nodes(2)
    installed = left_behind.installed(version, world.name)
    for each in installed:
        await _put(world, each)
    [lease] = [each for each in installed if each["kind"] == "Lease"]
    node = world.nodes[0]
    settings = {**left_behind.MAINTAINING, **election(world)}
    path = str(world.configuration(**settings))
    told = (await as_admin(world, "status", "--config", path)).out
    assert "paused" in told
    assert "why" in told
    assert left_behind.WHO_PAUSED in told
    async with controller(world, **settings) as running:
        await running.says(SAYS_PAUSED)
        held = (await world.api.get("Lease", world.name, "rescheduler"))["spec"]
        assert held["holderIdentity"] != lease["spec"]["holderIdentity"]
        assert held["leaseTransitions"] > lease["spec"]["leaseTransitions"]
        assert (await as_admin(world, "resume", "--config", path)).code == 0
        label = {"metadata": {"labels": {left_behind.MAINTENANCE: None}}}
        await world.api.patch("Node", None, node, label)
        await world.wait("it is given back", lambda: _is_given_back(world, node))
    assert (await cleanup(world, "--all", **settings)).code == 0
    for kind, namespace, name in (
        ("ValidatingWebhookConfiguration", None, "rescheduler-guard"),
        ("Lease", world.name, "rescheduler"),
    ):
        assert await world.api.find(kind, namespace, name) is None


@pytest.mark.parametrize("version", left_behind.VERSIONS)
async def test_the_secret_of_a_port_is_laid_out_as_it_was(own: OwnCluster, version: str) -> None:
    """What an older replica wrote, a newer one reads, and the other way round during an upgrade."""
    world, trusted = own.world, list[bytes]()
    [then] = [
        each for each in left_behind.installed(version, world.name) if each["kind"] == "Secret"
    ]
    await world.api.create({**then, "data": {}})
    async with world.connect_as_admin() as kube:
        await Keeper(world.clock, left_behind.kept(world.name, trusted.append)).look(kube)
        made = await world.api.get("Secret", world.name, left_behind.GUARD_SECRET)
        await Keeper(world.clock, left_behind.kept(world.name, trusted.append)).look(kube)
    read = await world.api.get("Secret", world.name, left_behind.GUARD_SECRET)
    assert set(made["data"]) == set(then["data"])
    assert (read["data"], len(trusted), len(set(trusted))) == (made["data"], 2, 1)


async def _put(world: World, item: Object) -> None:
    kind, metadata = item["kind"], item["metadata"]
    if kind == "Node":
        kept = {key: metadata.get(key) or {} for key in ("labels", "annotations")}
        cordoned = {"unschedulable": item["spec"].get("unschedulable")}
        await world.api.patch("Node", None, metadata["name"], {"metadata": kept, "spec": cordoned})
    elif kind != "Secret":
        await world.api.create(item)


async def _is_given_back(world: World, node: str) -> bool:
    found = await world.api.get("Node", None, node)
    notes = [key for key in found["metadata"].get("annotations") or () if "rescheduler.io/" in key]
    ours = [key for key in notes if not key.startswith("testbed.")]
    return not found["spec"].get("unschedulable") and not ours
