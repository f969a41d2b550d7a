"""What a note on the lease means, whoever wrote it."""

from datetime import UTC, datetime

import pytest

from rescheduler.model.names import PAUSED, PAUSED_BY, PAUSED_SINCE
from rescheduler.model.objects import Object
from rescheduler.model.pausing import Pause, annotations_of, pause_of, paused, resumed

SINCE = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
WHOLE = Pause(since=SINCE, by="ada@desk", reason="storage upgrade")


@pytest.mark.parametrize("said", ["false", "False", " false ", ""])
def test_only_false_and_nothing_do_not_pause(said: str) -> None:
    assert pause_of({PAUSED: said}) is None
    assert pause_of({}) is None


@pytest.mark.parametrize(("said", "reason"), [("true", ""), ("no", "no"), ("why?", "why?")])
def test_anything_else_does(said: str, reason: str) -> None:
    assert pause_of({PAUSED: said}) == Pause(reason=reason)


@pytest.mark.parametrize("pause", [WHOLE, Pause(), Pause(reason="x"), Pause(since=SINCE)])
def test_what_is_written_is_read_back_and_goes_without_a_trace(pause: Pause) -> None:
    lease: Object = {"metadata": {"name": "x", "annotations": {"mine": "stays"}}, "spec": {"a": 1}}
    written = paused(lease, pause)
    assert pause_of(annotations_of(written)) == pause
    assert resumed(written) == lease
    assert lease["metadata"]["annotations"] == {"mine": "stays"}


@pytest.mark.parametrize("reason", ["false", "False", " ", "\n", "true"])
def test_whatever_the_reason_who_pauses_has_it_paused(reason: str) -> None:
    written = paused({"metadata": {}}, Pause(by="ada", reason=reason))
    assert pause_of(annotations_of(written)) == Pause(by="ada")


def test_a_time_that_is_none_is_left_out() -> None:
    assert pause_of({PAUSED: "true", PAUSED_SINCE: "yesterday"}) == Pause()
    found = pause_of({PAUSED: "true", PAUSED_SINCE: "2026-03-04T05:06:07", PAUSED_BY: "ada"})
    assert found == Pause(since=SINCE, by="ada")


def test_it_says_who_and_why_in_one_sentence() -> None:
    assert str(WHOLE) == "paused since 2026-03-04T05:06:07Z by ada@desk: storage upgrade"
    assert str(Pause()) == "paused"


def test_what_a_page_of_reasons_says_is_one_short_line() -> None:
    pause = pause_of({PAUSED: "upgrade\n" + "of everything " * 500})
    assert pause is not None
    assert pause.reason.startswith("upgrade of everything")
    assert len(pause.reason) <= 300
    assert "\n" not in str(pause)
