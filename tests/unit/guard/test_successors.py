"""Who evicts by name alone, as kubectl does, and tries again when the successor has that name."""

from dataclasses import replace

import pytest

from rescheduler.guard import Absent, Guard, Hold, Why
from rescheduler.model.cluster import Node, Pod
from tests.unit.guard.tables import DB, at, evict, of, record, table
from tests.unit.plan.support.clusters_by_load import node

OLD = of(DB, "db-0")
NEW = replace(OLD, uid="new", node="b")
MOVED = record("db-0", "Completed", created=1, ended=4)


def test_one_that_has_moved_is_not_there_though_its_successor_is() -> None:
    guard = Guard()
    assert isinstance(guard.judge(evict("db-0"), table([OLD], taken_at=0), at(0)), Hold)
    once_more = guard.judge(evict("db-0"), table([NEW], MOVED, taken_at=5), at(5))
    assert isinstance(once_more, Hold)
    assert once_more.wanted is None
    found = guard.judge(evict("db-0"), table([NEW], MOVED, taken_at=10), at(10))
    assert isinstance(found, Absent)
    assert found.why is Why.MOVED
    assert "migration shop/mig-db-0-1" in found.words
    assert found.words.endswith("its successor, on b")
    assert found.held_seconds == 10


@pytest.mark.parametrize("ready", [True, False])
def test_also_by_a_replica_that_did_not_hold_it_and_while_it_starts(ready: bool) -> None:  # noqa: FBT001
    guard, moving = Guard(), record("db-0", "InProgress", created=1)
    pods = [replace(NEW, ready=ready)]
    assert isinstance(guard.judge(evict("db-0"), table(pods, moving, taken_at=5), at(5)), Hold)
    found = guard.judge(evict("db-0"), table(pods, moving, taken_at=7), at(7))
    assert isinstance(found, Absent)
    assert found.held_seconds is None


def test_somebody_has_just_begun_to_empty_its_new_node() -> None:
    """Which the table shows a moment later: whom he evicts there is not gone."""
    guard = Guard()
    early = guard.judge(evict("db-0"), table([NEW], MOVED, taken_at=5), at(5.5))
    assert isinstance(early, Hold)
    cordoned = [node("a"), node("b", unschedulable=True)]
    later = table([NEW], MOVED, nodes=cordoned, taken_at=10)
    found = guard.judge(evict("db-0"), later, at(10))
    assert isinstance(found, Hold)
    assert found.wanted is not None
    assert (found.wanted.uid, found.wanted.node) == ("new", "b")


def test_also_before_it_has_a_node() -> None:
    waiting = replace(NEW, node="", ready=False)
    nodes = [node("a"), node("b", unschedulable=True)]
    guard, moving = Guard(), record("db-0", "InProgress", created=1)
    for seconds, verdict in ((5, Hold), (10, Absent)):
        known = table([waiting], moving, nodes=nodes, taken_at=seconds)
        assert isinstance(guard.judge(evict("db-0"), known, at(seconds)), verdict)


def test_who_says_which_one_he_means_is_believed() -> None:
    known = table([NEW], MOVED, taken_at=5)
    assert isinstance(Guard().judge(evict("db-0", uid="new"), known, at(5)), Hold)
    assert Guard().judge(evict("db-0", uid=OLD.uid), known, at(5)).why is Why.GONE


@pytest.mark.parametrize(
    "emptied",
    [
        node("b", unschedulable=True),
        node("b", taints=({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},)),
    ],
)
def test_one_whose_node_is_being_emptied_is_meant_itself(emptied: Node) -> None:
    """Nodes are drained one after the other, by the same person."""
    known = table([NEW], MOVED, nodes=[node("a"), emptied], taken_at=5)
    found = Guard().judge(evict("db-0"), known, at(5))
    assert isinstance(found, Hold)
    assert found.wanted is not None


@pytest.mark.parametrize(
    ("moved", "pod_now", "when"),
    [
        (MOVED, replace(NEW, node="a"), 5),
        (record("db-0", "Completed", created=1, ended=4, by="bob"), NEW, 5),
        (record("db-0", "Completed", created=1, ended=4, by=None), NEW, 5),
        (record("db-0", "Failed", created=1, ended=4), NEW, 5),
        (record("db-1", "Completed", created=1, ended=4), NEW, 5),
        (MOVED, NEW, 64),
    ],
    ids=["on the same node", "of another", "of nobody", "not moved", "another pod", "long ago"],
)
def test_every_other_one_is_evicted_for_its_own_sake(
    moved: dict[str, object], pod_now: Pod, when: float
) -> None:
    known = table([pod_now], moved, taken_at=when)
    found = Guard().judge(evict("db-0"), known, at(when))
    assert isinstance(found, Hold)
    assert found.wanted is not None
