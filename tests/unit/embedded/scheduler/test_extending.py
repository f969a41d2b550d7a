"""A scheduler that has an extender: what it asks it, and what it makes of the answers."""

import asyncio
from collections.abc import Sequence

from rescheduler.embedded.scheduler import USUAL_WEIGHT, Passed
from rescheduler.kube import Object
from tests.unit.embedded.scheduler.test_scheduling import pinned
from tests.unit.embedded.support.node_cluster import NodeCluster


class Canned:
    """Passes and prefers what it is told to; remembers what it was asked."""

    weight = USUAL_WEIGHT

    def __init__(
        self, *, best: str = "", refused: Sequence[str] = (), closed: Sequence[str] = ()
    ) -> None:
        self.best = best
        self.refused = dict.fromkeys(refused, "too warm")
        self.closed = dict.fromkeys(closed, "closed for ever")
        self.asked: list[tuple[str, list[str]]] = []

    def filter(self, pod: Object, names: Sequence[str]) -> Passed:
        self.asked.append((f"filter {pod['metadata']['name']}", sorted(names)))
        kept = [name for name in names if name not in {*self.refused, *self.closed}]
        return Passed(kept, self.refused, self.closed)

    def prioritize(self, pod: Object, names: Sequence[str]) -> Sequence[int]:
        self.asked.append((f"prioritize {pod['metadata']['name']}", sorted(names)))
        return [10 if name == self.best else 0 for name in names]


class Broken(Canned):
    def filter(self, pod: Object, names: Sequence[str]) -> Passed:
        super().filter(pod, names)
        raise ConnectionError("nobody answers")

    def prioritize(self, pod: Object, names: Sequence[str]) -> Sequence[int]:
        super().prioritize(pod, names)
        raise ConnectionError("nobody answers")


async def test_its_best_score_outweighs_all_others(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b", "c")
    await cluster.placed("ballast", cpu="3", **pinned("b"))
    cluster.scheduler.extender = Canned(best="b")
    wish = {"weight": 100, "preference": {"matchFields": pinned_to("c")}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}
    assert await cluster.placed("web", affinity={"nodeAffinity": preferred}) == "b"
    cluster.scheduler.extender = None
    assert await cluster.placed("without", affinity={"nodeAffinity": preferred}) == "c"


def pinned_to(name: str) -> list[Object]:
    return [{"key": "metadata.name", "operator": "In", "values": [name]}]


async def test_it_is_asked_about_nodes_that_fit_and_for_scores_only_of_several(
    cluster: NodeCluster,
) -> None:
    await cluster.nodes("a", "b", "c")
    await cluster.nodes("small", cpu="100m")
    cluster.scheduler.extender = extender = Canned(refused=["a", "b"])
    assert await cluster.placed("web") == "c"
    assert extender.asked == [("filter web", ["a", "b", "c"])]
    cluster.scheduler.extender = extender = Canned(best="c")
    assert await cluster.placed("other") == "c"
    assert [what for what, _ in extender.asked] == ["filter other", "prioritize other"]


async def test_a_pod_that_it_refuses_everywhere_is_told_why_and_tried_again(
    cluster: NodeCluster,
) -> None:
    await cluster.nodes("a", "b")
    cluster.scheduler.extender = Canned(refused=["a"], closed=["b"])
    assert await cluster.placed("web") == ""
    assert cluster.why_not("web").startswith(
        "0/2 nodes are available: 1 closed for ever, 1 too warm."
    )
    cluster.scheduler.extender = Canned()
    # Whatever happens may be what it goes by.
    cluster.change_node("a", metadata={"labels": {"new": "one"}})
    await asyncio.sleep(15)
    assert cluster.place("web")


async def test_nobody_is_driven_out_of_a_node_that_it_refuses(cluster: NodeCluster) -> None:
    await cluster.nodes("a")
    assert await cluster.placed("lowly") == "a"
    cluster.scheduler.extender = Canned(refused=["a"])
    assert await cluster.placed("mighty", priorityClassName="system-cluster-critical") == ""
    assert cluster.place("lowly") == "a"
    assert "nominatedNodeName" not in cluster.pod("mighty")["status"]


async def test_one_that_fails_or_names_strangers_is_ignored(cluster: NodeCluster) -> None:
    await cluster.nodes("a", "b")
    cluster.scheduler.extender = broken = Broken()
    assert await cluster.placed("web")
    assert [what for what, _ in broken.asked] == ["filter web", "prioritize web"]

    class Strange(Canned):
        def filter(self, _: Object, __: Sequence[str]) -> Passed:
            return Passed(["elsewhere"])

        def prioritize(self, _: Object, __: Sequence[str]) -> Sequence[int]:
            return [10]

    cluster.scheduler.extender = Strange()
    assert await cluster.placed("other")
