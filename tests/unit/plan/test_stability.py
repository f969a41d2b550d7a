"""Stability: what never is quite the same comes to rest, no pod goes back to where it was, and
nothing moves twice on old figures.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from rescheduler.config import Configuration, Cooldown, Stability, UsageSettings
from rescheduler.model import names
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.state import ClusterState
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.placement import placement_of
from rescheduler.observe.usage.samples import Measured, Sample, identities
from rescheduler.plan import plan
from rescheduler.wire import PODS, REPLICA_SETS
from tests.unit.observe.state import server
from tests.unit.plan.support.clusters_by_load import AS_OF, measured, node, pod
from tests.unit.plan.support.snapshots import replica_set, snapshot

BOTH = Configuration(enabled_strategies=("LoadBalancing", "ResourceOptimization"))
NO_MEMORY = Cooldown(pod_seconds=0, workload_seconds=0, node_seconds=0)
SECONDS = 30.0
BALANCING = Configuration(
    enabled_strategies=("LoadBalancing",), stability=Stability(cooldown=NO_MEMORY)
)
STARTED = {"startTime": "2026-02-01T12:00:00Z"}


class Cluster:
    """Whose pods use, at every pass, about what they ask for; moves are done by the next one."""

    def __init__(self, nodes: list[Node], pods: list[Pod], *, noise: float) -> None:
        self.nodes = nodes
        self.pods = {each.name: each for each in pods}
        self.noise = noise
        self.luck = np.random.default_rng(7)
        self.now = AS_OF
        self.moved_at: list[int] = []
        """In which passes, one entry a move."""
        self.been: dict[str, list[str]] = {each.name: [each.node] for each in pods}
        """By pod: every node that it was on."""
        self._known = snapshot(nodes, pods)

    def run(self, passes: int, configuration: Configuration) -> None:
        for number in range(passes):
            self.now += SECONDS
            decided = plan(self._seen(), configuration)
            for move in decided.moves:
                self.moved_at.append(number)
                self._move(move.pod, move.target, move.strategy)
            if decided.moves:
                self._known = snapshot(self.nodes, self.pods.values())

    def _seen(self) -> Snapshot:
        used: dict[str, float] = {}
        by_node: dict[str, float] = defaultdict(float)
        for each in self.pods.values():
            factor = 1 + self.noise * self.luck.uniform(-1, 1)
            used[each.name] = each.requests["cpu"] * factor
            by_node[each.node] += used[each.name]
        by_node = {each.name: by_node[each.name] for each in self.nodes}
        # Of three samples the first is two intervals old.
        seen = measured(self._known, by_node, used, since=self.now - 2 * SECONDS)
        return replace(seen, taken_at=self.now)

    def _move(self, name: str, target: str, strategy: str) -> None:
        before = self.pods[name]
        at = datetime.fromtimestamp(self.now, UTC).isoformat()
        self.pods[name] = replace(
            before,
            node=target,
            annotations={names.MIGRATION_TIME: at},
            labels={names.MIGRATED_FROM: before.node, names.MIGRATION_REASON: strategy},
        )
        self.been[name].append(target)

    @property
    def returned(self) -> list[str]:
        return [name for name, been in self.been.items() if len(set(been)) < len(been)]

    def moves_from(self, first: int) -> int:
        return sum(number >= first for number in self.moved_at)


def uneven(many: int = 8, each: int = 6) -> tuple[list[Node], list[Pod]]:
    """A third of the nodes has most of the pods, of all sizes."""
    luck = np.random.default_rng(3)
    nodes = [node(f"n{number}") for number in range(many)]
    pods = []
    for number in range(many * each):
        place = int(luck.integers(many)) if luck.random() < 0.4 else int(luck.integers(many // 3))
        size = int(np.clip(luck.lognormal(4, 0.7), 5, 250))
        pods.append(pod(f"p{number:02}", f"n{place}", size))
    return nodes, pods


def test_two_equal_nodes_and_one_large_pod() -> None:
    cluster = Cluster([node("a"), node("b")], [pod("p", "a", 400)], noise=0.05)
    cluster.run(1000, BOTH)
    assert cluster.moved_at == []


@pytest.mark.parametrize(("noise", "most"), [(0.05, 0), (0.15, 3)])
def test_pods_of_which_two_are_too_many_and_one_too_few(noise: float, most: int) -> None:
    """Whichever of the three is alone, it looks as wrong as before. In a thousand passes much noise
    makes it look right once for each, but no pod goes back.
    """
    pods = [pod("p", "a", 250), pod("q", "a", 250), pod("r", "b", 250)]
    cluster = Cluster([node("a"), node("b")], pods, noise=noise)
    cluster.run(1000, BOTH)
    assert len(cluster.moved_at) <= most
    assert cluster.returned == []


@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize("cooldown", [Cooldown(), NO_MEMORY], ids=["cooldown", "none"])
def test_an_uneven_cluster_is_balanced_once(noise: float, cooldown: Cooldown) -> None:
    cluster = Cluster(*uneven(), noise=noise)
    cluster.run(1000, replace(BOTH, stability=Stability(cooldown=cooldown)))
    assert 0 < len(cluster.moved_at) <= len(cluster.pods) // 2
    assert cluster.returned == []
    assert cluster.moves_from(200) <= 2


def test_a_node_that_cannot_be_relieved_does_not_keep_the_others_busy() -> None:
    """The imbalance is above the threshold for ever."""
    nodes, pods = uneven()
    pods.append(pod("stuck", "n7", 750, owner=None))
    cluster = Cluster(nodes, pods, noise=0.1)
    cluster.run(400, BOTH)
    assert cluster.returned == []
    assert cluster.moves_from(200) <= 2


def test_an_overloaded_node_is_relieved_once() -> None:
    pods = [pod(f"p{number}", "a", 90) for number in range(10)]
    pods += [pod(f"q{number}", "b", 100) for number in range(6)]
    pods += [pod(f"r{number}", "c", 120) for number in range(4)]
    cluster = Cluster([node("a"), node("b"), node("c")], pods, noise=0.1)
    cluster.run(1000, replace(BOTH, enabled_strategies=("ResourceOptimization",)))
    assert 0 < len(cluster.moved_at) <= 5
    assert cluster.returned == []


# ---------------------------------------------------------------------- where it came from


def moved(strategy: str, hours: float) -> Pod:
    """From b to a, so long ago."""
    at = datetime.fromtimestamp(AS_OF - 3600 * hours, UTC).isoformat()
    return pod(
        "p",
        "a",
        200,
        annotations={names.MIGRATION_TIME: at},
        labels={names.MIGRATED_FROM: "b", names.MIGRATION_REASON: strategy},
    )


@pytest.mark.parametrize(
    ("strategy", "hours", "goes"),
    [
        ("LoadBalancing", 2, False),
        ("ResourceOptimization", 23, False),
        ("LoadBalancing", 25, True),
        ("NodeMaintenance", 2, True),
    ],
)
def test_load_does_not_send_a_pod_back_within_a_day(
    strategy: str, hours: float, *, goes: bool
) -> None:
    pods = [moved(strategy, hours), pod("stays", "a", 300, owner=None)]
    cluster = snapshot([node("a"), node("b")], pods)
    assert bool(plan(replace(cluster, taken_at=AS_OF), BOTH).moves) == goes


def test_another_node_may_take_it() -> None:
    pods = [moved("LoadBalancing", 2), pod("stays", "a", 300, owner=None)]
    cluster = snapshot([node("a"), node("b"), node("c")], pods)
    (move,) = plan(replace(cluster, taken_at=AS_OF), BOTH).moves
    assert move.target == "c"


def test_nodes_that_just_gave_or_took_a_pod_are_no_target_until_they_are_measured_anew() -> None:
    at = datetime.fromtimestamp(AS_OF - 60, UTC).isoformat()
    settling = pod("new", "b", 10, annotations={names.MIGRATION_TIME: at})
    pods = [pod("p", "a", 200), pod("stays", "a", 300, owner=None), settling]
    cluster = replace(snapshot([node("a"), node("b")], pods), taken_at=AS_OF)
    used = {"p": 200.0, "stays": 300.0, "new": 10.0}

    def found(since: float) -> bool:
        seen = measured(cluster, {"a": 500, "b": 10}, used, since=since)
        return bool(plan(seen, BOTH).moves)

    assert not found(AS_OF - 61)
    assert found(AS_OF - 59)
    assert plan(cluster, BOTH).moves, "requests are known at once"


def test_by_requests_every_pass_goes_on_where_the_one_before_ended() -> None:
    """28 Deployments of four pods on four of eight nodes, ten moves a pass."""
    nodes = [node(f"n{number}", cpu=2800) for number in range(8)]
    owners = [Owner(kind="ReplicaSet", name=f"d{n}", uid=f"d{n}") for n in range(28)]
    pods = {
        f"{owner.name}-{replica}": pod(f"{owner.name}-{replica}", f"n{replica}", 50, owner=owner)
        for owner in owners
        for replica in range(4)
    }
    configuration = replace(
        BOTH, enabled_strategies=("LoadBalancing",), imbalance_threshold_percent=10.0
    )
    now, passes = AS_OF, 0
    while found := plan(replace(snapshot(nodes, pods.values()), taken_at=now), configuration).moves:
        passes += 1
        at = datetime.fromtimestamp(now, UTC).isoformat()
        for move in found:
            told = {names.MIGRATION_TIME: at, names.MIGRATED_FROM: move.source}
            pods[move.pod] = replace(pods[move.pod], node=move.target, annotations=told)
        now += SECONDS
    assert passes <= 6
    loads = [sum(each.node == place.name for each in pods.values()) * 50 / 28 for place in nodes]
    assert max(loads) - min(loads) <= 10


# ---------------------------------------------------------------------- on old figures


def figures(cpu: Mapping[str, float], at: float) -> Measured:
    amounts = np.array(list(cpu.values()))
    count = len(cpu)
    return Measured(
        who=identities(cpu),
        at=np.full(count, at),
        span=np.full(count, 15.0),
        cpu=amounts,
        memory=np.full(count, 1e6),
    )


def test_nothing_moves_twice_on_figures_from_before_the_move() -> None:
    owner = Owner(kind="ReplicaSet", name="web", uid="uid-ReplicaSet-web")
    owned = server.owned("ReplicaSet", "web")
    originals = {name: server.pod(name, "a", status=STARTED, **owned) for name in ("p", "q")}
    nodes = [server.node("a", cpu="1"), server.node("b", cpu="1")]
    state = server.state_of(nodes, originals.values())
    server.hear(state, REPLICA_SETS, replica_set("shop", owner))
    history = History(UsageSettings(debounce=1), "metrics-server")
    before = Sample(
        nodes=figures({"a": 700, "b": 100}, AS_OF),
        pods=figures({"shop/p": 300, "shop/q": 300}, AS_OF),
    )

    def seen(now: float) -> Snapshot:
        return with_usage(state, history, now)

    history.add(before, AS_OF)
    (move,) = plan(seen(AS_OF), BALANCING).moves
    assert "cpu usage: a 70.0 %, b 10.0 %" in move.reason

    # Decided, and not yet seen.
    assert state.pods.assume(f"shop/{move.pod}", move.uid, move.target)
    calm = plan(seen(AS_OF + 1), BALANCING)
    assert calm.moves == ()
    assert "imbalance 0.0 points" in calm.summary

    # The copy is there, and has started.
    annotations = {"scheduler.alpha.kubernetes.io/original-pod": move.uid}
    started = {"startTime": "2026-03-01T12:00:02Z"}
    copy = server.pod("copy", "b", status=started, annotations=annotations, **owned)
    server.hear(state, PODS, copy)
    assert plan(seen(AS_OF + 3), BALANCING).moves == ()

    # The original is gone, and the newest figures are still those from before.
    server.lose(state, PODS, originals[move.pod])
    calm = plan(seen(AS_OF + 4), BALANCING)
    assert calm.moves == ()
    assert "imbalance 0.0 points" in calm.summary


def with_usage(state: ClusterState, history: History, now: float) -> Snapshot:
    cluster = state.snapshot()
    return replace(cluster, usage=history.usage(placement_of(cluster), now))
