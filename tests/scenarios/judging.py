"""What must be true after every migration, however it ended."""

from testbed.api import Object
from testbed.audit import Audit
from testbed.scenarios import Scene

HISTORY = "scheduler.alpha.kubernetes.io/"


def assert_nobody_noticed(audit: Audit) -> None:
    assert audit.replicas_missing() == []
    assert audit.endpoints_missing() == []
    assert audit.budgets_violated() == []
    assert audit.changed_objects() == []
    assert [write for write in audit.writes() if not write.guarded] == []
    assert audit.touched_pods() == []
    # Others' pods go by eviction, or by the hand of their controller.
    deleted = [write.name for write in audit.writes() if write.permission == "delete pods"]
    assert set(deleted) <= set(audit.pods_made())


async def assert_exactly_one_moved(world: Scene, audit: Audit, *, app: str, to: str) -> None:
    assert_nobody_noticed(audit)
    assert len(audit.pods_made()) == 1
    assert len(audit.pods_removed()) == 1
    [made], [removed] = audit.pods_made(), audit.pods_removed()
    pods = {pod["metadata"]["name"]: pod for pod in await world.pods(app)}
    moved = pods[made]
    assert moved["spec"]["nodeName"] == to
    assert removed not in pods
    metadata = moved["metadata"]
    assert metadata["labels"][HISTORY + "migration-status"] == "completed"
    assert metadata["annotations"][HISTORY + "original-pod-name"] == removed
    # Just the one owner that any other replica has, and as its controller.
    siblings = [pod for name, pod in pods.items() if name != made]
    for sibling in siblings:
        assert _what_runs(moved) == _what_runs(sibling)
        assert metadata["ownerReferences"] == sibling["metadata"]["ownerReferences"]
    assert len(metadata["ownerReferences"]) == 1
    assert metadata["ownerReferences"][0]["controller"] is True


async def assert_as_if_nothing_happened(world: Scene, audit: Audit, *, app: str) -> None:
    assert_nobody_noticed(audit)
    await assert_no_trace(world, audit, app=app)


async def assert_no_trace(world: Scene, audit: Audit, *, app: str) -> None:
    """The pods are the very same ones, and none carries a mark of ours."""
    assert sorted(audit.pods_made()) == sorted(audit.pods_removed())
    for pod in await world.pods(app):
        assert pod["metadata"]["name"] not in audit.pods_made()
        marks = {**pod["metadata"]["labels"], **(pod["metadata"].get("annotations") or {})}
        assert not [key for key in marks if key.startswith(HISTORY)]
        assert "controller.kubernetes.io/pod-deletion-cost" not in marks


async def assert_nothing_of_ours_is_left(world: Scene) -> None:
    """Beside the history on pods that were moved, and the records of finished migrations."""
    for pod in await world.api.list("Pod", world.name):
        metadata = pod["metadata"]
        marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
        history = [key for key in marks if key.startswith(HISTORY) and "rescheduling" not in key]
        if HISTORY + "original-pod" in marks:
            assert marks[HISTORY + "migration-status"] == "completed", metadata
        else:
            assert history == [], metadata
        assert "controller.kubernetes.io/pod-deletion-cost" not in marks, metadata
    budgets = await world.api.list("PodDisruptionBudget", world.name)
    assert [each["metadata"]["name"] for each in budgets if _is_temporary(each)] == []
    for record in await world.records():
        assert record["status"]["phase"] in ("Completed", "Failed"), record
        assert "rescheduler.io/steering" not in (record["metadata"].get("labels") or {}), record


def _is_temporary(budget: Object) -> bool:
    return str(budget["metadata"]["name"]).endswith("-rescheduler-pdb")


def _what_runs(pod: Object) -> list[tuple[str, str, Object]]:
    """Less the mounts of the service account, whose names the API server draws by lot."""
    containers = pod["spec"]["containers"]
    return [(each["name"], each["image"], each["resources"]) for each in containers]
