"""Usage end to end: annotations of simulated pods, a real metrics-server or Prometheus, figures."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from rescheduler.clock import SystemClock
from rescheduler.config import BasicAuth, PrometheusSettings, UsageSettings
from rescheduler.kube import KubeApi, connect
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Usage
from rescheduler.observe import Observer, observing
from rescheduler.observe.usage import choose
from rescheduler.observe.usage.recalling import of_workloads
from rescheduler.observe.usage.samples import identity
from rescheduler.prometheus import PrometheusError
from testbed.builders import behaviour, deployment, pod, pod_spec
from testbed.flags import BASIC_AUTH_PASSWORD, BASIC_AUTH_USER
from testbed.instance import OwnedInstance
from testbed.tokengate import TokenGate
from testbed.world import World, install_rights, make_world
from tests.scenarios import measuring_later

MEBIBYTE = 2**20
# What a node uses besides its pods, where nothing is said.
NODE_CPU, NODE_MEMORY = 50, 256 * MEBIBYTE

# Answers come every few seconds here, and the tests are to be short.
QUICK = UsageSettings(interval_seconds=1, window_seconds=60, max_age_seconds=25, debounce=2)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A node with two pods that say what they use, and an empty one."""

    world: World
    kube: KubeApi

    @asynccontextmanager
    async def observing(self, settings: UsageSettings) -> AsyncIterator[Observer]:
        async with observing(self.kube, SystemClock(), ("nodes", "pods"), settings) as observer:
            await observer.settled()
            yield observer

    async def usage_when(
        self, what: str, observer: Observer, condition: Callable[[Usage], bool]
    ) -> Usage:
        """Samples until it is so."""
        found: list[Usage] = []

        async def is_so() -> bool:
            await observer.measure()
            found[:] = [usage_of(observer.with_usage(observer.snapshot()))]
            return condition(found[0])

        await self.world.wait(what, is_so)
        return found[0]

    async def wait_until_chosen(self, source: str, settings: UsageSettings) -> None:
        async def is_chosen() -> bool:
            async with choose(settings, self.kube) as choice:
                return choice.source.name == source

        await self.world.wait(f"{source} answers", is_chosen)


@asynccontextmanager
async def scene(owned: OwnedInstance, folder: Path) -> AsyncIterator[Scene]:
    await install_rights(owned.instance)
    async with (
        make_world(owned.instance, folder, "usage") as world,
        connect(str(world.kubeconfig())) as kube,
    ):
        busy, _ = await world.add_nodes(2)
        for name, cpu, memory in (("large", "600m", "512Mi"), ("small", "100m", "64Mi")):
            manifest = pod(
                name, spec=pod_spec() | {"nodeName": busy}, cpu_usage=cpu, memory_usage=memory
            )
            await world.create(manifest)
        made = Scene(world=world, kube=kube)
        await world.wait("the pods run", lambda: _have_started(world))
        yield made


async def _have_started(world: World) -> bool:
    return all(each["status"].get("startTime") for each in await world.api.list("Pod", world.name))


def usage_of(snapshot: Snapshot) -> Usage:
    assert snapshot.usage is not None
    return snapshot.usage


def is_all_measured(usage: Usage) -> bool:
    """A figure of every pod, and no figure from before the pods had run for a while."""
    expected = [700 + NODE_CPU, NODE_CPU]
    return bool(
        not np.isnan(usage.node_cpu).any()
        and usage.pod_measured.all()
        and np.allclose(usage.node_cpu, expected, rtol=0.2)
    )


def assert_as_the_annotations_say(usage: Usage, snapshot: Snapshot) -> None:
    large, small = (
        next(row for row, each in enumerate(snapshot.pods.names) if each.endswith(name))
        for name in ("large", "small")
    )
    assert usage.pod_cpu[[large, small]].tolist() == pytest.approx([600, 100], rel=0.2)
    assert usage.pod_memory[[large, small]].tolist() == [512 * MEBIBYTE, 64 * MEBIBYTE]
    assert usage.node_cpu.tolist() == pytest.approx([700 + NODE_CPU, NODE_CPU], rel=0.2)
    assert usage.node_memory.tolist() == [576 * MEBIBYTE + NODE_MEMORY, NODE_MEMORY]
    assert (usage.unknown_nodes, usage.outage) == ({}, "")


async def assert_an_outage_is_told_and_ends(
    place: Scene,
    observer: Observer,
    kill: Callable[[], None],
    start: Callable[[], None],
) -> None:
    """Until then everything is unknown, and nothing takes the place of the source."""
    with capture_logs() as logs:
        await asyncio.to_thread(kill)
        dark = await place.usage_when(
            "usage is unknown", observer, lambda usage: bool(usage.outage)
        )
        assert "has not answered for" in dark.outage
        assert np.isnan(dark.node_cpu).all()
        assert np.isnan(dark.pod_cpu).all()
        assert set(dark.unknown_nodes) == {0, 1}
        await asyncio.to_thread(start)
        light = await place.usage_when("usage is known", observer, is_all_measured)
    assert light.source == dark.source
    assert_as_the_annotations_say(light, observer.snapshot())
    told = [line["event"] for line in logs if line["event"].startswith("usage")]
    # Of a source that has only just started, the first answers may be incomplete, which is told.
    assert [each for each in told if each != "usage is measured badly"] == [
        "usage cannot be measured",
        "usage is measured again",
    ]


