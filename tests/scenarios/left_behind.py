"""What released versions left in clusters and on disks, as `leaving_behind` has written it, and a
cluster in which it lies as if that version had died there.
"""

import asyncio
import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from rescheduler.certificates import Names
from rescheduler.controller.certificates import Kept
from rescheduler.embedded.kinds import KINDS
from testbed.api import Object
from testbed.etcd import Etcd
from tests.scenarios.embedded_world import EmbeddedWorld
from tests.scenarios.own_cluster import OwnCluster, OwnControlPlane, OwnEmbedded

LEFT: Final = Path(__file__).parents[1] / "left_behind"
"""A folder for each version."""
MIGRATIONS, PLANS = "migrations", "plans"
CONFIGURATIONS, DOCUMENTS = "configurations", "documents"
DEFINITION, PLAN_DEFINITION, INSTALLED = "crd.yaml", "plan-crd.yaml", "installed.json"
TAKEN_AT: Final = "2026-01-05T00:00:00Z"
"""The snapshot with its plan."""
SEED: Final = 20_260_105
"""Of its own: else a cluster that it is laid into would draw the same UIDs for what it makes."""
NAMESPACE: Final = "left-behind"
"""In which all of it was made, and of which the names of its nodes are."""
VERSIONS: Final = sorted((each.name for each in LEFT.iterdir()), key=Version)

WHO_PAUSED: Final = "ann"
GUARD_SECRET: Final = "rescheduler-guard-tls"  # noqa: S105 - a name
RESCHEDULING: Final = "scheduler.alpha.kubernetes.io/rescheduling"
MAINTENANCE: Final = "scheduler.alpha.kubernetes.io/maintenance"
MAINTAINING: Final = {"enabledStrategies": ["NodeMaintenance"], "reschedulingInterval": "1s"}
SCENARIO: Final = {
    "apiVersion": "rescheduler.io/v1alpha1",
    "kind": "LoadScenario",
    "loads": [
        {"names": ["shop/*"], "peak": "13h", "duration": "10h", "low": 35, "high": 160},
        {"share": 80, "peak": "3h", "duration": "5h", "low": 50, "high": 220, "scatter": "1h30m"},
    ],
    "surges": [{"at": "14h", "duration": "1h", "factor": 3, "share": 8}],
    "growth": 20,
    "rollouts": 12,
    "scalings": 12,
    "maintenances": [{"at": "10h", "duration": "3h"}],
    "failures": [{"at": "16h", "duration": "30m", "node": "worker-1"}],
    "drains": [{"at": "9h", "duration": "15m"}],
}
"""Every field of one."""

