"""Whether a replica lives and is ready, as probes and people see it."""

from dataclasses import replace

import pytest

from rescheduler.config import ConfigurationError, parse
from rescheduler.model.published import Now, Role
from rescheduler.serve.board import Board
from tests.unit.serve.asking import LEADING, SEEN, UNSEEN, HandClock, site


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def board(clock: HandClock) -> Board:
    return Board(["pods"], clock)  # type: ignore[arg-type]


def failed(board: Board) -> list[str]:
    return [each.name for each in board.readiness().checks if each.problem]


def test_it_answers_before_anything_is_published() -> None:
    with site() as at:
        assert (at.get("/healthz").status, at.get("/healthz").text) == (200, "ok")
        starting = at.get("/readyz")
    assert starting.status == 500
    assert "[-]role failed: starting\n" in starting.text
    assert starting.text.endswith("readyz check failed\n")


def test_a_leader_that_has_listed_everything_is_ready() -> None:
    with site() as at:
        at.board.publish(replace(LEADING, watches={"pods": SEEN}))
        assert (at.get("/readyz").status, at.get("/readyz").text) == (200, "ok")
        assert at.get("/readyz?verbose").text.splitlines() == [
            "[+]ping ok",
            "[+]event-loop ok",
            "[+]role ok: leading",
            "[+]api-server ok",
            "[+]sync ok",
            "[+]watches ok",
            "[+]configuration ok",
            "[+]paused ok: no",
            "readyz check passed",
        ]


def test_one_that_stands_by_is_ready_and_one_that_lists_is_not(board: Board) -> None:
    board.publish(Now(role=Role.STANDING_BY))
    assert failed(board) == []
    board.publish(Now(role=Role.LEADING))
    assert failed(board) == ["sync"]
    board.publish(Now(role=Role.LOOKING, is_synced=True))
    assert failed(board) == []
    board.publish(Now(role=Role.STOPPING))
    assert failed(board) == ["role"]


def test_blind_for_long_is_not_ready(board: Board, clock: HandClock) -> None:
    board.publish(replace(LEADING, watches={"pods": UNSEEN}))
    clock.time += 59
    board.publish(replace(LEADING, watches={"pods": UNSEEN}))
    assert failed(board) == []
    assert "[+]watches ok: pods not seen for 59 s" in board.readiness().in_words(verbose=True)
    clock.time += 2
    assert failed(board) == ["watches"]
    board.publish(replace(LEADING, watches={"pods": SEEN}))
    assert failed(board) == []


def test_what_is_only_welcome_may_stay_unseen(board: Board, clock: HandClock) -> None:
    unseen = {"networkpolicies": replace(UNSEEN, is_needed=False)}
    board.publish(replace(LEADING, watches=unseen))
    clock.time += 50
    board.publish(replace(LEADING, watches=unseen))
    clock.time += 50
    assert failed(board) == []


def test_an_api_server_that_does_not_answer_is_not_ready_but_alive(
    board: Board, clock: HandClock
) -> None:
    board.heard("get", "leases", 200, 0.1)
    for _ in range(4):
        clock.time += 20
        board.heard("get", "leases", 0, 10.0)
        board.publish(Now(role=Role.STANDING_BY))
    assert failed(board) == ["api-server"]
    assert board.liveness().is_good
    board.heard("get", "leases", 403, 0.1)
    assert failed(board) == []


def test_one_that_never_answered_is_not_ready_either(board: Board, clock: HandClock) -> None:
    board.heard("get", "leases", 0, 1.0)
    clock.time += 61
    board.publish(Now(role=Role.STANDING_BY))
    assert failed(board) == ["api-server"]


def test_an_event_loop_that_is_stuck_is_dead(board: Board, clock: HandClock) -> None:
    board.publish(LEADING)
    clock.time += 61
    assert not board.liveness().is_good
    assert "[-]event-loop failed" in board.liveness().in_words(verbose=False)
    assert failed(board) == ["event-loop"]


def test_paused_and_a_refused_configuration_are_told_and_do_not_count() -> None:
    with site() as at:
        at.board.publish(replace(LEADING, paused=True, configuration_error="a.yaml: b: wrong"))
        answer = at.get("/readyz?verbose")
    assert answer.status == 200
    assert "[+]paused ok: moves are paused\n" in answer.text
    refused = "the file was refused, and the last good one is in force: a.yaml: b: wrong"
    assert f"[+]configuration ok: {refused}\n" in answer.text


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("reschedulingInterval: secret", "reschedulingInterval: expected a duration such as "),
        ("cpuThreshold: secret", "cpuThreshold: "),
        ("enabledStrategies: [secret]", 'enabledStrategies[0]: "...": unknown name'),
        ("serving: {bindAddress: secret}", "serving.bindAddress: must be an IP address"),
        ('serving: {bindAddress: "a\\"secret"}', "serving.bindAddress: must be an IP address"),
        ("usage: {prometheus: {url: secret}}", "usage.prometheus.url: "),
        ("pods: {jobs: secret}", "pods.jobs: "),
    ],
)
def test_why_a_configuration_was_refused_is_told_without_what_it_says(
    board: Board, setting: str, told: str
) -> None:
    """Whoever may ask need not be allowed to read it."""
    types = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
    with pytest.raises(ConfigurationError) as refused:
        parse(f"{types}{setting}\n", "a.yaml")
    board.publish(replace(LEADING, configuration_error=str(refused.value)))
    words = board.readiness().in_words(verbose=True)
    assert "secret" in str(refused.value)
    assert f"in force: a.yaml: {told}" in words
    assert "secret" not in words


def test_of_many_problems_the_first_is_told_and_shortened(board: Board) -> None:
    board.publish(replace(LEADING, configuration_error=f"{'x' * 1000}\nsecond\nthird"))
    [line] = [
        each
        for each in board.readiness().in_words(verbose=True).splitlines()
        if "configuration" in each
    ]
    assert line.endswith("xxx... (and 2 more, see the log)")
    assert len(line) < 450


def test_checks_may_be_excluded_by_name(board: Board) -> None:
    with site(board) as at:
        assert at.get("/readyz?exclude=role").status == 200
        assert at.get("/readyz?exclude=ping").status == 500


def test_what_is_not_there_and_what_may_not_be_done() -> None:
    with site() as at:
        assert at.get("/debug/profile").status == 404
        assert at.get("/").text == "there are /healthz, /livez, /metrics, /readyz\n"
        assert at.get("/metrics", method="POST").status == 405
        assert at.get("/healthz", method="HEAD").status == 200