async def test_metrics_server(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        async with scene(owned, tmp_path) as place:
            with capture_logs() as logs:
                async with place.observing(QUICK) as observer:
                    await observer.measure()
                    asked_for = usage_of(observer.with_usage(observer.snapshot()))
            assert asked_for.source == "requests"
            assert asked_for.node_cpu.tolist() == [1000, 0]
            (chosen,) = [line for line in logs if line["event"] == "usage is measured by"]
            assert "metrics.k8s.io is not served" in chosen["because"]

            owned.start("metrics-server")
            await place.wait_until_chosen("metrics-server", QUICK)
            async with choose(QUICK, place.kube) as choice:
                assert choice.reason.startswith("metrics-server answers with figures; no usage.pro")
            async with place.observing(QUICK) as observer:
                usage = await place.usage_when("all is measured", observer, is_all_measured)
                assert_as_the_annotations_say(usage, observer.snapshot())
                assert usage.source == "metrics-server"
                await assert_an_outage_is_told_and_ends(
                    place,
                    observer,
                    lambda: owned.kill("metrics-server"),
                    lambda: owned.start("metrics-server"),
                )
                await assert_a_moved_pod_counts_where_it_is(place, observer)


async def test_metrics_server_that_comes_while_the_process_runs(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        await install_rights(owned.instance)
        async with make_world(owned.instance, tmp_path, "later") as world:
            await world.add_nodes(2)

            async def begin() -> None:
                await asyncio.to_thread(owned.start, "metrics-server")

            await measuring_later.play(world, begin)


async def assert_a_moved_pod_counts_where_it_is(place: Scene, observer: Observer) -> None:
    """Right after the move, when nobody has measured it there yet."""
    busy, _ = place.world.nodes
    web = deployment(
        "web",
        replicas=1,
        spec=pod_spec(cpu="10m"),
        annotations=behaviour(cpu_usage="1", memory_usage="128Mi"),
    )
    await place.world.deploy(web, on=busy)

    def is_measured(usage: Usage) -> bool:
        return bool(usage.pod_measured.sum() == 3 and usage.node_cpu[0] > 1500)

    await place.usage_when("the third pod is measured", observer, is_measured)
    run = await place.world.run(usage={"source": "metrics-server"})
    assert run.code == 0, run
    assert "cpu usage: " in run.summary
    await place.world.wait("the move is seen", lambda: _has_pods(observer, busy, 2))
    usage = usage_of(observer.with_usage(observer.snapshot()))
    assert usage.node_cpu.tolist() == pytest.approx([700 + NODE_CPU, 1000 + NODE_CPU], rel=0.2)
    assert usage.node_memory.tolist() == [
        576 * MEBIBYTE + NODE_MEMORY,
        128 * MEBIBYTE + NODE_MEMORY,
    ]


async def test_prometheus_with_the_queries_of_the_defaults(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        owned.start("prometheus")
        url = owned.instance.urls["prometheus"]
        settings = replace(
            QUICK, max_age_seconds=10, prometheus=PrometheusSettings(url=url, timeout_seconds=2)
        )
        async with scene(owned, tmp_path) as place:
            await place.wait_until_chosen("prometheus", settings)
            async with choose(settings, place.kube) as choice:
                assert choice.reason == "prometheus answers with figures"
            async with place.observing(settings) as observer:
                usage = await place.usage_when("all is measured", observer, is_all_measured)
                assert_as_the_annotations_say(usage, observer.snapshot())
                await assert_own_queries_are_asked(place, settings)
                await assert_an_outage_is_told_and_ends(
                    place,
                    observer,
                    lambda: owned.kill("prometheus"),
                    lambda: owned.start("prometheus"),
                )
                await assert_days_before_can_be_asked_for(place, settings)
                # Who leaves is out of the figure at once, and not only when the source knows.
                await place.world.delete_pod("large")
                await place.world.wait("it is gone", lambda: _is_gone(observer, "large"))
                relieved = usage_of(observer.with_usage(observer.snapshot()))
                assert relieved.node_cpu[0] == pytest.approx(100 + NODE_CPU, rel=0.5)
                assert relieved.node_memory[0] == 64 * MEBIBYTE + NODE_MEMORY


async def assert_own_queries_are_asked(place: Scene, settings: UsageSettings) -> None:
    """Where the name of the node stands in another label than `node`."""
    elsewhere = 'label_replace(node_memory_working_set_bytes, "machine", "$1", "node", "(.*)")'
    own = replace(
        settings.prometheus,
        node_cpu_query=f'label_replace(vector(1.5), "node", "{place.world.nodes[0]}", "", "")',
        node_memory_query=f'label_replace(sum by (machine) ({elsewhere}), "node", "$1", "machine", '
        '"(.*)")',
    )
    async with choose(replace(settings, prometheus=own), place.kube) as choice:
        sample = await choice.source.read()
    nodes = dict(zip(sample.nodes.who.tolist(), sample.nodes.memory.tolist(), strict=True))
    busy, idle = map(identity, place.world.nodes)
    assert nodes == {busy: 576 * MEBIBYTE + NODE_MEMORY, idle: NODE_MEMORY}
    assert sample.nodes.cpu[sample.nodes.who == busy].tolist() == [1500]
    assert np.isnan(sample.nodes.cpu[sample.nodes.who == idle]).all()


async def assert_days_before_can_be_asked_for(place: Scene, settings: UsageSettings) -> None:
    """By workload, in moments instead of half hours, for that is all it has seen."""
    idle = place.world.nodes[1]
    spec = pod_spec() | {"nodeName": idle}
    for name, used in (("db-0", "200m"), ("db-1", "400m")):
        await place.world.create(pod(name, spec=spec, cpu_usage=used, memory_usage="64Mi"))
    queries = settings.prometheus
    asked = {"cpu": queries.pod_cpu_query, "memory": queries.pod_memory_query}
    found: dict[str, float] = {}

    async with choose(settings, place.kube) as choice:
        assert choice.past is not None
        past = choice.past

        async def are_known() -> bool:
            now = SystemClock().now().timestamp()
            for name, query in asked.items():
                courses = await past.query_range(
                    of_workloads(query, 6.0),
                    ("namespace", "workload"),
                    begin=now - 2,
                    end=now,
                    step_seconds=1,
                )
                latest = {each.name: float(each.values[-1]) for each in courses}
                found[name] = latest.get(f"{place.world.name}/db", 0.0)
            return found["cpu"] == pytest.approx(0.3, rel=0.2) and found["memory"] == 64 * MEBIBYTE

        await place.world.wait("the mean of both pods is known", are_known)
    for name in ("db-0", "db-1"):
        await place.world.delete_pod(name)


async def _has_pods(observer: Observer, node: str, count: int) -> bool:
    return len(observer.snapshot().rows_on(node)) == count


async def _is_gone(observer: Observer, name: str) -> bool:
    return not any(each.endswith(f"/{name}") for each in observer.snapshot().pods.names)


async def test_prometheus_that_asks_for_who_we_are(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with OwnedInstance() as owned:
        owned.start("prometheus")
        plain = owned.instance.urls["prometheus"]
        authority = str(owned.instance.folder / "ca.crt")
        async with scene(owned, tmp_path) as place:
            known = PrometheusSettings(url=plain)
            await place.wait_until_chosen("prometheus", replace(QUICK, prometheus=known))
            async with TokenGate(plain, "right", serving_ssl=owned.instance.serving_ssl()) as gate:
                by_token = PrometheusSettings(
                    url=gate.url, ca_file=authority, token_file=str(secret)
                )
                async with reading(by_token, place.kube) as read:
                    await assert_needs(read, secret, "right")
                    gate.token = "rotated"  # noqa: S105
                    await assert_needs(read, secret, "rotated")
                async with reading(replace(by_token, ca_file=""), place.kube) as read:
                    with pytest.raises(PrometheusError, match=r"(?i)certificate"):
                        await read()

            owned.kill("prometheus")
            owned.start("prometheus", tls=True, basic_auth=True)
            by_password = PrometheusSettings(
                url=owned.instance.urls["prometheus"],
                ca_file=authority,
                basic_auth=BasicAuth(username=BASIC_AUTH_USER, password_file=str(secret)),
            )
            secret.write_text(BASIC_AUTH_PASSWORD)
            await place.wait_until_chosen("prometheus", replace(QUICK, prometheus=by_password))
            async with reading(by_password, place.kube) as read:
                await assert_needs(read, secret, BASIC_AUTH_PASSWORD)


@asynccontextmanager
async def reading(
    prometheus: PrometheusSettings, kube: KubeApi
) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """How many nodes it has figures of."""
    settings = replace(QUICK, source="prometheus", prometheus=prometheus)
    async with choose(settings, kube) as choice:

        async def read() -> int:
            sample = await choice.source.read()
            return int(np.isfinite(sample.nodes.cpu).sum())

        yield read


async def assert_needs(read: Callable[[], Awaitable[int]], file: Path, secret: str) -> None:
    await asyncio.to_thread(file.write_text, f"not-{secret}")
    with pytest.raises(PrometheusError, match="does not accept our credentials") as caught:
        await read()
    assert secret not in str(caught.value)
    await asyncio.to_thread(file.write_text, f"{secret}\n")
    # Not yet of both, perhaps: it has only begun to scrape.
    assert await read() > 0
