"""One migration that somebody has asked for, while the API server is in trouble; and its judge."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from testbed.api import Object
from testbed.audit import Audit
from testbed.builders import budget, deployment, service, workload
from testbed.faultproxy import (
    Fault,
    Faults,
    Match,
    conflict,
    drop_request,
    fail,
    internal_error,
    throttled,
)
from testbed.scenarios import Recording, Run
from testbed.scenarios import Scene as World
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_nothing_of_ours_is_left

SETTINGS: Mapping[str, Any] = {
    "enabledStrategies": [],
    "migration": {"readyTimeout": "10s", "budgetTimeout": "3s", "steerTimeout": "5s"},
}
PATIENT: Mapping[str, Any] = {
    "enabledStrategies": [],
    "migration": dict.fromkeys(("readyTimeout", "budgetTimeout", "steerTimeout"), "60s"),
}
MANY = 120
"""More requests of one kind than any of these migrations needs: so many are a loop without end."""
_REPLICAS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    deploy_web: Callable[[World, str], Awaitable[None]]
    asked: dict[str, Any] = field(default_factory=dict)
    requests: dict[str, Match]
    loses: int = 0
    """How many Ready pods the move itself costs for a while."""


async def _deployment(world: World, full: str) -> None:
    await world.create(service("web"), budget("web", maxUnavailable=0))
    await world.deploy(deployment("web", replicas=2), on=full)


async def _stateful_set(world: World, full: str) -> None:
    await world.create(service("web"))
    await world.deploy(workload("StatefulSet", "web", replicas=2, serviceName="web"), on=full)


_STATUS = Match(verb="patch", resource="podmigrations", subresource="status")
EVICTION = Match(verb="create", resource="pods", subresource="eviction")
_OF_BOTH = {
    "status": _STATUS,
    "patch": Match(verb="patch", resource="pods"),
    "eviction": EVICTION,
}
WAYS = {
    "surge": Way(
        deploy_web=_deployment,
        requests={**_OF_BOTH, "create": Match(verb="create", resource="pods", write=True)},
    ),
    "recreate": Way(
        deploy_web=_stateful_set,
        asked={"mayRecreate": True},
        requests={
            **_OF_BOTH,
            "label": Match(verb="patch", resource="podmigrations"),
            "probe": Match(verb="create", resource="pods"),
            "guard": Match(verb="create", resource="poddisruptionbudgets"),
            "unguard": Match(verb="delete", resource="poddisruptionbudgets"),
        },
        loses=1,
    ),
}
LASTING: Mapping[str, Callable[[], Fault]] = {
    "403": lambda: fail(403),
    "409": conflict,
    "422": lambda: fail(422),
    "429": throttled,
    "500": internal_error,
    "504": lambda: fail(504),
    "request-lost": drop_request,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    world: World
    way: Way
    auditor: Recording


@asynccontextmanager
async def migration(world: World, way: Way) -> AsyncIterator[Scene]:
    """One that somebody has asked for, and nobody has begun."""
    full, empty = await world.add_nodes(2)
    await way.deploy_web(world, full)
    pods = sorted(await world.pods("web"), key=lambda each: str(each["metadata"]["name"]))
    # The last one: a StatefulSet makes that one anew without waiting for others.
    await ask(world, pods[-1], empty, **way.asked)
    async with world.auditor() as auditor:
        yield Scene(world=world, way=way, auditor=auditor)


async def assert_it_ended(
    scene: Scene, run: Run, proxy: Faults, *, phases: tuple[str, ...] = ("Completed", "Failed")
) -> Object:
    world, way = scene.world, scene.way
    kind = "StatefulSet" if way.loses else "Deployment"
    await world.wait("web is complete", lambda: world.is_complete("web", kind))
    audit = await world.audit(scene.auditor)
    [record] = await world.records()
    status: Object = record["status"]
    assert status["phase"] in phases, story(run, status)
    moved = 1 if status["phase"] == "Completed" else 0
    assert (await world.nodes_of("web")).count(world.nodes[1]) == moved, story(run, status)
    await assert_nothing_of_ours_is_left(world)
    assert_nobody_was_harmed(audit, fewest=_REPLICAS - way.loses)
    asked = Counter((each.verb, each.resource, each.subresource) for each in proxy.requests)
    assert all(times < MANY for times in asked.values()), asked.most_common(3)
    return status


def assert_nobody_was_harmed(audit: Audit, *, fewest: int, changes: tuple[str, ...] = ()) -> None:
    """Never fewer Ready pods than this, and no user object changed but those of these kinds."""
    for fall in (*audit.replicas_missing(), *audit.endpoints_missing(), *audit.budgets_violated()):
        assert fall.had >= fewest, fall
    changed = [each for each in audit.changed_objects() if not each.startswith(changes)]
    # The temporary budget of ours comes and goes.
    assert [each for each in changed if "rescheduler-pdb" not in each] == []
    assert audit.touched_pods() == []
    assert [write for write in audit.writes() if not write.guarded] == []
    deleted = {write.name for write in audit.writes() if write.permission == "delete pods"}
    assert deleted <= set(audit.pods_made())


def story(run: Run, *more: object) -> str:
    """What it did, line by line, for whoever has to find out why."""
    why = ("because", "message", "problem", "summary")
    told = [[line["event"], *(line[key] for key in why if key in line)] for line in run.lines]
    return "\n".join(map(str, [*more, *told]))
