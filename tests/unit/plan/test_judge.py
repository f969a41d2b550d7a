"""The judge of plans sees what is wrong: else it would prove nothing that it finds nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rescheduler.model.moves import Move, Way
from tests.unit.plan.support import judge
from tests.unit.plan.support.cluster_objects import Object

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NEAR = [{"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def node(name: str, zone: str, **more: Any) -> Object:  # noqa: ANN401 - fields of its spec
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": zone}},
        "spec": more,
        "status": {
            "allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, where: str, *, app: str = "web", cpu: str = "300m", **more: Any) -> Object:  # noqa: ANN401
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "labels": {"app": app},
            "ownerReferences": [{"kind": "ReplicaSet"}],
        },
        "spec": {
            "nodeName": where,
            "containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}],
            **more,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def move(name: str, source: str, target: str, **more: Any) -> Move:  # noqa: ANN401
    return Move(
        namespace="shop",
        pod=name,
        uid=name,
        source=source,
        target=target,
        strategy="any",
        reason="",
        **more,
    )


NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1", "c")]


def apart(kind: str, terms: Sequence[Mapping[str, Any]]) -> Object:
    return {"affinity": {kind: {REQUIRED: terms}}}


@pytest.mark.parametrize(
    ("pods", "moves", "words"),
    [
        pytest.param(
            [pod("x", "a1", cpu="600m"), pod("y", "b1", cpu="600m")],
            [move("x", "a1", "b1")],
            "resources",
            id="no-room",
        ),
        pytest.param(
            [pod("x", "a1"), pod("y", "b1", app="db", **apart("podAntiAffinity", NEAR))],
            [move("x", "a1", "b1")],
            "",
            id="kept-away-from-others-only",
        ),
        pytest.param(
            [pod("x", "a1", app="db"), pod("y", "b1", **apart("podAntiAffinity", NEAR))],
            [move("x", "a1", "b1")],
            "others' anti-affinity",
            id="others-keep-it-away",
        ),
        pytest.param(
            [pod("x", "a1", app="db"), pod("y", "a2", **apart("podAffinity", NEAR))],
            [move("x", "a1", "b1")],
            "afterwards affinity shop/y",
            id="leaves-others-behind",
        ),
        pytest.param(
            [
                *(pod(name, "a1", topologySpreadConstraints=[SPREAD]) for name in "xy"),
                *(pod(name, name + "1", topologySpreadConstraints=[SPREAD]) for name in "bc"),
            ],
            [move("b", "b1", "c1")],
            "afterwards spread",
            id="leaves-a-domain-empty",
        ),
        pytest.param(
            [pod("x", "a1")],
            [move("x", "a1", "b1"), move("x", "b1", "a1")],
            "it moves twice",
            id="twice",
        ),
        pytest.param([pod("x", "a1")], [move("x", "a2", "b1")], "it is on a1", id="elsewhere"),
        pytest.param([pod("x", "a1")], [move("y", "a1", "b1")], "no such pod", id="not-there"),
        pytest.param(
            [pod("x", "a1")],
            [move("x", "a1", "b1", way=Way.RECREATE)],
            "nobody asked",
            id="recreated",
        ),
        pytest.param([pod("x", "a1")], [move("x", "a1", "b1")], "", id="right"),
    ],
)
def test_it_sees_what_is_wrong(pods: list[Object], moves: list[Move], words: str) -> None:
    found = judge.violations([*NODES, *pods], moves)
    assert any(words in each for each in found) if words else found == []


def test_it_sees_a_target_that_is_none() -> None:
    closed = node("shut", "c", unschedulable=True)
    found = judge.violations([*NODES, closed, pod("x", "a1")], [move("x", "a1", "shut")])
    assert any("cordoned" in each for each in found)


def test_it_sees_a_quota_without_room() -> None:
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "shop"},
        "spec": {"hard": {"pods": "1"}},
        "status": {"used": {"pods": "1"}},
    }
    found = judge.violations([*NODES, quota, pod("x", "a1")], [move("x", "a1", "b1")])
    assert any("quota" in each for each in found)


@pytest.mark.parametrize(("second", "waits"), [(0, True), (1, False)])
def test_it_sees_a_move_that_waits_for_another_of_its_wave(second: int, *, waits: bool) -> None:
    pods = [pod("x", "a1", cpu="600m"), pod("y", "b1", cpu="600m")]
    moves = [move("x", "a1", "c1"), move("y", "b1", "a1", wave=second)]
    assert judge.violations([*NODES, *pods], moves) == []
    assert bool(judge.waits([*NODES, *pods], moves)) is waits
