"""Pods of a controller that we do not know: of a toy workload nothing is seen but its pods."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from rescheduler.config import Migration
from rescheduler.config.migration import TemporaryBudget
from rescheduler.migrate.deciding.actions import describe
from rescheduler.migrate.deciding.facts import Owner, Progress, View
from rescheduler.migrate.deciding.records import MigrationStatus, status_document
from rescheduler.migrate.deciding.recreate import probing, temporary_budgets
from rescheduler.migrate.deciding.recreate.replacing import replacement
from rescheduler.model import names
from rescheduler.model.podmigration import Phase, Reason
from tests.unit.migrate.deciding.recreate.steering_drive import (
    FAULTS,
    SETTINGS,
    Drive,
    Event,
    Fault,
)
from tests.unit.migrate.deciding.recreate.steering_scenes import (
    DISTURBANCES,
    LOOKS,
    counts,
    problems,
)
from tests.unit.migrate.toy_controllers import ELSEWHERE, PREFERRED, SOURCE, TARGET
from tests.unit.migrate.toy_objects import Object, clone, labels_of
from tests.unit.migrate.toy_workload import ToyWorkload


@dataclass
class ToyForeign(ToyWorkload):
    """It makes pods as its `kind` does, with the same names or new ones, and is something else."""

    replaces: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = Owner("apps.kruise.io/v1beta1", "StatefulSet", "web", self.owner_uid)
        self.intent = replace(self.intent, owner=owner)

    def _sync_others(self, workload: Object) -> None:
        if self.replaces or not self.is_set_up:
            super()._sync_others(workload)

    def view(self) -> View:
        return replace(
            super().view(),
            replica_set=None,
            stateful_set=None,
            job=None,
            deployment=None,
            replica_sets=(),
        )


def foreign(**shape: Any) -> ToyForeign:  # noqa: ANN401 - whatever the toy takes
    return ToyForeign(**{"settings": SETTINGS, **shape})


each_kind = pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])


def remembered(cluster: ToyForeign, reason: Reason, *, new: Object | None = None) -> Object:
    """The record of another of its pods, evicted before."""
    found = clone(cluster.record)
    found["metadata"]["name"] = "other"
    found["spec"]["pod"] = {"name": "web-9", "uid": "gone"}
    siblings = ("gone", *sorted(cluster.pods))
    made = new["metadata"] if new else {"name": "", "uid": ""}
    status = MigrationStatus(
        phase=Phase.FAILED,
        reason=reason,
        owner=cluster.intent.owner,
        siblings=siblings,
        new_pod=made["name"],
        new_uid=made["uid"],
        new_node=SOURCE if new else "",
    )
    found["status"] = status_document(found, status, cluster.now)
    return dict(found)


# ---------------------------------------------------------------------- it leaves


@each_kind
def test_it_is_steered_guarded_and_seen_to_be_replaced(kind: str) -> None:
    drive = Drive(foreign(kind=kind)).to_the_end()
    assert [describe(action) for action in drive.written()] == [
        "asks whether the original may be evicted",
        "marks the original as being moved",
        "guards the workload with a temporary budget",
        "asks the API server to steer",
        "evicts the original",
        "marks the successor as moved",
        "deletes the temporary budget",
        "stops steering",
    ]
    assert drive.outcome.reason is Reason.COMPLETED
    assert [*problems(drive)] == []


UNSEEN = ("deletes the workload", "deletes the namespace")
"""Of an owner that nobody can read it shows when no successor comes, and not earlier."""


@each_kind
@pytest.mark.parametrize("disturbance", [each for each in DISTURBANCES if each not in UNSEEN])
def test_whatever_happens_meanwhile_it_ends_in_order(kind: str, disturbance: str) -> None:
    for look in LOOKS:
        drive = Drive(foreign(kind=kind), [Event(look, DISTURBANCES[disturbance])]).to_the_end()
        assert [*problems(drive)] == [], look


@each_kind
@pytest.mark.parametrize("fault", FAULTS)
def test_whoever_dies_meanwhile_it_is_moved_once(kind: str, fault: Fault) -> None:
    for look in LOOKS:
        drive = Drive(foreign(kind=kind), [Event(look, fault=fault)]).to_the_end()
        assert [*problems(drive), *counts(drive)] == [], look
        assert drive.cluster.evicted in ([], [drive.cluster.original_uid])


@pytest.mark.parametrize("disturbance", UNSEEN)
def test_one_whose_owner_is_gone_is_told_to_be_missing(disturbance: str) -> None:
    drive = Drive(foreign(), [Event(7, DISTURBANCES[disturbance])]).to_the_end()
    assert drive.outcome.reason in (Reason.REPLACEMENT_NOT_READY, Reason.ORIGINAL_GONE)
    assert drive.cluster.temporary == []
    assert not drive.cluster.is_steering


def test_that_nobody_makes_it_anew_is_remembered_even_of_one_that_was_not_ready() -> None:
    drive = Drive(foreign(kind="ReplicaSet", unready=True, replaces=False)).to_the_end()
    assert drive.cluster.evicted == [drive.cluster.original_uid]
    assert drive.outcome.reason is Reason.REPLACEMENT_NOT_READY


def test_where_the_policy_is_missing_it_goes_unsteered() -> None:
    drive = Drive(foreign(policy_after=None, lands=ELSEWHERE)).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (True, Reason.LANDED_ELSEWHERE)
    assert "not steered" in drive.outcome.message
    # It may come to the target all the same, by a scheduler that asks us.
    drive = Drive(foreign(policy_after=None, unsteered=TARGET)).to_the_end()
    assert drive.outcome.reason is Reason.COMPLETED
    assert "not steered" not in drive.outcome.message


def test_one_that_a_sibling_is_missing_beside_stays() -> None:
    cluster = foreign()
    cluster.turn_unready(cluster.siblings[0]["metadata"]["uid"])
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.NOT_NOW
    assert "is not Ready" in drive.outcome.message
    assert cluster.evicted == []


def test_another_that_is_made_anew_meanwhile_is_not_its_successor() -> None:
    """Of another name, it counts when there are as many as before."""
    cluster = foreign(kind="ReplicaSet")
    progress = Progress(now=cluster.now, evicted=True, siblings=frozenset(cluster.pods))
    del cluster.pods[cluster.original_uid]
    made_anew = cluster.pods.pop(cluster.siblings[0]["metadata"]["uid"])
    made_anew["metadata"] |= {"uid": "a", "name": "web-a"}
    cluster.pods["a"] = made_anew
    assert replacement(cluster.intent, cluster.view(), progress) is None
    successor = clone(made_anew)
    successor["metadata"] |= {"uid": "b", "name": "web-b"}
    successor["spec"]["nodeName"] = TARGET
    cluster.pods["b"] = successor
    assert replacement(cluster.intent, cluster.view(), progress) == successor


def test_a_namesake_of_an_owner_that_was_made_anew_itself_is_its_successor() -> None:
    cluster = foreign()
    progress = Progress(now=cluster.now, evicted=True, siblings=frozenset(cluster.pods))
    successor = cluster.pods.pop(cluster.original_uid)
    successor["metadata"] |= {"uid": "new"}
    successor["metadata"]["ownerReferences"][0]["uid"] = "another"
    cluster.pods["new"] = successor
    assert replacement(cluster.intent, cluster.view(), progress) == successor


# ---------------------------------------------------------------------- it stays


def test_while_another_was_not_made_anew_it_stays() -> None:
    cluster = foreign()
    cluster.other_records.append(remembered(cluster, Reason.REPLACEMENT_NOT_READY))
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.NOT_MOVABLE
    assert drive.outcome.message == (
        "nobody has made web-9 of its StatefulSet.apps.kruise.io anew, which was evicted"
    )
    assert drive.written() == []


def test_once_that_one_is_there_it_goes() -> None:
    cluster = foreign()
    cluster.other_records.append(remembered(cluster, Reason.REPLACEMENT_NOT_READY))
    cluster.other_records[0]["spec"]["pod"]["name"] = cluster.siblings[0]["metadata"]["name"]
    assert Drive(cluster).to_the_end().outcome.moved


def test_where_another_was_put_back_it_stays() -> None:
    cluster = foreign()
    back = remembered(cluster, Reason.BACK_ON_SOURCE, new=cluster.siblings[0])
    cluster.other_records.append(back)
    drive = Drive(cluster).to_the_end()
    assert drive.outcome.reason is Reason.NOT_MOVABLE
    name = cluster.siblings[0]["metadata"]["name"]
    assert f"has put {name} back on {SOURCE}" in drive.outcome.message


# ---------------------------------------------------------------------- the temporary budget


def build(cluster: ToyForeign, **rule: Any) -> Object | None:  # noqa: ANN401
    settings = Migration(temporary_budget=TemporaryBudget(**rule))
    return temporary_budgets.build(replace(cluster.intent, settings=settings), cluster.view())


def test_selects_by_what_all_of_them_have_in_common() -> None:
    cluster = foreign(replicas=3)
    for number, pod in enumerate(cluster.pods.values()):
        labels_of(pod).update({"role": str(number), "pod-template-hash": "5f8", "tier": "db"})
    body = build(cluster)
    assert body
    assert body["spec"] == {
        "selector": {"matchLabels": {"app": "web", "revision": "1", "tier": "db"}},
        "minAvailable": 1,
    }
    assert body["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps.kruise.io/v1beta1",
            "kind": "StatefulSet",
            "name": "web",
            "uid": cluster.owner_uid,
        }
    ]


@pytest.mark.parametrize(
    ("rule", "least"),
    [
        ({"max_unavailable": 1}, 2),
        ({"max_unavailable": "50%"}, 1),
        ({"min_available": "50%"}, 2),
        ({"min_available": 2}, 2),
        ({"min_available": 3}, None),
    ],
)
def test_counts_what_the_disruption_controller_cannot_ask_for(
    rule: dict[str, Any], least: int | None
) -> None:
    body = build(foreign(replicas=3), **rule)
    assert (body["spec"]["minAvailable"] if body else None) == least


def test_there_is_none_for_a_single_pod_nor_where_it_would_select_others() -> None:
    assert build(foreign(replicas=1)) is None
    cluster = foreign(replicas=3)
    stranger = clone(cluster.siblings[0])
    stranger["metadata"] |= {"name": "stranger", "uid": "stranger", "ownerReferences": []}
    cluster.pods["stranger"] = stranger
    assert build(cluster) is None


# ---------------------------------------------------------------------- the probe


def test_is_shown_as_the_pod_is_less_what_others_put_into_it() -> None:
    cluster = foreign()
    owner, original = cluster.intent.owner, cluster.original
    assert owner
    assert original
    wish = {"key": "metadata.name", "operator": "In", "values": [TARGET]}
    ours = {"weight": 100, "preference": {"matchFields": [wish]}}
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    theirs = {"weight": 1, "preference": {"matchExpressions": [zone]}}
    original["spec"] |= {
        "priority": 7,
        "volumes": [{"name": "kube-api-access-x", "projected": {}}, {"name": "d", "emptyDir": {}}],
        "affinity": {"nodeAffinity": {PREFERRED: [ours, theirs]}},
    }
    labels_of(original)[names.MIGRATION_ID] = cluster.intent.id
    body = probing.body_like(cluster.intent, owner, original)
    assert body["metadata"]["labels"] == {"app": "web", "revision": "1"}
    assert body["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"
    spec = body["spec"]
    assert not spec.keys() & {"nodeName", "priority"}
    assert spec["volumes"] == [{"name": "d", "emptyDir": {}}]
    assert spec["affinity"]["nodeAffinity"][PREFERRED] == [theirs]
    assert not probing.is_steered(body, cluster.intent)
    assert original["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [ours, theirs]
