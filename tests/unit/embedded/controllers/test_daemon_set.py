import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.controllers import daemon_pods
from rescheduler.embedded.controllers.daemon_set import DaemonSetController, Delays
from rescheduler.embedded.controllers.pods import is_ready
from rescheduler.kube import Object
from rescheduler.model.objects import annotations, controller, is_terminating, labels
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    template,
)

SETS = wire.DAEMON_SETS
REVISION = "controller-revision-hash"
GENERATION = "deprecated.daemonset.template.generation"


class Yard(ControllerCluster):
    """Nodes that are there, and whose pods go where they are pinned to."""

    def __init__(self, *nodes: str) -> None:
        super().__init__(DaemonSetController)
        for name in nodes:
            self.node(name)

    def node(self, name: str, *taints: Object, **marks: str) -> None:
        self.api.create(wire.NODES, None, {"metadata": {"name": name, "labels": marks}})
        # As its controller does once it is Ready.
        self.api.patch(wire.NODES, None, name, {"spec": {"taints": list(taints)}})

    def taint(self, name: str, effect: str, key: str = "example.com/full") -> None:
        taints = [{"key": key, "effect": effect}]
        self.api.patch(wire.NODES, None, name, {"spec": {"taints": taints}})

    def run(self, pod: Object, *, ready: bool = True, node: str = "") -> Object:
        return super().run(pod, ready=ready, node=node or daemon_pods.target_of(pod))

    def places(self, pods: Iterable[Object] | None = None) -> list[str]:
        found = self.active() if pods is None else pods
        return sorted(daemon_pods.target_of(pod) for pod in found)

    def on(self, node: str) -> Object:
        (found,) = [pod for pod in self.active() if daemon_pods.target_of(pod) == node]
        return found


def daemon_set(**spec: object) -> Object:
    return {
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template(), **spec},
    }


async def ready(yard: Yard, **spec: object) -> Object:
    made = yard.create(SETS, daemon_set(**spec))
    await asyncio.sleep(10)
    return made


def status(yard: Yard) -> Object:
    found: Object = yard.get(SETS, "agent")["status"]
    return found


def images(yard: Yard) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in yard.active())


async def test_there_is_one_on_every_node_pinned_to_it() -> None:
    with Yard("a", "b", "c") as it:
        made = await ready(it)
        assert it.places() == ["a", "b", "c"]
        pod = it.on("b")
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        assert affinity["requiredDuringSchedulingIgnoredDuringExecution"] == {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
            ]
        }
        tolerated = {each["key"]: each["effect"] for each in pod["spec"]["tolerations"]}
        assert tolerated == {
            "node.kubernetes.io/not-ready": "NoExecute",
            "node.kubernetes.io/unreachable": "NoExecute",
            "node.kubernetes.io/disk-pressure": "NoSchedule",
            "node.kubernetes.io/memory-pressure": "NoSchedule",
            "node.kubernetes.io/pid-pressure": "NoSchedule",
            "node.kubernetes.io/unschedulable": "NoSchedule",
        }
        (revision,) = it.store.all(kinds.CONTROLLER_REVISIONS)
        marks = dict(labels(pod))
        assert marks.pop(REVISION) == labels(revision)[REVISION]
        # As its DaemonSet says, if it does.
        said = annotations(it.get(SETS, "agent"))
        assert marks.pop("pod-template-generation", None) == said.get(GENERATION)
        assert marks == {"app": "web"}
        assert revision["metadata"]["name"] == f"agent-{labels(revision)[REVISION]}"
        owner = controller(pod)
        assert owner is not None
        assert owner["uid"] == made["metadata"]["uid"]
        assert pod["metadata"]["generateName"] == "agent-"
        assert status(it) == {
            "desiredNumberScheduled": 3,
            "currentNumberScheduled": 3,
            "numberMisscheduled": 0,
            "numberReady": 3,
            "updatedNumberScheduled": 3,
            "numberAvailable": 3,
            "observedGeneration": 1,
        }


async def test_a_pod_tells_the_generation_of_its_template() -> None:
    with Yard("a") as it:
        body = daemon_set()
        body["metadata"]["annotations"] = {GENERATION: "1"}
        it.create(SETS, body)
        await asyncio.sleep(10)
        assert labels(it.on("a"))["pod-template-generation"] == "1"


