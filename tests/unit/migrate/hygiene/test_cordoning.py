"""Who is cordoned and uncordoned, in every state that a node can be in."""

import itertools
from dataclasses import replace

import pytest

from rescheduler.migrate.hygiene import cordoning
from rescheduler.migrate.hygiene.cordoning import Change, Noted, State

NOTES = ("", *Noted)
STATES = [State(*each) for each in itertools.product((True, False), (True, False), NOTES)]


def after(state: State, change: Change | None) -> State:
    if change is None:
        return state
    is_cordoned = change.unschedulable
    return State(
        labelled=state.labelled,
        unschedulable=state.unschedulable if is_cordoned is None else is_cordoned,
        noted=change.noted.value if change.noted else "",
    )


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "decide",
    [
        cordoning.for_maintenance,
        cordoning.only_to_uncordon,
        cordoning.to_drain,
        cordoning.to_leave_nothing,
    ],
)
def test_done_once_there_is_nothing_more_to_do(decide: cordoning.Decide, state: State) -> None:
    assert decide(after(state, decide(state))) is None


@pytest.mark.parametrize("state", STATES)
def test_nobody_is_uncordoned_whom_we_did_not_cordon(state: State) -> None:
    for decide in (cordoning.for_maintenance, cordoning.to_leave_nothing):
        change = decide(state)
        if change is not None and change.unschedulable is False:
            assert state.unschedulable
            assert state.noted in (Noted.MAINTENANCE, Noted.DRAIN)


@pytest.mark.parametrize("state", STATES)
def test_who_is_cordoned_by_us_is_noted_in_the_same_change(state: State) -> None:
    for decide in (cordoning.for_maintenance, cordoning.to_drain):
        change = decide(state)
        if change is not None and change.unschedulable:
            assert change.noted in (Noted.MAINTENANCE, Noted.DRAIN)


def test_cleaning_leaves_cordoned_what_may_be_under_repair() -> None:
    for labelled, noted, change in (
        (False, "maintenance", "node uncordoned"),
        (True, "maintenance", "node left cordoned"),
        (False, "drain", "node left cordoned"),
        (True, "drain", "node left cordoned"),
        (False, "released", "note of a cordon removed from node"),
    ):
        state = State(labelled=labelled, unschedulable=True, noted=noted)
        found = cordoning.to_leave_nothing(state)
        assert found is not None
        assert found.what == change
        # Nothing of ours stays in any case.
        assert found.noted is None


def story(*events: str) -> list[tuple[bool, str]]:
    """What becomes of a node as a user and we take turns."""
    state, told = State(labelled=False, unschedulable=False, noted=""), []
    for event in events:
        match event:
            case "label":
                state = replace(state, labelled=True)
            case "unlabel":
                state = replace(state, labelled=False)
            case "cordon":
                state = replace(state, unschedulable=True)
            case "uncordon":
                state = replace(state, unschedulable=False)
            case "drain":
                state = after(state, cordoning.to_drain(state))
        state = after(state, cordoning.for_maintenance(state))
        told.append((state.unschedulable, state.noted))
    return told


def test_labelled_and_unlabelled() -> None:
    assert story("label", "unlabel") == [(True, "maintenance"), (False, "")]


def test_cordoned_by_its_user_before() -> None:
    assert story("cordon", "label", "unlabel") == [(True, "")] * 3


def test_uncordoned_by_its_user_and_cordoned_again() -> None:
    assert story("label", "uncordon", "cordon", "unlabel") == [
        (True, "maintenance"),
        (False, "released"),
        (True, "released"),
        (True, ""),
    ]


def test_uncordoned_by_its_user_and_then_unlabelled() -> None:
    assert story("label", "uncordon", "unlabel", "label")[1:] == [
        (False, "released"),
        (False, ""),
        (True, "maintenance"),
    ]


def test_drained_it_stays_cordoned_until_its_user_uncordons_it() -> None:
    assert story("drain", "label", "unlabel", "uncordon") == [
        (True, "drain"),
        (True, "drain"),
        (True, "drain"),
        (False, ""),
    ]
