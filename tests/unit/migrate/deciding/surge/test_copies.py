"""The copy of a pod: what it is made of, and how it is known again."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.config import Migration
from rescheduler.migrate.deciding import naming
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.migrate.deciding.surge import copies
from rescheduler.model import names, pins, selectors

UID = "5f0c2f0e-6f0b-4d8e-9f43-0a4f2f8b9c11"
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
subdomains = st.from_regex(SUBDOMAIN, fullmatch=True).filter(lambda name: len(name) <= 253)
long_subdomains = st.text("ab-.", min_size=1, max_size=240).map(
    lambda text: re.sub(r"[.-]*\.[.-]*", ".", f"a{text}z")
)

REPLICA_SET: dict[str, Any] = {
    "metadata": {"name": "web-6f9c", "namespace": "shop", "uid": "rs-uid"},
    "spec": {
        "selector": {"matchLabels": {"app": "web", "pod-template-hash": "6f9c"}},
        "template": {
            "metadata": {
                "labels": {"app": "web", "pod-template-hash": "6f9c", "tier": "front"},
                "annotations": {"team": "a"},
            },
            "spec": {"containers": [{"name": "app", "image": "web:1"}], "future": {"field": 1}},
        },
    },
}
ID = naming.migration_id(UID, 1)
INTENT = Intent(
    record="web-6f9c-abcde-0123456789-1",
    id=ID,
    namespace="shop",
    pod="web-6f9c-abcde",
    uid=UID,
    source="node-a.example.com",
    target="node-b",
    strategy="LoadBalancing",
    reason="a test",
    requested_at=AT,
    settings=Migration(),
    owner=Owner("apps/v1", "ReplicaSet", "web-6f9c", "rs-uid"),
)


def build(intent: Intent = INTENT, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - of the template
    template = REPLICA_SET["spec"]["template"] | changes
    replica_set = {**REPLICA_SET, "spec": {**REPLICA_SET["spec"], "template": template}}
    return copies.build(intent, replica_set, withheld="pod-template-hash", at=AT)


def test_goes_by_the_label_that_it_lacks_as_its_siblings_do() -> None:
    """The API server reads `matchLabelKeys` off a pod's labels once, as it is created."""
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["tier", "pod-template-hash"],
    }
    unlike = term | {"matchLabelKeys": [], "mismatchLabelKeys": ["pod-template-hash"]}
    preferred = {"weight": 1, "podAffinityTerm": term}
    affinity = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [unlike],
            "preferredDuringSchedulingIgnoredDuringExecution": [preferred],
        },
    }
    spec = {"affinity": affinity, "topologySpreadConstraints": [term]}
    made = build(spec=json.loads(json.dumps(spec)))["spec"]

    def said(operator: str) -> dict[str, Any]:
        only = {"key": "pod-template-hash", "operator": operator, "values": ["6f9c"]}
        return {"matchLabels": {"app": "web"}, "matchExpressions": [only]}

    by_hash = term | {"matchLabelKeys": ["tier"], "labelSelector": said("In")}
    [apart] = made["affinity"]["podAntiAffinity"].values()
    required, [weighed] = made["affinity"]["podAffinity"].values()
    assert apart == made["topologySpreadConstraints"] == [by_hash]
    assert weighed == {"weight": 1, "podAffinityTerm": by_hash}
    assert required == [unlike | {"mismatchLabelKeys": [], "labelSelector": said("NotIn")}]


def is_copy(pod: dict[str, Any], uid: str = UID) -> bool:
    return copies.is_copy_of(pod, uid, ID, INTENT.copy)


def test_labels_are_the_templates_less_the_withheld_one_plus_the_history() -> None:
    assert build()["metadata"]["labels"] == {
        "app": "web",
        "tier": "front",
        names.MIGRATION_ID: ID,
        names.MIGRATION_STATUS: "in-progress",
        names.MIGRATED_FROM: "node-a.example.com",
        names.MIGRATION_REASON: "LoadBalancing",
    }


