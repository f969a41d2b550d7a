"""The scheduler's rules say what the plainest reading of kube-scheduler's filters says.

`tests.unit.plan.support.scheduler_rules` is that reading, held against the real scheduler verdict
by verdict. It and the rules here were written apart, and share nothing but the model.
"""

from collections.abc import Iterable
from itertools import count

import pytest

from rescheduler.embedded.kinds import BY_NAME
from rescheduler.embedded.scheduler.fitting import Examination
from rescheduler.embedded.scheduler.pods import read
from rescheduler.embedded.scheduler.state import State
from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from tests.unit.plan.support import random_worlds, scheduler_rules
from tests.unit.plan.support.cluster_objects import Cluster
from tests.unit.plan.support.random_rules import World

NAMES = {
    "cordon": "NodeUnschedulable",
    "taints": "TaintToleration",
    "node affinity": "NodeAffinity",
    "ports": "NodePorts",
    "resources": "NodeResourcesFit",
    "claims": "VolumeBinding",
    "disks": "VolumeRestrictions",
    "exclusive claims": "VolumeRestrictions",
    "attach limits": "NodeVolumeLimits",
    "volume affinity": "VolumeBinding",
    "volume zones": "VolumeZone",
    "spread": "PodTopologySpread",
    "affinity": "InterPodAffinity",
    "anti-affinity": "InterPodAffinity",
    "others' anti-affinity": "InterPodAffinity",
}
CANDIDATES = 12


def completed(pods: Iterable[Object], numbers: Iterable[int]) -> list[Object]:
    """With what an API server adds."""
    return [
        {
            **pod,
            "metadata": {**pod["metadata"], "uid": f"uid-{number}"},
            "spec": {**pod["spec"], "priority": _priority(pod)},
        }
        for pod, number in zip(pods, numbers, strict=False)
    ]


def _priority(pod: Object) -> int:
    named = random_worlds.PRIORITY_CLASSES.get(pod["spec"].get("priorityClassName", ""), (0, ""))
    return named[0]


def residents(made: World) -> list[Object]:
    numbers = count()
    pods = completed(made.pods, numbers)
    for pod in pods:
        if pod["metadata"]["name"] in made.ending:
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if made.nominee is not None:
        [waiting] = completed([made.nominee], numbers)
        pods.append({**waiting, "status": {"nominatedNodeName": made.target}})
    return pods


@pytest.mark.parametrize("number", range(60))
@pytest.mark.parametrize("cordoned", [True, False])
def test_each_node_is_refused_by_the_same_rules(number: int, *, cordoned: bool) -> None:
    made = random_worlds.world("agreeing", number, cordoned=cordoned)
    pods = residents(made)
    objects = random_worlds.objects_of(made, pods)
    plain = Cluster.of(objects)
    store = Store()
    state = State(store)
    for each in objects:
        store.put(BY_NAME[each["kind"]].resource, each)
    state.load()
    candidates = completed(
        [random_worlds.candidate(made, f"c{each}") for each in range(CANDIDATES)], count(1000)
    )
    for pod in candidates:
        examination = Examination(read(pod), state)
        for node in state.order:
            found = examination.nowhere or examination.why_not(node)
            expected = scheduler_rules.why_not(plain, pod, node.name)
            if found is None:
                assert expected == [], (node.name, pod)
            else:
                assert found.rule in {NAMES[each] for each in expected}, (found, expected, pod)
