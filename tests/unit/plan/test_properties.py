"""What must be true of every plan, whatever the cluster: tried on random ones.

The judge carries each plan out on plain objects and shares nothing with planning.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.config import STRATEGIES, Configuration, Stability
from rescheduler.model.moves import Move, Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import plan
from rescheduler.plan.fitting import Memory, Placement
from tests.unit.plan.support import judge, random_workloads
from tests.unit.plan.support.cluster_objects import Object, labels_of
from tests.unit.plan.support.object_snapshots import snapshot_of

seeds = st.integers(0, 2**32)
EXAMPLES = 30


def configuration(strategies: Sequence[str], limit: int = 0) -> Configuration:
    """One under which much is moved."""
    return Configuration(
        enabled_strategies=tuple(strategies),
        imbalance_threshold_percent=5.0,
        cpu_threshold_percent=40.0,
        memory_threshold_percent=40.0,
        max_reschedule_pods=limit,
        stability=Stability(margin_points=1.0),
    )


def moves_of(objects: Sequence[Object], settled: Configuration) -> tuple[Move, ...]:
    return plan(snapshot_of(objects), settled).moves


@pytest.mark.parametrize("strategies", [*((each,) for each in STRATEGIES), STRATEGIES])
@given(seed=seeds)
@settings(max_examples=EXAMPLES, derandomize=True)
def test_every_prefix_of_a_plan_keeps_every_hard_rule(
    strategies: tuple[str, ...], seed: int
) -> None:
    objects = random_workloads.cluster(seed)
    assert judge.violations(objects, moves_of(objects, configuration(strategies))) == []


@given(seed=seeds)
@settings(max_examples=2 * EXAMPLES, derandomize=True)
def test_no_move_waits_for_another_one_of_its_wave(seed: int) -> None:
    objects = random_workloads.cluster(seed)
    assert judge.waits(objects, moves_of(objects, configuration(STRATEGIES))) == []


@given(seed=seeds)
@settings(max_examples=2 * EXAMPLES, derandomize=True)
def test_wherever_a_pod_is_said_to_fit_every_hard_rule_is_kept(seed: int) -> None:
    """Whatever a strategy would make of it: pods are drawn by lot, and targets from what fits."""
    objects = random_workloads.cluster(seed)
    snapshot = snapshot_of(objects)
    luck = random.Random(seed)  # noqa: S311 - to be repeated, not secret
    placement = Placement(snapshot)
    # Who is about to end is not moved by anybody.
    rows = [row for row in snapshot.rows.tolist() if row not in snapshot.pods.deleting]
    before = {row: placement.targets(row).tolist() for row in rows}
    moves: list[tuple[int, int, int]] = []
    told: list[Move] = []
    for row in luck.choices(rows, k=20) if rows else ():
        way = luck.choice(list(Way))
        targets = np.flatnonzero(placement.targets(row, way)).tolist()
        if targets:
            source, target = int(placement.place[row]), luck.choice(targets)
            assert placement.fits(row, target, way)
            assert placement.why_not(row, target, way) == ()
            told.append(move_of(snapshot, row, (source, target), way))
            moves.append((row, source, target))
            placement.move(row, target)
    assert judge.violations(objects, told, of_anybody=True) == []
    for row, source, _ in reversed(moves):
        placement.move(row, source)
    assert before == {row: placement.targets(row).tolist() for row in rows}


def move_of(snapshot: Snapshot, row: int, places: tuple[int, int], way: Way) -> Move:
    namespace, pod = snapshot.pods.names[row].split("/")
    source, target = (snapshot.nodes[place].name for place in places)
    return Move(
        namespace=namespace,
        pod=pod,
        uid=snapshot.pods.uids[row],
        source=source,
        target=target,
        strategy="by lot",
        reason="",
        way=way,
    )


@given(seed=seeds)
@settings(max_examples=EXAMPLES, derandomize=True)
def test_the_same_cluster_gives_the_same_plan_in_whatever_order_it_was_sent(seed: int) -> None:
    objects = random_workloads.cluster(seed)
    settled = configuration(STRATEGIES)
    expected = plan(snapshot_of(objects), settled)
    shuffled = list(objects)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - to be repeated, not secret
    assert plan(snapshot_of(shuffled), settled) == expected


@given(seed=seeds)
@settings(max_examples=EXAMPLES, derandomize=True)
def test_what_is_remembered_from_plan_to_plan_changes_none(seed: int) -> None:
    memory = Memory()
    settled = configuration(STRATEGIES)
    for number in range(3):
        snapshot = snapshot_of(random_workloads.cluster(seed + number))
        anew = plan(snapshot, settled)
        for _ in range(2):
            assert plan(snapshot, settled, memory=memory) == anew


@given(seed=seeds)
@settings(max_examples=EXAMPLES, derandomize=True)
def test_pods_namespaces_and_nodes_renamed_give_the_same_moves_renamed(seed: int) -> None:
    objects = random_workloads.cluster(seed)
    settled = configuration(STRATEGIES)
    names = new_names(objects)
    renamed: list[Object] = [with_other_names(each, names) for each in objects]
    expected = [with_other_names(what_moves(each), names) for each in moves_of(objects, settled)]
    assert [what_moves(each) for each in moves_of(renamed, settled)] == expected


def new_names(objects: Sequence[Object]) -> Mapping[str, str]:
    """For all namespaces, nodes and pods; what came first by name still does."""
    known = {
        each["metadata"]["name"] for each in objects if each["kind"] in ("Namespace", "Node", "Pod")
    }
    return {name: f"other-{number:04}" for number, name in enumerate(sorted(known))}


def with_other_names(thing: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON
    """Wherever a name stands by itself. Names of others, such as volumes, stay."""
    if isinstance(thing, dict):
        return {key: with_other_names(value, names) for key, value in thing.items()}
    if isinstance(thing, list):
        return [with_other_names(each, names) for each in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing


def what_moves(move: Move) -> dict[str, Any]:
    return {
        "namespace": move.namespace,
        "pod": move.pod,
        "source": move.source,
        "target": move.target,
        "strategy": move.strategy,
        "way": move.way,
        "wave": move.wave,
    }


@given(seed=seeds, limit=st.integers(1, 5))
@settings(max_examples=EXAMPLES, derandomize=True)
def test_no_more_pods_are_moved_than_allowed_but_for_those_that_somebody_asked_for(
    seed: int, limit: int
) -> None:
    moves = moves_of(random_workloads.cluster(seed), configuration(STRATEGIES, limit))
    assert sum(not move.asked for move in moves) <= limit
    assert len({move.uid for move in moves}) == len(moves)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_there_is_something_to_move_in_these_clusters(strategy: str) -> None:
    clusters = map(random_workloads.cluster, range(EXAMPLES))
    assert any(moves_of(each, configuration([strategy])) for each in clusters)


@given(seed=seeds)
@settings(max_examples=EXAMPLES, derandomize=True)
def test_a_group_moves_as_a_whole_or_not_at_all(seed: int) -> None:
    objects = random_workloads.cluster(seed)
    moved = {move.uid for move in moves_of(objects, configuration(STRATEGIES, 3))}
    groups: dict[str, set[str]] = {}
    for each in objects:
        if each["kind"] == "Pod" and (group := labels_of(each).get(random_workloads.GROUP)):
            groups.setdefault(group, set()).add(each["metadata"]["uid"])
    for members in groups.values():
        assert not moved & members or members <= moved
