"""The steering of successors, held against the admission policy that does it in a real cluster."""

from pathlib import Path

import pytest
import yaml

from rescheduler.kube import Object
from rescheduler.model import names
from rescheduler.wire import POD_MIGRATIONS, PODS
from tests.unit.embedded.support.server import Server, migration, pod

_POLICY = Path(__file__).parents[4] / "manifests/components/admission-policy/steering-policy.yaml"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def server() -> Server:
    return Server()


def _steer(
    server: Server, name: str = "m", *, owner: str = "rs-uid", label: str = "true", **spec: object
) -> None:
    body = migration(name, **spec)
    body["metadata"]["labels"] = {names.STEERING: label}
    made = server.api.create(POD_MIGRATIONS, "default", body)
    status = {**made["status"], "phase": "InProgress", "owner": {"uid": owner}}
    server.api.patch(POD_MIGRATIONS, "default", name, {"status": status}, subresource="status")


def _successor(name: str = "next", **spec: object) -> Object:
    body = pod(name, **spec)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-uid"}
    body["metadata"]["ownerReferences"] = [owner]
    return body


def _wishes(server: Server, body: Object) -> list[tuple[int, str, str]]:
    made = server.api.create(PODS, "default", body)
    of_nodes = (made["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    found = []
    for wish in of_nodes.get(_PREFERRED) or ():
        (field,) = wish["preference"]["matchFields"]
        assert field["key"] == "metadata.name"
        (node,) = field["values"]
        found.append((wish["weight"], field["operator"], node))
    return found


def test_the_successor_prefers_the_target_and_avoids_the_source(server: Server) -> None:
    _steer(server)
    assert _wishes(server, _successor()) == [(100, "In", "n2"), (50, "NotIn", "n1")]


def test_its_own_wishes_stay(server: Server) -> None:
    _steer(server)
    field = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    own = {"weight": 7, "preference": {"matchFields": [field]}}
    affinity = {"nodeAffinity": {_PREFERRED: [own]}, "podAffinity": {}}
    wishes = _wishes(server, _successor(affinity=affinity))
    assert wishes == [(7, "In", "n9"), (100, "In", "n2"), (50, "NotIn", "n1")]


def test_every_migration_that_steers_adds_its_wishes(server: Server) -> None:
    _steer(server, "b", target="n3")
    _steer(server, "a")
    targets = [node for weight, _, node in _wishes(server, _successor()) if weight == 100]
    assert targets == ["n2", "n3"]


@pytest.mark.parametrize("case", ["off", "other owner", "no owner", "label", "copy", "no status"])
def test_nobody_else_is_steered(server: Server, case: str) -> None:
    body = _successor()
    match case:
        case "off":
            _steer(server)
            server.api.steering = False
        case "other owner":
            _steer(server, owner="other")
        case "no owner":
            _steer(server)
            del body["metadata"]["ownerReferences"]
        case "label":
            _steer(server, label="false")
        case "copy":
            _steer(server)
            body["metadata"]["labels"][names.MIGRATED_FROM] = "n1"
        case "no status":
            _steer(server, owner="")
    assert _wishes(server, body) == []


def test_the_policy_says_the_same() -> None:
    policy, binding = (
        each
        for each in yaml.safe_load_all(_POLICY.read_text())
        if each["metadata"]["name"] == "rescheduler-steering"
    )
    wanted = binding["spec"]["paramRef"]["selector"]["matchLabels"]
    assert wanted == {names.STEERING: "true"}
    conditions = [each["name"] for each in policy["spec"]["matchConditions"]]
    assert conditions == ["knows-the-owner", "same-owner", "no-copy-of-ours"]
    assert names.MIGRATED_FROM in policy["spec"]["matchConditions"][2]["expression"]
    wishes = "".join(policy["spec"]["variables"][0]["expression"].split())
    for part in (
        "'weight':dyn(100)",
        "'operator':dyn('In'),'values':dyn([params.spec.target])",
        "'weight':dyn(50)",
        "'operator':dyn('NotIn'),'values':dyn([params.spec.source])",
    ):
        assert part in wishes
