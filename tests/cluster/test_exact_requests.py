"""What we say that a pod takes, against the verdict of the real kube-scheduler.

Each pod may go to one node only, which has exactly the room that we say it takes, or lacks the
smallest unit of one resource. By default the runs are short enough for every change;
EXACT_REQUESTS_PODS asks for more, and EXACT_REQUESTS_SEED for others.
"""

import asyncio
import contextlib
import json
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest

from rescheduler.model import resources
from rescheduler.model.resources import Resources
from testbed.api import Api, ApiError, Object, path_of
from testbed.instance import OwnedInstance
from tests.cluster import random_pods

SEED = os.environ.get("EXACT_REQUESTS_SEED", "2026")
PODS = int(os.environ.get("EXACT_REQUESTS_PODS", "2000"))
RESIZED = PODS // 4
SECONDS = 120 + PODS / 10
"""How long they may take at most: no measure of anything."""

NAMESPACE = "exact"
PODS_PATH = path_of("Pod", NAMESPACE)
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PLENTY = {"cpu": "1G", "memory": "1Pi", "pods": "9"}
FEATURES = ["InPlacePodLevelResourcesVerticalScaling"]
FINISHED = TERMINATING = 0.15
AT_ONCE = 40


def luck_of(*what: str) -> random.Random:
    """Of each pod by itself: it can be made again without those before it."""
    return random.Random(" ".join([SEED, *what]))  # noqa: S311 - to be repeated, not secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One pod and the one node where it may go."""

    name: str
    taken: Resources
    """What we say that is reserved on the node when the pod is there."""
    short: str
    """The resource of which the node lacks the smallest unit; empty where the pod fits exactly."""
    objects: Sequence[Object]
    """The pods, to make them again by hand when we were wrong."""

    @property
    def expected(self) -> str:
        if not self.short:
            return "bound"
        return "Too many pods" if self.short == resources.PODS else f"Insufficient {self.short}"

    def node(self) -> Object:
        room = {**self.taken}
        if self.short:
            room[self.short] -= 1
        text = random_pods.allocatable(room, luck_of("node", self.name))
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name},
            "status": {"allocatable": text, "capacity": text},
        }


def case(name: str, taken: Resources, asked: Resources, *objects: Object) -> Case:
    luck = luck_of("case", name)
    could_lack = sorted(each for each, amount in asked.items() if amount)
    short = luck.choice(could_lack) if luck.random() < 0.5 else ""
    return Case(name=name, taken=taken, short=short, objects=objects)


@contextlib.asynccontextmanager
async def control_plane() -> AsyncIterator[tuple[OwnedInstance, Api]]:
    """One of its own: a thousand nodes would slow down the scheduler for all other tests. What
    manages nodes and pods beside the scheduler is not there.
    """
    with OwnedInstance() as owned:
        for program in ("kube-controller-manager", "kwok"):
            await asyncio.to_thread(owned.kill, program)
        there = owned.instance
        async with Api(there.url, there.tokens["admin"], there.client_ssl()) as api:
            await api.create({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
            account = {"name": "default", "namespace": NAMESPACE}
            await api.create({"kind": "ServiceAccount", "metadata": account})
            for name, overhead in random_pods.RUNTIME_CLASSES.items():
                body = {
                    "metadata": {"name": name},
                    "handler": name,
                    "overhead": {"podFixed": overhead},
                }
                await api.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", body=body)
            yield owned, api


def pod(name: str, spec: Object, *, node: str) -> Object:
    """It may go there only, and minds no taint: nobody reports these nodes as Ready."""
    only = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [only]}]}
    where = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            **spec,
            "affinity": where,
            "tolerations": [{"operator": "Exists"}],
            "automountServiceAccountToken": False,
        },
    }


async def cases_made(make: Callable[[int], Awaitable[Case]], count: int) -> list[Case]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Case:
        async with slots:
            return await make(number)

    return await asyncio.gather(*(one(number) for number in range(count)))


