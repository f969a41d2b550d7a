"""Whatever is named as what would have to change, is: made by other hands, it lets the pod move.

WHATIF_REFUSALS asks for more of them, and WHATIF_SEED for others.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from rescheduler.config import Configuration
from rescheduler.model.columns import NONE
from rescheduler.plan.desk import Desk
from rescheduler.plan.explaining import row_of
from rescheduler.plan.whatif import Change, World, remedies, why_none
from tests.unit.plan.support import random_workloads
from tests.unit.plan.support.cluster_objects import Object
from tests.unit.plan.support.made_changes import Hands
from tests.unit.plan.support.object_snapshots import snapshot_of

REFUSALS = int(os.environ.get("WHATIF_REFUSALS", "150"))
SEED = os.environ.get("WHATIF_SEED", "0")
TAKEN_AT = 1_772_366_500.0

SETTINGS: Sequence[Mapping[str, Any]] = (
    {},
    {"pods": {"minReplicas": 4, "priorityThreshold": 100}, "migration": {"way": "Surge"}},
    {"excludedNamespaces": ["w0-red", "kube-system"], "excludedPodSelector": "tier=x"},
    {"scope": {"namespaces": ["w0-red", "w0-blue"]}, "pods": {"emptyDir": "Never"}},
)
HOPELESS = ("it is terminating", "a copy is taking its place", "was not found", "is not bound")
"""Who is on its way out goes nowhere else, whatever is changed; and storage is not conjured up."""


def refused() -> Iterator[tuple[list[Object], Mapping[str, Any], World]]:
    """Pods that are not part of their node, and may not move or have nowhere to go."""
    for number in count():
        objects = random_workloads.cluster(f"{SEED} {number}")
        settings = SETTINGS[number % len(SETTINGS)]
        configuration = Hands((), settings).configuration
        snapshot = snapshot_of(objects, taken_at=TAKEN_AT)
        desk = Desk(snapshot, configuration)
        for row in snapshot.rows.tolist():
            if snapshot.node_of_pod[row] == NONE or desk.is_part_of_its_node(row):
                continue
            world = World(snapshot, configuration, row)
            if not world.is_movable:
                yield objects, settings, world


def is_movable(hands: Hands, pod: str) -> bool:
    configuration: Configuration = hands.configuration
    snapshot = snapshot_of(hands.objects, taken_at=TAKEN_AT)
    row = row_of(snapshot, pod)
    assert row is not None
    desk = Desk(snapshot, configuration)
    return not desk.why_it_stays(row) and bool((desk.targets(row) & ~desk.left_alone).any())


def made(
    objects: Sequence[Object],
    settings: Mapping[str, Any],
    changes: Sequence[Change],
    *,
    halved: Change | None = None,
) -> Hands:
    hands = Hands(objects, settings)
    for change in changes:
        hands.make(change, halved=change is halved)
    return hands


def test_the_change_named_lets_the_pod_move_and_half_of_it_does_not() -> None:
    kinds: Counter[str] = Counter()
    helpless: Counter[tuple[str, ...]] = Counter()
    told: Counter[str] = Counter()
    halves = 0
    for objects, settings, world in islice(refused(), REFUSALS):
        pod = world.desk.name(world.row)
        found = remedies(world)
        if not found:
            helpless[world.stays] += 1
            told[why_none(world)] += 1
        for remedy in found:
            changes = remedy.changes
            assert is_movable(made(objects, settings, changes), pod), (pod, remedy)
            for change in changes:
                kinds[change.kind] += 1
                left = [each for each in changes if each is not change]
                assert not is_movable(made(objects, settings, left), pod), (pod, remedy)
                if change.amount is not None:
                    half = made(objects, settings, changes, halved=change)
                    assert not is_movable(half, pod), (pod, remedy, change)
                    halves += 1
    unexplained = {
        why: times
        for why, times in helpless.items()
        if not any(each in reason for reason in why for each in HOPELESS)
    }
    print(  # noqa: T201 - for who asks for many of them, with -rP
        f"{REFUSALS} refusals, seed {SEED}: {sum(kinds.values())} changes named, {halves} of them "
        f"quantities; nothing named for {sum(helpless.values())}, of which "
        f"{sum(unexplained.values())} could have had a remedy; {dict(kinds)}"
    )
    print(dict(told))  # noqa: T201 - the same
    assert "" not in told  # of each it is said why
    assert sum(unexplained.values()) <= REFUSALS // 20, unexplained
    assert halves > REFUSALS // 10
    assert len(kinds) >= 10, kinds
