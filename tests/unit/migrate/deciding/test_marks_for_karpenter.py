"""Whom karpenter is asked to spare for a while: who was moved to a node of its by our choice."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Migration
from rescheduler.migrate.deciding import marks
from rescheduler.migrate.deciding.copy import bare_copies
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.surge import copies
from rescheduler.migrate.hygiene.cleaning import without_history
from rescheduler.model import names
from rescheduler.model.leases import is_ours
from tests.unit.migrate.deciding.copy.test_bare_copies import BARE, live
from tests.unit.migrate.deciding.surge.test_copies import AT, INTENT, REPLICA_SET

ITS_NODE: dict[str, Any] = {"metadata": {"name": "n", "labels": {names.NODE_POOL: "general"}}}
ANOTHER: dict[str, Any] = {"metadata": {"name": "n", "labels": {}}}
LEASE = {names.DO_NOT_DISRUPT: "11m", names.OWN_DO_NOT_DISRUPT: "11m"}
FOR_ANOTHER_TIME = replace(INTENT, settings=Migration(do_not_disrupt_seconds=90.5))
NOT_WANTED = replace(INTENT, settings=Migration(do_not_disrupt_seconds=0.0))


def test_a_pod_that_we_chose_to_move_to_one_of_its_nodes() -> None:
    assert marks.lease(INTENT, ITS_NODE, {}) == LEASE
    assert marks.lease(FOR_ANOTHER_TIME, ITS_NODE, {})[names.DO_NOT_DISRUPT] == "1m30s500ms"


@pytest.mark.parametrize(
    ("intent", "target"),
    [
        (INTENT, ANOTHER),
        (INTENT, None),
        (replace(INTENT, asked=True), ITS_NODE),
        (NOT_WANTED, ITS_NODE),
    ],
)
def test_nobody_else(intent: Intent, target: dict[str, Any] | None) -> None:
    assert marks.lease(intent, target, {}) == {}


@pytest.mark.parametrize("told", ["true", "1h", "false"])
def test_what_its_user_says_of_it_counts(told: str) -> None:
    assert marks.lease(INTENT, ITS_NODE, {names.DO_NOT_DISRUPT: told}) == {}


def test_copies_have_it() -> None:
    for intent, expected in ((INTENT, LEASE), (NOT_WANTED, {})):
        made = copies.build(
            intent, REPLICA_SET, withheld="pod-template-hash", at=AT, target=ITS_NODE
        )
        told = made["metadata"]["annotations"]
        assert {key: told[key] for key in LEASE if key in told} == expected
        assert told["team"] == "a"


def test_one_that_nobody_controls_does_not_keep_that_of_an_earlier_move() -> None:
    original = live()
    original["metadata"]["annotations"] |= dict.fromkeys(LEASE, "5m")
    for target, expected in ((ITS_NODE, LEASE), (ANOTHER, {})):
        made = bare_copies.build(BARE, original, at=AT, target=target)
        told = made["metadata"]["annotations"]
        assert {key: told[key] for key in LEASE if key in told} == expected
    # Its user has said otherwise since.
    original["metadata"]["annotations"][names.DO_NOT_DISRUPT] = "true"
    told = bare_copies.build(BARE, original, at=AT, target=ITS_NODE)["metadata"]["annotations"]
    assert told[names.DO_NOT_DISRUPT] == "true"
    assert not is_ours(told)


def test_it_goes_with_the_history() -> None:
    def left(**told: str) -> dict[str, str | None]:
        annotations = {names.OWN_DO_NOT_DISRUPT: "11m", names.DO_NOT_DISRUPT: told["said"]}
        change: dict[str, str | None] = without_history({"metadata": {"annotations": annotations}})[
            "annotations"
        ]
        return change

    assert {*LEASE} <= {*left(said="11m")}
    assert names.DO_NOT_DISRUPT not in left(said="true")
