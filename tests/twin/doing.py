"""Carries the acts out, on either cluster, and waits until it has come to rest."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from testbed.api import ApiError, Object, path_of
from testbed.builders import behaviour, budget, job, pod, pod_spec, service, workload
from testbed.scenarios import Scene
from tests.twin.acts import NODES, Act
from tests.twin.seeing import COST, HOSTNAME, Seen, in_order, look, versions, waiting

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_QUIET_SECONDS: Final = 2.5
"""For so long nobody does anything: then nobody will, but collectors that come by by the minute."""
_NUDGED_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = 150.0
_KINDS: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod")
_LOST_AFTER_SECONDS: Final = 1
"""Instead of five minutes, that pods bear a node that is not Ready."""

Outcome = str


async def begin(world: Scene) -> None:
    await world.add_nodes(NODES, cpu="32", memory="64Gi")


async def do(world: Scene, act: Act) -> Outcome:
    """What came of it: empty, or how the API server refused it."""
    try:
        return await DONE[act.what](world, **act.how) or ""
    except ApiError as refusal:
        return f"refused: {refusal.status}"


async def rest(world: Scene) -> Seen:
    """As it is when nobody does anything any more."""
    seen = await _quiet(world, _QUIET_SECONDS)
    if not seen.of("PodDisruptionBudget"):
        return seen
    # See `deliberate.OWNERS`.
    for each in seen.of("PodDisruptionBudget"):
        change = {"metadata": {"annotations": {"nudged": str(asyncio.get_running_loop().time())}}}
        await world.api.patch("PodDisruptionBudget", world.name, each["metadata"]["name"], change)
    return await _quiet(world, _NUDGED_SECONDS)


async def _quiet(world: Scene, seconds: float) -> Seen:
    clock = asyncio.get_running_loop().time
    seen = await look(world)
    quiet_since, end = clock(), clock() + _PATIENCE_SECONDS
    while clock() - quiet_since < seconds or not _is_settled(seen):
        assert clock() < end, "it does not come to rest"
        await asyncio.sleep(_LOOK_SECONDS)
        now = await look(world)
        if versions(now) != versions(seen):
            quiet_since = clock()
        seen = now
    return seen


def _is_settled(seen: Seen) -> bool:
    """Nothing is left that a controller does later, without any change before it."""
    nodes = {node["metadata"]["name"] for node in seen.nodes}
    for each in seen.of("Pod"):
        if each["spec"].get("nodeName", next(iter(nodes))) not in nodes:
            return False
        if "deletionTimestamp" in each["metadata"]:
            return False
    # A Job waits a while before it makes another one.
    return all((each.get("status") or {}).get("active") for each in seen.of("Job"))


# ---------------------------------------------------------------------- making


async def _create(world: Scene, *, kind: str, name: str, **how: Any) -> None:  # noqa: ANN401
    spec = pod_spec(cpu="100m", memory="64Mi") | {"tolerations": _tolerations()}
    if (node := how.pop("on", None)) is not None:
        spec["nodeSelector"] = {HOSTNAME: world.nodes[node]}
    annotations = behaviour(**how.pop("behaviour", {}))
    made = [service(name)] if how.pop("service", False) else []
    if limit := how.pop("budget", None):
        made.append(_budget(name, name, limit))
    if kind == "Pod":
        alone = pod(name, spec=spec)
        alone["metadata"]["annotations"] = annotations
        made.append(alone)
    elif kind == "Job":
        made.append(job(name, spec=spec))
        made[-1]["spec"]["template"]["metadata"]["annotations"] = annotations
    else:
        more: dict[str, Any] = {"serviceName": name} if kind == "StatefulSet" else {}
        made.append(workload(kind, name, spec=spec, **more, **how))
        made[-1]["spec"]["template"]["metadata"]["annotations"] = annotations
    guard = [each for each in made if each["kind"] == "PodDisruptionBudget"]
    await world.create(*guard)
    # Or it would be a matter of luck whether it is looked at before the first pods are there.
    await world.wait("the budgets are observed", lambda: _are_observed(world, guard))
    await world.create(*(each for each in made if each not in guard))


async def _are_observed(world: Scene, budgets: Sequence[Object]) -> bool:
    known = await world.api.list("PodDisruptionBudget", world.name)
    observed = {
        each["metadata"]["name"]
        for each in known
        if (each.get("status") or {}).get("observedGeneration")
    }
    return {each["metadata"]["name"] for each in budgets} <= observed


def _tolerations() -> list[Object]:
    return [
        {
            "key": f"node.kubernetes.io/{kind}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _LOST_AFTER_SECONDS,
        }
        for kind in ("not-ready", "unreachable")
    ]


def _budget(name: str, of: str, limit: dict[str, Any]) -> Object:
    made = budget(of, **limit)
    made["metadata"]["name"] = name
    return made


async def _add_budget(world: Scene, *, of: str, name: str, **limit: Any) -> None:  # noqa: ANN401
    await world.create(_budget(name, of, limit))


async def _change_budget(world: Scene, *, name: str, **limit: Any) -> None:  # noqa: ANN401
    spec = {"minAvailable": None, "maxUnavailable": None, "unhealthyPodEvictionPolicy": None}
    change = {"spec": {**spec, **limit}}
    await world.api.patch("PodDisruptionBudget", world.name, name, change)


# ---------------------------------------------------------------------- changing


async def _kind_of(world: Scene, name: str) -> str:
    for kind in _KINDS:
        if await world.api.find(kind, world.name, name):
            return kind
    raise ApiError(404, f"there is no {name}")


async def _change(world: Scene, name: str, spec: Object) -> None:
    path = path_of(await _kind_of(world, name), world.name, name)
    await world.api.request("PATCH", path, body={"spec": spec}, content_type=_STRATEGIC)


async def _scale(world: Scene, *, name: str, replicas: int) -> None:
    await _change(world, name, {"replicas": replicas})


async def _roll_out(world: Scene, *, name: str, image: str) -> None:
    containers = [{"name": "app", "image": image}]
    await _change(world, name, {"template": {"spec": {"containers": containers}}})


async def _pin(world: Scene, *, name: str, node: int) -> None:
    """By the affinity of its template, so that it is rolled out."""
    field = {"key": "metadata.name", "operator": "In", "values": [world.nodes[node]]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    await _change(world, name, {"template": {"spec": {"affinity": affinity}}})


async def _pause(world: Scene, *, name: str) -> None:
    await _change(world, name, {"paused": True})


async def _resume(world: Scene, *, name: str) -> None:
    await _change(world, name, {"paused": False})


async def _delete_workload(world: Scene, *, name: str, propagation: str) -> None:
    options = {"propagationPolicy": propagation}
    await world.api.delete(await _kind_of(world, name), world.name, name, options)


# ---------------------------------------------------------------------- pods


async def _pick(world: Scene, app: str, number: int) -> Object:
    seen = await look(world)
    pods = [each for each in seen.of("Pod") if each["metadata"]["labels"].get("app") == app]
    if not pods:
        raise ApiError(404, f"there is no pod of {app}")
    return in_order(seen, pods)[number % len(pods)]


async def _evict(world: Scene, *, name: str, number: int) -> Outcome:
    found = await _pick(world, name, number)
    pod_name = found["metadata"]["name"]
    path = f"/api/v1/namespaces/{world.name}/pods/{pod_name}/eviction"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod_name}}
    await world.api.request("POST", path, body=body)
    return "evicted"


async def _delete_pod(world: Scene, *, name: str, number: int) -> None:
    await world.delete_pod((await _pick(world, name, number))["metadata"]["name"])


async def _label_out(world: Scene, *, name: str, number: int) -> None:
    found = await _pick(world, name, number)
    change = {"metadata": {"labels": {"app": f"{name}-out"}}}
    await world.api.patch("Pod", world.name, found["metadata"]["name"], change)


async def _label_back(world: Scene, *, name: str, number: int) -> None:
    found = await _pick(world, f"{name}-out", number)
    change = {"metadata": {"labels": {"app": name}}}
    await world.api.patch("Pod", world.name, found["metadata"]["name"], change)


async def _set_ready(world: Scene, *, name: str, number: int, ready: bool) -> Outcome:
    found = await _pick(world, name, number)
    behaves = found["metadata"].get("annotations") or {}
    is_running = found["status"].get("phase") == "Running" and not waiting(found)
    if not is_running or any("never-ready" in key for key in behaves):
        return "left"
    await world.set_ready(found["metadata"]["name"], ready=ready)
    return "done"


async def _set_cost(world: Scene, *, name: str, number: int, cost: str) -> None:
    found = await _pick(world, name, number)
    await world.annotate_pod(found["metadata"]["name"], {COST: cost})


# ---------------------------------------------------------------------- nodes


async def _cordon(world: Scene, *, node: int) -> None:
    await world.cordon(world.nodes[node])


async def _uncordon(world: Scene, *, node: int) -> None:
    await world.uncordon(world.nodes[node])


async def _down(world: Scene, *, node: int) -> None:
    await world.make_not_ready(world.nodes[node])


async def _up(world: Scene, *, node: int) -> None:
    await world.make_ready_again(world.nodes[node])


async def _delete_node(world: Scene, *, node: int) -> None:
    await world.delete_node(world.nodes[node])


DONE: Final[dict[str, Callable[..., Awaitable[Outcome | None]]]] = {
    "create": _create,
    "add budget": _add_budget,
    "change budget": _change_budget,
    "scale": _scale,
    "roll out": _roll_out,
    "pin": _pin,
    "pause": _pause,
    "resume": _resume,
    "delete workload": _delete_workload,
    "evict": _evict,
    "delete pod": _delete_pod,
    "label out": _label_out,
    "label back": _label_back,
    "set ready": _set_ready,
    "set deletion cost": _set_cost,
    "cordon": _cordon,
    "uncordon": _uncordon,
    "node down": _down,
    "node up": _up,
    "delete node": _delete_node,
}
