"""The figures of `make compare` from recordings written by hand."""

from itertools import count

import pytest

from bench.compare.timeline import Sighting, Timeline

BEGAN = 10.0


def sight(at: float, uid: str, *, node: str = "old", **more: bool) -> Sighting:
    """A Ready pod of `web`, unless told otherwise."""
    given = {"is_ready": True, **more}
    return Sighting(at=at, uid=uid, workload="web", node=node, cpu=0.5, **given)


def timeline(*sightings: Sighting, wanted: int = 2, ended: float = 20.0) -> Timeline:
    return Timeline(wanted={"web": wanted}, sightings=sightings, began=BEGAN, ended=ended)


BEFORE = (sight(9, "a"), sight(9, "b"))


def test_nothing_happened() -> None:
    quiet = timeline(*BEFORE)
    assert quiet.ever_below() == set()
    assert quiet.pod_seconds_missing() == 0
    assert quiet.moved() == 0
    assert quiet.at_the_end().on("old") == {"a", "b"}


def test_an_eviction_leaves_a_gap_until_the_successor_is_ready() -> None:
    evicted = timeline(
        *BEFORE,
        sight(11, "a", is_ready=False),
        sight(11.5, "a", is_ready=False, is_gone=True),
        sight(11.5, "c", node="new", is_ready=False),
        sight(14, "c", node="new"),
    )
    assert evicted.ever_below() == {"web"}
    assert evicted.pod_seconds_missing() == pytest.approx(3)
    assert evicted.moved() == 1
    assert evicted.at_the_beginning().on("old") == {"a", "b"}
    assert evicted.at_the_end().on("old") == {"b"}


def test_a_copy_that_is_ready_first_leaves_no_gap() -> None:
    surged = timeline(
        *BEFORE,
        sight(11, "c", node="new", is_ready=False),
        sight(14, "c", node="new"),
        sight(14, "a", is_ready=False),
        sight(15, "a", is_ready=False, is_gone=True),
    )
    assert surged.ever_below() == set()
    assert surged.pod_seconds_missing() == 0
    assert surged.moved() == 1


def test_a_dip_of_no_length_is_a_dip() -> None:
    late = timeline(*BEFORE, sight(14, "a", is_ready=False), sight(14, "c", node="new"))
    assert late.ever_below() == {"web"}
    assert late.pod_seconds_missing() == 0


def test_who_never_comes_back_is_missing_until_the_end_and_did_not_move() -> None:
    lost = timeline(*BEFORE, sight(12, "a", is_ready=False, is_gone=True), ended=20.0)
    assert lost.pod_seconds_missing() == pytest.approx(8)
    assert lost.moved() == 0


def test_two_missing_count_twice_and_one_too_many_makes_nothing_good() -> None:
    clock = count(11)
    both = timeline(
        *BEFORE,
        sight(next(clock), "a", is_ready=False, is_gone=True),
        sight(next(clock), "b", is_ready=False, is_gone=True),
        *(sight(next(clock), uid, node="new") for uid in "cde"),
    )
    # One is missing from 11 on, both from 12, one again from 13, none from 14.
    assert both.pod_seconds_missing() == pytest.approx(1 + 2 + 1)
    # Three pods where two are wanted: the workload is not as it should be.
    assert both.moved() == 0


def test_what_comes_after_the_end_does_not_count() -> None:
    cut = timeline(*BEFORE, sight(25, "a", is_ready=False, is_gone=True), ended=20.0)
    assert cut.ever_below() == set()
    assert cut.moved() == 0


def test_requests_by_node() -> None:
    pods = timeline(*BEFORE, sight(11, "c", node="new")).at_the_end()
    assert pods.cpu_on("old") == pytest.approx(1.0)
    assert pods.cpu_on("new") == pytest.approx(0.5)
    assert pods.cpu_on("other") == 0
