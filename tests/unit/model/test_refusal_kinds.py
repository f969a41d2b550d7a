"""Reasons for which pods stay, in classes."""

import pytest

from rescheduler.model.moves import Refusal
from rescheduler.model.refusal_kinds import RefusalKind, counted, kind_of

REASONS = [
    ("its namespace is in excludedNamespaces", RefusalKind.EXCLUDED),
    ("it belongs to a DaemonSet", RefusalKind.EXCLUDED),
    ("its Pods are ..., and pods.jobs is Never", RefusalKind.EXCLUDED),
    ("its label rescheduler.io/rescheduling keeps it out", RefusalKind.EXCLUDED),
    ("its PodDisruptionBudget web: 1 of 2 healthy, a move needs 2", RefusalKind.BUDGET),
    ("ResourceQuota small has no room for a second pod: pods", RefusalKind.QUOTA),
    ("it is being moved already", RefusalKind.UNDER_WAY),
    ("it was moved lately (stability.cooldown.pod)", RefusalKind.COOLDOWN),
    ("its move failed as TimedOut (pmig a): back-off of 1m", RefusalKind.FAILED_BEFORE),
    ("its move would recreate it, and pods.recreate is Never: x", RefusalKind.RECREATE),
    ("its HorizontalPodAutoscaler web is scaling from 1 to 2", RefusalKind.WORKLOAD),
    ("shop/web-2 of its group stays: it is terminating", RefusalKind.GROUP),
    ("it belongs to a group, and nodes are emptied pod by pod", RefusalKind.GROUP),
    ("its ReplicaSet is not known: replicasets are not listed yet", RefusalKind.NOT_SEEN),
    ("no node takes it: 3 nodes: not enough cpu", RefusalKind.NO_NODE),
    ("no node can take it and stay at or below 70 % of cpu", RefusalKind.NO_NODE),
    ("moving it to b would narrow a gap of 5.0 points: not enough", RefusalKind.NO_GAIN),
    ("other moves lower the imbalance more", RefusalKind.NO_GAIN),
    ("other moves lower the imbalance more, and maxReschedulePods is reached", RefusalKind.LIMIT),
    ("maxReschedulePods is reached", RefusalKind.LIMIT),
    ("the search was ended after 5 steps", RefusalKind.LIMIT),
    ("its ReplicaSet has 1 of 2 pods", RefusalKind.WORKLOAD),
    ("its StatefulSet has just been changed", RefusalKind.WORKLOAD),
    ("something new", RefusalKind.OTHER),
]


@pytest.mark.parametrize(("words", "kind"), REASONS)
def test_its_kind(words: str, kind: RefusalKind) -> None:
    assert kind_of(Refusal.of("shop/web-1", [words])) is kind


def test_every_kind_is_counted_also_of_which_there_are_none() -> None:
    found = counted([Refusal.of("a/b", [words, "another"]) for words, _ in REASONS])
    assert list(found) == [each.value for each in RefusalKind]
    assert (found["Excluded"], sum(found.values())) == (4, len(REASONS))
    assert set(counted([]).values()) == {0}
