"""`rescheduler drain`: what it asks of a snapshot."""

import pytest

from rescheduler.config import Configuration
from rescheduler.drain import under_way
from tests.unit.plan.movable_scenes import Object, pod, snapshot


@pytest.mark.parametrize(
    ("node", "phase", "is_awaited"),
    [
        ("a", "Pending", True),
        ("a", "InProgress", True),
        ("a", "Completed", False),
        # To the node: what has not begun never will, as the node is cordoned.
        ("b", "Pending", False),
        ("b", "InProgress", True),
        ("b", "Failed", False),
        ("c", "InProgress", False),
    ],
)
def test_moves_off_the_node_and_to_it_are_awaited(
    node: str,
    phase: str,
    is_awaited: bool,  # noqa: FBT001
) -> None:
    record: Object = {
        "metadata": {"namespace": "shop", "name": "r-1", "uid": "uid-r-1"},
        "spec": {"pod": {"name": "web-1", "uid": "uid-web-1"}, "source": "a", "target": "b"},
        "status": {"phase": phase},
    }
    cluster = snapshot(pod(), podmigrations=[record])
    assert bool(under_way(cluster, node, Configuration().scope, ended=())) == is_awaited
