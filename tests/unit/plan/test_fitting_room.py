"""Room that is kept: for pods that wait, and for daemons to come."""

from dataclasses import replace

from rescheduler.model.cluster import Owner, Pod
from rescheduler.model.columns import NONE
from rescheduler.model.moves import Way
from rescheduler.plan.fitting import Placement
from rescheduler.wire import DAEMON_SETS
from tests.unit.plan.support.small_clusters import apart, node, pod
from tests.unit.plan.support.snapshots import snapshot


def waiting(name: str, cpu: int, priority: int = 0) -> Pod:
    return replace(pod(name, "", cpu=cpu, priority=priority), phase="Pending", ready=False)


def targets(pods: list[Pod], name: str = "web", *, nodes: int = 3) -> list[str]:
    taken = snapshot([node(f"n{number}") for number in range(nodes)], pods)
    placement = Placement(taken)
    row = list(taken.pods.names).index(f"shop/{name}")
    found = placement.targets(row)
    for number in range(nodes):
        assert (not placement.why_not(row, number)) is bool(found[number])
    return [each.name for each, fits in zip(taken.nodes, found, strict=True) if fits]


def test_a_pod_that_waits_keeps_a_place() -> None:
    web = pod("web", "n0", cpu=2000)
    # Of 4 cores each: both places would do for the one that waits, and one of them is left to it.
    assert targets([web, waiting("late", 3000)]) == ["n2"]
    assert targets([web, waiting("late", 3000), waiting("later", 3000)]) == []
    assert targets([web, waiting("late", 2000)]) == ["n1", "n2"]


def test_a_pod_that_fits_nowhere_keeps_nothing() -> None:
    assert targets([pod("web", "n0", cpu=2000), waiting("huge", 5000)]) == ["n1", "n2"]


def test_the_pod_that_waits_may_have_what_is_kept_for_it() -> None:
    assert targets([waiting("late", 4000)], "late") == ["n0", "n1", "n2"]


def test_pods_that_wait_and_keep_each_other_away_keep_a_node_each() -> None:
    web = pod("web", "n0", cpu=2000)
    late = replace(waiting("late", 1500), labels={"app": "late"}, spec={"affinity": apart("late")})
    twin = replace(late, name="twin", uid="twin")
    assert targets([web, late, twin, pod("x", "n1", cpu=1000), pod("y", "n2", cpu=1000)]) == []
    assert targets([web, late, pod("x", "n1", cpu=1000), pod("y", "n2", cpu=1000)]) == ["n2"]


def test_a_gated_pod_keeps_nothing() -> None:
    gated = waiting("gated", 3000)
    gated = replace(gated, spec={"schedulingGates": [{"name": "not-yet"}]})
    assert targets([pod("web", "n0", cpu=2000), gated]) == ["n1", "n2"]


def test_a_daemon_to_come_keeps_its_room() -> None:
    template = {"spec": {"containers": [{"name": "d", "resources": {"requests": {"cpu": "3"}}}]}}
    daemons = {
        "metadata": {"namespace": "shop", "name": "d", "uid": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template},
    }
    taken = snapshot(
        [node("n0"), node("n1")], [pod("web", "n0", cpu=2000)], others={DAEMON_SETS: [daemons]}
    )
    placement = Placement(taken)
    assert not placement.targets(0).any()
    assert "not enough cpu: requests 2, 1 free" in placement.why_not(0, 1)


def test_of_one_node_room_is_known_as_of_all() -> None:
    template = {"spec": {"containers": [{"name": "d", "resources": {"requests": {"cpu": "1"}}}]}}
    daemons = {
        "metadata": {"namespace": "shop", "name": "d", "uid": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template},
    }
    there = replace(pod("d-n0", "n0"), owner=Owner(kind="DaemonSet", name="d", uid="d"))
    pods = [pod("web", "n0", cpu=1500), pod("low", "n2", priority=-5), there]
    taken = snapshot([node(f"n{n}") for n in range(3)], pods, others={DAEMON_SETS: [daemons]})
    nominated = {**taken.pods.nominated, list(taken.pods.names).index("shop/low"): "n1"}
    no_place = taken.pods.node.copy()
    no_place[list(nominated)] = NONE
    for found in (
        taken,
        replace(taken, pods=replace(taken.pods, nominated=nominated, node=no_place)),
    ):
        everywhere = Placement(found).free
        for number in range(3):
            alone = Placement(found, only=number).free
            assert alone[number].tolist() == everywhere[number].tolist()
    assert everywhere[1].tolist() != everywhere[2].tolist()


def test_moves_take_room_and_give_it_back() -> None:
    taken = snapshot([node("n0"), node("n1")], [pod("a", "n0", cpu=3000), pod("b", "n0", cpu=1000)])
    placement = Placement(taken)
    before = placement.free.copy()
    a, b = (list(taken.pods.names).index(f"shop/{name}") for name in "ab")
    placement.move(a, 1)
    assert placement.rows_on(0) == [b]
    assert placement.rows_on(1) == [a]
    assert placement.fits(b, 1)
    placement.move(b, 1)
    assert not placement.fits(b, 1)
    assert placement.fits(b, 0, Way.SURGE)
    placement.move(b, 0)
    placement.move(a, 0)
    assert (placement.free == before).all()
    assert placement.rows_on(0) == [a, b]
