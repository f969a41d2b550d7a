import pytest

from rescheduler.kube import Object, errors
from rescheduler.model import conditions
from rescheduler.wire import POD_DISRUPTION_BUDGETS, PODS
from tests.unit.embedded.support.server import Server


@pytest.fixture
def server() -> Server:
    return Server()


def _budget(server: Server) -> Object:
    return server.api.get(POD_DISRUPTION_BUDGETS, "default", "web")


def _is_going(server: Server) -> bool:
    return "deletionTimestamp" in server.api.get(PODS, "default", "web")["metadata"]


def test_without_a_budget_a_pod_goes(server: Server) -> None:
    pod = server.running()
    server.api.evict("default", "web", uid=pod["metadata"]["uid"], grace_seconds=5)
    gone = server.api.get(PODS, "default", "web")
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 5
    target = conditions.find(gone, "DisruptionTarget")
    assert target is not None
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")


def test_a_budget_is_charged(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=2)
    server.api.evict("default", "web")
    status = _budget(server)["status"]
    assert status["disruptionsAllowed"] == 1
    assert status["disruptedPods"] == {"web": "2026-01-05T10:00:00Z"}
    assert "conditions" not in status
    assert _is_going(server)


def test_the_last_one_is_said_to_be_the_last(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=1)
    server.api.evict("default", "web")
    condition = conditions.find(_budget(server), "DisruptionAllowed")
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


def test_a_budget_that_is_used_up_refuses(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=0)
    version = server.store.version
    with pytest.raises(errors.BudgetRefused, match="would violate") as refusal:
        server.api.evict("default", "web")
    assert (refusal.value.status, refusal.value.retry_after_seconds) == (429, None)
    assert server.store.version == version


def test_a_new_budget_refuses_until_it_is_counted(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=1)
    change = {"spec": {"minAvailable": 2}}
    server.api.patch(POD_DISRUPTION_BUDGETS, "default", "web", change)
    with pytest.raises(errors.BudgetRefused) as refusal:
        server.api.evict("default", "web")
    assert refusal.value.retry_after_seconds == 10


def test_two_budgets_refuse_for_ever(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=1)
    server.budget("second", disruptionsAllowed=1)
    with pytest.raises(errors.SeveralBudgets, match="more than one PodDisruptionBudget") as refusal:
        server.api.evict("default", "web")
    assert refusal.value.status == 500


def test_budgets_of_others_do_not_matter(server: Server) -> None:
    server.running()
    server.api.patch(PODS, "default", "web", {"metadata": {"labels": {"app": "other"}}})
    server.budget(disruptionsAllowed=0)
    server.api.evict("default", "web")
    assert _is_going(server)


def test_an_empty_selector_is_about_every_pod(server: Server) -> None:
    server.running()
    body = {"metadata": {"name": "all"}, "spec": {"selector": {}, "maxUnavailable": 0}}
    server.api.create(POD_DISRUPTION_BUDGETS, "default", body)
    with pytest.raises(errors.BudgetRefused):
        server.api.evict("default", "web")


@pytest.mark.parametrize(
    "status",
    [
        {"disruptionsAllowed": -1},
        {"disruptedPods": {str(i): "" for i in range(2001)}, "disruptionsAllowed": 1},
    ],
)
def test_a_budget_that_cannot_be_right_forbids(server: Server, status: Object) -> None:
    server.running()
    server.budget(**status)
    with pytest.raises(errors.Forbidden):
        server.api.evict("default", "web")


@pytest.mark.parametrize("phase", ["Pending", "Failed", "Succeeded"])
def test_who_serves_nobody_is_not_counted(server: Server, phase: str) -> None:
    pod = server.running()
    server.api.set_status(PODS, pod, {"phase": phase})
    server.budget(disruptionsAllowed=0)
    server.budget("second", disruptionsAllowed=0)
    server.api.evict("default", "web", grace_seconds=0)
    assert server.store.find(PODS, "default", "web") is None


def test_who_goes_already_may_be_evicted_again(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=1)
    server.api.evict("default", "web", grace_seconds=30)
    server.api.evict("default", "web", grace_seconds=30)
    assert _budget(server)["status"]["disruptionsAllowed"] == 0


@pytest.mark.parametrize(
    ("policy", "healthy", "may_go"),
    [
        (None, (2, 2), True),
        (None, (1, 2), False),
        (None, (0, 0), False),
        ("IfHealthyBudget", (2, 2), True),
        ("IfHealthyBudget", (1, 2), False),
        ("AlwaysAllow", (0, 2), True),
    ],
)
def test_an_unready_pod(
    server: Server, policy: str | None, healthy: tuple[int, int], *, may_go: bool
) -> None:
    server.running(ready=False)
    current, desired = healthy
    server.budget(disruptionsAllowed=0, currentHealthy=current, desiredHealthy=desired)
    change = {"spec": {"unhealthyPodEvictionPolicy": policy}}
    changed = server.api.patch(POD_DISRUPTION_BUDGETS, "default", "web", change)
    generation = changed["metadata"]["generation"]
    status = {**changed["status"], "observedGeneration": generation}
    server.api.set_status(POD_DISRUPTION_BUDGETS, changed, status)
    if may_go:
        server.api.evict("default", "web")
        assert "disruptedPods" not in _budget(server)["status"]
    else:
        with pytest.raises(errors.BudgetRefused):
            server.api.evict("default", "web")
    assert _is_going(server) == may_go


def test_another_uid_is_noticed_after_the_budget_was_charged(server: Server) -> None:
    server.running()
    server.budget(disruptionsAllowed=1)
    with pytest.raises(errors.Conflict, match=r"does not match the UID in record") as refusal:
        server.api.evict("default", "web", uid="another")
    assert refusal.value.status == 409
    assert _budget(server)["status"]["disruptionsAllowed"] == 0
    assert not _is_going(server)


def test_of_an_unready_pod_another_uid_is_a_reason_to_come_again(server: Server) -> None:
    server.running(ready=False)
    server.budget(disruptionsAllowed=0)
    with pytest.raises(errors.BudgetRefused) as refusal:
        server.api.evict("default", "web", uid="another")
    assert refusal.value.retry_after_seconds == 10


def test_a_dry_run_asks_and_takes_nothing(server: Server) -> None:
    pod = server.running()
    server.budget(disruptionsAllowed=1)
    version = server.store.version
    for _ in range(3):
        server.api.evict("default", "web", uid=pod["metadata"]["uid"], dry_run=True)
    with pytest.raises(errors.Conflict):
        server.api.evict("default", "web", uid="another", dry_run=True)
    assert server.store.version == version
    budget = _budget(server)
    status = {**budget["status"], "disruptionsAllowed": 0}
    server.api.set_status(POD_DISRUPTION_BUDGETS, budget, status)
    with pytest.raises(errors.BudgetRefused):
        server.api.evict("default", "web", dry_run=True)


def test_who_is_not_there_is_not_found(server: Server) -> None:
    with pytest.raises(errors.NotFound):
        server.api.evict("default", "web")