def test_annotations_are_the_templates_plus_the_history() -> None:
    assert build()["metadata"]["annotations"] == {
        "team": "a",
        names.ORIGINAL_POD: UID,
        names.ORIGINAL_POD_NAME: "web-6f9c-abcde",
        names.MIGRATED_FROM: "node-a.example.com",
        names.MIGRATION_REASON: "LoadBalancing",
        names.MIGRATION_TIME: "2026-03-01T12:30:00+00:00",
    }


def test_the_replica_set_owns_it_without_controlling_it() -> None:
    (reference,) = build()["metadata"]["ownerReferences"]
    assert reference == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web-6f9c",
        "uid": "rs-uid",
    }


def test_nothing_of_the_live_pod_is_copied() -> None:
    copy = build()
    assert set(copy) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(copy["metadata"]) == {
        "name",
        "namespace",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    }
    assert pins.remove(copy["spec"]) == REPLICA_SET["spec"]["template"]["spec"]
    assert pins.target(copy["spec"]) == "node-b"


def test_fields_that_nobody_knows_yet_are_kept() -> None:
    assert build()["spec"]["future"] == {"field": 1}


@pytest.mark.parametrize("metadata", [None, {}, {"labels": None, "annotations": None}])
def test_a_template_may_have_no_metadata(metadata: dict[str, Any] | None) -> None:
    copy = build(metadata=metadata)
    assert is_copy(copy)


def test_finalizers_of_the_template_are_kept() -> None:
    copy = build(metadata={"finalizers": ["example.com/wait"]})
    assert copy["metadata"]["finalizers"] == ["example.com/wait"]


def test_building_changes_neither_the_replica_set_nor_a_later_copy() -> None:
    first, second = build(), build()
    first["metadata"]["labels"]["app"] = "changed"
    first["spec"]["containers"][0]["image"] = "changed"
    assert second == build()


# ---------------------------------------------------------------------- names


ids = st.uuids().map(lambda uid: naming.migration_id(str(uid), 1))
times = st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2099, 1, 1))  # noqa: DTZ001


@given(subdomains | long_subdomains, ids)
def test_its_name_is_always_valid(replica_set: str, migration: str) -> None:
    name = naming.copy_name(replica_set, migration)
    assert len(name) <= 63
    assert SUBDOMAIN.fullmatch(name)


@given(subdomains, ids, ids)
def test_one_migration_one_name(replica_set: str, one: str, other: str) -> None:
    names_ = {naming.copy_name(replica_set, each) for each in (one, one, other)}
    assert len(names_) == len({one, other})


@given(subdomains | long_subdomains, times)
def test_the_name_of_a_standalone_copy_is_always_valid(pod: str, at: datetime) -> None:
    name = naming.standalone_name(pod, at)
    assert len(name) <= 63
    assert SUBDOMAIN.fullmatch(name)
    assert not re.search(r"-\d+$", name), "could be taken for a pod of a StatefulSet"


@given(subdomains | long_subdomains, st.lists(times, min_size=2, max_size=5, unique=True))
def test_moves_of_a_standalone_pod_do_not_pile_up_prefixes(pod: str, at: list[datetime]) -> None:
    name = pod
    for each in at:
        name = naming.standalone_name(name, each)
    assert name.count("rescheduled-") == 1 + pod.count("rescheduled-")
    assert name == naming.standalone_name(naming.standalone_name(pod, at[0]), at[-1])


def test_a_standalone_copy_is_named_after_its_pod_and_when_its_move_was_asked_for() -> None:
    intent = replace(INTENT, owner=None, pod="db")
    assert intent.copy == "rescheduled-db-20260301t123000z"


def test_what_is_too_long_for_a_label_stands_in_full_in_an_annotation() -> None:
    source, strategy = "node." + "x" * 80, "S" * 80
    metadata = build(replace(INTENT, source=source, strategy=strategy))["metadata"]
    for key, value in ((names.MIGRATED_FROM, source), (names.MIGRATION_REASON, strategy)):
        assert metadata["annotations"][key] == value
        assert metadata["labels"][key] == names.label_value(value)
        assert len(metadata["labels"][key]) <= 63


LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


@given(st.text(max_size=100))
def test_whatever_a_person_gives_as_the_reason_makes_a_label(strategy: str) -> None:
    metadata = build(replace(INTENT, strategy=strategy))["metadata"]
    label = metadata["labels"][names.MIGRATION_REASON]
    assert len(label) <= 63
    assert LABEL_VALUE.fullmatch(label)
    assert metadata["annotations"][names.MIGRATION_REASON] == strategy


# ---------------------------------------------------------------------- known again


def test_a_copy_is_known_again() -> None:
    assert is_copy(build())


def _forged(place: str, key: str, value: str | None) -> dict[str, Any]:
    copy = build()
    metadata = copy["metadata"]
    if place == "name":
        metadata["name"] = value
    elif value is None:
        del metadata[place]
    else:
        metadata[place][key] = value
    return copy


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(_forged("labels", names.MIGRATION_ID, "0" * 16), id="another-id"),
        pytest.param(_forged("labels", "", None), id="no-labels"),
        pytest.param(_forged("annotations", names.ORIGINAL_POD, "other"), id="another-original"),
        pytest.param(_forged("annotations", "", None), id="no-annotations"),
        pytest.param(_forged("name", "", "web-6f9c-xyz"), id="another-name"),
        pytest.param({"metadata": {"name": "web"}}, id="any-pod"),
        pytest.param(
            {"metadata": {"name": "web", "labels": None, "annotations": None}}, id="nulls"
        ),
    ],
)
def test_a_forgery_is_not(pod: dict[str, Any]) -> None:
    assert not is_copy(pod)


def test_a_copy_of_another_pod_is_not() -> None:
    assert not is_copy(build(), "another-uid")


# ---------------------------------------------------------------------- the withheld label


def _owner(**labels: str) -> dict[str, Any]:
    template = {"metadata": {"labels": labels}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": template}}


EXPRESSIONS: dict[str, Any] = {"spec": {"selector": {"matchExpressions": []}, "template": {}}}
HASHED = _owner(**{"app": "web", "pod-template-hash": "6f9c"})


@pytest.mark.parametrize(
    ("owner", "selecting", "withheld"),
    [
        pytest.param(HASHED, ["app=web"], "pod-template-hash", id="hash-first"),
        pytest.param(HASHED, [], "pod-template-hash", id="nobody-selects"),
        pytest.param(HASHED, ["pod-template-hash=6f9c"], "app", id="service-by-hash"),
        pytest.param(HASHED, ["app=web", "pod-template-hash"], None, id="both-selected-by"),
        pytest.param(HASHED, ["app=web,pod-template-hash!=x"], "pod-template-hash", id="not-equal"),
        pytest.param(_owner(app="web"), ["app=web"], None, id="bare-with-one-label"),
        pytest.param(_owner(app="web"), ["app=db"], "app", id="another-app"),
        pytest.param(_owner(app="web", b="1", a="1"), ["app=web"], "a", id="first-by-name"),
        pytest.param(
            _owner(**{"app": "w", "rollouts-pod-template-hash": "x"}),
            ["app=w"],
            "rollouts-pod-template-hash",
            id="argo-rollouts",
        ),
        pytest.param(HASHED, ["pod-template-hash=other"], "pod-template-hash", id="another-hash"),
        pytest.param(EXPRESSIONS, [], None, id="expressions"),
    ],
)
def test_the_withheld_label(
    owner: dict[str, Any], selecting: list[str], withheld: str | None
) -> None:
    original = owner["spec"]["selector"].get("matchLabels") or {}
    parsed = [selectors.parse(each) for each in selecting]
    assert copies.withheld_label(owner, original, parsed) == withheld


def test_no_label_is_withheld_when_the_original_has_one_more_that_a_service_selects_by() -> None:
    """Such as a label that somebody set by hand: the copy would not serve as the original does."""
    original = {"app": "web", "pod-template-hash": "6f9c", "canary": "yes"}
    assert copies.withheld_label(HASHED, original, [selectors.parse("canary=yes")]) is None


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        ({"app": "web"}, {"pod-template-hash": "6f9c"}),
        ({"app": "web", "pod-template-hash": "other"}, {"pod-template-hash": "6f9c"}),
        ({"app": "web", "pod-template-hash": "6f9c", "more": "x"}, {}),
        (None, {"app": "web", "pod-template-hash": "6f9c"}),
    ],
    ids=["lacks-one", "wrong-value", "complete", "no-labels"],
)
def test_labels_that_it_lacks_to_be_adopted(
    labels: dict[str, str] | None, missing: dict[str, str]
) -> None:
    assert copies.missing_labels(HASHED, {"metadata": {"labels": labels}}) == missing


