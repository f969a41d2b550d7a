"""The figures of scene (e) of `make compare` from tallies written by hand."""

import os

import pytest

from bench.compare.request_tables import GOAL, failed_of, figures, goals
from bench.compare.requests import CONTENDERS, NOBODY, OURS, Outcome, chosen, run
from bench.compare.serving import WORKLOADS
from testbed.realnodes.traffic import DOWNLOADS, KEPT, LONG, NEW, SHORT, SLOW, Kind, Tally, Traffic

BARE = next(each for each in WORKLOADS if each.is_bare)
ONE = WORKLOADS[0]


def outcome(
    contender: str, tallies: dict[Kind, Tally], *, service: str = ONE.name, moved: int = 6
) -> Outcome:
    seen = Traffic({(service, kind): tally for kind, tally in tallies.items()})
    return Outcome(
        contender=contender, workloads=[ONE], seen=seen, pods=6, moved=moved, seconds=41.6
    )


def answered(count: int, *, milliseconds: float = 2.0) -> Tally:
    return Tally(latencies=[milliseconds / 1000] * count)


def test_times_are_of_short_requests_and_long_ones_are_counted_by_kind() -> None:
    seen = outcome(
        "kubectl drain",
        {
            NEW: Tally([0.001] * 990 + [0.02] * 10, ["refused"] * 5),
            KEPT: answered(1000, milliseconds=1.0),
            SLOW: Tally([5.0] * 7, ["cut"]),
            DOWNLOADS: Tally([10.0] * 4, ["cut", "cut"]),
        },
        moved=5,
    )
    assert figures(seen) == (
        *("5 of 6", "42"),
        *("2,005", "5"),
        *("1.0", "1.0", "20.0"),
        *("1 of 8", "2 of 6"),
    )
    assert failed_of(seen, ONE.name) == "5, 3"
    assert failed_of(seen, BARE.name) == ""


def test_traffic_is_told_apart_by_service_and_kind() -> None:
    seen = Traffic(
        {
            ("one", NEW): Tally([0.001], ["first"]),
            ("two", NEW): Tally([0.002], []),
            ("two", SLOW): Tally([5.0], ["second", "third"]),
        }
    )
    assert seen.kinds == [NEW, SLOW]
    assert seen.failures == ["first", "second", "third"]
    assert seen.of(SHORT).sent == 3
    assert seen.of(SHORT, "two").sent == 1
    assert seen.of(LONG).failures == ["second", "third"]
    assert str(seen) == (
        "6 requests, 3 failed (1 of 3 new connections, 2 of 3 requests of 5 s; "
        "p50 2 ms, p99 2 ms, worst 2 ms)"
    )


@pytest.mark.parametrize(
    ("sent", "failed", "milliseconds", "moved", "missed"),
    [
        (GOAL, [], 4.0, 6, []),
        (GOAL - 1, [], 4.0, 6, ["failed of"]),
        (GOAL, ["cut"], 4.0, 6, ["failed of"]),
        (GOAL, [], 4.1, 6, ["p99"]),
        (GOAL, [], 4.0, 5, ["all pods moved"]),
    ],
)
def test_each_goal_is_told_met_or_missed(
    sent: int, failed: list[str], milliseconds: float, moved: int, missed: list[str]
) -> None:
    short = answered(sent, milliseconds=milliseconds)
    ours = outcome(OURS, {NEW: short, DOWNLOADS: Tally([10.0], failed)}, moved=moved)
    lines = ", ".join(goals([outcome(NOBODY, {NEW: answered(100)}), ours]))
    assert lines.count(": NO") == len(missed)
    for goal in missed:
        assert goal in lines.split(": NO")[0].rsplit(": yes", 1)[-1]


def test_nothing_is_told_of_ours_when_it_did_not_run() -> None:
    assert list(goals([outcome("kubectl drain", {NEW: answered(1)})])) == []


def test_who_is_chosen() -> None:
    assert chosen("") == chosen("a,e") == list(CONTENDERS)
    assert chosen("a/kubectl drain,e/kubectl drain") == ["kubectl drain"]
    assert chosen("a") == []


async def test_a_machine_that_can_have_no_real_nodes_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said: list[str] = []
    assert await run("", 0, said.append) == []
    [sentence] = said
    assert sentence.startswith("(e) is left out: real nodes need root")
