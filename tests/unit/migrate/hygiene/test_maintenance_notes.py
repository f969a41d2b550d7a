"""What a node in maintenance says about itself, in every state that it can be in."""

import itertools

import pytest

from rescheduler.migrate.hygiene import maintenance_notes
from rescheduler.migrate.hygiene.cordoning import Noted, State

TOLD = ("", "2 pods left, on their way", "drain: 1 pod left, on their way")
STATES = [
    State(*each) for each in itertools.product((True, False), (True, False), ("", *Noted), TOLD)
]


def wanted(
    state: State,
    found: str | None = "found",
    *,
    is_enabled: bool = True,
    cordoned_nodes: bool = False,
) -> str:
    decide = maintenance_notes.for_maintenance(
        found, is_enabled=is_enabled, cordoned_nodes=cordoned_nodes
    )
    return decide(state)


def test_an_empty_node_says_so() -> None:
    assert maintenance_notes.in_words(0, {}) == "empty, but for pods of DaemonSets and static ones"


def test_it_counts_who_is_left_and_names_who_stays() -> None:
    assert maintenance_notes.in_words(1, {}) == "1 pod left, on their way"
    stay = {"shop/b": "it is pinned", "shop/a": "nowhere is room"}
    assert maintenance_notes.in_words(3, stay) == (
        "3 pods left, 2 of them stay: shop/a (nowhere is room), shop/b (it is pinned)"
    )


def test_it_stays_short_whatever_there_is_to_tell() -> None:
    stay = {f"{'n' * 63}/{'p' * 240}-{number:03}": "why " * 500 for number in range(250)}
    told = maintenance_notes.in_words(250, stay)
    assert told.endswith(" and 240 more")
    assert len(told) < 6_000


@pytest.mark.parametrize("state", STATES)
def test_told_once_there_is_nothing_more_to_tell(state: State) -> None:
    for found, is_enabled, cordoned in itertools.product((None, "x"), (True, False), (True, False)):
        decide = maintenance_notes.for_maintenance(
            found, is_enabled=is_enabled, cordoned_nodes=cordoned
        )
        after = State(state.labelled, state.unschedulable, state.noted, decide(state))
        assert decide(after) == after.told


@pytest.mark.parametrize("state", STATES)
def test_what_is_labelled_tells_what_was_found(state: State) -> None:
    if state.labelled:
        assert wanted(state) == "found"


@pytest.mark.parametrize("state", STATES)
def test_a_plan_that_could_not_look_leaves_what_was_told(state: State) -> None:
    if state.labelled:
        assert wanted(state, None) == state.told


@pytest.mark.parametrize("state", STATES)
def test_it_ends_with_the_maintenance(state: State) -> None:
    if not state.labelled and not state.unschedulable:
        assert wanted(state, cordoned_nodes=True) == ""
    if not state.told.startswith("drain"):
        assert wanted(state, is_enabled=False) == ""


def test_a_cordon_counts_when_it_is_to() -> None:
    cordoned = State(labelled=False, unschedulable=True, noted="", told="before")
    assert wanted(cordoned, cordoned_nodes=True) == "found"
    assert wanted(cordoned, cordoned_nodes=False) == ""
    # This one is about to be uncordoned, by ourselves.
    ours = State(labelled=False, unschedulable=True, noted=Noted.MAINTENANCE, told="before")
    assert wanted(ours, cordoned_nodes=True) == ""


def test_what_drain_tells_lasts_until_somebody_uncordons() -> None:
    decide = maintenance_notes.by_drain("empty")
    drained = State(labelled=False, unschedulable=True, noted=Noted.DRAIN)
    assert decide(drained) == "drain: empty"
    told = State(labelled=False, unschedulable=True, noted="", told="drain: empty")
    assert wanted(told, None) == "drain: empty"
    given_back = State(labelled=False, unschedulable=False, noted="", told="drain: empty")
    assert wanted(given_back, None) == decide(given_back) == ""
