"""A snapshot as usage sees it: who is where, who leaves, and whom copies stand for."""

from typing import Any

import pytest

from rescheduler.model import names
from rescheduler.model.snapshot import Gap
from rescheduler.observe.state import ClusterState
from rescheduler.observe.usage import Placement
from rescheduler.observe.usage.placement import placement_of
from rescheduler.wire import NODES, PODS
from tests.unit.observe.state.server import Object, hear, lose, node, owned, pod, state_of

STARTED = {"startTime": "2026-03-01T12:00:00Z"}
STARTED_SECONDS = 1_772_366_400
WEB = pod("web", "a", cpu="300m", status=STARTED, **owned("ReplicaSet", "web"))


def copy(**more: Any) -> Object:  # noqa: ANN401
    annotations = {names.ORIGINAL_POD: "uid-web", names.ORIGINAL_POD_NAME: "web"}
    return pod("copy", "b", annotations=annotations, **owned("ReplicaSet", "web"), **more)


def cluster(*pods: Object) -> ClusterState:
    return state_of([node("b", cpu="2"), node("a")], pods)


def placed(state: ClusterState) -> Placement:
    return placement_of(state.snapshot())


def row_of(placement: Placement, uid: str) -> int:
    return placement.pod_uids.index(uid)


def leaving(placement: Placement) -> list[str]:
    assert placement.pod_leaving is not None
    rows = placement.pod_leaving.nonzero()[0]
    return sorted(placement.pod_uids[row] for row in rows.tolist())


def test_pods_and_nodes_with_what_they_ask_for_and_have() -> None:
    placement = placed(cluster(WEB, pod("waits", cpu="50m")))
    assert placement.nodes == ["a", "b"]
    assert placement.node_cpu is not None
    assert placement.node_cpu.tolist() == [4000, 2000]
    assert placement.node_memory is not None
    assert placement.node_memory.tolist() == [8 * 2**30, 8 * 2**30]
    web, waits = row_of(placement, "uid-web"), row_of(placement, "uid-waits")
    assert placement.pod_names[web] == "shop/web"
    assert placement.pod_nodes[[web, waits]].tolist() == [0, -1]
    assert placement.pod_started[[web, waits]].tolist() == [STARTED_SECONDS, 0]
    assert placement.cpu_requests[[web, waits]].tolist() == [300, 50]
    assert placement.memory_requests[[web, waits]].tolist() == [0, 0]
    assert placement.pod_owners[web] >= 0
    assert placement.pod_owners[waits] == -1
    assert (leaving(placement), placement.replaces, placement.unseen) == ([], {}, "")


def test_pods_of_one_controller_have_one_number() -> None:
    sibling = pod("sibling", "b", **owned("ReplicaSet", "web"))
    other = pod("other", "b", **owned("ReplicaSet", "other"))
    placement = placed(cluster(WEB, sibling, other))
    web, same, another = (
        int(placement.pod_owners[row_of(placement, f"uid-{name}")])
        for name in ("web", "sibling", "other")
    )
    assert web == same != another


def test_who_terminates_is_leaving_and_stays_on_its_node() -> None:
    ending = pod("ending", "a", deletionTimestamp="2026-03-01T12:00:00Z")
    placement = placed(cluster(WEB, ending))
    assert leaving(placement) == ["uid-ending"]
    assert placement.pod_nodes[row_of(placement, "uid-ending")] == 0


def test_a_copy_stands_for_its_original_which_is_leaving() -> None:
    state = cluster(WEB, copy(status=STARTED))
    placement = placed(state)
    assert leaving(placement) == ["uid-web"]
    assert placement.replaces == {row_of(placement, "uid-copy"): "uid-web"}
    lose(state, PODS, WEB)
    alone = placed(state)
    assert leaving(alone) == []
    assert alone.replaces == {row_of(alone, "uid-copy"): "uid-web"}


def test_an_assumed_copy_is_on_its_target_and_has_not_started() -> None:
    state = cluster(WEB)
    assert state.pods.assume("shop/web", "uid-web", "b")
    placement = placed(state)
    assert leaving(placement) == ["uid-web"]
    ((row, original),) = placement.replaces.items()
    assert original == "uid-web"
    assert placement.pod_uids[row] == ""
    assert placement.pod_names[row] == "shop/web"
    assert (placement.pod_nodes[row], placement.pod_started[row]) == (1, 0)
    assert placement.cpu_requests[row] == 300
    assert placement.pod_owners[row] == placement.pod_owners[row_of(placement, "uid-web")]
    # The copy that is seen takes its place.
    hear(state, PODS, copy(status=STARTED))
    seen = placed(state)
    assert seen.replaces == {row_of(seen, "uid-copy"): "uid-web"}


def test_a_row_that_was_left_is_nobody_on_no_node() -> None:
    state = cluster(WEB, copy(), pod("last", "a"))
    lose(state, PODS, WEB)
    lose(state, PODS, copy())
    placement = placed(state)
    assert len(placement.pod_uids) == len(placement.pod_nodes) == 3
    free = [row for row, uid in enumerate(placement.pod_uids) if not uid]
    assert len(free) == 2
    assert placement.pod_nodes[free].tolist() == [-1, -1]
    assert (leaving(placement), placement.replaces) == ([], {})


def test_a_pod_on_a_node_that_is_not_there_is_on_none() -> None:
    state = cluster(WEB, pod("lost", "never-seen"))
    lose(state, NODES, node("a"))
    placement = placed(state)
    assert placement.nodes == ["b"]
    assert placement.pod_nodes.tolist() == [-1, -1]


def test_an_empty_cluster() -> None:
    placement = placed(ClusterState())
    assert (list(placement.nodes), list(placement.pod_uids)) == ([], [])
    assert len(placement.cpu_requests) == 0


@pytest.mark.parametrize(
    ("sources", "unseen"),
    [((), ""), (("nodes",), "nodes"), (("deployments", "pods"), "pods"), (("deployments",), "")],
)
def test_which_kind_is_not_seen(sources: tuple[str, ...], unseen: str) -> None:
    gaps = [Gap(source=source, reason="") for source in sources]
    assert placement_of(cluster(WEB).snapshot(gaps)).unseen == unseen
