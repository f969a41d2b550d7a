"""Copies of moves that are under way: nobody controls them yet, and somebody is about to."""

from dataclasses import replace

import pytest

from rescheduler.guard import Guard, Hold, Pass, Why
from rescheduler.model import names
from tests.unit.guard.tables import WEB, at, evict, of, record, table

COPY = replace(of(WEB, "copy"), owner=None, annotations={names.ORIGINAL_POD: "uid-web-1"})
MOVING = record("web-1", by=None)


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(
    "moving", [MOVING, record("web-1", "Completed", by=None, ended=4)], ids=["moving", "moved"]
)
def test_a_copy_is_held_until_it_is_adopted(moving: dict[str, object], ready: bool) -> None:  # noqa: FBT001
    guard = Guard()
    known = table([replace(COPY, ready=ready)], moving, taken_at=5)
    found = guard.judge(evict("copy"), known, at(5))
    assert isinstance(found, Hold)
    assert (found.why, found.wanted) == (Why.MOVING, None)
    assert "take the place of web-1 (migration shop/mig-web-1-1)" in found.words
    adopted = guard.judge(evict("copy"), table([of(WEB, "copy")], moving, taken_at=10), at(10))
    assert isinstance(adopted, Hold)
    assert adopted.wanted is not None


def test_its_patience_ends() -> None:
    guard = Guard()
    assert isinstance(guard.judge(evict("copy"), table([COPY], MOVING, taken_at=0), at(0)), Hold)
    over = guard.judge(evict("copy"), table([COPY], MOVING, taken_at=300), at(300))
    assert over.why is Why.PATIENCE


@pytest.mark.parametrize(
    "ended",
    [
        record("web-1", "Completed", by=None, ended=-6),
        record("web-1", "Failed", by=None, ended=4),
        record("other", by=None),
    ],
    ids=["long ago: a bare pod", "taken back", "of another"],
)
def test_one_that_nobody_is_going_to_adopt_passes(ended: dict[str, object]) -> None:
    found = Guard().judge(evict("copy"), table([COPY], ended, taken_at=5), at(5))
    assert isinstance(found, Pass)
    assert found.why is Why.NOT_MOVED
