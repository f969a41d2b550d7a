"""What `rescheduler run` answers to probes and to Prometheus, on both clusters."""

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families

from testbed.faultproxy import Match, cut_after, fail, hold
from testbed.processes import WAIT_SECONDS
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.own_cluster import OwnCluster
from tests.scenarios.pausing import pause_by_hand, resume_by_hand
from tests.scenarios.steered import pod_named, source_and_target, stateful_set
from tests.scenarios.test_events import events, told
from tests.scenarios.test_reloading import rewrite
from tests.scenarios.world import World
from tests.unit.serve.asking import Answer, get


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Replica:
    """As whoever probes and scrapes it sees it: over real sockets, whatever time it runs on."""

    world: World
    port: int

    @property
    def settings(self) -> dict[str, object]:
        return {"bindAddress": "127.0.0.1", "port": self.port}

    async def get(self, path: str) -> Answer:
        return await asyncio.to_thread(get, self.port, path)

    async def metrics(self) -> dict[str, float]:
        """By name and labels, as `name{a="b"}`."""
        text = (await self.get("/metrics")).text
        return {
            _name(sample.name, sample.labels): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def shows(self, what: str, condition: Callable[[dict[str, float]], bool]) -> None:
        async def is_so() -> bool:
            return condition(await self.metrics())

        await self.world.wait(what, is_so)

    async def becomes_ready(self, *, status: int = 200) -> None:
        async def is_so() -> bool:
            return (await self.get("/readyz")).status == status

        await self.world.wait(f"/readyz answers {status}", is_so, seconds=2 * WAIT_SECONDS)


def _name(name: str, labels: dict[str, str]) -> str:
    told = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{told}}}" if told else name


async def test_a_move_is_counted_and_timed(world: World) -> None:
    await deploy_web(world, 2)
    replica = Replica(world, free_port())
    async with world.auditor() as auditor:
        async with controller(
            world, reschedulingInterval="2s", serving=replica.settings
        ) as running:
            await running.says("pass ended", where=lambda line: line["moved"] > 0)
            await replica.becomes_ready()
            moved = 'rescheduler_moves_total{reason="Completed",result="completed",'
            moved += 'strategy="LoadBalancing",way="Surge"}'
            # Both pods of the web, after which the nodes are even: none is under way at the end.
            await replica.shows("both have moved", lambda found: found[moved] >= 2)
            found = await replica.metrics()
            verbose = await replica.get("/readyz?verbose")
            assert (await running.stop()).code == 0
        audit = await world.audit(auditor)
    assert found["rescheduler_leader"] == found["rescheduler_synced"] == 1
    assert found['rescheduler_passes_total{result="success"}'] >= 2
    assert found['rescheduler_passes_total{result="error"}'] == 0
    assert found['rescheduler_step_duration_seconds_count{step="WaitReady"}'] >= 1
    assert found['rescheduler_move_duration_seconds_count{result="completed"}'] >= 1
    assert found['rescheduler_plan_duration_seconds_count{strategy="LoadBalancing"}'] >= 2
    assert found['rescheduler_watch_blind_seconds{resource="pods"}'] == 0
    assert found["rescheduler_nodes"] >= 2
    assert found["rescheduler_pods"] >= found["rescheduler_pod_classes"] >= 1
    assert 0 <= found['rescheduler_cluster_imbalance_ratio{resource="cpu",when="now"}'] <= 1
    assert found["rescheduler_last_success_timestamp_seconds"] > 1e9
    assert verbose.text.startswith("[+]ping ok\n[+]event-loop ok\n[+]role ok: leading\n")
    assert_nobody_noticed(audit)


async def test_of_two_replicas_one_leads_and_both_are_ready(world: World) -> None:
    await world.add_nodes(1)
    first, second = Replica(world, free_port()), Replica(world, free_port())
    settings = {"reschedulingInterval": "1s", **election(world)}
    async with controller(world, **settings, serving=first.settings) as leader:
        await leader.says("pass ended")
        await first.becomes_ready()
        async with controller(world, **settings, serving=second.settings) as other:
            await other.says("standing by: another replica leads")
            await second.becomes_ready()
            assert (await first.metrics())["rescheduler_leader"] == 1
            standing_by = await second.metrics()
            words = (await second.get("/readyz?verbose")).text
            leader.kill()
            await leader.finish()
            await second.shows("it leads", lambda found: found["rescheduler_leader"] == 1)
            await second.becomes_ready()
            led = await second.metrics()
    assert standing_by["rescheduler_leader"] == standing_by["rescheduler_synced"] == 0
    assert standing_by["rescheduler_ready"] == 1
    assert standing_by["rescheduler_leader_transitions_total"] == 0
    assert led["rescheduler_leader_transitions_total"] == 1
    assert "[+]role ok: standing by\n" in words
    assert "[+]sync ok: nothing is observed\n" in words


