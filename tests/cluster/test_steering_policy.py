"""The API server steers the pods of one owner while a migration says so, and no others.

By the policy as it is installed, which hides its own mistakes (`failurePolicy: Ignore`), or by the
same policy made strict: with `Fail` a mistake in it is a refused pod.
"""

import copy
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.api import Object, path_of
from testbed.builders import pod, pod_spec, workload
from testbed.instance import Instance
from testbed.world import World, make_world

POLICY = Path(__file__).parents[2] / "manifests/components/admission-policy/steering-policy.yaml"
STEERING = "rescheduler.io/steering"
MERGE = "application/merge-patch+json"
OWNER_UID = "6b0c0c4e-7f64-4a53-9a1c-0a4f5b8f6f11"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
COPY_LABELS = {
    "scheduler.alpha.kubernetes.io/migration-id": "web-0-1",
    "scheduler.alpha.kubernetes.io/migrated-from": "source",
}


def field_term(operator: str, node: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [node]}]}


def wishes(source: str, target: str) -> list[Object]:
    return [
        {"weight": 100, "preference": field_term("In", target)},
        {"weight": 50, "preference": field_term("NotIn", source)},
    ]


STEERED = {"nodeAffinity": {PREFERRED: wishes("source", "target")}}


@dataclass(frozen=True)
class Steering:
    """Migrations that steer, as the rescheduler writes them."""

    world: World
    label: str = STEERING

    async def begin(
        self,
        name: str = "web-0-1",
        *,
        owner: str = OWNER_UID,
        source: str = "source",
        target: str = "target",
    ) -> None:
        """Returns when a pod of the owner would be steered."""
        await self.ask(name, source=source, target=target)
        await self.write(name, {"owner": {"apiVersion": "apps/v1", "kind": "Any", "uid": owner}})
        await self.awaits(wishes(source, target), owner=owner)

    async def ask(self, name: str, *, source: str = "source", target: str = "target") -> None:
        record = {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "PodMigration",
            "metadata": {"name": name, "labels": {self.label: "true"}},
            "spec": {"pod": {"name": "web-0", "uid": name}, "source": source, "target": target},
        }
        await self.world.create(record)

    async def write(self, name: str, status: Object) -> None:
        path = path_of("PodMigration", self.world.name, name) + "/status"
        body = {"status": status}
        await self.world.api.request("PATCH", path, body=body, content_type=MERGE)

    async def unlabel(self, name: str = "web-0-1") -> None:
        change = {"metadata": {"labels": {self.label: None}}}
        await self.world.api.patch("PodMigration", self.world.name, name, change)

    async def awaits(self, expected: list[Object], *, owner: str = OWNER_UID) -> None:
        """The API server hears of a migration a moment after it was written."""
        asked = owned(owner)

        async def is_so() -> bool:
            affinity = await admitted(self.world, asked)
            return bool(affinity.get("nodeAffinity", {}).get(PREFERRED, []) == expected)

        await self.world.wait(f"pods of {owner} prefer {expected}", is_so)


def owned(*owners: str, labels: dict[str, str] | None = None, **spec: Any) -> Object:  # noqa: ANN401
    """A pod as a controller makes it."""
    made = pod("probe", spec={**pod_spec(), **spec})
    made["metadata"]["labels"] |= labels or {}
    if owners:
        head = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "any"}
        made["metadata"]["ownerReferences"] = [{**head, "uid": owner} for owner in owners]
    return made


async def admitted(world: World, manifest: Object) -> Object:
    """The affinity with which the API server would make this pod."""
    path = path_of("Pod", world.name)
    made = await world.api.request("POST", path, query={"dryRun": "All"}, body=manifest)
    found: Object = made["spec"].get("affinity", {})
    return found


@pytest.fixture
async def strict(world: World) -> Steering:
    """The policy for this namespace only and by a label of its own, so that no other test, and
    not the installed policy, has to do with it.
    """
    label = f"{STEERING}-{world.name}"
    policy, binding = (
        each
        for each in yaml.safe_load_all(POLICY.read_text())
        if each["metadata"]["name"] == "rescheduler-steering"
    )
    assert policy["spec"]["failurePolicy"] == "Ignore"
    policy["spec"]["failurePolicy"] = "Fail"
    own = {"matchLabels": {"kubernetes.io/metadata.name": world.name}}
    policy["spec"]["matchConstraints"]["namespaceSelector"] = own
    binding["spec"]["policyName"] = world.name
    binding["spec"]["paramRef"]["selector"] = {"matchLabels": {label: "true"}}
    for manifest in (policy, binding):
        manifest["metadata"]["name"] = world.name
        await world.api.create(manifest)
        world.policies.append(manifest)
    return Steering(world, label)


# ------------------------------------------------------------------ what a pod gets


_USERS_WISH = {"weight": 7, "preference": field_term("In", "elsewhere")}
_USERS_RULE = {"nodeSelectorTerms": [field_term("NotIn", "broken")]}
_APART = {
    REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}],
}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (None, STEERED),
        ({}, STEERED),
        ({"nodeAffinity": {}}, STEERED),
        ({"podAntiAffinity": _APART}, {"podAntiAffinity": _APART, **STEERED}),
        (
            {"nodeAffinity": {REQUIRED: _USERS_RULE}},
            {"nodeAffinity": {REQUIRED: _USERS_RULE, **STEERED["nodeAffinity"]}},
        ),
        ({"nodeAffinity": {PREFERRED: []}}, STEERED),
        (
            {"nodeAffinity": {PREFERRED: [_USERS_WISH]}},
            {"nodeAffinity": {PREFERRED: [_USERS_WISH, *wishes("source", "target")]}},
        ),
        (
            {
                "podAntiAffinity": _APART,
                "nodeAffinity": {REQUIRED: _USERS_RULE, PREFERRED: [_USERS_WISH]},
            },
            {
                "podAntiAffinity": _APART,
                "nodeAffinity": {
                    REQUIRED: _USERS_RULE,
                    PREFERRED: [_USERS_WISH, *wishes("source", "target")],
                },
            },
        ),
    ],
    ids=[
        "none",
        "an empty one",
        "an empty one of nodes",
        "of pods only",
        "a rule",
        "an empty list of wishes",
        "a wish",
        "everything",
    ],
)
async def test_wishes_join_what_the_pod_asks_for(
    strict: Steering, affinity: Object | None, expected: Object
) -> None:
    await strict.begin()
    asked = owned(OWNER_UID, **({} if affinity is None else {"affinity": affinity}))
    assert await admitted(strict.world, asked) == expected


