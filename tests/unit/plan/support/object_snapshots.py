"""Objects, as an API server would send them -> a snapshot, as planning gets it."""

from collections import defaultdict
from collections.abc import Iterable

from rescheduler import wire
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files.exporting import BY_KIND
from rescheduler.observe.state import ClusterState
from rescheduler.wire import Batch, Resource, View
from tests.unit.plan.support.cluster_objects import Object


def snapshot_of(objects: Iterable[Object], *, taken_at: float = 0.0) -> Snapshot:
    """In the order in which they are given."""
    views: dict[Resource, list[View]] = defaultdict(list)
    for each in objects:
        resource = BY_KIND[each["apiVersion"], each["kind"]]
        views[resource].append(wire.from_json(resource, each))
    state = ClusterState()
    for resource in BY_KIND.values():
        told = state.take(resource, Batch(present=views[resource], complete=True))
        assert not told, told
    return state.snapshot(taken_at=taken_at)
