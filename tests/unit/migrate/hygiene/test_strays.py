"""What is left of a migration that nobody remembers, and what is to be done about it."""

from typing import Any

from rescheduler.config import Scope
from rescheduler.migrate.hygiene import strays
from rescheduler.migrate.hygiene.strays import Complete, Remove, Unmark
from rescheduler.model import names
from tests.unit.plan.support.object_snapshots import snapshot_of

Object = dict[str, Any]

IN_PROGRESS = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS, names.MIGRATION_ID: "1"}
DONE = {names.MIGRATION_STATUS: names.STATUS_COMPLETED, names.MIGRATION_ID: "1"}
COPY = {names.ORIGINAL_POD: "uid-old", names.ORIGINAL_POD_NAME: "old"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web"}
CONTROLLER = {**OWNER, "controller": True}


def pod(
    name: str = "web-1",
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: Object | None = None,
    **metadata: str,
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": "shop",
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "labels": labels or {},
            "annotations": annotations or {},
            "ownerReferences": [owner] if owner else [],
            **metadata,
        },
        "spec": {"nodeName": "a", "containers": [{"name": "app", "image": "app"}]},
        "status": {"phase": "Running"},
    }


def record(uid: str, phase: str, name: str = "r-1") -> Object:
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "PodMigration",
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-{name}"},
        "spec": {"pod": {"name": "x", "uid": uid}, "source": "a", "target": "b"},
        "status": {"phase": phase},
    }


ORIGINAL = pod(labels=IN_PROGRESS, owner=CONTROLLER)
A_COPY = pod(labels=IN_PROGRESS, annotations=COPY, owner=OWNER)
STANDALONE = pod(labels=IN_PROGRESS, annotations=COPY)


def test_a_mark_is_taken_off_unless_somebody_is_at_it() -> None:
    assert strays.judge(ORIGINAL, set(), None) == Unmark(ORIGINAL)
    assert strays.judge(ORIGINAL, {"uid-web-1"}, None) is None


def test_a_copy_whose_original_is_there_goes() -> None:
    for copy in (A_COPY, STANDALONE):
        assert strays.judge(copy, set(), pod("old")) == Remove(copy)
        assert strays.judge(copy, {"uid-old"}, pod("old")) is None


def test_when_the_original_is_gone_only_what_nobody_makes_again_stays() -> None:
    assert strays.judge(A_COPY, set(), None) == Remove(A_COPY)
    assert strays.judge(STANDALONE, set(), None) == Complete(STANDALONE)


def test_a_copy_that_a_workload_has_taken_in_is_never_removed() -> None:
    adopted = pod(labels=IN_PROGRESS, annotations=COPY, owner=CONTROLLER)
    for original in (None, pod("old")):
        assert strays.judge(adopted, set(), original) == Complete(adopted)


def test_what_was_moved_once_and_is_marked_again_gets_its_history_back() -> None:
    before = {**COPY, names.PREVIOUS_MIGRATION: "0 completed 2026-01-01T00:00:00+00:00"}
    marked = pod(labels=IN_PROGRESS, annotations=before, owner=CONTROLLER)
    assert strays.judge(marked, set(), None) == Unmark(marked)


def test_history_and_what_ends_already_are_left() -> None:
    assert strays.judge(pod(labels=DONE, annotations=COPY, owner=CONTROLLER), set(), None) is None
    assert strays.judge(pod(), set(), None) is None
    ending = pod(labels=IN_PROGRESS, deletionTimestamp="2026-01-01T00:00:00Z")
    assert strays.judge(ending, set(), None) is None


def names_of(*objects: Object, scope: Scope | None = None) -> list[str]:
    found = strays.suspects(snapshot_of(objects), scope or Scope())
    return [each.name for each in found]


def test_suspects_are_those_without_a_record_that_goes_on() -> None:
    marked = pod("marked", labels=IN_PROGRESS)
    first = pod("first", annotations={names.PREVIOUS_DELETION_COST: ""})
    done = pod("done", labels=DONE, annotations=COPY)
    assert names_of(marked, first, done, pod("other")) == ["first", "marked"]
    assert names_of(marked, record("uid-marked", "InProgress")) == []
    assert names_of(marked, record("uid-marked", "Failed")) == ["marked"]
    assert names_of(A_COPY, record("uid-old", "InProgress")) == []
    assert names_of(marked, scope=Scope(namespaces=("elsewhere",))) == []


def budget(record_name: str | None) -> Object:
    labels = {names.RECORD: record_name} if record_name else {}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "namespace": "shop",
            "name": "web-rescheduler-pdb",
            "uid": "u",
            "labels": labels,
        },
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }


def test_a_temporary_budget_is_suspected_once_its_record_is_over_or_gone() -> None:
    ours = ["web-rescheduler-pdb"]
    for objects, expected in (
        ([budget("r-1")], ours),
        ([budget("r-1"), record("x", "Completed")], ours),
        ([budget("r-1"), record("x", "InProgress")], []),
        ([budget(None)], []),
    ):
        found = strays.suspected_budgets(snapshot_of(objects), Scope())
        assert [each["metadata"]["name"] for each in found] == expected
    elsewhere = Scope(namespaces=("elsewhere",))
    assert strays.suspected_budgets(snapshot_of([budget("r-1")]), elsewhere) == []
