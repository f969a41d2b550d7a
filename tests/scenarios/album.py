"""Pictures of all that is in a namespace of the embedded cluster, one after each write of ours:
what a process leaves that dies there.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rescheduler.embedded.client import Call
from rescheduler.embedded.kinds import KINDS
from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from testbed.faultproxy.request import NOTES
from tests.scenarios import left_behind
from tests.scenarios.embedded_faults import EmbeddedFaults, GoOn
from tests.scenarios.embedded_world import EmbeddedWorld
from tests.scenarios.left_behind import NAMESPACE

_MADE_ANEW: Final = ("Namespace", "ServiceAccount", "ConfigMap", "EndpointSlice", "Event")
"""By the cluster itself; of no use to whoever reads them later."""


class Album(EmbeddedFaults):
    """No fault at all: a picture of everything after each write that was not refused."""

    def __init__(self, world: EmbeddedWorld, without: Collection[str]) -> None:
        """`without`: resources of whose writes none is taken."""
        super().__init__()
        self._world, self._without = world, without
        self._known: dict[str, int] = {}
        self._scenes: list[Object] = []

    def take(self, write: str) -> None:
        objects = list(_everything(self._world.cluster.store))
        steps = {
            each["metadata"]["name"]: (each.get("status") or {}).get("step", "")
            for each in objects
            if each["kind"] == "PodMigration"
        }
        numbers = [self._known.setdefault(_text(each), len(self._known)) for each in objects]
        at = f"{self._world.clock.now():%Y-%m-%dT%H:%M:%SZ}"
        self._scenes.append({"write": write, "at": at, "steps": steps, "objects": numbers})

    async def around(self, call: Call, go_on: GoOn) -> Any:  # noqa: ANN401 - as the call answers
        async def seen() -> Any:  # noqa: ANN401 - the same
            answer = await go_on()
            if call.write and call.resource not in self._without:
                self.take("/".join(filter(None, (call.verb, call.resource, call.subresource))))
            return answer

        return await super().around(call, seen)

    def write(self, path: Path) -> None:
        objects = ",\n".join(self._known)
        scenes = ",\n".join(map(_text, self._scenes))
        path.write_text(f'{{"objects":[\n{objects}\n],"scenes":[\n{scenes}\n]}}\n')
        print(f"{path}: {len(self._scenes)} scenes, {len(self._known)} objects")  # noqa: T201


@contextmanager
def pictures_of(world: EmbeddedWorld, *, without: Collection[str] = NOTES) -> Iterator[Album]:
    """As long as the block lasts; the first of before any write."""
    world.planted = album = Album(world, without)
    album.take("")
    try:
        yield album
    finally:
        world.planted = None


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
