"""One screen: every line of it, and the same for machines."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rescheduler.cli.render import status_tables
from rescheduler.cli.render.layout import Page
from rescheduler.cli.render.status_deployment import Installed
from rescheduler.cli.render.status_figures import Seen, Status, of
from rescheduler.config import Configuration
from rescheduler.model import names
from tests.unit.cli.render.test_status_deployment import installed
from tests.unit.migrate.documents import record

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def status(*records: dict[str, Any], deployment: Installed | None = None) -> Status:
    return of(Seen(records=records, lease=None, installed=deployment), Configuration(), NOW)


def lines(found: Status) -> dict[str, list[str]]:
    """By label."""
    told: dict[str, list[str]] = {}
    for line in status_tables.as_text(found, Page(), NOW).splitlines():
        label = line[:12].strip().rstrip(":")
        told.setdefault(label or next(reversed(told)), []).append(line[12:])
    return told


def test_how_uneven_the_cluster_is_stands_beside_its_size() -> None:
    points = {"cpu": 41.26, "memory": 8.0, "pods": 3.333}
    found = replace(status(), nodes=3, pods=40, imbalance=points)
    assert lines(found)["Cluster"] == [
        "3 nodes, 40 pods; imbalance cpu 41.3, memory 8.0, pods 3.3 points"
    ]
    assert status_tables.as_document(found)["imbalance"] == {
        "cpu": 41.26,
        "memory": 8.0,
        "pods": 3.333,
    }
    # Of one node there is none.
    assert lines(replace(found, nodes=1, imbalance={}))["Cluster"] == ["1 node, 40 pods"]
    assert "Cluster" not in lines(status())


def test_the_last_passes_are_told_with_what_came_of_them() -> None:
    first, second = "2026-01-01T00:10:00+00:00", "2026-01-01T00:10:01+00:00"
    found = status(
        record("web-1", phase="Completed", ended="2026-01-01T00:11:00Z", planned_at=first),
        record("web-2", phase="Failed", ended="2026-01-01T00:12:00Z", planned_at=first),
        record("web-3", phase="Completed", ended="2026-01-01T00:11:00Z", planned_at=second),
        record("web-4", phase="InProgress", planned_at=second),
    )
    assert lines(found)["Passes"] == [
        "49m ago: 1 of 2 moved, 1 not ended",
        "50m ago: 1 of 2 moved",
    ]
    assert status_tables.as_document(found)["passes"] == [
        {"at": second, "moves": 2, "moved": 1, "ended": 1},
        {"at": first, "moves": 2, "moved": 1, "ended": 2},
    ]
    assert "Passes" not in lines(status())


def test_without_an_election_who_leads_is_not_known() -> None:
    found = replace(status(), elects=False)
    assert lines(found)["Leader"] == [
        "not known: with leaderElect: false, whoever runs holds no lease"
    ]
    assert status_tables.as_document(found)["isLed"] is None


def test_with_nobody_leading_the_next_thing_is_to_start_it_or_to_mend_its_deployment() -> None:
    assert lines(status())["Next"] == ["rescheduler run --config FILE"]
    begun = {"startTime": "2026-01-01T00:59:00Z"}
    under_way = record("web-1", phase="InProgress", status=begun)
    stopped = status(under_way, deployment=installed(replicas=0))
    mending = "kubectl -n kube-system scale deployment rescheduler-scheduler --replicas=2"
    assert lines(stopped)["Stuck"] == [
        "Deployment kube-system/rescheduler-scheduler: it is scaled to 0",
        f"  {mending}",
        "1 under way: nobody leads, so nobody goes on with them",
        f"  {mending}",
    ]
    assert lines(stopped)["Next"] == [mending]
    assert status_tables.as_document(stopped)["isLed"] is False


def test_evictions_that_are_held_are_told_by_who_evicts() -> None:
    def evicted(pod: str, by: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        made = record(pod, **more)
        made["metadata"]["annotations"] = {names.EVICTED_BY: by}
        return made

    found = status(
        evicted("web-1", "alice"),
        evicted("web-2", "system:serviceaccount:kube-system:cluster-autoscaler"),
        evicted("web-3", "system:serviceaccount:kube-system:cluster-autoscaler"),
        evicted("web-4", "alice", phase="Completed", ended="2026-01-01T00:11:00Z"),
        evicted("web-5", "alice", phase="Failed", ended="2026-01-01T00:11:00Z"),
        record("web-6"),
    )
    assert lines(found)["Evictions"] == [
        (
            "3 held while the pods are moved; by "
            "system:serviceaccount:kube-system:cluster-autoscaler (2), alice (1)"
        )
    ]
    assert status_tables.as_document(found)["evictionsHeld"]["alice"] == 1
    # Who could not be moved first was let go: nobody has to do anything.
    assert not [each for each in found.stuck if "web-5" in each.what]
    assert "Evictions" not in lines(status(record("web-6")))