async def verdicts(api: Api, names: set[str], version: str) -> dict[str, list[str]]:
    """What the scheduler says of each of these pods: bound, or what its node lacks."""
    found: dict[str, list[str]] = {}
    others: dict[str, str] = {}
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS / 2):
            async for _, seen in api.watch("Pod", NAMESPACE, version):
                name = seen["metadata"].get("name")
                if name not in names:
                    continue
                others[name] = json.dumps(seen)
                if verdict := _verdict(seen):
                    found[name] = verdict
                if len(found) == len(names):
                    return found
    pytest.fail("no verdict on " + "\n".join(others.get(each, each) for each in names - set(found)))


def _verdict(seen: Object) -> list[str]:
    if seen["spec"].get("nodeName"):
        return ["bound"]
    conditions = seen["status"].get("conditions") or ()
    said = [each.get("message", "") for each in conditions if each["type"] == "PodScheduled"]
    # Before it has heard of the node, it says only that there is none.
    return [each.rstrip(".") for message in said for each in _SHORTAGES.findall(message)]


_SHORTAGES = re.compile(r"[0-9] (Too many pods|Insufficient [^ ,]+)")


def judge(cases: Iterable[Case], found: dict[str, list[str]]) -> None:
    for each in cases:
        said = f"{each.name} (seed {SEED}): the scheduler says {found[each.name]}"
        assert found[each.name] == [each.expected], f"{said}\n{_replay(each)}"


def _replay(each: Case) -> str:
    pods = "\n".join(json.dumps(one) for one in each.objects)
    return f"reserved by our count: {dict(each.taken)}\nnode: {json.dumps(each.node())}\n{pods}"


# ---------------------------------------------------------------------- as they are created


@pytest.mark.timeout(SECONDS)
async def test_the_scheduler_binds_on_exact_room_and_on_no_less() -> None:
    async with control_plane() as (owned, api):
        # It begins when everything is there: its first verdict on each pod is the last.
        await asyncio.to_thread(owned.kill, "kube-scheduler")

        async def make(number: int) -> Case:
            name = f"p{number}"
            luck = luck_of("pods", name)
            spec = random_pods.spec(luck)
            await api.create(pod(name, spec, node=name))
            # As it is read, not as it was answered: only then is its overhead rounded.
            made = await api.get("Pod", NAMESPACE, name)
            asked = resources.of_pod(made["spec"])
            overhead = random_pods.RUNTIME_CLASSES.get(spec.get("runtimeClassName", ""))
            assert resources.of_template(spec, overhead) == asked, f"of a template: {spec}"
            one = case(name, asked, asked, made)
            await api.create(one.node())
            return one

        version = (await api.list_page("Pod", NAMESPACE))["metadata"]["resourceVersion"]
        cases = await cases_made(make, PODS)
        await asyncio.to_thread(owned.start, "kube-scheduler")
        judge(cases, await verdicts(api, {each.name for each in cases}, version))


# ---------------------------------------------------------------------- beside others, resized


@pytest.mark.timeout(SECONDS)
async def test_the_scheduler_counts_residents_as_we_do_whatever_their_resize_has_come_to() -> None:
    async with control_plane() as (_, api):

        async def make(number: int) -> Case:
            name = f"n{number}"
            luck = luck_of("pods", name)
            # Without a node that has room and can do it, a pod cannot be resized.
            plenty = {"allocatable": PLENTY, "capacity": PLENTY, "declaredFeatures": FEATURES}
            await api.create({"kind": "Node", "metadata": {"name": name}, "status": plenty})
            there = [
                await resident(api, luck, f"{name}-r{each}", name)
                for each in range(luck.randint(1, 3))
            ]
            wanted = pod(name, random_pods.spec(luck), node=name)
            # What the API server makes of it, while it is not there yet.
            answer = await api.request("POST", PODS_PATH, query={"dryRun": "All"}, body=wanted)
            asked = resources.of_pod(answer["spec"])
            taken = resources.add(asked, *map(reserved, there))
            one = case(name, taken, asked, wanted, *there)
            await replace_status(api, one.node())
            return one

        cases = await cases_made(make, RESIZED)
        await the_scheduler_knows_all_nodes(api)
        version = (await api.list_page("Pod", NAMESPACE))["metadata"]["resourceVersion"]
        await asyncio.gather(*(api.create(each.objects[0]) for each in cases))
        judge(cases, await verdicts(api, {each.name for each in cases}, version))


