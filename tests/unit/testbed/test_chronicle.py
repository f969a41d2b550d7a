"""The judge of tests/neighbours/test_karpenter.py, shown what it must not overlook."""

import pytest

from testbed.api import Object
from tests.neighbours.chronicle import FILLED_SECONDS, Chronicle


def node(name: str, *, leaving: bool = False) -> Object:
    taints = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}] if leaving else []
    return {"metadata": {"name": name}, "spec": {"taints": taints}}


def record(pod: str, target: str = "n", *, phase: str = "Completed", new: str = "") -> Object:
    status = {"phase": phase, "newPod": {"name": new, "uid": f"uid-{new}"}}
    spec = {"pod": {"name": pod, "uid": f"uid-{pod}"}, "target": target}
    return {"metadata": {"uid": f"record-{pod}-{phase}"}, "spec": spec, "status": status}


def test_a_pod_that_is_moved_again_is_told() -> None:
    chronicle = Chronicle()
    chronicle.note(0, [record("a", new="b")], [])
    assert chronicle.moved_twice() == []
    # The first may be deleted by then.
    chronicle.note(9, [record("b", new="c")], [])
    assert chronicle.moved_twice() == ["b"]


def test_a_move_that_was_taken_back_is_none() -> None:
    chronicle = Chronicle()
    chronicle.note(0, [record("a", phase="Failed"), record("a", new="b")], [])
    assert len(chronicle.moved()) == 1
    assert chronicle.moved_twice() == []


@pytest.mark.parametrize("how", ["tainted", "gone"])
def test_a_node_that_goes_soon_after_it_was_filled_is_told(how: str) -> None:
    chronicle = Chronicle()
    chronicle.note(0, [record("a", "n1"), record("b", "n2")], [node("n1"), node("n2")])
    left = [node("n2")] if how == "gone" else [node("n1", leaving=True), node("n2")]
    chronicle.note(FILLED_SECONDS - 1, [], left)
    assert set(chronicle.removed) == {"n1"}
    assert chronicle.filled_before_removal() == ["n1: a"]


def test_a_node_that_goes_much_later_may_have_been_filled() -> None:
    chronicle = Chronicle()
    chronicle.note(0, [record("a", "n1")], [node("n1")])
    chronicle.note(FILLED_SECONDS + 1, [], [])
    assert chronicle.filled_before_removal() == []
