"""A drain by an outsider: what `kubectl drain` does, and when it does so again."""

import asyncio
import json

from rescheduler.embedded.apiserver import ApiServer, Webhook
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.simulation.rude_drains import USER, drain
from rescheduler.wire import NODES, POD_DISRUPTION_BUDGETS, PODS
from tests.unit.embedded.support.server import pod

NODE = "n1"


class Gate:
    """A webhook that refuses until it is opened, and keeps when it was asked about whom."""

    def __init__(self, code: int = 429) -> None:
        self.is_open = False
        self.code = code
        self.asked: list[tuple[float, str, str]] = []

    def __call__(self, body: bytes) -> bytes:
        request = json.loads(body)["request"]
        now = asyncio.get_running_loop().time()
        self.asked.append((now, request["name"], request["userInfo"]["username"]))
        assert "preconditions" not in request["object"]["deleteOptions"]
        status = {"code": self.code, "message": "no"}
        response = {"uid": request["uid"], "allowed": self.is_open, "status": status}
        return json.dumps({"response": response}).encode()

    @property
    def webhook(self) -> Webhook:
        return Webhook("gate", self)


async def with_pods(cluster: EmbeddedCluster, *names: str) -> ApiServer:
    api = cluster.api
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    made = api.create(NODES, None, {"metadata": {"name": NODE}})
    api.set_status(NODES, made, {"allocatable": room, "capacity": room})
    for name in names:
        api.create(PODS, "default", pod(name))
    await asyncio.sleep(60)
    assert {each["spec"].get("nodeName") for each in api.store.all(PODS)} == {NODE}
    return api


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_all_are_evicted_at_once_and_those_refused_again_every_five_seconds() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        api, gate = await with_pods(cluster, "a", "b"), Gate()
        cluster.review_evictions(gate.webhook)
        begun = now()
        draining = asyncio.create_task(drain(api, NODE, until=begun + 600))
        await asyncio.sleep(7)
        gate.is_open = True
        assert await draining
        assert sorted((round(at - begun), name) for at, name, _ in gate.asked) == [
            (at, name) for at in (0, 5, 10) for name in ("a", "b")
        ]
        assert {user for *_, user in gate.asked} == {USER}
        assert not list(api.store.all(PODS))
        assert api.get(NODES, None, NODE)["spec"]["unschedulable"]


async def test_when_its_time_is_over_it_gives_up() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        api = await with_pods(cluster, "a")
        cluster.review_evictions(Gate().webhook)
        begun = now()
        assert not await drain(api, NODE, until=begun + 12)
        assert now() == begun + 15
        assert not api.get(PODS, "default", "a")["metadata"].get("deletionTimestamp")


async def test_not_found_is_gone_and_another_error_its_end() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        api, gate = await with_pods(cluster, "a"), Gate(code=404)
        cluster.review_evictions(gate.webhook)
        assert await drain(api, NODE, until=now() + 600), "who is not found is gone"
        gate.code = 500
        assert not await drain(api, NODE, until=now() + 600), "an error is no reason to go on"
        assert len(gate.asked) == 2


async def test_a_budget_is_waited_for() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        api = await with_pods(cluster, "web")
        selector = {"matchLabels": {"app": "web"}}
        body = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": selector}}
        api.create(POD_DISRUPTION_BUDGETS, "default", body)
        await asyncio.sleep(5)
        assert not await drain(api, NODE, until=now() + 60)
        api.patch(POD_DISRUPTION_BUDGETS, "default", "web", {"spec": {"minAvailable": 0}})
        assert await drain(api, NODE, until=now() + 60)
