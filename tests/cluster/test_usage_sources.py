"""metrics-server and Prometheus, both real, measure what the annotations of simulated pods say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from testbed.api import ApiError, Object
from testbed.builders import behaviour, pod, pod_spec
from testbed.flags import BASIC_AUTH_PASSWORD, BASIC_AUTH_USER
from testbed.instance import InstanceError, OwnedInstance
from testbed.marks import has_mark
from testbed.tokengate import TokenGate
from testbed.world import World, install_rights, make_world

METRICS = "/apis/metrics.k8s.io/v1beta1"
MEBIBYTE = 2**20
BASIC = {"Authorization": aiohttp.encode_basic_auth(BASIC_AUTH_USER, BASIC_AUTH_PASSWORD)}

# What a pod, and a node besides its pods, uses that says nothing.
POD_CPU, POD_MEMORY = 0.010, 32 * MEBIBYTE
NODE_CPU, NODE_MEMORY = 0.050, 256 * MEBIBYTE


@asynccontextmanager
async def two_nodes(owned: OwnedInstance, folder: Path) -> AsyncIterator[World]:
    """One that is busy, by a pod of two containers that says what it uses, and one that is idle."""
    await install_rights(owned.instance)
    async with make_world(owned.instance, folder, "usage") as world:
        busy, idle = await world.add_nodes(2)
        spec = pod_spec() | {"nodeName": busy}
        spec["containers"] = [*spec["containers"], {"name": "side", "image": "side:1"}]
        await world.create(pod("busy", spec=spec, cpu_usage="600m", memory_usage="512Mi"))
        await world.create(pod("quiet", spec=pod_spec() | {"nodeName": idle}))
        yield world


_PARTS = {"n": 1e9, "u": 1e6, "m": 1e3}


def cpu_of(usage: Object) -> float:
    """metrics-server says nanocores."""
    text = usage["cpu"]  # in the largest unit that takes no fraction
    return int(text.rstrip("num")) / _PARTS[text[-1]]


def memory_of(usage: Object) -> int:
    return int(usage["memory"].removesuffix("Mi")) * MEBIBYTE


def about(cores: float) -> Any:  # noqa: ANN401 - what pytest.approx returns
    """A rate over the few seconds between two samples is not exact."""
    return pytest.approx(cores, rel=0.2)


async def ask(url: str, promql: str, **options: Any) -> dict[str, float]:  # noqa: ANN401
    """What a query finds: the values of its labels, joined -> the sample."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/api/v1/query", params={"query": promql}, **options) as answer,
    ):
        answer.raise_for_status()
        found = (await answer.json())["data"]["result"]
    return {"/".join(each["metric"].values()): float(each["value"][1]) for each in found}


