"""What Prometheus reads."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rescheduler.migrate import deciding
from rescheduler.model import strategies
from rescheduler.model.podmigration import Reason, Way
from rescheduler.model.published import MovesUnderWay, Now, Role
from rescheduler.serve import CATALOGUE, Board
from rescheduler.serve.metrics.catalogue import Kind
from rescheduler.serve.metrics.recording import result_of
from tests.unit.serve.asking import LEADING, PASS, SEEN, UNSEEN, HandClock, site

OF_EVERY_WAY = (Reason.COMPLETED, Reason.CANCELLED, Reason.REFUSED, Reason.TIMED_OUT)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def board(clock: HandClock) -> Board:
    return Board(["pods", "leases"], clock)  # type: ignore[arg-type]


def values(board: Board) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = board.metrics().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(board: Board, name: str, **labels: str) -> float:
    return values(board)[f"rescheduler_{name}", tuple(sorted(labels.items()))]


def test_names_follow_the_conventions() -> None:
    for family in CATALOGUE:
        assert re.fullmatch(r"rescheduler(_[a-z]+)+", family.name), family.name
        assert (family.kind is Kind.COUNTER) == family.name.endswith("_total")
        assert family.help.endswith(".")
        assert bool(family.buckets) == (family.kind is Kind.HISTOGRAM)
    assert len({family.name for family in CATALOGUE}) == len(CATALOGUE)


def test_everything_in_the_catalogue_is_told_and_nothing_else(board: Board) -> None:
    board.publish(replace(LEADING, watches={"pods": SEEN}, last_pass=PASS))
    board.record.watches("pods")
    board.heard("get", "pods", 200, 0.1)
    told = {
        (family.name + ("_total" if family.type == "counter" else ""), family.type)
        for family in text_string_to_metric_families(board.metrics().decode())
        if not family.name.startswith("process_")
    }
    assert told == {(family.name, family.kind.value) for family in CATALOGUE}


def test_counts_are_there_before_anything_has_happened(board: Board) -> None:
    found = values(board)
    assert value(board, "passes_total", result="error") == 0
    ended = [dict(labels) for (name, labels) in found if name == "rescheduler_moves_total"]
    for strategy in (*strategies.ALL, "ByHand"):
        told = {each["reason"] for each in ended if each["strategy"] == strategy}
        assert told == {each.value for each in Reason} - {"NotFinished"}
    assert not any(found[key] for key in found if key[0] == "rescheduler_moves_total")
    assert value(board, "last_success_timestamp_seconds") == 0


@pytest.mark.parametrize("way", Way)
def test_whatever_ends_a_way_is_there_before_it_has_happened(board: Board, way: Way) -> None:
    """By what its own decisions name, and what may befall every way."""
    folder = Path(deciding.__file__).parent / way.value.lower()
    named = re.findall(r"Reason\.([A-Z_]+)", "".join(map(Path.read_text, folder.glob("*.py"))))
    assert named
    for reason in {*(Reason[each] for each in named), *OF_EVERY_WAY}:
        told = {"way": way.value, "result": result_of(reason), "reason": reason.value}
        for strategy in (*strategies.ALL, "ByHand"):
            assert value(board, "moves_total", strategy=strategy, **told) == 0


def test_what_ends_before_a_way_is_chosen_is_there_too(board: Board) -> None:
    for result, reason in (("failed", "Invalid"), ("gave_way", "NotNow"), ("failed", "Refused")):
        labels = {"strategy": "ByHand", "way": "NotChosen", "result": result, "reason": reason}
        assert value(board, "moves_total", **labels) == 0


def test_the_series_of_moves_are_hundreds_and_not_thousands(board: Board) -> None:
    assert len([name for name, _ in values(board) if name == "rescheduler_moves_total"]) < 500


def test_labels_stay_bounded_whatever_comes(board: Board) -> None:
    def ask(number: int) -> None:
        board.record.moved(f"s{number}", f"w{number}", f"r{number}", 1.0)
        board.record.fell_back(f"f{number}")
        board.record.stepped(f"step{number}", 1.0)
        board.record.decided(f"s{number}", 1.0)
        board.heard(f"v{number}", f"r{number}", 600 + number, 0.1)

    ask(0)
    before = len(values(board))
    for number in range(500):
        ask(number)
    clock = board._clock  # noqa: SLF001 - turned by hand
    clock.time += 1  # type: ignore[attr-defined]
    assert len(values(board)) == before
    assert (
        value(
            board,
            "moves_total",
            strategy="ByHand",
            way="NotChosen",
            result="failed",
            reason="Refused",
        )
        == 501
    )
    assert value(board, "api_requests_total", verb="other", resource="other", code="<error>") == 501


def test_what_is_published_is_told(board: Board) -> None:
    moves = MovesUnderWay(in_progress=3, ending=2, waiting=4, allowed=10, breaker_seconds=5.0)
    board.publish(replace(LEADING, moves=moves, last_pass=PASS, paused=True))
    assert value(board, "leader") == value(board, "paused") == value(board, "synced") == 1
    assert value(board, "moves_in_progress") == 3
    assert value(board, "moves_waiting") == 4
    assert value(board, "circuit_breaker_open") == value(board, "ready") == 1
    assert value(board, "cluster_imbalance_ratio", resource="cpu", when="planned") == 0.1
    assert value(board, "overloaded_nodes", when="now") == 2
    assert value(board, "refused_pods", reason="Budget") == 3
    assert value(board, "last_success_timestamp_seconds") == 1000
    assert value(board, "configuration_refused") == 0


def test_a_replica_that_stands_by_is_told_as_such(board: Board) -> None:
    board.publish(Now(role=Role.STANDING_BY))
    assert value(board, "leader") == value(board, "synced") == 0
    assert value(board, "ready") == 1
    assert value(board, "moves_in_progress") == 0


def test_gaps_are_counted_once_each_and_not_at_the_start(board: Board, clock: HandClock) -> None:
    board.record.watches("pods")
    board.publish(replace(LEADING, is_synced=False, watches={"pods": UNSEEN}))
    board.publish(replace(LEADING, watches={"pods": SEEN}))
    board.publish(replace(LEADING, watches={"pods": UNSEEN}))
    clock.time += 7
    board.publish(replace(LEADING, watches={"pods": UNSEEN}))
    assert value(board, "watch_gaps_total", resource="pods") == 1
    assert value(board, "watch_blind_seconds", resource="pods") == 7
    assert value(board, "watch_lag_seconds", resource="pods") == 9


def test_who_asks_all_the_time_gets_the_same_text(board: Board, clock: HandClock) -> None:
    board.publish(LEADING)
    first = board.metrics()
    board.publish(Now())
    assert board.metrics() is first
    clock.time += 1
    assert b"rescheduler_leader 0.0" in board.metrics()


def test_it_comes_in_the_format_of_prometheus() -> None:
    with site() as at:
        answer = at.get("/metrics")
    assert answer.status == 200
    assert "# TYPE rescheduler_moves_total counter\n" in answer.text
    assert 'rescheduler_build_info{python="3' in answer.text
    assert "process_resident_memory_bytes " in answer.text
    assert "_created" not in answer.text