# ---------------------------------------------------------------------- of what admission answered

ANSWER: dict[str, Any] = {
    "metadata": {
        "name": "web-6f9c-x7x7x",
        "generateName": "web-6f9c-",
        "uid": "of-a-dry-run",
        "labels": {"app": "web", "pod-template-hash": "6f9c", "tier": "front", "mesh": "on"},
        "annotations": {"team": "a", "mesh": "injected"},
        "finalizers": ["example.com/stays"],
        "ownerReferences": [{"kind": "ReplicaSet", "uid": "rs-uid", "controller": True}],
    },
    "spec": {
        "containers": [{"name": "app", "image": "web:1"}, {"name": "mesh", "image": "mesh:1"}],
        "volumes": [{"name": "kube-api-access-x7x7x", "projected": {}}],
    },
    "status": {"phase": "Pending"},
}


def from_answer(**spec: Any) -> dict[str, Any]:  # noqa: ANN401
    answer = json.loads(json.dumps({**ANSWER, "spec": {**ANSWER["spec"], **spec}}))
    return copies.build(INTENT, REPLICA_SET, withheld="pod-template-hash", at=AT, answer=answer)


def test_a_copy_has_all_that_admission_gives_its_siblings() -> None:
    made = from_answer()
    metadata, spec = made["metadata"], made["spec"]
    assert made.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert metadata["name"] == INTENT.copy
    assert metadata.keys().isdisjoint({"generateName", "uid"})
    assert {"app", "tier", "mesh"} <= metadata["labels"].keys()
    assert "pod-template-hash" not in metadata["labels"]
    assert metadata["annotations"]["mesh"] == "injected"
    assert metadata["finalizers"] == ["example.com/stays"]
    [reference] = metadata["ownerReferences"]
    assert "controller" not in reference
    assert spec["containers"] == ANSWER["spec"]["containers"]
    assert spec["volumes"] == ANSWER["spec"]["volumes"]
    assert pins.target(spec) == "node-b"
    assert is_copy(made)


def test_a_node_that_admission_names_is_not_the_target() -> None:
    assert "nodeName" not in from_answer(nodeName="node-a")["spec"]


def test_label_keys_are_merged_by_the_api_server_once_only() -> None:
    """In the answer they are; a second time the same keys would be refused."""
    merged = [
        {"key": "tier", "operator": "In", "values": ["front"]},
        {"key": "pod-template-hash", "operator": "In", "values": ["6f9c"]},
    ]
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": merged},
        "matchLabelKeys": ["tier", "pod-template-hash"],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    made = from_answer(affinity={"podAntiAffinity": required})["spec"]
    [rule] = made["affinity"]["podAntiAffinity"].values()
    assert rule == [
        {
            "topologyKey": "zone",
            "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": merged[1:]},
            "matchLabelKeys": ["tier"],
        }
    ]


def test_a_resized_container_keeps_its_size_and_says_so() -> None:
    sized = [{"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "2"}}}]
    made = copies.build(
        INTENT,
        REPLICA_SET,
        withheld="pod-template-hash",
        at=AT,
        original={"spec": {"containers": sized}},
        kept=["app"],
    )
    assert made["spec"]["containers"] == sized
    assert made["metadata"]["annotations"][names.RESIZED] == "app"
    assert names.RESIZED not in build()["metadata"]["annotations"]
