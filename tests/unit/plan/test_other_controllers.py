"""Who may move: pods of controllers that we do not know, judged by the pods alone."""

from typing import Any

import pytest

from rescheduler.config import ALLOWED, NEVER, Configuration, Forced, PodRules
from rescheduler.model.moves import Passing, Way
from tests.unit.plan.support.movable_scenes import (
    NOW,
    Object,
    movable,
    owned_by,
    pod,
    row,
    snapshot,
    why,
)

CLONE_SET = owned_by("CloneSet")
FREE = Configuration(pods=PodRules(other_controllers=ALLOWED, recreate=ALLOWED))


def owned(name: str = "web-1", **changes: Any) -> Object:  # noqa: ANN401
    return pod(name, owner=CLONE_SET, **changes)


UNREADY = {"conditions": [{"type": "Ready", "status": "False"}]}
ENDING = {"deletionTimestamp": "2026-03-01T12:00:00Z"}


def test_it_goes_when_asked_and_ends_before_its_successor_begins() -> None:
    found = snapshot(owned())
    assert why(found, asked=True) == ()
    assert movable(found).way(row(found)) is Way.RECREATE
    assert movable(found).why_recreated(row(found)) == "it is one of a CloneSet"


def test_it_stays_otherwise_unless_that_is_allowed() -> None:
    assert any("pods.otherControllers is WhenAsked" in each for each in why(owned()))
    assert why(owned(), FREE) == ()
    # Who lets StatefulSets be recreated has not said so of what nobody knows.
    some = Configuration(pods=PodRules(recreate=ALLOWED))
    assert why(owned(), some) == (
        "only its CloneSet knows how to make it anew, and pods.otherControllers is WhenAsked",
    )


def test_never_is_never_but_for_a_command() -> None:
    never = PodRules(other_controllers=NEVER)
    [told] = why(owned(), Configuration(pods=never), asked=True)
    assert told.endswith(
        "pods.otherControllers is Never: set it to WhenAsked, or use rescheduler drain"
    )
    assert why(owned(), Configuration(pods=never, forced=Forced()), asked=True) == ()


@pytest.mark.parametrize(
    ("sibling", "reason"),
    [
        (owned("web-2", status=UNREADY), "web-2 of its CloneSet is not Ready"),
        (owned("web-2", metadata={**ENDING, "ownerReferences": [CLONE_SET]}), "is terminating"),
        (pod("web-2", status=UNREADY), ""),
    ],
)
def test_beside_one_that_is_missing_it_waits(sibling: Object, reason: str) -> None:
    told = why(snapshot(owned(), sibling), asked=True)
    assert [reason in each for each in told] == ([True] if reason else [])
    assert all(isinstance(each, Passing) for each in told)


def test_one_that_is_not_ready_itself_waits_for_nobody() -> None:
    both = snapshot(owned(status=UNREADY), owned("web-2", status=UNREADY))
    assert why(both, asked=True) == ()


def test_a_copy_that_is_assumed_is_no_sibling() -> None:
    found = snapshot(owned(), owned("web-2"), assumed="b")
    assert why(found, asked=True, name="web-2") == ()


def test_work_that_would_begin_anew_is_as_that_of_a_job() -> None:
    [told] = why(owned(restartPolicy="Never"), asked=True)
    assert told.startswith("its work would begin anew (restartPolicy Never), and pods.jobs is")


@pytest.mark.parametrize(("kind", "version"), [("StatefulSet", "apps.kruise.io/v1beta1")])
def test_a_namesake_of_a_kind_that_we_know_is_another_kind(kind: str, version: str) -> None:
    owner = {**owned_by(kind), "apiVersion": version}
    found = snapshot(pod(owner=owner))
    assert why(found, asked=True) == ()
    assert movable(found).why_recreated(row(found)) == ("it is one of a StatefulSet.apps.kruise.io")
    known = pod(owner={**owned_by(kind), "apiVersion": "apps/v1"})
    assert why(known, asked=True) == ("its StatefulSet was not found",)


# ---------------------------------------------------------------------- what is remembered


def evicted(reason: str, *, uid: str = "CloneSet-uid", new: str = "") -> Object:
    """One of three, long ago."""
    return {
        "metadata": {
            "namespace": "shop",
            "name": "r-9",
            "uid": "r-9",
            "creationTimestamp": "2027-01-01T00:00:00Z",
        },
        "spec": {"pod": {"name": "web-9", "uid": "gone"}, "source": "a", "target": "b"},
        "status": {
            "phase": "Failed",
            "reason": reason,
            "completionTime": "2027-01-01T00:10:00Z",
            "siblings": ["gone", "uid-web-1", "uid-web-2"],
            "newPod": {"name": new, "uid": f"uid-{new}", "node": "a"},
            "owner": {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "uid": uid},
        },
    }


def told(record: Object, *others: Object, configuration: Configuration | None = None) -> str:
    found = snapshot(owned(), owned("web-2"), *others, podmigrations=[record], taken_at=NOW)
    reasons = why(found, configuration, asked=True)
    assert not any(isinstance(each, Passing) for each in reasons)
    return "; ".join(reasons)


LOST = evicted("ReplacementNotReady")


def test_while_one_is_not_made_anew_the_others_stay_whoever_asks() -> None:
    words = (
        "nobody has made web-9 of its CloneSet anew, which was evicted: the others stay until "
        "somebody does, or `kubectl delete pmig r-9`"
    )
    assert told(LOST) == words
    forced = Configuration(forced=Forced(forgiven=frozenset({"r-9"})))
    assert told(LOST, configuration=forced) == words


@pytest.mark.parametrize("name", ["web-9", "web-3"])
def test_once_it_is_they_go_at_once(name: str) -> None:
    assert told(LOST, owned(name)) == ""


def test_it_is_about_that_owner_alone() -> None:
    assert told(evicted("ReplacementNotReady", uid="another")) == ""
    assert told(evicted("BudgetRefused")) == ""


def test_where_one_was_put_back_the_others_stay() -> None:
    back = evicted("BackOnSource", new="web-2")
    assert told(back) == (
        "its CloneSet has put web-2 back on a: its pods there stay until `kubectl delete pmig r-9`"
    )
    assert told(evicted("BackOnSource", new="web-8")) == ""
