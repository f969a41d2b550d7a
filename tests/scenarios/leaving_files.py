"""What a version of ours keeps beside migrations, written down for the versions after it: files of
its users, what it prints for machines, its resource definition, and what lies in a cluster as long
as it is installed.
"""

import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from rescheduler import config
from rescheduler.cli import app
from rescheduler.config import Guard
from rescheduler.controller.certificates import Keeper
from rescheduler.controller.guarding.webhook_configuration import WebhookConfiguration
from rescheduler.embedded import virtual_time
from rescheduler.embedded.kinds import KINDS
from rescheduler.kube import Object
from rescheduler.observe import files as snapshot_files
from testbed.builders import deployment
from tests.scenarios import left_behind
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import EmbeddedWorld, make_embedded_world
from tests.scenarios.left_behind import GUARD_SECRET, NAMESPACE
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.test_cleanup import webhook
from tests.unit.config import samples

ROOT = Path(__file__).parents[2]


def write(folder: Path) -> None:
    """Into the folder of a version, which has its migrations and plans already."""
    for definition in (left_behind.DEFINITION, left_behind.PLAN_DEFINITION):
        shutil.copy(ROOT / "src/rescheduler" / definition, folder / definition)
    _write_configurations(folder / left_behind.CONFIGURATIONS)
    with tempfile.TemporaryDirectory() as scratch, speaking_apart():
        objects = virtual_time.run(_installed(Path(scratch)))
        nodes = [each for each in objects if each["kind"] == "Node"]
        _write_documents(folder / left_behind.DOCUMENTS, nodes, Path(scratch))
    text = left_behind.without_its_host(json.dumps(objects, indent=1, sort_keys=True))
    (folder / left_behind.INSTALLED).write_text(text + "\n")


# ---------------------------------------------------------------------- files


def _write_configurations(folder: Path) -> None:
    """Every setting that it knows, in both kinds of file, and the file that it offers to start
    with; beside each, what it takes out of it.
    """
    folder.mkdir()
    texts = {
        "own": yaml.safe_dump(samples.COMPLETE_OWN),
        "kube-scheduler": yaml.safe_dump(samples.COMPLETE_STOCK),
        "starting": resources.files("rescheduler.config").joinpath("starting.yaml").read_text(),
    }
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
        values = dict(config.single_settings(config.load(path)))
        told = json.dumps(values, indent=1, sort_keys=True, default=str)
        path.with_suffix(".json").write_text(told + "\n")


def _write_documents(folder: Path, nodes: list[Object], scratch: Path) -> None:
    """Two snapshots: of a cluster in the middle of migrations, and of one with its plan."""
    folder.mkdir()
    cluster, scenario, listed = folder / "cluster.json", folder / "scenario.yaml", scratch / "all"
    scenes = left_behind.scenes(folder.parent.name, "group")
    items = [*nodes, *scenes[len(scenes) // 2].objects]
    listed.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    _printed("snapshot", "save", "-f", str(listed), str(folder / "migrating.json"))
    example = snapshot_files.load(str(ROOT / "docs/examples/uneven-cluster.json"))
    # As of a live cluster: only then a plan says of when it is, and can be applied.
    snapshot_files.save(str(cluster), example.snapshot, taken_at=left_behind.TAKEN_AT)
    (folder / "plan.json").write_text(_printed("plan", "-f", str(cluster), "-o", "json"))
    scenario.write_text(yaml.safe_dump(left_behind.SCENARIO))


def _printed(*arguments: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        app.app(list(arguments), standalone_mode=False)
    return out.getvalue()


# ---------------------------------------------------------------------- a cluster


async def _installed(folder: Path) -> list[Object]:
    """A Lease that somebody paused and a dead leader held, a node that is in maintenance with a pod
    that cannot leave, and what the guard keeps.
    """
    async with make_embedded_world(folder, NAMESPACE, seed=left_behind.SEED) as world:
        full, _ = await world.add_nodes(2)
        held = deployment("held", replicas=1)
        held["spec"]["template"]["metadata"]["labels"][left_behind.RESCHEDULING] = "disabled"
        await world.deploy(held, on=full)
        label = {"metadata": {"labels": {left_behind.MAINTENANCE: "true"}}}
        await world.api.patch("Node", None, full, label)
        settings: dict[str, Any] = {**left_behind.MAINTAINING, **election(world)}
        async with controller(world, **settings) as running:
            await running.says("pass ended", times=2)
            path = str(world.configuration(**settings))
            said = ("--reason", "why", "--by", left_behind.WHO_PAUSED)
            paused = await as_admin(world, "pause", "--config", path, *said)
            assert paused.code == 0, paused
        await _guard(world)
        return list(_kept_by_us(world))


async def _guard(world: EmbeddedWorld) -> None:
    metadata = {"name": GUARD_SECRET, "namespace": NAMESPACE}
    await world.api.create({"kind": "Secret", "metadata": metadata, "type": "Opaque"})
    await world.api.create(webhook("rescheduler-guard", NAMESPACE))
    asked = WebhookConfiguration(world.clock, Guard(enabled=True))
    async with world.connect_as_admin() as kube:
        await Keeper(world.clock, left_behind.kept(NAMESPACE, asked.trust)).look(kube)
        await asked.look(kube)


def _kept_by_us(world: EmbeddedWorld) -> Iterator[Object]:
    kinds = ("Lease", "Secret", "ValidatingWebhookConfiguration", "Node")
    for kind in KINDS:
        for each in world.cluster.store.all(kind.resource) if kind.name in kinds else ():
            metadata = dict(each["metadata"])
            if metadata.get("namespace", NAMESPACE) != NAMESPACE:
                continue
            del metadata["resourceVersion"]
            described = {"apiVersion": kind.resource.group_version, "kind": kind.name}
            # A key is a key, also of a test: of the Secret only what is in it under which name.
            emptied = {"data": dict.fromkeys(each["data"], "")} if "data" in each else {}
            yield {**each, **described, **emptied, "metadata": metadata}