async def test_probes_are_answered_before_anything_is_listed(world: World) -> None:
    """However long that takes: whoever is restarted meanwhile would never come to its end."""
    await deploy_web(world, 1)
    replica = Replica(world, free_port())
    listed = asyncio.Event()
    async with world.faults() as proxy:
        held = [
            proxy.on(Match(verb=verb, resource="pods"), hold(listed)) for verb in ("list", "watch")
        ]
        async with controller(world, serving=replica.settings) as running:
            await proxy.wait_until(lambda: any(rule.fired for rule in held), within=WAIT_SECONDS)
            alive, waits = await replica.get("/healthz"), await replica.get("/readyz")
            found = await replica.metrics()
            listed.set()
            await replica.becomes_ready()
            await running.says("pass ended")
    assert (alive.status, alive.text) == (200, "ok")
    assert waits.status == 500
    assert "[+]role ok: leading\n[+]api-server ok\n" in waits.text
    assert "[-]sync failed: not everything is listed yet\n" in waits.text
    assert (found["rescheduler_leader"], found["rescheduler_synced"]) == (1, 0)
    assert found["rescheduler_ready"] == found['rescheduler_passes_total{result="success"}'] == 0


async def test_who_debugs_is_answered_on_loopback_only(world: World) -> None:
    """127.0.0.2 is another address of this machine, as that of a pod is."""
    await world.add_nodes(1)
    replica = Replica(world, free_port())
    debug = Replica(world, free_port())
    settings = {"port": replica.port, "debugPort": debug.port}
    async with controller(world, serving=settings) as running:
        await running.says("pass ended")
        profile = await debug.get("/debug/heap?seconds=0.1")
        elsewhere = [await replica.get("/debug/heap"), await debug.get("/metrics")]
        # Where probes come to, nobody debugs.
        socket.create_connection(("127.0.0.2", replica.port), timeout=10).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", debug.port), timeout=10)
    assert profile.status == 200
    assert profile.text.startswith("allocated in 0.1 s, and still there: ")
    assert [each.status for each in elsewhere] == [404, 404]


async def test_a_second_one_on_the_same_port_ends_and_says_why(world: World) -> None:
    await world.add_nodes(1)
    replica = Replica(world, free_port())
    async with controller(world, serving=replica.settings) as running:
        await running.says("pass ended")
        path = str(world.configuration(serving=replica.settings))
        second = await as_admin(world, "run", "--config", path)
        assert (await replica.get("/healthz")).text == "ok"
    assert second.code == 1
    [error] = [line for line in second.err.splitlines() if line.startswith("error: ")]
    assert f"cannot listen on 127.0.0.1:{replica.port}: the port is taken" in error