_TIME: Final = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)"')
_IN_NAMES: Final = re.compile(r"-(\d{8}t\d{6})z")
"""The time that stands in the names of copies of pods that nobody controls."""
_NAME_FORMAT: Final = "%Y%m%dt%H%M%S"
_RESOURCES: Final = {kind.name: kind.resource for kind in KINDS}
_BY_THE_API: Final = ("Service",)
"""Whose addresses the API server allots; nobody goes by their UIDs."""
_LEADER: Final = re.compile(r"_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
"""How whoever leads differs from run to run; all else is decided by the seed."""
_REGISTRY: Final = {
    "PodMigration": "rescheduler.io/podmigrations",
    "ReschedulePlan": "rescheduler.io/rescheduleplans",
}
"""Where the API server keeps a kind, where it does not call it by its plural."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything in a namespace after a write of ours."""

    way: str
    """Of moving a pod; of plans the name of their story."""
    number: int
    """Of the write; 0: before the first."""
    write: str
    steps: dict[str, str]
    """Of each migration, by its name; empty: nobody has begun it."""
    at: datetime
    objects: list[Object]

    def as_of(self, now: datetime, namespace: str) -> list[Object]:
        """The same, if it had been made at that time, in that namespace."""
        later = now.replace(microsecond=0) - self.at

        def shifted(found: re.Match[str]) -> str:
            time = datetime.fromisoformat(found[1]) + later
            return f'"{time:%Y-%m-%dT%H:%M:%S}{found[2] or ""}{found[3]}"'

        def renamed(found: re.Match[str]) -> str:
            time = datetime.strptime(found[1], _NAME_FORMAT).replace(tzinfo=UTC) + later
            return f"-{time.strftime(_NAME_FORMAT)}z"

        text = json.dumps(self.objects).replace(NAMESPACE, namespace)
        moved: list[Object] = json.loads(_IN_NAMES.sub(renamed, _TIME.sub(shifted, text)))
        return moved


def without_its_host(text: str) -> str:
    """Who leads is named by the host that it runs on: let it be a pod of the manifests."""
    return text.replace(f'"{socket.gethostname()}_', '"rescheduler-scheduler-7d4b9c6f5-x2v8k_')


@cache
def scenes(version: str, way: str, kept: str = MIGRATIONS) -> list[Scene]:
    document: dict[str, Any] = json.loads((LEFT / version / kept / f"{way}.json").read_text())
    objects = document["objects"]
    return [
        Scene(
            way=way,
            number=number,
            write=each["write"],
            steps=each["steps"],
            at=datetime.fromisoformat(each["at"]),
            objects=[objects[index] for index in each["objects"]],
        )
        for number, each in enumerate(document["scenes"])
    ]


def ways(version: str) -> list[str]:
    return sorted(path.stem for path in (LEFT / version / MIGRATIONS).iterdir())


def is_news(version: str, way: str, kept: str = MIGRATIONS) -> bool:
    """Whether no version before it left just that: what begins alike ends alike."""
    paths = [LEFT / each / kept / f"{way}.json" for each in VERSIONS[: VERSIONS.index(version) + 1]]
    *before, this = (_LEADER.sub("", each.read_text()) for each in paths if each.exists())
    return this not in before


def stories(version: str) -> list[str]:
    return sorted(path.stem for path in (LEFT / version / PLANS).iterdir())


def installed(version: str, namespace: str) -> list[Object]:
    """What lay in a cluster beside migrations, if it had been made in that namespace."""
    text = (LEFT / version / INSTALLED).read_text().replace(NAMESPACE, namespace)
    objects: list[Object] = json.loads(text)
    for each in objects:
        del each["metadata"]["uid"]
    return objects


async def lay(own: OwnCluster, scene: Scene, *, ago: timedelta = timedelta(0)) -> None:
    """Puts the scene into a cluster of ours, UIDs and all; since then so much time has passed."""
    world = own.world
    await world.add_nodes(2)
    objects = scene.as_of(world.clock.now().astimezone(UTC) - ago, world.name)
    match own:
        case OwnEmbedded(embedded):
            _into_the_store(embedded, objects)
        case OwnControlPlane():
            await _into_etcd(own, objects)


def _into_the_store(world: EmbeddedWorld, objects: list[Object]) -> None:
    for each in objects:
        world.cluster.store.put(_RESOURCES[each["kind"]], each)


async def _into_etcd(own: OwnControlPlane, objects: list[Object]) -> None:
    """While nobody makes pods for a workload whose pods are yet to come. The API server reads
    stored JSON of any kind.
    """
    owned, world = own.owned, own.real
    await own.stop_controllers()
    async with Etcd(owned.instance.urls["etcd"]) as etcd:
        for each in objects:
            if each["kind"] in _BY_THE_API:
                await world.api.create(_without_its_address(each))
                continue
            kind = each["kind"]
            shelf = _REGISTRY.get(kind) or _RESOURCES[kind].plural
            key = f"/registry/{shelf}/{world.name}/{each['metadata']['name']}"
            await etcd.put({key: json.dumps(each).encode()})
    await asyncio.to_thread(owned.start, "kube-controller-manager")


def _without_its_address(service: Object) -> Object:
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: value for key, value in service["metadata"].items() if key in kept}
    allotted = ("clusterIP", "clusterIPs")
    spec = {key: value for key, value in service["spec"].items() if key not in allotted}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def kept(namespace: str, trusted: Callable[[bytes], None]) -> Kept:
    """The Secret of the guard, as its keeper is told about it."""
    return Kept(
        namespace=namespace,
        secret=GUARD_SECRET,
        brought_by="manifests/components/guard",
        names=Names.of_service("rescheduler-guard", namespace),
        show=lambda *_: None,
        trusted=trusted,
    )
