"""Many moves at once, while the API server stumbles at random: still nobody notices."""

import asyncio
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from testbed.api import Object
from testbed.audit import Audit, Observation
from testbed.builders import behaviour, budget, deployment, pod_spec, service
from testbed.faultproxy import (
    Fault,
    Faults,
    Match,
    Request,
    arrive_late,
    conflict,
    cut_after,
    delay,
    drop_reply,
    drop_request,
    internal_error,
    throttled,
    unavailable,
)
from testbed.scenarios import Run
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.world import World

MIGRATIONS = int(os.environ.get("MANY_MIGRATIONS", "40"))
AT_ONCE = 10
PATIENCE_SECONDS = 120 + 15.0 * MIGRATIONS
"""For a run that hangs; no measurement."""

MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"
START_UPS = ("300ms", "500ms", "1s", "2s")
FINAL = ("Completed", "Failed")

# Of a hundred requests, how many meet it.
ANY: Mapping[Fault, float] = {delay(0.05): 20, delay(0.3): 10, delay(1.0): 3}
WATCHES: Mapping[Fault, float] = {unavailable(): 5, cut_after(30): 30}
READS: Mapping[Fault, float] = {internal_error(): 1, unavailable(): 1, drop_reply(): 1}
PATCHES: Mapping[Fault, float] = {conflict(): 3}
WRITES: Mapping[Fault, float] = {
    internal_error(): 2,
    unavailable(): 2,
    throttled(): 1,
    drop_request(): 2,
    drop_reply(): 3,
    arrive_late(0.5): 1,
}

SETTINGS = {
    "enabledStrategies": ["NodeMaintenance"],
    "reschedulingInterval": "2s",
    "maxReschedulePods": 0,
    "inFlight": {"perNode": 0, "perNamespace": 0, "perWorkload": AT_ONCE},
    "migration": {
        "workers": AT_ONCE,
        "retry": {"attempts": 10, "backOff": "1s"},
        "linger": "2s",  # of 40 moves, ten at once, twelve each would be minutes
    },
}


@pytest.mark.timeout(60 + PATIENCE_SECONDS)
async def test_many_moves_under_random_faults_and_nobody_notices(world: World) -> None:
    seed = int(os.environ.get("MANY_SEED", str(time.monotonic_ns() % 1_000_000)))
    tell(f"seed {seed} (MANY_SEED), {MIGRATIONS} migrations (MANY_MIGRATIONS)")
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not secret
    wanted = replicas_by_workload(chance)
    source = await deploy_many(world, wanted, chance)
    async with world.auditor() as auditor, world.faults() as proxy:
        stumble(proxy, chance)
        async with controller(world) as ended:
            change = {"metadata": {"labels": {MAINTENANCE: "true"}}}
            await world.api.patch("Node", None, source, change)
            most = await until_emptied(world, source, ended)
            proxy.clear()
        audit = await world.audit(auditor)
    struck = Counter(fault for request in proxy.requests for fault in request.outcome.faults)
    tell(f"of {len(proxy.requests)} requests met by a fault: {dict(struck.most_common())}")
    records = await world.records()
    told = Counter((each["status"]["phase"], each["status"].get("reason", "")) for each in records)
    tell(f"records: {dict(told)}; the most under way at once: {most}")
    assert most > 1
    assert sum(struck.values()) > MIGRATIONS
    assert sum(count for (phase, _), count in told.items() if phase == "Completed") == MIGRATIONS
    # What is more was a copy that was taken back.
    assert len(set(audit.pods_made()) - set(audit.pods_removed())) == MIGRATIONS
    assert [write for write in audit.writes() if not write.guarded] == []
    judged = by_workload(audit)
    assert set(judged) >= set(wanted)
    for app, replicas in wanted.items():
        assert_nobody_noticed(judged[app])
        nodes = await world.nodes_of(app)
        assert len(nodes) == len(await world.pods(app)) == replicas
        assert source not in nodes