async def test_a_failed_move_that_is_tried_again_is_counted(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await world.afflict_copies(never_ready="true")
    await ask(world, pod, empty)
    replica = Replica(world, free_port())
    brief = {"readyTimeout": "2s", "budgetTimeout": "1s", "retry": {"backOff": "1s"}}
    async with controller(
        world, enabledStrategies=[], migration=brief, serving=replica.settings
    ) as running:
        await running.says("pass ended")
        before = await replica.metrics()
        await world.wait_for_record(pod["metadata"]["name"], phase="Failed")
        await world.heal_copies()
        await world.wait_for_record(pod["metadata"]["name"], phase="Completed")
        moved = _moves("completed", reason="Completed", way="Surge")
        await replica.shows("it has moved", lambda found: found.get(moved) == 1)
        found = await replica.metrics()
    attempts = len(await world.records())
    assert before["rescheduler_retries_total"] == 0
    assert found["rescheduler_retries_total"] == attempts - 1 >= 1
    ended = {name for name in found if name.startswith("rescheduler_moves_total{")}
    assert ended <= before.keys(), "its first increase would go unseen"
    assert sum(found[name] for name in ended if 'result="failed"' in name) == attempts - 1
    assert found['rescheduler_move_duration_seconds_count{result="failed"}'] == attempts - 1
    assert found['rescheduler_move_duration_seconds_sum{result="failed"}'] >= 2
    assert all(
        value == 0 for name, value in found.items() if name.startswith("rescheduler_fallbacks_tot")
    )


async def test_what_is_under_way_waits_or_may_not_begin_is_told(world: World) -> None:
    _, empty = await deploy_web(world, 3)
    await world.afflict_copies(never_ready="true")
    for pod in await world.pods("web"):
        await ask(world, pod, empty)
    replica = Replica(world, free_port())
    migration = {
        "readyTimeout": "10s",
        "retry": {"attempts": 1},
        "circuitBreaker": {"failures": 1, "pause": "15s"},
    }
    settings = {"enabledStrategies": [], "serving": replica.settings, "migration": migration}
    async with controller(world, **settings, inFlight={"perWorkload": 1}) as running:
        await running.says("server listening")
        await replica.shows("one is under way", lambda found: figures(found) == (1, 2, 0, 0))
        await replica.shows("the breaker is open", lambda found: figures(found) == (0, 2, 0, 1))
        await world.heal_copies()
        await replica.shows("originals end", lambda found: found["rescheduler_moves_ending"] > 0)
        await replica.shows("all is over", lambda found: figures(found) == (0, 0, 0, 0))
        found = await replica.metrics()
    assert found["rescheduler_moves_allowed"] > 0
    phases = sorted(each["status"]["phase"] for each in await world.records())
    assert phases == ["Completed", "Completed", "Failed"]


def figures(found: dict[str, float]) -> tuple[float, ...]:
    names = ("moves_in_progress", "moves_waiting", "moves_ending", "circuit_breaker_open")
    return tuple(found[f"rescheduler_{each}"] for each in names)


async def test_a_steered_eviction_that_falls_back_is_counted(own: OwnCluster) -> None:
    world = own.world
    await own.stop_steering()
    source, target = await source_and_target(world)
    await world.deploy(stateful_set(1), on=source)
    await world.cordon(source)
    await ask(world, await pod_named(world, "web-0"), target, mayRecreate=True)
    replica = Replica(world, free_port())
    brief = {"steerTimeout": "1s", "readyTimeout": "30s"}
    async with controller(
        world, enabledStrategies=[], migration=brief, serving=replica.settings
    ) as running:
        await running.says("server listening")
        before = await replica.metrics()
        record = await world.wait_for_record("web-0", phase="Completed")
        fell_back = 'rescheduler_fallbacks_total{reason="NotSteered"}'
        await replica.shows("it fell back", lambda found: found.get(fell_back) == 1)
        found = await replica.metrics()
    assert record["status"]["fallback"] == "NotSteered"
    assert {name for name in found if "moves_total{" in name} <= before.keys()
    assert sum(value for name, value in found.items() if "fallbacks_total{" in name) == 1
    assert found["rescheduler_retries_total"] == 0


def _moves(result: str, *, reason: str, way: str) -> str:
    labels = f'reason="{reason}",result="{result}",strategy="ByHand",way="{way}"'
    return f"rescheduler_moves_total{{{labels}}}"


async def test_one_that_goes_blind_says_so_and_recovers(world: World) -> None:
    """Watches are cut, and nothing can be listed: what is known of pods grows old."""
    await deploy_web(world, 1)
    replica = Replica(world, free_port())
    blind = 'rescheduler_watch_blind_seconds{resource="pods"}'
    gaps = 'rescheduler_watch_gaps_total{resource="pods"}'
    async with (
        world.faults() as proxy,
        controller(world, reschedulingInterval="5s", serving=replica.settings) as running,
    ):
        await running.says("pass ended")
        await replica.becomes_ready()
        before = await replica.metrics()
        proxy.on(Match(verb="list", resource="pods"), fail(500))
        proxy.on(Match(verb="watch", resource="pods"), cut_after(0))
        proxy.cut_all()
        await replica.shows("it is blind", lambda found: found[blind] > 0)
        await replica.becomes_ready(status=500)
        during = await replica.metrics()
        words = (await replica.get("/readyz")).text
        proxy.clear()
        await replica.becomes_ready()
        await replica.shows("it sees", lambda found: found[blind] == 0)
        after = await replica.metrics()
        verbose = (await replica.get("/readyz?verbose")).text
    assert (before[blind], before[gaps]) == (0, 0)
    assert during[blind] > 60
    assert during[gaps] >= 1
    assert "[-]watches failed: " in words
    assert "pods not seen for " in words
    assert "[+]event-loop ok\n[+]role ok: leading\n[+]api-server ok\n[+]sync ok\n" in words
    assert after[gaps] >= during[gaps]
    assert "[+]watches ok\n" in verbose


async def test_a_pause_and_its_end_are_seen_in_metrics_health_and_events(world: World) -> None:
    await world.add_nodes(1)
    replica = Replica(world, free_port())
    async with controller(
        world, reschedulingInterval="1s", enabledStrategies=[], serving=replica.settings
    ) as running:
        await running.says("pass ended")
        assert (await replica.metrics())["rescheduler_paused"] == 0
        await pause_by_hand(world, "storage upgrade")
        await replica.shows("it is paused", lambda found: found["rescheduler_paused"] == 1)
        paused = await replica.get("/readyz?verbose")
        await world.wait("the pause is told", told(world, "Paused", "Lease", 1))
        await resume_by_hand(world)
        await replica.shows("it goes on", lambda found: found["rescheduler_paused"] == 0)
        resumed = await replica.get("/readyz?verbose")
        await world.wait("its end is told", told(world, "Resumed", "Lease", 1))
    assert paused.status == 200
    assert "[+]paused ok: moves are paused\n" in paused.text
    assert "[+]paused ok: no\n" in resumed.text
    for reason in ("Paused", "Resumed"):
        [event] = await events(world, reason, "Lease")
        assert event["message"].endswith("paused: storage upgrade")
        assert event["involvedObject"]["name"] == "rescheduler"


async def test_one_that_starts_paused_says_so(world: World) -> None:
    await world.add_nodes(1)
    await pause_by_hand(world)
    replica = Replica(world, free_port())
    settings = {**election(world), "serving": replica.settings}
    async with controller(world, reschedulingInterval="1s", **settings) as running:
        await running.says("pass ended")
        assert (await replica.metrics())["rescheduler_paused"] == 1
        await world.wait("it is told", told(world, "Paused", "Lease", 1))


async def test_why_a_configuration_was_refused_is_told(world: World) -> None:
    await world.add_nodes(1)
    replica = Replica(world, free_port())
    path = world.configuration(serving=replica.settings)
    refused = "rescheduler_configuration_refused"
    async with controller(world, serving=replica.settings) as running:
        await running.says("pass ended")
        rewrite(path, cpuThreshold="hot")
        await replica.shows("it is refused", lambda found: found[refused] == 1)
        words = (await replica.get("/readyz?verbose")).text
        rewrite(path, cpuThreshold=80)
        await replica.shows("it is right again", lambda found: found[refused] == 0)
        afterwards = (await replica.get("/readyz?verbose")).text
    assert "[+]configuration ok: the file was refused, and the last good one is in force: " in words
    assert "cpuThreshold: expected " in words
    assert "hot" not in words
    assert "[+]configuration ok\n" in afterwards


async def test_a_dry_run_serves_and_does_not_lead(world: World) -> None:
    await deploy_web(world, 2)
    replica = Replica(world, free_port())
    async with controller(world, "--dry-run", serving=replica.settings) as running:
        await running.says("pass ended")
        await replica.becomes_ready()
        found = await replica.metrics()
        run = await running.stop(signal.SIGTERM)
    assert (found["rescheduler_leader"], found["rescheduler_dry_run"]) == (0, 1)
    assert run.code == 0


async def test_who_stands_by_knows_of_a_pause_too(world: World) -> None:
    await deploy_web(world, 1)
    settings = {"enabledStrategies": [], **election(world)}
    leads, stands_by = Replica(world, free_port()), Replica(world, free_port())
    async with controller(world, **settings, serving=leads.settings) as first:
        await first.says("pass ended")
        async with controller(world, **settings, serving=stands_by.settings) as second:
            await second.says("standing by: another replica leads")
            await pause_by_hand(world, "not now")
            for replica in (leads, stands_by):
                await replica.shows("paused", lambda seen: seen["rescheduler_paused"] == 1)
            assert "[+]paused ok: moves are paused" in (await stands_by.get("/readyz?verbose")).text
            await resume_by_hand(world)
            for replica in (leads, stands_by):
                await replica.shows("resumed", lambda seen: seen["rescheduler_paused"] == 0)