async def test_each_migration_steers_its_own_owner(strict: Steering) -> None:
    await strict.begin("web-0-1", owner=OWNER_UID)
    await strict.begin("db-0-1", owner="other-uid", source="a", target="b")
    assert await admitted(strict.world, owned(OWNER_UID)) == STEERED
    assert await admitted(strict.world, owned("other-uid")) == {
        "nodeAffinity": {PREFERRED: wishes("a", "b")}
    }
    # The owner may be one of several.
    assert await admitted(strict.world, owned("somebody", OWNER_UID)) == STEERED


@pytest.mark.parametrize(
    "asked",
    [
        owned(),
        owned("somebody"),
        owned(OWNER_UID, labels=COPY_LABELS),
    ],
    ids=["nobody's", "somebody else's", "a copy of ours"],
)
async def test_others_are_left_alone(strict: Steering, asked: Object) -> None:
    await strict.begin()
    assert await admitted(strict.world, asked) == {}


async def test_a_pod_without_labels(strict: Steering) -> None:
    await strict.begin()
    asked = owned(OWNER_UID)
    del asked["metadata"]["labels"]
    assert await admitted(strict.world, asked) == STEERED


async def test_a_migration_that_does_not_know_its_owner_steers_nobody(strict: Steering) -> None:
    """And is in nobody's way, strict as the policy is."""
    await strict.ask("no-status")
    await strict.ask("no-owner")
    await strict.write("no-owner", {"phase": "Pending"})
    await strict.ask("no-uid")
    await strict.write("no-uid", {"owner": {"kind": "ReplicaSet"}})
    await strict.ask("empty-uid")
    await strict.write("empty-uid", {"owner": {"uid": ""}})
    # What is seen of a later one is seen of the earlier ones.
    await strict.begin()
    assert await admitted(strict.world, owned()) == {}
    assert await admitted(strict.world, owned("somebody")) == {}
    assert await admitted(strict.world, owned(OWNER_UID)) == STEERED


# ------------------------------------------------------------------ as it is installed


@pytest.fixture
async def other_namespace(instance: Instance, tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "other"
    folder.mkdir()
    async with make_world(instance, folder, "other") as made:
        yield made


async def test_the_same_owner_in_another_namespace(world: World, other_namespace: World) -> None:
    steering = Steering(world)
    await steering.begin()
    assert await admitted(other_namespace, owned(OWNER_UID)) == {}
    assert await admitted(world, owned(OWNER_UID)) == STEERED


async def test_it_ends_with_the_label(world: World) -> None:
    steering = Steering(world)
    await steering.begin()
    await steering.unlabel()
    await steering.awaits([])


async def test_it_ends_with_the_migration(world: World) -> None:
    steering = Steering(world)
    await steering.begin()
    await world.api.delete("PodMigration", world.name, "web-0-1")
    await steering.awaits([])


async def test_without_migrations_pods_are_made_as_ever(world: World) -> None:
    assert await world.records() == []
    assert await admitted(world, owned(OWNER_UID)) == {}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
async def test_the_successor_of_a_pod_comes_to_the_target(world: World, kind: str) -> None:
    """Though the scheduler, left to itself, would take the empty node."""
    source, target, empty = await world.add_nodes(3)
    ballast = pod("ballast", spec={**pod_spec(cpu="2"), "nodeName": target})
    await world.create(ballast)
    web = workload(kind, "web", replicas=1)
    await world.deploy(web, on=source)
    [first] = await world.pods("web")
    before = await world.api.get(kind, world.name, "web")

    steering = Steering(world)
    owner = before["metadata"]["uid"]
    await steering.begin(owner=owner, source=source, target=target)
    successor = await _replaced(world, first, kind)
    assert successor["spec"]["nodeName"] == target
    assert successor["spec"]["affinity"] == {"nodeAffinity": {PREFERRED: wishes(source, target)}}

    await steering.unlabel()
    await steering.awaits([], owner=owner)
    third = await _replaced(world, successor, kind)
    assert third["spec"]["nodeName"] in (source, empty)
    assert "affinity" not in third["spec"]
    after = await world.api.get(kind, world.name, "web")
    assert _as_the_user_made_it(after) == _as_the_user_made_it(before)


async def _replaced(world: World, gone: Object, kind: str) -> Object:
    await world.delete_pod(gone["metadata"]["name"])

    async def is_replaced() -> bool:
        uids = [each["metadata"]["uid"] for each in await world.pods("web")]
        return gone["metadata"]["uid"] not in uids and await world.is_complete("web", kind)

    await world.wait("the pod is replaced", is_replaced)
    [successor] = await world.pods("web")
    return successor


def _as_the_user_made_it(found: Object) -> str:
    kept = copy.deepcopy(found)
    metadata = {key: kept["metadata"].get(key) for key in ("labels", "annotations", "generation")}
    return json.dumps([metadata, kept["spec"]], sort_keys=True)
