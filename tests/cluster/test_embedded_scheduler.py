"""The embedded scheduler would have gone where the real one went, and uses the same words.

Pods come one after the other to a real cluster. Of each it is asked where the embedded scheduler
would put it, with the cluster as it was before: the node that the real one chose must be among
those that it finds best.
"""

import os
import random
from collections.abc import Callable

from rescheduler.embedded.kinds import BY_NAME
from rescheduler.embedded.scheduler import preempting, scoring
from rescheduler.embedded.scheduler.fitting import Examination
from rescheduler.embedded.scheduler.pods import read
from rescheduler.embedded.scheduler.state import State
from rescheduler.embedded.store import Store
from rescheduler.model import conditions
from testbed.builders import pod, pod_spec, service, workload
from testbed.scenarios import OWNER
from testbed.world import World
from tests.unit.plan.support.cluster_objects import Object

PODS = int(os.environ.get("PLACED_PODS", "40"))
SEED = os.environ.get("PLACED_SEED", "2026")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
KINDS = ("Node", "Namespace", "Pod", "Service", "ReplicaSet", "StatefulSet")


async def prepare(world: World, luck: random.Random) -> None:
    for cpu, memory in (("4", "8Gi"), ("4", "16Gi"), ("8", "16Gi")):
        await world.add_nodes(3, cpu=cpu, memory=memory)
    for number, name in enumerate(world.nodes):
        labels = {"disk": luck.choice(("ssd", "hdd"))}
        if number < len(world.nodes) - 1:
            labels[ZONE] = f"z{number % 3}"
        await world.api.patch("Node", None, name, {"metadata": {"labels": labels}})
    await taint_softly(world, world.nodes[4])


async def test_the_real_scheduler_takes_one_of_those_that_are_best(world: World) -> None:
    luck = random.Random(SEED)  # noqa: S311 - to be repeated
    await prepare(world, luck)
    await world.create(service("a"), service("b"))
    seen: dict[int, int] = {}
    for number in range(PODS):
        body = random_pod(luck, f"p{number}")
        store = await as_it_is(world)
        await world.create(body)
        made = await placed(world, f"p{number}")
        best = best_nodes(store, made)
        seen[len(best)] = seen.get(len(best), 0) + 1
        assert made["spec"]["nodeName"] in best, (number, best, body)
    # It is no feat to be among all of them.
    assert seen.get(1, 0) > PODS / 4, seen


async def test_pods_of_one_owner_are_spread_alike(world: World) -> None:
    await prepare(world, random.Random(SEED))  # noqa: S311 - to be repeated
    await world.create(workload("ReplicaSet", "web", replicas=0, spec=pod_spec(cpu="100m")))
    known: set[str] = set()
    for number in range(1, 12):
        store = await as_it_is(world)
        await world.api.patch("ReplicaSet", world.name, "web", {"spec": {"replicas": number}})

        async def is_there(wanted: int = number) -> bool:
            return len(await world.pods("web")) == wanted

        await world.wait("one more is there", is_there)
        names = {found["metadata"]["name"] for found in await world.pods("web")}
        [new] = names - known
        known = names
        made = await placed(world, new)
        assert made["spec"]["nodeName"] in best_nodes(store, made)


# ---------------------------------------------------------------------- words