async def test_the_judge_of_one_workload_sees_what_becomes_of_it(world: World) -> None:
    wanted = {"app-0": 2, "app-1": 1}
    await deploy_many(world, wanted, random.Random(1))  # noqa: S311 - to be repeated
    [only] = await world.pods("app-1")
    async with world.auditor() as auditor:
        await world.delete_pod(only["metadata"]["name"])
        await world.wait("app-1 is complete", lambda: world.is_complete("app-1"))
        judged = by_workload(await world.audit(auditor))
    assert set(judged) == set(wanted)
    assert_nobody_noticed(judged["app-0"])
    hurt = judged["app-1"]
    assert {each.what for each in hurt.replicas_missing()} == {"Deployment app-1"}
    assert {each.what for each in hurt.endpoints_missing()} == {"Service app-1"}
    assert {each.what for each in hurt.budgets_violated()} == {"PodDisruptionBudget app-1"}
    assert (len(hurt.pods_made()), len(hurt.pods_removed())) == (1, 1)


def tell(text: str) -> None:
    """Shown when the test fails, or with -s."""
    print(text)  # noqa: T201


def replicas_by_workload(chance: random.Random) -> dict[str, int]:
    found: dict[str, int] = {}
    while left := MIGRATIONS - sum(found.values()):
        found[f"app-{len(found)}"] = min(left, chance.randint(1, 6))
    return found


async def deploy_many(world: World, wanted: Mapping[str, int], chance: random.Random) -> str:
    """All on one node, behind Services, under budgets by which no pod may be evicted."""
    source, *_ = await world.add_nodes(5, cpu="64", memory="256Gi", pods="1000")
    await world.create(*map(service, wanted))
    await world.create(*(budget(name, maxUnavailable=0) for name in wanted))
    small = pod_spec(cpu="50m", memory="64Mi")
    await world.deploy(
        *(
            deployment(
                name,
                replicas=replicas,
                spec=dict(small),
                annotations=behaviour(ready_after=chance.choice(START_UPS)),
            )
            for name, replicas in wanted.items()
        ),
        on=source,
    )
    return source


def stumble(proxy: Faults, chance: random.Random) -> None:
    def some(share: float, match: Match) -> Match:
        def is_hit(request: Request) -> bool:
            is_fit = match.predicate is None or match.predicate(request)
            return is_fit and chance.uniform(0, 100) < share

        return replace(match, predicate=is_hit)

    reads = Match(write=False, predicate=lambda request: request.verb != "watch")
    kinds = (
        (Match(), ANY),
        (Match(verb="watch"), WATCHES),
        (reads, READS),
        (Match(verb="patch", write=True), PATCHES),
        (Match(write=True), WRITES),
    )
    for match, faults in kinds:
        for fault, share in faults.items():
            proxy.on(some(share, match), fault)


@asynccontextmanager
async def controller(world: World) -> AsyncIterator["asyncio.Task[Run]"]:
    config = str(world.configuration(**SETTINGS))
    process = await world.start_command("run", "--config", config)
    # From the beginning on, for a process whose log nobody reads stands still after a while.
    ended = asyncio.create_task(process.finish(within=PATIENCE_SECONDS + 60))
    try:
        yield ended
    finally:
        if not ended.done():
            process.send_signal(signal.SIGTERM)
        run = await ended
    assert run.code == 0, run


async def until_emptied(world: World, source: str, ended: "asyncio.Task[Run]") -> int:
    """The node has no pod any more, and no migration is under way. The most that were at once."""
    most = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            pods = await world.api.list("Pod", world.name)
            phases = [(each.get("status") or {}).get("phase") for each in await world.records()]
            most = max(most, phases.count("InProgress"))
            is_empty = all(pod["spec"].get("nodeName") != source for pod in pods)
            if is_empty and all(phase in FINAL for phase in phases):
                return most
            assert not ended.done(), await ended
            await asyncio.sleep(0.5)


def by_workload(audit: Audit) -> dict[str, Audit]:
    """One audit each. They have nothing in common, and judging all at once takes many times as
    long: each change of one would be held against the pods of all.
    """
    apps = {seen.uid: app_of(seen.object) for seen in audit.history if seen.object is not None}
    histories: dict[str, list[Observation]] = defaultdict(list)
    pods: dict[str, str] = {}
    for seen in audit.history:
        app = apps[seen.uid]
        histories[app].append(seen)
        if seen.kind == "Pod" and seen.object is not None:
            pods[seen.object["metadata"]["name"]] = app
    return {
        app: replace(
            audit,
            history=tuple(history),
            requests=tuple(each for each in audit.requests if pods.get(each.name) == app),
        )
        for app, history in histories.items()
    }


def app_of(item: Object) -> str:
    labels = item["metadata"].get("labels") or {}
    of_service = labels.get("kubernetes.io/service-name")
    return str(labels.get("app") or of_service or item["metadata"]["name"])
