"""Records and plans that an older version has stored are read, shown and ended under today's
definitions.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.api import Api, Object
from testbed.etcd import Etcd
from testbed.instance import Instance, OwnedInstance
from tests.cluster.kubectl import EVERYTHING, Kubectl
from tests.scenarios import left_behind

NAMESPACE = "default"


@pytest.fixture(scope="module")
def bare_instance() -> Iterator[Instance]:
    with OwnedInstance(bare=True) as owned:
        yield owned.instance


@pytest.fixture
def kube(bare_instance: Instance, kubectl: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(kubectl, bare_instance, tmp_path)


@dataclass(frozen=True)
class Kind:
    """One whose objects versions keep in clusters."""

    name: str
    plural: str
    definition: str
    kept: str
    ends: Object
    """As its status says that it is over."""

    @property
    def crd(self) -> str:
        return f"crd/{self.plural}.rescheduler.io"

    def differs(self, item: Object) -> tuple[str, ...]:
        """One is tried of each that is alike in this."""
        status = item.get("status") or {}
        return tuple(str(status.get(each)) for each in ("step", "phase", "reason"))

    def path(self, name: str) -> str:
        return f"/apis/rescheduler.io/v1alpha1/namespaces/{NAMESPACE}/{self.plural}/{name}/status"


KINDS = (
    Kind(
        name="PodMigration",
        plural="podmigrations",
        definition=left_behind.DEFINITION,
        kept=left_behind.MIGRATIONS,
        ends={"phase": "Failed", "reason": "Cancelled"},
    ),
    Kind(
        name="ReschedulePlan",
        plural="rescheduleplans",
        definition=left_behind.PLAN_DEFINITION,
        kept=left_behind.PLANS,
        ends={"phase": "Superseded", "reason": "NotNeeded"},
    ),
)
MIGRATIONS = KINDS[0]


def stored(version: str, kind: Kind) -> list[Object]:
    """One in each state of each way or story, as that version has left it."""
    found: dict[tuple[str, ...], Object] = {}
    for path in sorted((left_behind.LEFT / version / kind.kept).iterdir()):
        for scene in left_behind.scenes(version, path.stem, kind.kept):
            for each in scene.as_of(scene.at, NAMESPACE):
                if each["kind"] == kind.name:
                    found.setdefault((path.stem, *kind.differs(each)), each)
    for number, record in enumerate(found.values()):
        record["metadata"] = {
            **record["metadata"],
            "name": f"record-{number}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
        }
    return list(found.values())


async def put(instance: Instance, kind: Kind, records: list[Object]) -> None:
    """As they lie in etcd, whatever today's definition says of them."""
    async with Etcd(instance.urls["etcd"]) as etcd:
        for each in records:
            name = each["metadata"]["name"]
            key = f"/registry/rescheduler.io/{kind.plural}/{NAMESPACE}/{name}"
            await etcd.put({key: json.dumps(each).encode()})


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: str(each.name))
@pytest.mark.parametrize("version", left_behind.VERSIONS)
async def test_they_are_read_as_they_were_written(
    bare_instance: Instance, kube: Kubectl, version: str, kind: Kind
) -> None:
    records = stored(version, kind)
    assert len(records) > 10
    await kube("create", "-f", str(left_behind.LEFT / version / kind.definition))
    try:
        await _is_established(kube, kind)
        await put(bare_instance, kind, records)
        await kube("replace", "-f", str(EVERYTHING / kind.definition))
        await _is_established(kube, kind)
        async with _api(bare_instance) as api:
            read = {each["metadata"]["name"]: each for each in await api.list(kind.name, NAMESPACE)}
            for each in records:
                found = read[each["metadata"]["name"]]
                assert (found["spec"], found.get("status")) == (each["spec"], each.get("status"))
            # And they can be ended, which checks all that stands in them.
            for name in read:
                change = {"status": kind.ends}
                merge = "application/merge-patch+json"
                await api.request("PATCH", kind.path(name), body=change, content_type=merge)
    finally:
        await kube("delete", kind.crd)


async def test_fields_and_words_that_nobody_knows_any_more_keep_nobody_from_reading_it(
    bare_instance: Instance, kube: Kubectl
) -> None:
    """As before 0.1.0, when a way was a method, and one of them had another name."""
    [version, *_] = left_behind.VERSIONS
    record = stored(version, MIGRATIONS)[0]
    spec = {key: value for key, value in record["spec"].items() if key != "mayRecreate"}
    record["spec"] = {**spec, "method": "Steer", "mayInterrupt": True}
    record["status"] = {"phase": "Completed", "step": "Done", "method": "Steer", "way": "Steer"}
    await kube("create", "-f", str(EVERYTHING / "crd.yaml"))
    try:
        await _is_established(kube, MIGRATIONS)
        await put(bare_instance, MIGRATIONS, [record])
        async with _api(bare_instance) as api:
            [found] = await api.list("PodMigration", NAMESPACE)
        assert found["status"] == {"phase": "Completed", "step": "Done", "way": "Steer"}
        assert "method" not in found["spec"]
        shown = await kube("get", "pmig", "-n", NAMESPACE)
        assert "Steer" in shown
    finally:
        await kube("delete", MIGRATIONS.crd)


def _api(instance: Instance) -> Api:
    return Api(instance.url, instance.tokens["admin"], instance.client_ssl())


async def _is_established(kube: Kubectl, kind: Kind) -> None:
    await kube("wait", "--for=condition=Established", kind.crd, "--timeout=60s")
    # It is served a moment later.
    async with asyncio.timeout(60):
        while (await kube.run("get", kind.plural, "-n", NAMESPACE)).returncode:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