def required(kind: str, app: str, key: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def pinned(name: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


async def test_a_pod_that_fits_nowhere_is_told_the_same(world: World) -> None:
    await world.add_nodes(3, cpu="2")
    first, second, _ = world.nodes
    await world.create(pod("there", spec=pod_spec(cpu="1500m") | pinned(first)))
    await placed(world, "there")
    await world.cordon(second)
    constraint = {"maxSkew": 1, "topologyKey": "nowhere", "whenUnsatisfiable": "DoNotSchedule"}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}
    cases = {
        "large": pod_spec(cpu="5"),
        "fat": pod_spec(cpu="5", memory="100Gi"),
        "pinned": pod_spec(cpu="600m") | pinned(first),
        "selective": pod_spec() | {"nodeSelector": {"disk": "none"}},
        "lonely": pod_spec() | required("podAntiAffinity", "there", OWNER),
        "needy": pod_spec() | required("podAffinity", "nobody", HOST),
        "even": pod_spec() | {"topologySpreadConstraints": [constraint]},
        "claiming": pod_spec() | {"volumes": [claim]},
    }
    for name, spec in cases.items():
        await world.create(pod(name, spec=spec))

        async def is_told_the_same(name: str = name) -> bool:
            # Others add nodes, too: then it is told anew.
            found = await world.api.get("Pod", world.name, name)
            told = conditions.find(found, "PodScheduled") or {}
            return bool(told.get("message") == words_for(await as_it_is(world), found))

        await world.wait(f"{name} is told the same", is_told_the_same)


def words_for(store: Store, made: Object) -> str:
    """What the embedded scheduler tells this pod."""
    state = State(store)
    state.load()
    waiting = read(made)
    verdicts = Examination(waiting, state).verdicts(state.order, 0)
    chance = random.Random(SEED)  # noqa: S311 - it decides nothing here
    return preempting.preempt(waiting, verdicts, state, chance).words


async def taint_softly(world: World, name: str) -> None:
    found = await world.api.get("Node", None, name)
    taint = {"key": "soft", "value": "yes", "effect": "PreferNoSchedule"}
    change = {"spec": {"taints": [*found["spec"]["taints"], taint]}}
    await world.api.patch("Node", None, name, change)


async def as_it_is(world: World) -> Store:
    store = Store()
    for kind in KINDS:
        namespace = world.name if kind not in ("Node", "Namespace") else None
        for item in await world.api.list(kind, namespace):
            store.put(BY_NAME[kind].resource, item)
    return store


async def placed(world: World, name: str) -> Object:
    async def is_bound() -> bool:
        found = await world.api.get("Pod", world.name, name)
        return bool(found["spec"].get("nodeName"))

    await world.wait(f"{name} is bound", is_bound)
    return await world.api.get("Pod", world.name, name)


def best_nodes(store: Store, made: Object) -> list[str]:
    state = State(store)
    state.load()
    spec = {key: value for key, value in made["spec"].items() if key != "nodeName"}
    waiting = read({**made, "spec": spec})
    fitting = Examination(waiting, state).verdicts(state.order, 0).fitting
    scores = scoring.totals(waiting, fitting, state)
    return [node.name for node, score in zip(fitting, scores, strict=True) if score == max(scores)]


# ---------------------------------------------------------------------- pods with wishes


def random_pod(luck: random.Random, name: str) -> Object:
    spec = pod_spec(
        cpu=luck.choice(("10m", "100m", "300m", "700m")),
        memory=luck.choice(("32Mi", "256Mi", "1Gi")),
    )
    if luck.random() < 0.15:
        del spec["containers"][0]["resources"]
    body = pod(name, spec=spec)
    body["metadata"]["labels"] = {"app": luck.choice("abcd")}
    for wish in luck.sample(WISHES, luck.choice((0, 0, 1, 1, 2))):
        wish(luck, spec)
    return body


def _term(luck: random.Random) -> Object:
    return {
        "topologyKey": luck.choice((HOST, ZONE)),
        "labelSelector": {"matchLabels": {"app": luck.choice("abcd")}},
    }


def near_others(luck: random.Random, spec: Object) -> None:
    wish = {"weight": luck.randint(1, 100), "podAffinityTerm": _term(luck)}
    spec.setdefault("affinity", {})["podAffinity"] = {PREFERRED: [wish]}


def far_from_others(luck: random.Random, spec: Object) -> None:
    wish = {"weight": luck.randint(1, 100), "podAffinityTerm": _term(luck)}
    spec.setdefault("affinity", {})["podAntiAffinity"] = {PREFERRED: [wish]}


def spread(luck: random.Random, spec: Object) -> None:
    spec["topologySpreadConstraints"] = [
        {"maxSkew": luck.randint(1, 3), "whenUnsatisfiable": "ScheduleAnyway", **_term(luck)}
    ]


def on_disk(luck: random.Random, spec: Object) -> None:
    wanted = {"key": "disk", "operator": "In", "values": [luck.choice(("ssd", "hdd"))]}
    wish = {"weight": luck.randint(1, 100), "preference": {"matchExpressions": [wanted]}}
    spec.setdefault("affinity", {})["nodeAffinity"] = {PREFERRED: [wish]}


WISHES: tuple[Callable[[random.Random, Object], None], ...] = (
    near_others,
    far_from_others,
    spread,
    on_disk,
)
