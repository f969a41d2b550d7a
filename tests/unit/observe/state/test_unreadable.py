"""What cannot be read is counted, told once by name, and keeps nothing else from being read."""

from rescheduler import wire
from rescheduler.observe.state import ClusterState
from rescheduler.wire import NODES, PODS, Batch, Malformed
from tests.unit.observe.state.server import hear, lose, node, pod, relist

BAD = pod("bad", "a", cpu="lots")


def test_the_rest_goes_on() -> None:
    state = ClusterState()
    (told,) = hear(state, PODS, pod("p"), BAD, pod("q"))
    assert told.name == "shop/bad"
    assert "lots" in told.problem
    snapshot = state.snapshot()
    assert [each.name for each in snapshot.pods_of(snapshot.rows)] == ["p", "q"]
    (unreadable,) = snapshot.unreadable
    assert unreadable.startswith("pods shop/bad: ")


def test_it_is_told_once_and_counts_as_one() -> None:
    state = ClusterState()
    assert len(hear(state, PODS, BAD)) == 1
    assert hear(state, PODS, BAD, BAD) == []
    assert len(state.snapshot().unreadable) == 1


def test_it_is_forgotten_when_it_can_be_read_or_is_gone() -> None:
    state = ClusterState()
    hear(state, PODS, BAD)
    hear(state, PODS, pod("bad", "a"))
    assert state.snapshot().unreadable == ()
    assert len(hear(state, PODS, BAD)) == 1
    lose(state, PODS, BAD)
    assert state.snapshot().unreadable == ()
    hear(state, PODS, BAD)
    relist(state, PODS, [])
    assert state.snapshot().unreadable == ()


def test_what_was_known_of_it_is_not_believed_any_more() -> None:
    state = ClusterState()
    hear(state, PODS, pod("bad", "a"))
    hear(state, PODS, BAD)
    assert len(state.snapshot().rows) == 0


def test_what_the_door_could_not_decode_counts_as_well() -> None:
    state = ClusterState()
    malformed = Malformed("shop/odd", "expected an object")
    assert state.take(PODS, Batch(malformed=[malformed])) == [malformed]
    assert state.snapshot().unreadable == ("pods shop/odd: expected an object",)


def test_a_node_without_allocatable_is_there_has_no_room_and_is_told() -> None:
    state = ClusterState()
    bare = wire.from_json(NODES, {"metadata": {"name": "a"}})
    (told,) = state.take(NODES, Batch(present=[bare]))
    assert told == Malformed("a", "it has no allocatable cpu and memory")
    snapshot = state.snapshot()
    assert not snapshot.room[0].any()
    assert snapshot.unreadable == ("nodes a: it has no allocatable cpu and memory",)
    assert hear(state, NODES, node("a")) == []
    assert state.snapshot().unreadable == ()


def test_a_node_with_nonsense_is_told() -> None:
    state = ClusterState()
    (told,) = hear(state, NODES, node("a"), node("b", cpu="many"))
    assert told.name == "b"
    assert [each.name for each in state.snapshot().nodes] == ["a"]
