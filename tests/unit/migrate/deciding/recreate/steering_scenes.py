"""What may happen to a workload while a pod is recreated, and what must hold once all has come to
rest again.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rescheduler.model import names
from rescheduler.model.podmigration import Reason
from tests.unit.migrate.deciding.recreate.steering_drive import SETTINGS, Drive
from tests.unit.migrate.toy_controllers import ELSEWHERE, TARGET
from tests.unit.migrate.toy_objects import controller_of, is_active, labels_of
from tests.unit.migrate.toy_workload import ToyWorkload

Disturbance = Callable[[ToyWorkload], None]

LOOKS = range(20)
"""An undisturbed one looks less often."""


def toy(**shape: Any) -> ToyWorkload:  # noqa: ANN401 - whatever the toy takes
    return ToyWorkload(**{"settings": SETTINGS, **shape})


# ---------------------------------------------------------------------- what may happen


def _on_original(act: Callable[[ToyWorkload, str], None]) -> Disturbance:
    def disturbance(cluster: ToyWorkload) -> None:
        if cluster.original:
            act(cluster, cluster.original_uid)

    return disturbance


def _on_sibling(act: Callable[[ToyWorkload, str], None]) -> Disturbance:
    def disturbance(cluster: ToyWorkload) -> None:
        for pod in cluster.siblings[:1]:
            act(cluster, pod["metadata"]["uid"])

    return disturbance


def _cordon(cluster: ToyWorkload) -> None:
    if cluster.target:
        cluster.target["spec"]["unschedulable"] = True


def _lose_target(cluster: ToyWorkload) -> None:
    cluster.target = None


def _delete_namespace(cluster: ToyWorkload) -> None:
    cluster.deployment = None
    for workload in cluster.workloads.values():
        workload["metadata"]["deletionTimestamp"] = cluster.now.isoformat()
    for uid in cluster.pods:
        cluster.stop(uid)
    cluster.budgets.clear()


def _edit_temporary_budget(cluster: ToyWorkload) -> None:
    for budget in cluster.temporary:
        budget["spec"]["minAvailable"] = 99
        budget["metadata"]["generation"] += 1


def _delete_temporary_budget(cluster: ToyWorkload) -> None:
    for budget in cluster.temporary:
        del cluster.budgets[budget["metadata"]["name"]]


def _add_two_budgets(cluster: ToyWorkload) -> None:
    for name in ("one", "two"):
        cluster.add_budget(name, minAvailable=1)


DISTURBANCES: dict[str, Disturbance] = {
    "rolls out": ToyWorkload.roll_out,
    "scales up": lambda cluster: cluster.scale(cluster.wanted + 1),
    "scales down": lambda cluster: cluster.scale(max(0, cluster.wanted - 1)),
    "scales to 0": lambda cluster: cluster.scale(0),
    "deletes the workload": ToyWorkload.delete_workload,
    "deletes the namespace": _delete_namespace,
    "deletes the original": _on_original(ToyWorkload.stop),
    "deletes a sibling": _on_sibling(ToyWorkload.stop),
    "the original fails": _on_original(ToyWorkload.fail),
    "the original turns Ready": _on_original(ToyWorkload.turn_ready),
    "a sibling turns unready": _on_sibling(ToyWorkload.turn_unready),
    "cordons the target": _cordon,
    "the target is lost": _lose_target,
    "a budget appears": lambda cluster: cluster.add_budget("user", minAvailable=1),
    "a budget that allows nothing appears": lambda c: c.add_budget("user", maxUnavailable=0),
    "two budgets appear": _add_two_budgets,
    "edits our budget": _edit_temporary_budget,
    "deletes our budget": _delete_temporary_budget,
}


# ---------------------------------------------------------------------- what must hold at the end


def problems(drive: Drive) -> Iterator[str]:
    """What is not as it should be once all has come to rest."""
    cluster = drive.cluster
    if not drive.outcomes:
        yield "it came to no end"
        return
    if cluster.temporary:
        yield "our budget is left"
    if cluster.is_steering:
        yield "it still steers"
    for pod in cluster.pods.values():
        if labels_of(pod).get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS:
            yield f"{pod['metadata']['name']} is left in the middle"
    if any(uid != cluster.original_uid for uid in cluster.evicted):
        yield f"evicted {cluster.evicted}"
    yield from _about_the_outcome(drive)
    yield from drive.wrongs


def _about_the_outcome(drive: Drive) -> Iterator[str]:
    cluster, outcome = drive.cluster, drive.outcome
    successors = [
        pod
        for pod in cluster.pods.values()
        if pod["metadata"]["annotations"].get(names.ORIGINAL_POD) == cluster.original_uid
    ]
    if outcome.moved and not cluster.status.siblings:
        yield "told to be moved, and not by us"
    if outcome.moved:
        if cluster.original and is_active(cluster.original):
            yield "told to be moved, and is where it was"
        reasons = {TARGET: Reason.COMPLETED, ELSEWHERE: Reason.LANDED_ELSEWHERE}
        for pod in successors:
            if outcome.reason is not reasons[pod["spec"]["nodeName"]]:
                yield f"{outcome.reason}, and is on {pod['spec']['nodeName']}"
    elif successors and cluster.evicted:
        yield f"told not to be moved ({outcome.reason}), and was"
    if (
        not outcome.moved
        and cluster.original
        and labels_of(cluster.original).keys()
        & {
            names.MIGRATION_ID,
            names.MIGRATION_STATUS,
        }
    ):
        yield "a mark is left on an original that was not moved"


def counts(drive: Drive) -> Iterator[str]:
    cluster = drive.cluster
    active = [pod for pod in cluster.pods.values() if is_active(pod)]
    owned = [pod for pod in active if controller_of(pod) in cluster.workloads]
    if cluster.workloads and len(owned) != cluster.wanted:
        yield f"{len(owned)} pods, {cluster.wanted} wanted"


SHAPES = [
    pytest.param({"kind": "StatefulSet"}, id="stateful"),
    pytest.param({"kind": "StatefulSet", "replicas": 1}, id="stateful-single"),
    pytest.param({"kind": "Deployment"}, id="recreate"),
    pytest.param({"kind": "ReplicaSet", "lands": ELSEWHERE}, id="bare-elsewhere"),
    pytest.param({"kind": "Job", "replicas": 2}, id="job"),
    pytest.param({"kind": "ReplicaSet", "unready": True}, id="unready"),
    pytest.param({"kind": "StatefulSet", "unready": True}, id="unready-stateful"),
]
each_shape = pytest.mark.parametrize("shape", SHAPES)
