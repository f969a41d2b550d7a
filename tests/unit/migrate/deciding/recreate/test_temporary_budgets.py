"""The temporary budget: when there is one, what it says, and that its arithmetic is the disruption
controller's.
"""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Migration
from rescheduler.config.migration import TemporaryBudget
from rescheduler.migrate.deciding import naming
from rescheduler.migrate.deciding.recreate import temporary_budgets
from rescheduler.model import names
from tests.unit.migrate.toy_objects import selects
from tests.unit.migrate.toy_workload import ToyWorkload


def _toy(kind: str = "StatefulSet", replicas: int = 3, **rule: Any) -> ToyWorkload:  # noqa: ANN401
    settings = Migration(temporary_budget=TemporaryBudget(**rule))
    return ToyWorkload(kind=kind, replicas=replicas, settings=settings)


def _build(cluster: ToyWorkload) -> dict[str, Any] | None:
    return temporary_budgets.build(cluster.intent, cluster.view())


def test_says_whose_it_is_and_goes_with_its_workload() -> None:
    cluster = _toy()
    body = _build(cluster)
    assert body
    assert body["metadata"]["name"] == "web-rescheduler-pdb"
    assert body["metadata"]["labels"] == {names.RECORD: cluster.intent.record}
    (owner,) = body["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": cluster.owner_uid,
    }
    assert body["spec"] == {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}


def test_guards_all_of_a_deployment_not_one_of_its_replica_sets() -> None:
    cluster = _toy("Deployment")
    body = _build(cluster)
    assert body
    assert body["metadata"]["ownerReferences"][0]["uid"] == "deployment"
    assert body["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert all(selects(body, pod) for pod in cluster.pods.values())


def test_names_are_cut_with_a_hash_and_stay_apart() -> None:
    long = ["a" * 250 + end for end in "xy"]
    cut = [naming.budget_name(each) for each in long]
    assert len(set(cut)) == 2
    assert all(len(each) == 253 for each in cut)
    assert all(each.endswith("-rescheduler-pdb") for each in cut)
    fits = "a" * (253 - len("-rescheduler-pdb"))
    assert naming.budget_name(fits) == f"{fits}-rescheduler-pdb"


@pytest.mark.parametrize(
    "settings",
    [Migration(coordination=False), Migration(temporary_budget=TemporaryBudget(enabled=False))],
)
def test_is_not_made_where_it_is_not_wanted(settings: Migration) -> None:
    cluster = _toy()
    cluster.intent = replace(cluster.intent, settings=settings)
    assert _build(cluster) is None


def test_is_not_made_beside_another() -> None:
    cluster = _toy()
    cluster.add_budget("user", minAvailable=1)
    assert _build(cluster) is None


def test_is_not_made_where_another_selects_a_sibling_only() -> None:
    cluster = _toy()
    cluster.add_budget("user", minAvailable=1)
    cluster.budgets["user"]["spec"]["selector"] = {"matchLabels": {"name": "web-1"}}
    sibling = next(p for p in cluster.pods.values() if p["metadata"]["name"] == "web-1")
    sibling["metadata"]["labels"]["name"] = "web-1"
    assert temporary_budgets.rivals(cluster.intent, cluster.view()) == ["user"]
    assert _build(cluster) is None


def test_is_not_made_where_a_user_has_taken_its_name() -> None:
    cluster = _toy()
    cluster.add_budget("web-rescheduler-pdb", minAvailable=1)
    cluster.budgets["web-rescheduler-pdb"]["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    assert temporary_budgets.find(cluster.intent, cluster.view()) is None
    assert _build(cluster) is None


def test_one_of_another_migration_is_not_ours() -> None:
    cluster = _toy()
    cluster.add_budget("web-rescheduler-pdb", minAvailable=1)
    cluster.budgets["web-rescheduler-pdb"]["metadata"]["labels"] = {names.RECORD: "another"}
    assert temporary_budgets.find(cluster.intent, cluster.view()) is None
    assert temporary_budgets.rivals(cluster.intent, cluster.view()) == ["web-rescheduler-pdb"]


RULES: list[dict[str, Any]] = [
    {},
    *({"min_available": each} for each in (0, 1, 2, 4, "0%", "1%", "50%", "51%", "99%", "100%")),
    *({"max_unavailable": each} for each in (0, 1, 3, "0%", "1%", "25%", "50%", "100%")),
]


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment", "ReplicaSet"])
@pytest.mark.parametrize(("rule", "replicas"), list(itertools.product(RULES, range(1, 6))))
def test_is_made_just_where_it_would_allow_a_disruption(
    kind: str, rule: dict[str, Any], replicas: int
) -> None:
    cluster = _toy(kind, replicas, **rule)
    body = _build(cluster)
    key, value = next(iter(rule.items()), ("min_available", 1))
    spelled = {"min_available": "minAvailable", "max_unavailable": "maxUnavailable"}[key]
    cluster.add_budget("judge", **{spelled: value})
    cluster.tick()
    allowed = cluster.budgets["judge"]["status"]["disruptionsAllowed"]
    assert (body is not None) == (allowed >= 1)
    assert body is None or body["spec"][spelled] == value


def test_a_pod_that_is_not_ready_does_not_count() -> None:
    cluster = _toy(replicas=2)
    sibling = cluster.siblings[0]["metadata"]["uid"]
    assert _build(cluster)
    cluster.turn_unready(sibling)
    assert _build(cluster) is None


def test_a_share_of_pods_of_others_is_not_guessed() -> None:
    cluster = _toy(min_available="50%")
    assert _build(cluster)
    cluster.siblings[0]["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert _build(cluster) is None


@pytest.mark.parametrize(("rule", "is_made"), [({}, True), ({"min_available": "10%"}, False)])
def test_a_job_cannot_say_how_many_pods_it_should_have(rule: dict[str, Any], is_made: bool) -> None:  # noqa: FBT001
    assert bool(_build(_toy("Job", **rule))) is is_made


def test_is_in_force_once_it_is_observed_and_allows_a_disruption() -> None:
    cluster = _toy()
    body = _build(cluster)
    assert body
    cluster.create_budget(body)
    (ours,) = cluster.temporary
    assert temporary_budgets.find(cluster.intent, cluster.view()) == ours
    assert "not observed" in temporary_budgets.why_not_in_force(ours)
    cluster.tick()
    assert temporary_budgets.why_not_in_force(cluster.temporary[0]) == ""
    cluster.temporary[0]["metadata"]["generation"] += 1
    assert "not observed" in temporary_budgets.why_not_in_force(cluster.temporary[0])
    cluster.turn_unready(cluster.siblings[0]["metadata"]["uid"])
    cluster.turn_unready(cluster.siblings[1]["metadata"]["uid"])
    cluster.tick()
    assert "allows no disruption" in temporary_budgets.why_not_in_force(cluster.temporary[0])
