"""Whatever happens on the way, the state ends as a fresh list has it."""

import random
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler import wire
from rescheduler.model import names, pins
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files import to_objects
from rescheduler.observe.state import ClusterState
from rescheduler.wire import DEPLOYMENTS, NODES, PODS, Batch, Resource
from tests.unit.observe.state.server import Object, lose, node, owned, pod, relist

Event = tuple[str, Resource, Object]


class Server:
    """What is there now, and everything that ever happened, in order."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._births = 0
        self.there: dict[Resource, dict[str, Object]] = {NODES: {}, PODS: {}, DEPLOYMENTS: {}}
        self.events: list[Event] = []

    def act(self) -> None:
        resource = self._dice.choice([NODES, PODS, PODS, PODS, PODS, DEPLOYMENTS])
        known = self.there[resource]
        name = f"{resource.plural}-{self._dice.randrange(6)}"
        if name not in known:
            self._note("ADDED", resource, name, self._make(resource, name))
        elif self._dice.random() < 0.3:
            self._note("DELETED", resource, name, known[name])
        else:
            changed = self._make(resource, name, uid=known[name]["metadata"]["uid"])
            self._note("MODIFIED", resource, name, changed)

    def _note(self, kind: str, resource: Resource, name: str, raw: Object) -> None:
        if kind == "DELETED":
            del self.there[resource][name]
        else:
            self.there[resource][name] = raw
        self.events.append((kind, resource, raw))

    def _make(self, resource: Resource, name: str, uid: str = "") -> Object:
        self._births += 1
        uid = uid or f"uid-{self._births}"
        if resource == NODES:
            made = node(name, cpu=str(self._dice.randrange(1, 9)), **self._device())
            made["metadata"]["uid"] = uid
            return made
        if resource == DEPLOYMENTS:
            metadata = {"namespace": "shop", "name": name, "uid": uid}
            return {"metadata": metadata, "spec": {"replicas": self._dice.randrange(3)}}
        return self._make_pod(name, uid)

    def _device(self) -> dict[str, str]:
        return self._dice.choice([{}, {}, {"example.com/gpu": "2"}])

    def _make_pod(self, name: str, uid: str) -> Object:
        dice = self._dice
        metadata: dict[str, Any] = {
            "labels": {"app": dice.choice("xy")},
            **owned(dice.choice(["ReplicaSet", "DaemonSet"]), dice.choice("xy")),
        }
        if dice.random() < 0.2:
            metadata["labels"]["apps.kubernetes.io/pod-index"] = str(dice.randrange(3))
        if dice.random() < 0.2:
            metadata["deletionTimestamp"] = "2026-03-01T12:00:00Z"
        on = dice.choice(["", "nodes-0", "nodes-1", "nodes-7"])
        spec: Object = {"priority": dice.randrange(2)}
        if dice.random() < 0.2:
            claim = {"claimName": f"data-{name}"}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        phase = dice.choice(["Running", "Running", "Running", "Pending", "Failed"])
        cpu = dice.choice(["100m", "200m", "nonsense"] if dice.random() < 0.1 else ["100m", "300m"])
        made = pod(name, on, uid=uid, cpu=cpu, spec=spec, status={"phase": phase}, **metadata)
        if dice.random() < 0.3:
            original = f"pods-{dice.randrange(6)}"
            other = original if dice.random() < 0.7 else f"pods-{dice.randrange(6)}"
            named = self.there[PODS].get(other, {"metadata": {"uid": "gone"}})
            made["metadata"]["annotations"] = {
                names.ORIGINAL_POD: named["metadata"]["uid"],
                names.ORIGINAL_POD_NAME: original,
            }
            made["spec"] = pins.add(made["spec"], "nodes-1")
        return made


def deliver(state: ClusterState, event: Event) -> None:
    kind, resource, raw = event
    if kind == "DELETED":
        lose(state, resource, raw)
    else:
        state.take(resource, Batch(present=[wire.from_json(resource, raw)]))


def fresh(server: Server) -> ClusterState:
    state = ClusterState()
    for resource, there in server.there.items():
        relist(state, resource, there.values())
    return state


def flags_of(snapshot: Snapshot) -> dict[str, int]:
    return {snapshot.pods.names[row]: int(snapshot.pods.flags[row]) for row in snapshot.rows}


def assert_same(state: ClusterState, server: Server) -> None:
    ours, theirs = state.snapshot(), fresh(server).snapshot()
    assert to_objects(ours) == to_objects(theirs)
    assert ours.unreadable == theirs.unreadable
    assert flags_of(ours) == flags_of(theirs)
    for sums in ("room", "requested", "staying", "promised"):
        columns = {
            name: getattr(ours, sums)[:, number].tolist()
            for number, name in enumerate(ours.resource_names)
        }
        for number, name in enumerate(theirs.resource_names):
            assert columns[name] == getattr(theirs, sums)[:, number].tolist(), (sums, name)
    waiting = [[each.name for each in one.pods_of(one.pending)] for one in (ours, theirs)]
    assert waiting[0] == waiting[1]
    # Nothing is kept of what is gone.
    for table in ("classes", "templates", "owners", "label_sets", "slot_names"):
        kept = [sum(each is not None for each in getattr(one, table)) for one in (ours, theirs)]
        assert kept[0] == kept[1], table


def assume_some(state: ClusterState, dice: random.Random) -> set[tuple[str, str]]:
    """Moves in flight, which whatever happens must not leave a trace of once they are over."""
    snapshot = state.snapshot()
    rows = dice.sample(snapshot.rows.tolist(), min(2, len(snapshot.rows)))
    pods = [(snapshot.pods.names[row], snapshot.pods.uids[row]) for row in rows]
    return {
        (name, uid)
        for name, uid in pods
        if uid and state.pods.assume(name, uid, f"nodes-{dice.randrange(3)}")
    }


def give_up(state: ClusterState, moves: set[tuple[str, str]]) -> None:
    for name, uid in moves:
        state.pods.forget(name, uid)


Disturbance = Callable[[list[Event], random.Random], list[Event]]


def in_order(events: list[Event], _: random.Random) -> list[Event]:
    return events


def duplicated(events: list[Event], dice: random.Random) -> list[Event]:
    return [each for event in events for each in [event] * dice.choice([1, 1, 2, 3])]


def dropped(events: list[Event], dice: random.Random) -> list[Event]:
    return [event for event in events if dice.random() < 0.7]


def reordered(events: list[Event], dice: random.Random) -> list[Event]:
    return dice.sample(events, len(events))


seeds = st.integers(0, 2**32)


@settings(max_examples=150, deadline=None)
@given(seeds, st.integers(1, 80))
def test_events_in_order(seed: int, acts: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    server, state = Server(dice), ClusterState()
    moves: set[tuple[str, str]] = set()
    for _ in range(acts):
        server.act()
        deliver(state, server.events[-1])
        if dice.random() < 0.1:
            moves |= assume_some(state, dice)
    give_up(state, moves)
    assert_same(state, server)


@settings(max_examples=300, deadline=None)
@given(
    seeds,
    st.lists(
        st.tuples(st.integers(0, 25), st.sampled_from([in_order, duplicated, dropped, reordered])),
        min_size=1,
        max_size=5,
    ),
)
def test_whatever_the_stream_did_a_listing_mends_it(
    seed: int, stretches: list[tuple[int, Disturbance]]
) -> None:
    """Each stretch ends with a listing; some listings are cut, and begun again."""
    dice = random.Random(seed)  # noqa: S311
    server, state = Server(dice), ClusterState()
    for acts, disturb in stretches:
        before = len(server.events)
        moves = assume_some(state, dice)
        for _ in range(acts):
            server.act()
        for event in disturb(server.events[before:], dice):
            deliver(state, event)
        for resource, there in server.there.items():
            state.begin_listing(resource)
            if dice.random() < 0.3:
                half = [raw for raw in there.values() if dice.random() < 0.5]
                views = [wire.from_json(resource, raw) for raw in half]
                state.take(resource, Batch(present=views))
            relist(state, resource, there.values())
        give_up(state, moves)
        assert_same(state, server)


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_snapshots_taken_on_the_way_do_not_change(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    server, state = Server(dice), ClusterState()
    taken = []
    for _ in range(40):
        server.act()
        deliver(state, server.events[-1])
        if dice.random() < 0.3:
            snapshot = state.snapshot()
            taken.append((snapshot, to_objects(snapshot)))
    for snapshot, then in taken:
        assert to_objects(snapshot) == then