async def test_only_where_its_template_may_be() -> None:
    with Yard("a", "b") as it:
        it.node("linux", os="linux")
        it.node("tainted", {"key": "x", "effect": "NoSchedule"}, os="linux")
        wanted = template()
        wanted["spec"]["nodeSelector"] = {"os": "linux"}
        await ready(it, template=wanted)
        assert it.places() == ["linux"]
        assert status(it)["desiredNumberScheduled"] == 1


async def test_a_new_node_gets_one_and_a_cordoned_node_keeps_its_own() -> None:
    with Yard("a") as it:
        await ready(it)
        it.node("b", {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        await asyncio.sleep(5)
        assert it.places() == ["a", "b"]


async def test_a_taint_keeps_new_ones_away_and_drives_out_only_if_it_says_so() -> None:
    with Yard("a", "b") as it:
        await ready(it)
        it.taint("a", "NoSchedule")
        await asyncio.sleep(5)
        assert it.places() == ["a", "b"]
        # Nobody has anything to do there, so nobody counts anew.
        assert status(it)["numberMisscheduled"] == 0
        it.api.delete(wire.PODS, "shop", it.on("a")["metadata"]["name"])
        await asyncio.sleep(5)
        assert it.places() == ["b"]
        it.taint("b", "NoExecute")
        await asyncio.sleep(5)
        assert not it.places()


async def test_it_goes_where_the_labels_go() -> None:
    with Yard() as it:
        it.node("a", disk="fast")
        it.node("b")
        wanted = template()
        wanted["spec"]["nodeSelector"] = {"disk": "fast"}
        await ready(it, template=wanted)
        it.api.patch(wire.NODES, None, "a", {"metadata": {"labels": {"disk": "slow"}}})
        it.api.patch(wire.NODES, None, "b", {"metadata": {"labels": {"disk": "fast"}}})
        await asyncio.sleep(5)
        assert it.places() == ["b"]


async def test_one_that_is_deleted_comes_back_when_the_old_one_is_gone() -> None:
    with Yard("a", "b") as it:
        await ready(it)
        it.stop_seconds = 5
        it.api.delete(wire.PODS, "shop", it.on("a")["metadata"]["name"])
        await asyncio.sleep(4)
        assert it.places() == ["b"]
        await asyncio.sleep(3)
        assert it.places() == ["a", "b"]


async def test_one_that_fails_again_and_again_is_made_anew_ever_later() -> None:
    with Yard("a") as it:
        it.start_seconds = NEVER
        it.create(SETS, daemon_set())
        made = 0
        for _ in range(600):
            await asyncio.sleep(0.1)
            for pod in it.active():
                made += 1
                it.tell(it.run(pod, ready=False), phase="Failed", ready=False)
        # At once, then after 1, 2, 4, 8, 16 and 32 seconds: within a minute, seven.
        assert made == 7


def test_delays_that_are_long_over_are_forgotten() -> None:
    delays, now = Delays(), datetime(2026, 1, 5, tzinfo=UTC)
    for number in range(100):
        assert delays.next(("uid", number, "a"), now) == 0.0
        assert delays.next(("uid", number, "a"), now) == 1.0
        now += timedelta(minutes=10)
    assert len(delays) == 4
    # One that failed long ago begins anew.
    assert delays.next(("uid", 0, "a"), now) == 0.0
    assert delays.next(("uid", 0, "a"), now) == 1.0


async def test_one_that_has_succeeded_is_made_anew() -> None:
    with Yard("a") as it:
        await ready(it)
        old = it.tell(it.on("a"), phase="Succeeded", ready=False)
        await asyncio.sleep(5)
        assert it.on("a")["metadata"]["uid"] != old["metadata"]["uid"]


async def test_one_that_has_ended_and_is_held_takes_nobodys_place() -> None:
    with Yard("a") as it:
        held = template()
        held["metadata"]["finalizers"] = ["example.com/held"]
        await ready(it, template=held)
        it.tell(it.on("a"), phase="Succeeded", ready=False)
        await asyncio.sleep(5)
        assert len(it.pods()) == 2
        assert it.on("a")["status"]["phase"] == "Running"


async def test_of_two_on_a_node_the_older_one_stays() -> None:
    with Yard("a") as it:
        await ready(it)
        old = it.on("a")
        body = bare_pod("another")
        body["spec"]["affinity"] = old["spec"]["affinity"]
        it.create(wire.PODS, body)
        await asyncio.sleep(5)
        assert it.on("a")["metadata"]["uid"] == old["metadata"]["uid"]


async def test_one_that_waits_for_a_node_that_is_gone_goes() -> None:
    with Yard("a", "b") as it:
        it.start_seconds = NEVER
        await ready(it)
        it.api.delete(wire.NODES, None, "b")
        it.annotate(it.on("a"), {"note": "it"})
        await asyncio.sleep(5)
        assert it.places() == ["a"]


async def test_an_update_takes_one_at_a_time() -> None:
    with Yard("a", "b", "c") as it:
        await ready(it)
        it.patch(SETS, "agent", {"spec": {"template": template("web:2")}})
        fewest = 3
        for _ in range(200):
            await asyncio.sleep(0.1)
            fewest = min(fewest, len(it.active()))
        assert fewest == 2
        assert images(it) == ["web:2"] * 3
        assert status(it)["updatedNumberScheduled"] == 3
        assert status(it)["observedGeneration"] == 2


async def test_an_update_stops_at_one_that_does_not_become_ready() -> None:
    with Yard("a", "b", "c") as it:
        await ready(it)
        it.start_seconds = NEVER
        it.patch(SETS, "agent", {"spec": {"template": template("web:2")}})
        await asyncio.sleep(30)
        assert images(it) == ["web:1", "web:1", "web:2"]


async def test_an_update_begins_with_those_that_are_of_no_use() -> None:
    with Yard("a", "b", "c") as it:
        await ready(it)
        it.start_seconds = NEVER
        it.tell(it.on("b"), ready=False)
        it.tell(it.on("c"), ready=False)
        it.patch(SETS, "agent", {"spec": {"template": template("web:2")}})
        await asyncio.sleep(30)
        assert it.on("a")["spec"]["containers"][0]["image"] == "web:1"
        assert images(it) == ["web:1", "web:2", "web:2"]


@pytest.mark.parametrize("seconds", [0, 3])
async def test_with_a_surge_the_new_one_is_ready_before_the_old_one_goes(seconds: int) -> None:
    with Yard("a", "b") as it:
        surging = {"maxSurge": 1, "maxUnavailable": 0}
        strategy = {"type": "RollingUpdate", "rollingUpdate": surging}
        await ready(it, updateStrategy=strategy, minReadySeconds=seconds)
        it.patch(SETS, "agent", {"spec": {"template": template("web:2")}})
        ready_ones, all_of_them = set(), set()
        for _ in range(200):
            await asyncio.sleep(0.1)
            all_of_them.add(len(it.active()))
            ready_ones.add(len([pod for pod in it.active() if is_ready(pod)]))
        assert all_of_them == {2, 3}
        assert min(ready_ones) == 2
        assert images(it) == ["web:2", "web:2"]


async def test_on_delete_only_what_is_deleted_is_updated() -> None:
    with Yard("a", "b") as it:
        await ready(it, updateStrategy={"type": "OnDelete"})
        it.patch(SETS, "agent", {"spec": {"template": template("web:2")}})
        await asyncio.sleep(10)
        assert images(it) == ["web:1", "web:1"]
        it.api.delete(wire.PODS, "shop", it.on("a")["metadata"]["name"])
        await asyncio.sleep(10)
        assert it.on("a")["spec"]["containers"][0]["image"] == "web:2"
        assert status(it)["updatedNumberScheduled"] == 1


@pytest.mark.parametrize("seconds", [0, 20])
async def test_one_is_available_after_a_while(seconds: int) -> None:
    with Yard("a") as it:
        it.create(SETS, daemon_set(minReadySeconds=seconds))
        await asyncio.sleep(10)
        assert status(it)["numberReady"] == 1
        assert status(it).get("numberAvailable", 0) == (0 if seconds else 1)
        await asyncio.sleep(20)
        assert status(it)["numberAvailable"] == 1


async def test_one_that_is_deleted_makes_nothing_more() -> None:
    with Yard("a", "b") as it:
        await ready(it)
        it.api.delete(SETS, "shop", "agent", propagation="Foreground")
        it.api.delete(wire.PODS, "shop", it.on("a")["metadata"]["name"])
        await asyncio.sleep(10)
        assert it.places() == ["b"]
        assert is_terminating(it.get(SETS, "agent"))
