"""Moves of pods that have to end before their successors begin, as the Migrator does them."""

from dataclasses import dataclass, replace
from typing import Any

from rescheduler.config import Configuration, Migration, Scope
from rescheduler.migrate import migrating
from rescheduler.migrate.queue.figures import Figures
from testbed.api import Object
from testbed.audit import Audit
from testbed.builders import pod_spec, workload
from tests.scenarios.asking import ask
from tests.scenarios.world import World

HISTORY = "scheduler.alpha.kubernetes.io/"
TEMPORARY = "web-rescheduler-pdb"
PATIENT = Migration(ready_timeout_seconds=30.0)


def stateful_set(replicas: int) -> Object:
    return workload("StatefulSet", "web", replicas=replicas, serviceName="web")


def recreated(replicas: int, spec: Object | None = None) -> Object:
    strategy = {"type": "Recreate"}
    return workload("Deployment", "web", replicas=replicas, strategy=strategy, spec=spec)


async def source_and_target(world: World, *, target_cpu: str = "4") -> tuple[str, str]:
    """Two nodes, the second so large or small."""
    [source] = await world.add_nodes(1)
    [target] = await world.add_nodes(1, cpu=target_cpu)
    return source, target


async def load(world: World, node: str) -> None:
    """So that the scheduler would rather take another one."""
    ballast = workload("Deployment", "ballast", replicas=1, spec=pod_spec(cpu="2500m"))
    await world.deploy(ballast, on=node)


def settings(world: World, migration: Migration) -> Configuration:
    scope = Scope(namespaces=(world.name,))
    return replace(Configuration(), scope=scope, migration=migration)


@dataclass(frozen=True)
class Moved:
    record: Object
    figures: Figures
    audit: Audit

    @property
    def status(self) -> Object:
        found: Object = self.record["status"]
        return found

    @property
    def verdict(self) -> tuple[str, str]:
        return self.status["phase"], self.status["reason"]

    def budgets(self) -> list[list[str]]:
        """The names of the budgets that there were, one entry for each time that they changed."""
        alive: dict[str, str] = {}
        found: list[list[str]] = []
        for seen in self.audit.history:
            if seen.kind != "PodDisruptionBudget":
                continue
            if seen.object is None:
                alive.pop(seen.uid, None)
            else:
                alive[seen.uid] = seen.object["metadata"]["name"]
            now = sorted(alive.values())
            if not found or found[-1] != now:
                found.append(now)
        return found


async def move(
    world: World,
    pod: Object,
    target: str,
    migration: Migration = PATIENT,
    **spec: Any,  # noqa: ANN401 - of the record
) -> Moved:
    async with world.auditor() as auditor:
        asked = await ask(world, pod, target, **{"mayRecreate": True, **spec})
        figures = await carry_out(world, migration)
        audit = await world.audit(auditor)
    name = asked["metadata"]["name"]
    record = await world.api.get("PodMigration", world.name, name)
    return Moved(record, figures, audit)


async def carry_out(world: World, migration: Migration) -> Figures:
    """All that was asked for, to its end."""
    async with (
        world.connect() as kube,
        migrating(kube, world.clock, settings(world, migration), holder="a test") as migrator,
    ):
        await migrator.synced()
        await migrator.idle()
        return migrator.figures


async def pod_named(world: World, name: str) -> Object:
    return await world.api.get("Pod", world.name, name)


def history_of(pod: Object) -> dict[str, str]:
    metadata = pod["metadata"]
    marks = {**metadata["labels"], **(metadata.get("annotations") or {})}
    prefix = len(HISTORY)
    return {key[prefix:]: value for key, value in marks.items() if key.startswith(HISTORY)}
