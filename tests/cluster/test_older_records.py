"""Records that an older version has stored are read, shown and ended under today's definition."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.api import Api, Object
from testbed.etcd import Etcd
from testbed.instance import Instance, OwnedInstance
from tests.cluster.kubectl import CRD, EVERYTHING, Kubectl
from tests.scenarios import left_behind

NAMESPACE = "default"


@pytest.fixture(scope="module")
def bare_instance() -> Iterator[Instance]:
    with OwnedInstance(bare=True) as owned:
        yield owned.instance


@pytest.fixture
def kube(bare_instance: Instance, kubectl: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(kubectl, bare_instance, tmp_path)


def stored(version: str) -> list[Object]:
    """A record in each step of each way, as that version has left it."""
    found: dict[tuple[str, str], Object] = {}
    for way in left_behind.ways(version):
        for scene in left_behind.scenes(version, way):
            for each in scene.as_of(scene.at, NAMESPACE):
                if each["kind"] == "PodMigration":
                    step = (each.get("status") or {}).get("step", "none")
                    found.setdefault((way, step), each)
    for number, record in enumerate(found.values()):
        record["metadata"] = {
            **record["metadata"],
            "name": f"record-{number}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
        }
    return list(found.values())


async def put(instance: Instance, records: list[Object]) -> None:
    """As they lie in etcd, whatever today's definition says of them."""
    async with Etcd(instance.urls["etcd"]) as etcd:
        for each in records:
            key = f"/registry/rescheduler.io/podmigrations/{NAMESPACE}/{each['metadata']['name']}"
            await etcd.put({key: json.dumps(each).encode()})


@pytest.mark.parametrize("version", left_behind.VERSIONS)
async def test_they_are_read_as_they_were_written(
    bare_instance: Instance, kube: Kubectl, version: str
) -> None:
    records = stored(version)
    await kube("create", "-f", str(left_behind.LEFT / version / left_behind.DEFINITION))
    try:
        await _is_established(kube)
        await put(bare_instance, records)
        await kube("replace", "-f", str(EVERYTHING / "crd.yaml"))
        await _is_established(kube)
        async with _api(bare_instance) as api:
            read = {
                each["metadata"]["name"]: each for each in await api.list("PodMigration", NAMESPACE)
            }
            for each in records:
                found = read[each["metadata"]["name"]]
                assert (found["spec"], found.get("status")) == (each["spec"], each.get("status"))
            # And they can be ended, which checks all that stands in them.
            for name in read:
                path = f"/apis/rescheduler.io/v1alpha1/namespaces/{NAMESPACE}/podmigrations/{name}"
                change = {"status": {"phase": "Failed", "reason": "Cancelled"}}
                merge = "application/merge-patch+json"
                await api.request("PATCH", f"{path}/status", body=change, content_type=merge)
    finally:
        await kube("delete", CRD)


async def test_fields_and_words_that_nobody_knows_any_more_keep_nobody_from_reading_it(
    bare_instance: Instance, kube: Kubectl
) -> None:
    """As before 0.1.0, when a way was a method, and one of them had another name."""
    [version, *_] = left_behind.VERSIONS
    record = stored(version)[0]
    spec = {key: value for key, value in record["spec"].items() if key != "mayRecreate"}
    record["spec"] = {**spec, "method": "Steer", "mayInterrupt": True}
    record["status"] = {"phase": "Completed", "step": "Done", "method": "Steer", "way": "Steer"}
    await kube("create", "-f", str(EVERYTHING / "crd.yaml"))
    try:
        await _is_established(kube)
        await put(bare_instance, [record])
        async with _api(bare_instance) as api:
            [found] = await api.list("PodMigration", NAMESPACE)
        assert found["status"] == {"phase": "Completed", "step": "Done", "way": "Steer"}
        assert "method" not in found["spec"]
        shown = await kube("get", "pmig", "-n", NAMESPACE)
        assert "Steer" in shown
    finally:
        await kube("delete", CRD)


def _api(instance: Instance) -> Api:
    return Api(instance.url, instance.tokens["admin"], instance.client_ssl())


async def _is_established(kube: Kubectl) -> None:
    await kube("wait", "--for=condition=Established", CRD, "--timeout=60s")
    # It is served a moment later.
    async with asyncio.timeout(60):
        while (await kube.run("get", "pmig", "-n", NAMESPACE)).returncode:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
