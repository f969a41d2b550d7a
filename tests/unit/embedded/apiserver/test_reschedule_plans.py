"""ReschedulePlans are taken and refused as our resource definition says."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.embedded.apiserver import reschedule_plans
from rescheduler.kube import Object, errors
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move
from rescheduler.model.reschedule_plan import Gains, Made, Origin, Phase, Reason, Standing
from rescheduler.wire import RESCHEDULE_PLANS
from tests.unit.embedded.support.server import Server

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def body(*uids: str) -> dict[str, Any]:
    moves = [
        Move(
            namespace="shop",
            pod=f"web-{uid}",
            uid=uid,
            source="a",
            target="b",
            strategy="LoadBalancing",
            reason="why",
        )
        for uid in uids or ("u",)
    ]
    made = Made(origin=Origin.PASS, mode="Auto", at=NOW)
    return reschedule_plan.build("default", moves, Gains(), made)


def create(item: Object) -> Object:
    return Server().api.create(RESCHEDULE_PLANS, "default", dict(item))


def test_every_rule_of_the_resource_definition_has_its_meaning() -> None:
    def rules(schema: Any) -> set[str]:  # noqa: ANN401
        found = {each["rule"] for each in schema.get("x-kubernetes-validations", ())}
        return found.union(*map(rules, schema.get("properties", {}).values()))

    known = {reschedule_plans.UNCHANGED, reschedule_plans.SHORT_NAME}
    assert rules(reschedule_plans.DEFINITION.schema) == known


def test_what_we_write_is_taken_as_it_is() -> None:
    server, plan = Server(), body()
    made = server.api.create(RESCHEDULE_PLANS, "default", plan)
    assert made["spec"] == plan["spec"]
    standing = Standing(phase=Phase.RUNNING, reason=Reason.BY_ITSELF, moves=[])
    status = reschedule_plan.status_document(made, standing, NOW)
    name = made["metadata"]["name"]
    changed = server.api.patch(
        RESCHEDULE_PLANS, "default", name, {"status": status}, subresource="status"
    )
    assert changed["status"] == {key: each for key, each in status.items() if each is not None}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"moves": []}, "should have at least 1 items"),
        ({"moves": [{"uid": "u"}]}, "spec.moves[0].pod: Required value"),
        ({"mode": "Ask"}, "Unsupported value"),
        ({"imbalance": [{"resource": "cpu", "before": "much"}]}, "should match"),
        ({"total": -1}, "greater than or equal to 0"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], words: str) -> None:
    plan = body()
    plan["spec"] |= change
    with pytest.raises(errors.Invalid) as refusal:
        create(plan)
    assert words in str(refusal.value)


def test_a_pod_is_moved_once() -> None:
    with pytest.raises(errors.Invalid, match="Duplicate value: u"):
        create(body("u", "u"))


def test_there_are_only_so_many_moves() -> None:
    plan = body()
    [move] = plan["spec"]["moves"]
    plan["spec"]["moves"] = [{**move, "uid": str(number)} for number in range(501)]
    with pytest.raises(errors.Invalid, match="must have at most 500 items"):
        create(plan)


def test_its_spec_cannot_be_changed_and_its_annotations_can() -> None:
    server = Server()
    name = server.api.create(RESCHEDULE_PLANS, "default", body())["metadata"]["name"]
    with pytest.raises(errors.Invalid, match="the spec of a plan cannot be changed"):
        server.api.patch(RESCHEDULE_PLANS, "default", name, {"spec": {"summary": "other"}})
    said = {"metadata": {"annotations": {"rescheduler.io/approval": "approved"}}}
    changed = server.api.patch(RESCHEDULE_PLANS, "default", name, said)
    assert changed["metadata"]["generation"] == 1