async def replace_status(api: Api, node: Object) -> None:
    path = path_of("Node", None, node["metadata"]["name"])
    current = await api.request("GET", path)
    body = current | {"status": current["status"] | node["status"]}
    await api.request("PUT", path + "/status", body=body)


async def resident(api: Api, luck: random.Random, name: str, node: str) -> Object:
    """A pod with a node, as a kubelet and its users may have left it."""
    manifest = pod(name, random_pods.spec(luck) | {"nodeName": node}, node=node)
    manifest["metadata"]["finalizers"] = ["example.com/stays"]
    made = await api.create(manifest)
    await resize(api, luck, made)
    path = path_of("Pod", NAMESPACE, name)
    status = random_pods.status(luck, made["spec"])
    if luck.random() < FINISHED:
        status["phase"] = luck.choice(["Succeeded", "Failed"])
    await api.request("PATCH", path + "/status", body={"status": status}, content_type=MERGE)
    if luck.random() < TERMINATING:
        await api.delete("Pod", NAMESPACE, name)
    made = await api.get("Pod", NAMESPACE, name)
    assert ("resources" in status) == ("resources" in made["status"]), made
    return made


async def resize(api: Api, luck: random.Random, made: Object) -> None:
    """As a user would: what is asked for changes, and what the pod has does not yet."""
    changes = [
        {"name": container["name"], "resources": _more_cpu(9000, luck)}
        for container in made["spec"]["containers"]
        if _may_have_more_cpu(container)
    ]
    if not changes:
        return
    body: Object = {"spec": {"containers": changes}}
    if "cpu" in (made["spec"].get("resources") or {}).get("requests", {}):
        body["spec"]["resources"] = _more_cpu(10**8, luck)
    path = path_of("Pod", NAMESPACE, made["metadata"]["name"]) + "/resize"
    while True:
        try:
            await api.request("PATCH", path, body=body, content_type=STRATEGIC)
        except ApiError as problem:
            # Its admission hears of nodes a moment after they were created.
            if f'node \\"{made["spec"]["nodeName"]}\\" not found' not in str(problem):
                raise
            await asyncio.sleep(0.05)
        else:
            return


def _may_have_more_cpu(container: Object) -> bool:
    """Only what keeps the pod's class and all of its limits is allowed."""
    given = container["resources"]
    unlimited = "cpu" not in given.get("limits", {})
    return unlimited and resources.read(given.get("requests")).get("cpu", 0) > 0


def _more_cpu(most: int, luck: random.Random) -> Object:
    return {"requests": {"cpu": f"{luck.randint(most // 2, most)}m"}}


def reserved(there: Object) -> Resources:
    finished = there["status"]["phase"] in ("Succeeded", "Failed")
    return {} if finished else resources.of_pod(there["spec"], there["status"])


async def the_scheduler_knows_all_nodes(api: Api) -> None:
    """It hears of them in order: who can place a pod on the last one has heard of all."""
    version = (await api.list_page("Pod", NAMESPACE))["metadata"]["resourceVersion"]
    last = Case(name="last", taken={resources.PODS: 1}, short="", objects=())
    await api.create(last.node())
    await api.create(pod("last", {"containers": [{"name": "app", "image": "app:1"}]}, node="last"))
    assert await verdicts(api, {"last"}, version) == {"last": ["bound"]}
