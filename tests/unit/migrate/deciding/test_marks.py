"""What an original carries while it is moved, and what is left of it when it was not."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.migrate.deciding import marks
from rescheduler.model import names

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HISTORY = {
    "labels": {
        names.MIGRATION_ID: "earlier",
        names.MIGRATION_STATUS: "completed",
        names.MIGRATED_FROM: "node-z",
    },
    "annotations": {
        names.MIGRATION_TIME: "2026-01-01T00:00:00+00:00",
        names.ORIGINAL_POD: "uid-of-before",
    },
}


def pod(**parts: dict[str, str]) -> dict[str, Any]:
    metadata = {"labels": {"app": "web"}, "annotations": {"team": "a"}}
    for part, more in parts.items():
        metadata[part] |= more
    return {"metadata": {"name": "web-1", "uid": "1", "resourceVersion": "5", **metadata}}


def changed(original: dict[str, Any], change: Any) -> dict[str, Any]:  # noqa: ANN401
    """As a merge patch does."""
    metadata = dict(original["metadata"])
    for part in ("labels", "annotations"):
        merged = {**metadata[part], **change.get(part, {})}
        metadata[part] = {key: value for key, value in merged.items() if value is not None}
    return {"metadata": metadata}


COSTS = st.sampled_from([{}, {names.DELETION_COST: "7"}, {names.DELETION_COST: "-2147483648"}])


@given(st.booleans(), COSTS, st.booleans())
def test_taking_them_off_leaves_the_pod_as_it_was(
    moved_before: bool,  # noqa: FBT001
    cost: dict[str, str],
    handing_over: bool,  # noqa: FBT001
) -> None:
    history = HISTORY if moved_before else {}
    original = pod(labels=history.get("labels", {}), annotations=history.get("annotations", {}))
    original["metadata"]["annotations"] |= cost
    marked = changed(original, marks.begin(original, "now", AT).change)
    assert marks.has_begun(marked, "now")
    if handing_over:
        marked = changed(marked, marks.put_first(marked).change)
        assert marks.is_first(marked)
    assert marks.are_on(marked)
    assert changed(marked, marks.take_off(marked).change) == original


@given(st.booleans(), COSTS)
def test_a_pod_without_marks_has_none(moved_before: bool, cost: dict[str, str]) -> None:  # noqa: FBT001
    history = HISTORY if moved_before else {}
    original = pod(labels=history.get("labels", {}), annotations=history.get("annotations", {}))
    original["metadata"]["annotations"] |= cost
    assert not marks.are_on(original)
    assert marks.unmark(original) == {}
    assert not marks.is_first(original)


def test_a_copy_in_the_middle_is_no_original() -> None:
    copy = pod(
        labels={names.MIGRATION_ID: "now", names.MIGRATION_STATUS: "in-progress"},
        annotations={names.ORIGINAL_POD: "1", names.MIGRATION_TIME: "x"},
    )
    assert not marks.are_on(copy)


def test_a_mark_names_the_migration_and_when_it_began() -> None:
    action = marks.begin(pod(), "now", AT)
    assert action.change == {
        "labels": {names.MIGRATION_ID: "now", names.MIGRATION_STATUS: "in-progress"},
        "annotations": {names.MIGRATION_TIME: "2026-03-01T12:30:00+00:00"},
        "resourceVersion": "5",
    }


def test_marks_of_a_dead_process_are_replaced_and_what_they_had_kept_is_kept() -> None:
    original = pod(
        **HISTORY,
    )
    original["metadata"]["annotations"][names.DELETION_COST] = "7"
    dead = changed(original, marks.begin(original, "dead", AT).change)
    dead = changed(dead, marks.put_first(dead).change)
    taken_over = changed(dead, marks.begin(dead, "now", AT).change)
    assert marks.has_begun(taken_over, "now")
    assert marks.cost(taken_over) == "7"
    assert changed(taken_over, marks.take_off(taken_over).change) == original


@pytest.mark.parametrize(
    ("cost", "change"),
    [
        pytest.param("1000", {names.PREVIOUS_DELETION_COST: None}, id="the-user-s-since"),
        pytest.param(
            names.LOWEST_DELETION_COST,
            {names.PREVIOUS_DELETION_COST: None, names.DELETION_COST: "7"},
            id="ours",
        ),
    ],
)
def test_a_cost_that_the_user_sets_on_a_marked_pod_is_kept(
    cost: str, change: dict[str, str | None]
) -> None:
    marked = pod(annotations={names.DELETION_COST: cost, names.PREVIOUS_DELETION_COST: "7"})
    assert marks.unmark(marked) == {"annotations": change}
