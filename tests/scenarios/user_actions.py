"""What users do to their own cluster while a pod of theirs is being moved, and what they may expect
of it afterwards.

Each action returns when the cluster has taken notice of it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from testbed.api import Object, path_of
from testbed.audit import is_ready
from testbed.builders import budget
from testbed.scenarios import Scene as World

_STRATEGIC = "application/strategic-merge-patch+json"
_COPY = "scheduler.alpha.kubernetes.io/original-pod"
_MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the user acts on: all is called "web"."""

    world: World
    kind: str
    """Of the workload; Pod: there is none."""
    original: Object
    target: str

    @property
    def name(self) -> str:
        return str(self.original["metadata"]["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    act: Callable[[Scene], Awaitable[None]]
    pods: int | None = None
    """How many the user wants by now; None: as many as before."""
    image: str = "app:1"
    loses: int = 0
    """How many Ready pods the action itself may cost for a while."""
    changes: tuple[str, ...] = ()
    """The kinds of user objects that it changes, makes or removes."""
    stops: bool = True
    """The move does not take place if this is done before it cannot be taken back any more."""
    stops_before: int = 2**31
    """Or, if that is earlier, before this write: what it is about is not asked afterwards."""
    reasons: frozenset[str] = frozenset()
    """That a migration may give for having failed."""
    forgets: bool = False
    """The record is gone afterwards."""
    needs_copy: bool = False
    is_early: bool = False
    """Done afterwards, it would be about the pod that was moved."""
    within: float = 60.0
    """How long it takes until all has come to rest."""


# ---------------------------------------------------------------------- to the workload


async def roll_out(scene: Scene) -> None:
    containers = [{"name": "app", "image": "app:2"}]
    await _change(scene, {"template": {"spec": {"containers": containers}}})


async def pause(scene: Scene) -> None:
    await _change(scene, {"paused": True})


def scale_to(replicas: int) -> Callable[[Scene], Awaitable[None]]:
    async def scale(scene: Scene) -> None:
        await _change(scene, {"replicas": replicas})

    return scale


async def _change(scene: Scene, spec: Object) -> None:
    world, kind = scene.world, scene.kind
    path = path_of(kind, world.name, "web")
    await world.api.request("PATCH", path, body={"spec": spec}, content_type=_STRATEGIC)

    async def is_observed() -> bool:
        found = await world.api.get(kind, world.name, "web")
        return _is_observed(found)

    await world.wait("the change is observed", is_observed)


def _is_observed(found: Object) -> bool:
    seen: int = (found.get("status") or {}).get("observedGeneration", 0)
    return seen >= int(found["metadata"]["generation"])


async def delete_workload(scene: Scene) -> None:
    world = scene.world
    await world.api.delete(scene.kind, world.name, "web")
    await world.wait("the original is told to end", lambda: _is_leaving(scene))


async def _is_leaving(scene: Scene) -> bool:
    found = await scene.world.find_pod(scene.name)
    metadata = scene.original["metadata"]
    return (
        found is None
        or found["metadata"]["uid"] != metadata["uid"]
        or "deletionTimestamp" in found["metadata"]
    )


# ---------------------------------------------------------------------- to the pods


async def delete_original(scene: Scene) -> None:
    if not await _is_leaving(scene):
        await scene.world.delete_pod(scene.name)


async def delete_copy(scene: Scene) -> None:
    for copy in await copies(scene):
        await scene.world.delete_pod(copy["metadata"]["name"])


async def copies(scene: Scene) -> list[Object]:
    """What moves made of pods, whether adopted or not."""
    pods = await scene.world.pods("web")
    return [pod for pod in pods if _COPY in (pod["metadata"].get("annotations") or {})]


# ---------------------------------------------------------------------- to the target


async def cordon_target(scene: Scene) -> None:
    world, target = scene.world, scene.target
    await world.cordon(target)

    async def is_tainted() -> bool:
        found = await world.api.get("Node", None, target)
        return "node.kubernetes.io/unschedulable" in str(found["spec"].get("taints"))

    await world.wait("the cordon is seen", is_tainted)


async def delete_target(scene: Scene) -> None:
    await scene.world.delete_node(scene.target)


def taint_target(effect: str) -> Callable[[Scene], Awaitable[None]]:
    async def taint(scene: Scene) -> None:
        world, target = scene.world, scene.target
        node = await world.api.get("Node", None, target)
        taints = [*(node["spec"].get("taints") or ()), {"key": "mine", "effect": effect}]
        await world.api.patch("Node", None, target, {"spec": {"taints": taints}})
        if effect == "NoExecute":
            await world.wait("its pods are told to end", lambda: _is_cleared(scene))

    return taint


async def _is_cleared(scene: Scene) -> bool:
    pods = await scene.world.pods("web")
    there = [pod for pod in pods if pod["spec"].get("nodeName") == scene.target]
    return all("deletionTimestamp" in pod["metadata"] for pod in there)


async def label_target_for_maintenance(scene: Scene) -> None:
    labels = {"metadata": {"labels": {_MAINTENANCE: "true"}}}
    await scene.world.api.patch("Node", None, scene.target, labels)


# ---------------------------------------------------------------------- to what guards them


async def add_budget(scene: Scene) -> None:
    await _add_budget(scene, maxUnavailable=1)


async def add_forbidding_budget(scene: Scene) -> None:
    await _add_budget(scene, minAvailable=100)


async def _add_budget(scene: Scene, **limit: int) -> None:
    made = budget("mine", **limit)
    made["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    await scene.world.create(made)
    await _observe_budget(scene, "mine")


async def forbid_by_budget(scene: Scene) -> None:
    await _change_budget(scene, {"maxUnavailable": None, "minAvailable": 100})


async def move_budget_off_the_copy(scene: Scene) -> None:
    labels = scene.original["metadata"]["labels"]
    own = {key: labels[key] for key in ("app", "pod-template-hash")}
    await _change_budget(scene, {"selector": {"matchLabels": own}})


async def _change_budget(scene: Scene, spec: Object) -> None:
    await scene.world.api.patch("PodDisruptionBudget", scene.world.name, "web", {"spec": spec})
    await _observe_budget(scene, "web")


async def _observe_budget(scene: Scene, name: str) -> None:
    async def is_observed() -> bool:
        found = await scene.world.api.get("PodDisruptionBudget", scene.world.name, name)
        return _is_observed(found)

    await scene.world.wait("the budget is observed", is_observed)


async def cut_quota(scene: Scene) -> None:
    """To what is in use."""
    world = scene.world
    used = str(len(await world.api.list("Pod", world.name)))
    spec = {"hard": {"pods": used}}
    metadata = {"name": "mine", "namespace": world.name}
    await world.api.create({"kind": "ResourceQuota", "metadata": metadata, "spec": spec})

    async def is_observed() -> bool:
        found = await world.api.get("ResourceQuota", world.name, "mine")
        return "used" in (found.get("status") or {})

    await world.wait("the quota is observed", is_observed)


async def delete_namespace(scene: Scene) -> None:
    world = scene.world
    await world.api.delete("Namespace", None, world.name)
    await world.wait("the original is told to end", lambda: _is_leaving(scene))


async def cancel(scene: Scene) -> None:
    await scene.world.api.delete("PodMigration", scene.world.name, scene.name)


async def do_nothing(_: Scene) -> None:
    """The write is merely late."""


# ---------------------------------------------------------------------- what may be expected

_WORKLOAD = ("Deployment", "ReplicaSet", "StatefulSet")
_ALL_OF_IT = (*_WORKLOAD, "Service", "PodDisruptionBudget")
_CHANGED = frozenset(
    {
        "NotNow",
        "OriginalGone",
        "WorkloadChanged",
        "WorkloadGone",
        "SiblingNotReady",
        "SiblingRemoved",
        "CopyLost",  # by the hand of its ReplicaSet, or of the garbage collector
    }
)
_LOST = frozenset({"NotNow", "TargetLost", "CopyLost", "NotReadyInTime", "NotMovable"})
_REFUSED = frozenset({"NotNow", "BudgetRefused", "NotMovable"})

_OF_ALL = {
    "none": Action(act=do_nothing, stops=False),
    "cordon-target": Action(act=cordon_target, reasons=_LOST),
    "taint-target": Action(act=taint_target("NoSchedule"), stops=False, reasons=_LOST),
    "maintain-target": Action(act=label_target_for_maintenance, stops=False, reasons=_LOST),
    "cut-quota": Action(act=cut_quota, stops=False, reasons=frozenset({"Refused", "NotNow"})),
    "delete-namespace": Action(act=delete_namespace, pods=0, changes=_ALL_OF_IT, forgets=True),
    "cancel": Action(act=cancel, forgets=True),
}
_OF_WORKLOADS = {
    "roll-out": Action(act=roll_out, image="app:2", changes=_WORKLOAD, reasons=_CHANGED),
    "scale-up": Action(act=scale_to(3), pods=3, changes=_WORKLOAD, stops=False, reasons=_CHANGED),
    "scale-down": Action(act=scale_to(1), pods=1, changes=_WORKLOAD, stops=False, reasons=_CHANGED),
    "scale-to-0": Action(act=scale_to(0), pods=0, changes=_WORKLOAD, reasons=_CHANGED),
    "delete-workload": Action(act=delete_workload, pods=0, changes=_WORKLOAD, reasons=_CHANGED),
    "delete-original": Action(act=delete_original, loses=1, stops=False, reasons=_CHANGED),
    "second-budget": Action(
        act=add_budget,
        changes=("PodDisruptionBudget",),
        reasons=frozenset({"NotNow", "SeveralBudgets", "NotMovable"}),
    ),
}
_OF_COPIES = {
    "delete-copy": Action(
        act=delete_copy, loses=1, reasons=frozenset({"CopyLost"}), needs_copy=True
    ),
    "clear-target": Action(act=taint_target("NoExecute"), loses=1, reasons=_LOST),
    "budget-forbids": Action(
        act=forbid_by_budget, changes=("PodDisruptionBudget",), reasons=_REFUSED
    ),
}
OF_SURGE = {
    **_OF_ALL,
    **_OF_WORKLOADS,
    **_OF_COPIES,
    # The budget is asked just before the copy takes over, which begins with this write.
    "budget-forbids": replace(_OF_COPIES["budget-forbids"], stops_before=8),
    "pause": Action(act=pause, changes=_WORKLOAD, reasons=_CHANGED),
    "delete-target": Action(act=delete_target, loses=1, reasons=_LOST, within=150.0),
    "budget-elsewhere": Action(
        act=move_budget_off_the_copy, changes=("PodDisruptionBudget",), reasons=_REFUSED
    ),
}
OF_COPY = {
    **_OF_ALL,
    **{name: replace(each, is_early=True) for name, each in _OF_COPIES.items()},
    # Nobody makes such a pod again: who deletes it wants it gone.
    "delete-original": Action(
        act=delete_original, pods=0, is_early=True, reasons=frozenset({"NotNow", "OriginalGone"})
    ),
}
_BACK = frozenset({"BackOnSource", "ReplacementNotReady", "NotSteered"})
OF_STEERING = {
    name: replace(each, reasons=each.reasons | _BACK)
    for name, each in {
        **_OF_ALL,
        **_OF_WORKLOADS,
        "second-budget": replace(_OF_WORKLOADS["second-budget"], stops=False),
        "forbidding-budget": Action(
            act=add_forbidding_budget,
            changes=("PodDisruptionBudget",),
            # The second one beside our temporary budget.
            reasons=_REFUSED | {"SeveralBudgets"},
        ),
    }.items()
}


def is_as_wanted(pod: Object, action: Action) -> bool:
    return is_ready(pod) and pod["spec"]["containers"][0]["image"] == action.image
