"""The copy of a pod that nobody controls: what of the live pod is in it."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.copy import bare_copies
from rescheduler.model import names, pins
from tests.unit.migrate.deciding.surge.test_copies import AT, INTENT

BARE = replace(INTENT, owner=None, pod="db")
TOKEN = {"name": "kube-api-access-x2bq7", "projected": {"sources": []}}
MOUNT = {"name": TOKEN["name"], "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
WRITTEN: dict[str, Any] = {
    "containers": [
        {"name": "db", "image": "db:1", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
    ],
    "volumes": [{"name": "d", "emptyDir": {}}],
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "priorityClassName": "high",
    "runtimeClassName": "kata",
    "serviceAccountName": "db",
    "hostname": "db",
    "future": {"field": 1},
}
"""As its user wrote it."""


def seconds(problem: str, for_seconds: int = 300) -> dict[str, Any]:
    key = f"node.kubernetes.io/{problem}"
    toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return {**toleration, "tolerationSeconds": for_seconds}


def live(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - of the specification
    """What the API server has made of it."""
    spec = deepcopy(WRITTEN)
    spec["containers"][0]["volumeMounts"].append(MOUNT)
    spec["volumes"].append(TOKEN)
    spec["tolerations"] += [seconds("not-ready"), seconds("unreachable")]
    filled_in = {
        "nodeName": "node-a.example.com",
        "priority": 1000,
        "preemptionPolicy": "PreemptLowerPriority",
        "overhead": {"cpu": "250m"},
        "ephemeralContainers": [{"name": "debugger"}],
    }
    metadata = {
        "name": "db",
        "uid": BARE.uid,
        "resourceVersion": "7",
        "generateName": "d",
        "finalizers": ["example.com/wait"],
        "managedFields": [{}],
        "labels": {
            "app": "db",
            "pod-template-hash": "left-over",
            "topology.kubernetes.io/zone": "z1",
            "topology.kubernetes.io/region": "r1",
        },
        "annotations": {
            "team": "a",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "cni.projectcalico.org/podIP": "10.0.0.1/32",
            "k8s.v1.cni.cncf.io/networks": "wanted",
            "k8s.v1.cni.cncf.io/network-status": "[]",
            names.DELETION_COST: "5",
        },
    }
    return {
        "metadata": metadata,
        "spec": spec | filled_in | changes,
        "status": {"phase": "Running"},
    }


def build(original: dict[str, Any]) -> dict[str, Any]:
    return bare_copies.build(BARE, original, at=AT)


def test_the_specification_is_as_its_user_wrote_it_and_pinned() -> None:
    copy = build(live())
    assert set(copy) == {"apiVersion", "kind", "metadata", "spec"}
    assert pins.target(copy["spec"]) == "node-b"
    assert pins.remove(copy["spec"]) == WRITTEN


def test_it_carries_what_is_the_user_s_and_the_history() -> None:
    metadata = build(live())["metadata"]
    assert set(metadata) == {"name", "namespace", "labels", "annotations"}
    assert metadata["name"] == BARE.copy
    assert metadata["labels"] == {
        "app": "db",
        names.MIGRATION_ID: BARE.id,
        names.MIGRATION_STATUS: "in-progress",
        names.MIGRATED_FROM: "node-a.example.com",
        names.MIGRATION_REASON: "LoadBalancing",
    }
    assert metadata["annotations"] == {
        "team": "a",
        "k8s.v1.cni.cncf.io/networks": "wanted",
        names.ORIGINAL_POD: BARE.uid,
        names.ORIGINAL_POD_NAME: "db",
        names.MIGRATED_FROM: "node-a.example.com",
        names.MIGRATION_REASON: "LoadBalancing",
        names.MIGRATION_TIME: "2026-03-01T12:30:00+00:00",
    }


def test_building_does_not_change_the_live_pod() -> None:
    original = live()
    build(original)
    assert original == live()


def test_tolerations_that_the_user_set_are_kept() -> None:
    own = [seconds("not-ready", 60), seconds("unreachable")]
    copy = build(live(tolerations=own))
    assert copy["spec"]["tolerations"] == [seconds("not-ready", 60)]


def test_a_volume_of_the_user_with_such_a_name_is_kept() -> None:
    volumes = [{"name": "kube-api-access-mine", "emptyDir": {}}]
    copy = build(live(volumes=volumes))
    assert copy["spec"]["volumes"] == volumes


@pytest.mark.parametrize("key", ["volumes", "tolerations"])
def test_what_held_only_what_was_filled_in_is_left_out(key: str) -> None:
    filled_in = {"volumes": [TOKEN], "tolerations": [seconds("unreachable")]}
    assert key not in build(live(**{key: filled_in[key]}))["spec"]


# ---------------------------------------------------------------------- matchLabelKeys


def _selector(*more: dict[str, Any]) -> dict[str, Any]:
    own = {"key": "tier", "operator": "Exists"}
    return {"matchLabels": {"app": "db"}, "matchExpressions": [own, *more]}


IN = {"key": "app", "operator": "In", "values": ["db"]}
NOT_IN = {"key": "tenant", "operator": "NotIn", "values": ["a"]}
KEYS = {"matchLabelKeys": ["app"], "mismatchLabelKeys": ["tenant"]}


def _specs(*added: dict[str, Any]) -> list[dict[str, Any]]:
    term = {"topologyKey": "zone", "labelSelector": _selector(*added), **KEYS}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
    }
    spread = {"topologyKey": "zone", "labelSelector": _selector(*added[:1])}
    return [
        {"affinity": {"podAntiAffinity": required}},
        {"affinity": {"podAffinity": preferred}},
        {"topologySpreadConstraints": [spread | {"matchLabelKeys": ["app"]}]},
    ]


@pytest.mark.parametrize(
    ("merged", "written"),
    [*zip(_specs(IN, NOT_IN), _specs(), strict=True)],
    ids=["anti", "to", "spread"],
)
def test_what_the_api_server_merged_into_a_selector_is_taken_out(
    merged: dict[str, Any], written: dict[str, Any]
) -> None:
    assert pins.remove(build(live(**merged))["spec"]) == WRITTEN | written


def test_a_requirement_that_is_not_of_such_a_key_is_kept() -> None:
    spread = {"topologyKey": "zone", "labelSelector": _selector(IN)}
    copy = build(live(topologySpreadConstraints=[spread]))
    assert copy["spec"]["topologySpreadConstraints"] == [spread]


# ---------------------------------------------------------------------- moved before


def _moved_before(pinned_to: str) -> dict[str, Any]:
    original = live()
    pinned = pins.add(original["spec"], pinned_to)
    earlier = {names.ORIGINAL_POD: "before", names.ORIGINAL_POD_NAME: "db"}
    original["metadata"]["annotations"] |= earlier
    return original | {"spec": pinned}


def test_the_pin_and_the_history_of_an_earlier_move_are_replaced() -> None:
    copy = build(_moved_before("node-a.example.com"))
    assert pins.target(copy["spec"]) == "node-b"
    assert pins.remove(copy["spec"]) == WRITTEN
    assert copy["metadata"]["annotations"][names.ORIGINAL_POD] == BARE.uid


def test_a_node_that_the_user_asks_for_is_kept() -> None:
    original = live()
    asked = pins.add(original["spec"], "node-a.example.com")
    copy = build(original | {"spec": asked})
    terms = copy["spec"]["affinity"]["nodeAffinity"]
    (required,) = terms.values()
    (term,) = required["nodeSelectorTerms"]
    assert [each["values"] for each in term["matchFields"]] == [["node-a.example.com"], ["node-b"]]
