"""LoadBalancing by what nodes really use: it acts on that, and fits by what pods ask for."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rescheduler.config import Configuration, UsageSettings
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.usage import Usage
from rescheduler.observe.placing import placement_of
from rescheduler.observe.state import ClusterState
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.samples import Measured, Sample, identities
from rescheduler.plan import plan
from rescheduler.wire import PODS, REPLICA_SETS
from tests.unit.observe.state import server
from tests.unit.plan.clusters import replica_set, snapshot

CONFIGURATION = Configuration(enabled_strategies=("LoadBalancing",))
START = 1_772_366_400.0
STARTED = {"startTime": "2026-02-01T12:00:00Z"}


def node(name: str) -> Node:
    return Node(
        name=name,
        labels={},
        taints=(),
        ready=True,
        unschedulable=False,
        allocatable={"cpu": 1000, "memory": 1000, "pods": 110},
    )


def pod(name: str, on: str, cpu: int) -> Pod:
    return Pod(
        namespace="shop",
        name=name,
        uid=name,
        node=on,
        phase="Running",
        ready=True,
        terminating=False,
        labels={},
        annotations={},
        owner=Owner(kind="ReplicaSet", name="web", uid="rs"),
        requests={"cpu": cpu, "pods": 1},
        priority=0,
        spec={},
    )


A, B, C = node("a"), node("b"), node("c")


def measured(
    cluster: Snapshot,
    nodes: Mapping[str, float],
    pods: Mapping[str, float],
    *,
    outage: str = "",
) -> Snapshot:
    """The cluster with this CPU in use; nodes that are not named are unknown."""
    by_pod = {name.split("/", 1)[1]: row for row, name in enumerate(cluster.pods.names)}
    node_cpu = np.array([nodes.get(each.name, np.nan) for each in cluster.nodes])
    pod_cpu = np.zeros(len(cluster.pods))
    for name, cpu in pods.items():
        pod_cpu[by_pod[name]] = cpu
    unknown = {int(row): "it is not measured" for row in np.flatnonzero(np.isnan(node_cpu))}
    usage = Usage(
        source="metrics-server",
        as_of=START,
        node_cpu=node_cpu,
        node_memory=np.where(np.isnan(node_cpu), np.nan, 100.0),
        pod_cpu=pod_cpu,
        pod_memory=np.zeros(len(cluster.pods)),
        pod_measured=np.ones(len(cluster.pods), np.bool_),
        unknown_nodes=unknown,
        outage=outage,
    )
    return replace(cluster, usage=usage)


def on_a(*names: str, cpu: int = 100) -> list[Pod]:
    return [pod(name, "a", cpu) for name in names]


def test_it_acts_on_usage_where_requests_are_in_balance() -> None:
    pods = [*on_a("p", "q"), pod("r", "b", 200)]
    assert plan(snapshot([A, B], pods), CONFIGURATION).moves == ()
    hot = measured(snapshot([A, B], pods), {"a": 700, "b": 100}, {"p": 300, "q": 300})
    (move,) = plan(hot, CONFIGURATION).moves
    assert (move.source, move.target) == ("a", "b")
    assert move.reason == (
        "cpu usage: a 70.0 %, b 10.0 %, imbalance 60.0 points; 0.0 points after the move"
    )


def test_it_rests_where_only_requests_are_out_of_balance() -> None:
    cluster = snapshot([A, B], on_a("p", "q", cpu=400))
    assert plan(cluster, CONFIGURATION).moves
    calm = plan(measured(cluster, {"a": 100, "b": 100}, {}), CONFIGURATION)
    assert calm.moves == ()
    assert calm.summary.startswith("cpu usage: ")


def test_what_a_pod_uses_decides_which_one_goes() -> None:
    pods = on_a("asks-much", cpu=300) + on_a("uses-much", cpu=10)
    used = {"asks-much": 10, "uses-much": 300}
    (move,) = plan(
        measured(snapshot([A, B], pods), {"a": 700, "b": 100}, used), CONFIGURATION
    ).moves
    assert move.pod == "uses-much"


def test_what_does_not_fit_by_requests_is_refused_however_idle_the_node_is() -> None:
    pods = [*on_a("p", "q", cpu=300), pod("reserves", "b", 800)]
    cluster = measured(snapshot([A, B], pods), {"a": 900, "b": 10}, {"p": 400, "q": 400})
    decided = plan(cluster, CONFIGURATION)
    assert decided.moves == ()
    assert {each.reason for each in decided.refusals} == {"cpu: 300 asked, 200 free"}
    assert decided.summary.endswith("no pod can be moved")


def test_an_unknown_node_is_no_target_and_is_named() -> None:
    cluster = snapshot([A, B, C], on_a("p", "q"))
    decided = plan(measured(cluster, {"a": 700, "b": 300}, {"p": 200, "q": 200}), CONFIGURATION)
    assert [move.target for move in decided.moves] == ["b"]
    assert decided.summary.endswith("; the usage of c is unknown: it is not measured")


def test_an_unknown_node_is_no_source_and_is_named() -> None:
    cluster = snapshot([A, B, C], on_a("p", "q", cpu=400))
    decided = plan(measured(cluster, {"b": 100, "c": 100}, {"p": 400, "q": 400}), CONFIGURATION)
    assert decided.moves == ()
    assert "not above the threshold" in decided.summary
    assert decided.summary.endswith("; the usage of a is unknown: it is not measured")


def test_one_known_node_is_not_enough() -> None:
    decided = plan(measured(snapshot([A, B], on_a("p")), {"a": 900}, {"p": 300}), CONFIGURATION)
    assert decided.moves == ()
    assert decided.summary == (
        "1 nodes have known usage: 2 are needed; the usage of b is unknown: it is not measured"
    )


def test_in_an_outage_it_rests_and_says_so() -> None:
    cluster = snapshot([A, B], on_a("p", "q", cpu=400))
    decided = plan(measured(cluster, {}, {}, outage="nodes are not seen"), CONFIGURATION)
    assert (decided.moves, decided.refusals) == ((), ())
    assert decided.summary == "LoadBalancing rests: usage is unknown: nodes are not seen"


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
        nodes=figures({"a": 700, "b": 100}, START),
        pods=figures({"shop/p": 300, "shop/q": 300}, START),
    )

    def seen(now: float) -> Snapshot:
        return with_usage(state, history, now)

    history.add(before, START)
    (move,) = plan(seen(START), CONFIGURATION).moves
    assert "cpu usage: a 70.0 %, b 10.0 %" in move.reason

    # Decided, and not yet seen.
    assert state.pods.assume(f"shop/{move.pod}", move.uid, move.target)
    calm = plan(seen(START + 1), CONFIGURATION)
    assert calm.moves == ()
    assert "imbalance 0.0 points" in calm.summary

    # The copy is there, and has started.
    annotations = {"scheduler.alpha.kubernetes.io/original-pod": move.uid}
    started = {"startTime": "2026-03-01T12:00:02Z"}
    copy = server.pod("copy", "b", status=started, annotations=annotations, **owned)
    server.hear(state, PODS, copy)
    assert plan(seen(START + 3), CONFIGURATION).moves == ()

    # The original is gone, and the newest figures are still those from before.
    server.lose(state, PODS, originals[move.pod])
    calm = plan(seen(START + 4), CONFIGURATION)
    assert calm.moves == ()
    assert "imbalance 0.0 points" in calm.summary


def with_usage(state: ClusterState, history: History, now: float) -> Snapshot:
    cluster = state.snapshot()
    return replace(cluster, usage=history.usage(placement_of(cluster), now))
