"""Moves in flight count as made until the cluster shows them."""

from typing import Any

from rescheduler.model import names, pins
from rescheduler.observe.state import ClusterState
from rescheduler.wire import NODES, PODS
from tests.unit.observe.state.server import Object, hear, lose, node, owned, pod, relist, state_of

ORIGINAL = pod("p", "a", **owned("ReplicaSet", "web"))


def copy(**more: Any) -> Object:  # noqa: ANN401
    annotations = {names.ORIGINAL_POD: "uid-p", names.ORIGINAL_POD_NAME: "p"}
    made = pod("p-copy", "b", annotations=annotations, **more)
    made["spec"] = pins.add(made["spec"], "b")
    return made


def cluster() -> ClusterState:
    return state_of([node("a"), node("b")], [ORIGINAL])


def held(state: ClusterState) -> list[int]:
    return [int(n) for n in state.snapshot().requested[:, 0]]


def balance(state: ClusterState) -> list[int]:
    return [int(n) for n in state.snapshot().staying[:, 0]]


def test_both_hold_room_and_only_the_copy_counts_for_balance() -> None:
    state = cluster()
    assert state.pods.assume("shop/p", "uid-p", "b")
    assert (held(state), balance(state)) == ([100, 100], [0, 100])
    (original,) = state.snapshot().pods_on("a")
    assert original.leaving


def test_it_is_assumed_once() -> None:
    state = cluster()
    assert state.pods.assume("shop/p", "uid-p", "b")
    assert not state.pods.assume("shop/p", "uid-p", "b")
    assert held(state) == [100, 100]


def test_only_of_a_pod_that_is_there() -> None:
    state = cluster()
    assert not state.pods.assume("shop/p", "another-uid", "b")
    assert not state.pods.assume("shop/q", "uid-q", "b")
    assert held(state) == [100, 0]


def test_a_move_given_up_leaves_no_trace() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    state.pods.forget("shop/p", "uid-p")
    assert (held(state), balance(state)) == ([100, 0], [100, 0])
    state.pods.forget("shop/p", "uid-p")


def test_the_copy_takes_the_place_of_what_was_assumed() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    hear(state, PODS, copy())
    assert (held(state), balance(state)) == ([100, 100], [0, 100])
    lose(state, PODS, ORIGINAL)
    assert (held(state), balance(state)) == ([0, 100], [0, 100])
    (moved,) = state.snapshot().pods_on("b")
    assert not moved.leaving


def test_a_copy_marks_its_original_without_anybody_assuming_it() -> None:
    state = cluster()
    hear(state, PODS, copy())
    assert balance(state) == [0, 100]
    assert not state.pods.assume("shop/p", "uid-p", "b")
    hear(state, PODS, ORIGINAL)
    assert balance(state) == [0, 100]


def test_whichever_is_heard_of_first() -> None:
    state = state_of([node("a"), node("b")], [copy(), ORIGINAL])
    assert balance(state) == [0, 100]


def test_a_copy_that_is_taken_back_gives_the_original_its_place_again() -> None:
    state = cluster()
    hear(state, PODS, copy())
    hear(state, PODS, copy(deletionTimestamp="2026-03-01T12:00:00Z"))
    assert (held(state), balance(state)) == ([100, 100], [100, 0])
    lose(state, PODS, copy())
    assert (held(state), balance(state)) == ([100, 0], [100, 0])


def test_an_old_copy_that_is_still_ending_does_not_end_the_next_try() -> None:
    ending = copy(deletionTimestamp="2026-03-01T12:00:00Z")
    state = state_of([node("a"), node("b")], [ORIGINAL, ending])
    assert state.pods.assume("shop/p", "uid-p", "b")
    hear(state, PODS, ending)
    assert (held(state), balance(state)) == ([100, 200], [0, 100])
    lose(state, PODS, ending)
    assert (held(state), balance(state)) == ([100, 100], [0, 100])


def test_what_was_assumed_ends_with_the_original() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    lose(state, PODS, ORIGINAL)
    assert held(state) == [0, 0]


def test_a_namesake_of_the_original_is_not_leaving() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    hear(state, PODS, pod("p", "a", uid="another"))
    assert (held(state), balance(state)) == ([100, 0], [100, 0])


def test_a_listing_does_not_end_what_is_assumed() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    relist(state, PODS, [ORIGINAL])
    assert (held(state), balance(state)) == ([100, 100], [0, 100])


def test_a_target_may_go_meanwhile() -> None:
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    lose(state, NODES, node("b"))
    assert held(state) == [100]
    state.pods.forget("shop/p", "uid-p")
    assert balance(state) == [100]


# ---------------------------------------------------------------------- copies that wait for a node


def waiting() -> Object:
    made = copy()
    del made["spec"]["nodeName"]
    made["status"] = {"phase": "Pending"}
    return made


def test_a_copy_counts_at_its_target_before_it_is_bound() -> None:
    """Whether this process has made it, or one before it."""
    for assumes in (True, False):
        state = cluster()
        if assumes:
            state.pods.assume("shop/p", "uid-p", "b")
        hear(state, PODS, waiting())
        assert (held(state), balance(state)) == ([100, 100], [0, 100])
        assert not state.snapshot().promised.any()
        (row,) = state.snapshot().pending
        assert state.snapshot().pods.pinned[int(row)] == "b"
        hear(state, PODS, copy())
        assert (held(state), balance(state)) == ([100, 100], [0, 100])
        assert dict(state.snapshot().pods.pinned) == {}


# ---------------------------------------------------------------------- what anybody may write


def test_nobody_marks_a_pod_of_another_namespace() -> None:
    state = cluster()
    strange = pod("evil", "b", annotations=copy()["metadata"]["annotations"], namespace="other")
    hear(state, PODS, strange)
    assert balance(state) == [100, 100]
    hear(state, PODS, ORIGINAL)
    assert balance(state) == [100, 100]
    assert state.pods.assume("shop/p", "uid-p", "b")


def test_a_copy_names_its_original_by_name_and_uid_or_nobody() -> None:
    state = cluster()
    for annotations in (
        {names.ORIGINAL_POD: "uid-p", names.ORIGINAL_POD_NAME: "q"},
        {names.ORIGINAL_POD: "uid-q", names.ORIGINAL_POD_NAME: "p"},
        {names.ORIGINAL_POD: "uid-p"},
    ):
        hear(state, PODS, pod("odd", "b", annotations=annotations))
        hear(state, PODS, ORIGINAL)
        assert balance(state) == [100, 100]


def test_a_pod_that_calls_itself_its_own_copy_is_not_leaving() -> None:
    own = {names.ORIGINAL_POD: "uid-p", names.ORIGINAL_POD_NAME: "p"}
    state = state_of([node("a"), node("b")], [pod("p", "a", annotations=own)])
    assert balance(state) == [100, 0]


# ---------------------------------------------------------------------- lost sight of


def test_a_move_is_assumed_again_when_its_pod_is_seen_again() -> None:
    """A passing refusal, or one event that cannot be read, takes pods out of sight for a while."""
    state = cluster()
    state.pods.assume("shop/p", "uid-p", "b")
    state.forget(PODS)
    assert held(state) == [0, 0]
    relist(state, PODS, [ORIGINAL])
    assert (held(state), balance(state)) == ([100, 100], [0, 100])
    state.pods.forget("shop/p", "uid-p")
    hear(state, PODS, ORIGINAL)
    assert (held(state), balance(state)) == ([100, 0], [100, 0])
