"""ReplicaSets that Deployments have left behind: they have no pods, and may be most of all."""

from typing import Any

import pytest

from rescheduler import wire
from rescheduler.observe.state import ClusterState
from rescheduler.wire import REPLICA_SETS, Batch


def told(state: ClusterState, name: str, **numbers: Any) -> None:  # noqa: ANN401
    """`wants` may be left out, as in a file: then it is one."""
    spec = {"replicas": numbers["wants"]} if "wants" in numbers else {}
    raw = {
        "metadata": {"namespace": "shop", "name": name, "uid": name},
        "spec": spec,
        "status": {"replicas": numbers.get("has", 0)},
    }
    state.take(REPLICA_SETS, Batch(present=[wire.from_json(REPLICA_SETS, raw)]))


def names(state: ClusterState) -> set[str]:
    return {name for _, name in state.snapshot().objects.get("replicasets", {})}


@pytest.mark.parametrize(
    ("numbers", "is_kept"),
    [
        ({"wants": 0, "has": 0}, False),
        ({"wants": 0, "has": 1}, True),
        ({"wants": 1, "has": 0}, True),
        ({"has": 0}, True),
    ],
)
def test_one_is_kept_that_has_pods_or_wants_some(numbers: dict[str, int], is_kept: bool) -> None:  # noqa: FBT001
    state = ClusterState()
    told(state, "web", **numbers)
    assert names(state) == ({"web"} if is_kept else set())


def test_one_goes_with_its_last_pod_and_comes_back_with_the_next() -> None:
    state = ClusterState()
    for wants, has, seen in ((2, 2, {"web"}), (0, 1, {"web"}), (0, 0, set()), (1, 0, {"web"})):
        told(state, "web", wants=wants, has=has)
        assert names(state) == seen
