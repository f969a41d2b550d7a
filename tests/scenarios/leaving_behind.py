"""Writes what a version of ours leaves in clusters and on disks, for the versions after it to read:
`make upgrade-data`, when that version is released, and never again. `left_behind` reads it.

Migrations are made by the code of today, in every way of moving a pod, on the embedded cluster; all
objects are written down after each of its writes. A process that dies there leaves just that.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import rescheduler
from rescheduler.embedded import virtual_time
from rescheduler.embedded.client import Call
from rescheduler.embedded.kinds import KINDS
from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from testbed.faultproxy.request import NOTES
from tests.scenarios import leaving_files, left_behind
from tests.scenarios.embedded_faults import EmbeddedFaults, GoOn
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import make_embedded_world
from tests.scenarios.every_way import SETTINGS, WAYS, Way, set_stage_for
from tests.scenarios.left_behind import NAMESPACE

_MADE_ANEW: Final = ("Namespace", "ServiceAccount", "ConfigMap", "EndpointSlice", "Event")
"""By the cluster itself; of no use to whoever reads them later."""


class _Album(EmbeddedFaults):
    """No fault at all: a picture of everything after each write that was not refused."""

    def __init__(self, store: Store, now: Any) -> None:  # noqa: ANN401 - a clock's
        super().__init__()
        self._store, self._now = store, now
        self._known: dict[str, int] = {}
        self.scenes: list[Object] = []

    @property
    def objects(self) -> list[Object]:
        return [json.loads(each) for each in self._known]

    def take(self, write: str) -> None:
        objects = list(_everything(self._store))
        steps = {
            each["metadata"]["name"]: (each.get("status") or {}).get("step", "")
            for each in objects
            if each["kind"] == "PodMigration"
        }
        numbers = [self._known.setdefault(_text(each), len(self._known)) for each in objects]
        at = f"{self._now():%Y-%m-%dT%H:%M:%SZ}"
        self.scenes.append({"write": write, "at": at, "steps": steps, "objects": numbers})

    async def around(self, call: Call, go_on: GoOn) -> Any:  # noqa: ANN401 - as the call answers
        async def seen() -> Any:  # noqa: ANN401 - the same
            answer = await go_on()
            if call.write and call.resource not in NOTES:
                self.take("/".join(filter(None, (call.verb, call.resource, call.subresource))))
            return answer

        return await super().around(call, seen)


def _everything(store: Store) -> Iterable[Object]:
    """In the namespace of the scene. Owners first."""
    for kind in KINDS:
        if not kind.namespaced or kind.name in _MADE_ANEW:
            continue
        for each in sorted(
            store.all(kind.resource, NAMESPACE), key=lambda item: str(item["metadata"]["name"])
        ):
            metadata = {
                key: value for key, value in each["metadata"].items() if key != "resourceVersion"
            }
            described = {"apiVersion": kind.resource.group_version, "kind": kind.name}
            yield {**each, **described, "metadata": metadata}


def _text(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return left_behind.without_its_host(text)


async def _left_by(way: Way, folder: Path) -> tuple[int, _Album]:
    async with make_embedded_world(folder, NAMESPACE, seed=left_behind.SEED) as world:
        await set_stage_for(world, way)
        album = _Album(world.cluster.store, world.clock.now)
        world.planted = album
        album.take("")
        run = await world.run(**SETTINGS)
        await album.end()
        return run.code, album


def _write_way(name: str, way: Way, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, speaking_apart():
        code, album = virtual_time.run(_left_by(way, Path(scratch)))
    if code != way.code:
        sys.exit(f"{name} ended with {code}, not {way.code}: nothing is written for it")
    objects = ",\n".join(_text(each) for each in album.objects)
    scenes = ",\n".join(_text(each) for each in album.scenes)
    text = f'{{"objects":[\n{objects}\n],"scenes":[\n{scenes}\n]}}\n'
    path = folder / f"{name}.json"
    path.write_text(text)
    print(f"{path}: {len(album.scenes)} scenes, {len(album.objects)} objects")  # noqa: T201


def main() -> None:
    # Of no other version: the code of today does not write what an earlier one wrote.
    version = rescheduler.__version__.partition(".dev")[0]
    folder = left_behind.LEFT / version
    shutil.rmtree(folder, ignore_errors=True)
    (folder / left_behind.MIGRATIONS).mkdir(parents=True)
    for name, way in WAYS.items():
        _write_way(name, way, folder / left_behind.MIGRATIONS)
    leaving_files.write(folder)


if __name__ == "__main__":
    main()