async def test_metrics_server_says_what_the_annotations_say(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        owned.start("metrics-server")
        async with two_nodes(owned, tmp_path) as world:
            busy, idle = world.nodes
            found: dict[str, Object] = {}

            async def has(*names: str, of: str) -> bool:
                answer = await world.api.request("GET", f"{METRICS}/{of}")
                found.update({each["metadata"]["name"]: each for each in answer["items"]})
                return found.keys() >= set(names)

            await world.wait("the nodes are measured", lambda: has(busy, idle, of="nodes"))
            await world.wait("the pods are measured", lambda: has("busy", "quiet", of="pods"))
            containers = {each["name"]: each["usage"] for each in found["busy"]["containers"]}
            assert {name: cpu_of(usage) for name, usage in containers.items()} == {
                "app": about(0.3),
                "side": about(0.3),
            }
            assert sum(memory_of(usage) for usage in containers.values()) == 512 * MEBIBYTE
            [quiet] = found["quiet"]["containers"]
            assert cpu_of(quiet["usage"]) == about(POD_CPU)
            assert cpu_of(found[busy]["usage"]) == about(0.6 + NODE_CPU)
            assert memory_of(found[busy]["usage"]) == 512 * MEBIBYTE + NODE_MEMORY
            assert cpu_of(found[idle]["usage"]) == about(POD_CPU + NODE_CPU)
            assert memory_of(found[idle]["usage"]) == POD_MEMORY + NODE_MEMORY

            owned.kill("metrics-server")
            with pytest.raises(ApiError, match="503"):
                await world.api.request("GET", f"{METRICS}/nodes")
            owned.start("metrics-server")
            await world.api.request("GET", f"{METRICS}/nodes")
        last = owned.instance
    assert not any(has_mark(pid, str(last.folder)) for pid in last.pids.values())


async def test_prometheus_says_what_the_annotations_say(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        owned.start("prometheus")
        url = owned.instance.urls["prometheus"]
        async with two_nodes(owned, tmp_path) as world:
            busy, idle = world.nodes
            node_cpu = "sum by (node) (rate(node_cpu_usage_seconds_total[8s]))"
            pod_cpu = "sum by (pod) (rate(container_cpu_usage_seconds_total[8s]))"

            async def is_measured() -> bool:
                # The first rates are of pods that did not run all the time.
                cpu = await ask(url, node_cpu) | await ask(url, pod_cpu)
                return cpu == {
                    busy: about(0.6 + NODE_CPU),
                    idle: about(POD_CPU + NODE_CPU),
                    "busy": about(0.6),
                    "quiet": about(POD_CPU),
                }

            await world.wait("they are measured", is_measured)
            assert await ask(url, "sum by (node) (node_memory_working_set_bytes)") == {
                busy: 512 * MEBIBYTE + NODE_MEMORY,
                idle: POD_MEMORY + NODE_MEMORY,
            }
            labels = f'{{job="kubelet", namespace="{world.name}"}}'
            by = "sum by (node, pod, container)"
            assert await ask(url, f"{by} (container_memory_working_set_bytes{labels})") == {
                f"app/{busy}/busy": 256 * MEBIBYTE,
                f"side/{busy}/busy": 256 * MEBIBYTE,
                f"app/{idle}/quiet": POD_MEMORY,
            }

            await world.annotate_pod("quiet", behaviour(memory_usage="1Gi"))

            async def has_grown() -> bool:
                found = await ask(url, "sum by (pod) (pod_memory_working_set_bytes)")
                return found["quiet"] == 1024 * MEBIBYTE

            await world.wait("Prometheus has seen it", has_grown)


async def test_prometheus_can_ask_for_who_you_are() -> None:
    with OwnedInstance() as owned:
        owned.start("prometheus")
        plain = owned.instance.urls["prometheus"]
        async with TokenGate(plain, "right", serving_ssl=owned.instance.serving_ssl()) as gate:
            trusted = {"ssl": owned.instance.client_ssl()}
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await ask(gate.url, "vector(7)")
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                with pytest.raises(aiohttp.ClientResponseError, match="401"):
                    await ask(gate.url, "vector(7)", headers=headers, **trusted)
            right = {"Authorization": "Bearer right"}
            assert await ask(gate.url, "vector(7)", headers=right, **trusted) == {"": 7}
            gate.token = "rotated"  # noqa: S105
            with pytest.raises(aiohttp.ClientResponseError, match="401"):
                await ask(gate.url, "vector(7)", headers=right, **trusted)
            assert gate.refused == 3

        owned.kill("prometheus")
        with pytest.raises(aiohttp.ClientConnectorError):
            await ask(plain, "vector(7)")
        owned.start("prometheus", tls=True, basic_auth=True)
        secured = owned.instance.urls["prometheus"]
        assert secured == plain.replace("http:", "https:")
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(secured, "vector(7)", headers=BASIC)
        with pytest.raises(aiohttp.ClientResponseError, match="401"):
            await ask(secured, "vector(7)", **trusted)
        assert await ask(secured, "vector(7)", headers=BASIC, **trusted) == {"": 7}
        with pytest.raises(InstanceError, match="prometheus is running"):
            owned.start("prometheus")
        last = owned.instance
    assert not any(has_mark(pid, str(last.folder)) for pid in last.pids.values())
