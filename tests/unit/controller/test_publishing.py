"""What a replica tells of itself, gathered from the stages."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest

from rescheduler.config import Configuration, ConfigurationError, Problem
from rescheduler.controller.publishing import Publisher
from rescheduler.controller.settings import Settings
from rescheduler.migrate import Figures, Migrator
from rescheduler.model.moves import Imbalance, NodeLoad, Plan, Refusal
from rescheduler.model.published import NOW, PLANNED, MovesUnderWay, Role
from rescheduler.model.snapshot import Gap
from rescheduler.observe import Observer
from rescheduler.observe.state import ClusterState
from rescheduler.serve import Board
from tests.unit.controller.reading_metrics import A_WHILE, START, HandClock, nonzero


@dataclass
class Seeing:
    """Two kinds, of which strategies need one."""

    blind: tuple[str, ...] = ()
    lag: dict[str, float] = field(default_factory=lambda: {"pods": 3.0, "podmigrations": 9.0})

    def lags(self) -> dict[str, float]:
        return self.lag

    def gaps(self) -> tuple[Gap, ...]:
        return tuple(Gap(source=each, reason="cut") for each in self.blind)


@dataclass
class Moving:
    figures: Figures
    unfinished: int


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def board(clock: HandClock) -> Board:
    return Board(["pods"], clock)


@pytest.fixture
def settings() -> Settings:
    return Settings(Configuration(cpu_threshold_percent=80.0, memory_threshold_percent=70.0))


@pytest.fixture
def stop() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def publisher(clock: HandClock, settings: Settings, board: Board, stop: asyncio.Event) -> Publisher:
    return Publisher(clock, settings, board, stop)


def load(cpu: tuple[float, float], memory: tuple[float, float]) -> NodeLoad:
    (cpu_before, cpu_after), (memory_before, memory_after) = cpu, memory
    return NodeLoad(
        node="a",
        before={"cpu": cpu_before, "memory": memory_before},
        after={"cpu": cpu_after, "memory": memory_after},
        pods_before=1,
        pods_after=1,
        eligible=True,
    )


def test_its_role_follows_what_it_does(
    publisher: Publisher, board: Board, stop: asyncio.Event
) -> None:
    roles = [board.latest.role]
    publisher.stands_by()
    roles.append(board.latest.role)
    with publisher.leads():
        roles.append(board.latest.role)
    roles.append(board.latest.role)
    publisher.looks()
    roles.append(board.latest.role)
    stop.set()
    publisher.publish()
    roles.append(board.latest.role)
    leading = [Role.STARTING, Role.STANDING_BY, Role.LEADING, Role.STOPPING]
    assert roles == [*leading, Role.LOOKING, Role.STOPPING]
    assert nonzero(board, "leader_transitions_total") == {(): 1}


def test_a_gap_counts_once_it_has_seen_everything_and_as_long_as_it_lasts(
    publisher: Publisher, board: Board, clock: HandClock
) -> None:
    seeing = Seeing(blind=("pods",))
    publisher.observes(cast("Observer", seeing))
    assert board.latest.watches["pods"].is_blind
    assert nonzero(board, "watch_gaps_total") == {}
    seeing.blind = ()
    publisher.is_synced()
    seeing.blind = ("pods",)
    publisher.publish()
    clock.seconds += 7
    publisher.publish()
    assert nonzero(board, "watch_gaps_total") == {("pods",): 1}
    assert nonzero(board, "watch_blind_seconds") == {("pods",): 7}
    assert board.latest.watches["pods"].is_needed
    assert not board.latest.watches["podmigrations"].is_needed
    assert board.latest.watches["podmigrations"].lag_seconds == 9
    seeing.blind = ()
    publisher.publish()
    clock.seconds += A_WHILE
    assert nonzero(board, "watch_blind_seconds") == {}


def test_an_observer_that_begins_anew_has_seen_nothing_and_nobody_moves(
    publisher: Publisher, board: Board
) -> None:
    publisher.observes(cast("Observer", Seeing()))
    publisher.is_synced()
    figures = Figures(in_flight=3, ending=2, allowed=10, paused_seconds=4.0)
    publisher.migrates(cast("Migrator", Moving(figures, unfinished=9)))
    publisher.publish()
    moves = MovesUnderWay(in_progress=3, ending=2, waiting=4, allowed=10, breaker_seconds=4.0)
    assert (board.latest.is_synced, board.latest.moves) == (True, moves)
    publisher.observes(cast("Observer", Seeing()))
    assert (board.latest.is_synced, board.latest.moves) == (False, MovesUnderWay())


def test_a_pass_is_told_by_its_figures(
    publisher: Publisher, board: Board, clock: HandClock
) -> None:
    clock.seconds = 60.0
    decided = Plan(
        nodes=(load((90.0, 79.0), (10.0, 10.0)), load((80.0, 80.0), (75.0, 71.0))),
        imbalances=(Imbalance(resource="cpu", before=40.0, after=5.0, most="a", least="b"),),
        refusals=(Refusal.of("a/b", ["it is terminating"]),),
    )
    publisher.passed(ClusterState().snapshot(), decided, 0.5)
    publisher.pass_failed(0.25)
    last = board.latest.last_pass
    assert last is not None
    assert last.ended_at == START.timestamp() + 60
    assert last.overloaded == {NOW: 2, PLANNED: 1}
    assert last.imbalance == {("cpu", NOW): 0.4, ("cpu", PLANNED): 0.05}
    assert last.refused["UnderWay"] == sum(last.refused.values()) == 1
    assert nonzero(board, "passes_total") == {("success",): 1, ("error",): 1}
    assert nonzero(board, "pass_duration_seconds_sum") == {(): 0.75}


def test_a_pause_and_a_refused_file_are_told_until_they_end(
    publisher: Publisher, board: Board, settings: Settings, clock: HandClock
) -> None:
    publisher.pauses(is_paused=True)
    settings.refuse(ConfigurationError([Problem("cpuThreshold", "too high")], "a.yaml"), START)
    publisher.publish()
    assert board.latest.paused
    assert board.latest.configuration_error == "a.yaml: cpuThreshold: too high"
    assert nonzero(board, "paused") == nonzero(board, "configuration_refused") == {(): 1}
    publisher.pauses(is_paused=False)
    settings.refused = None
    publisher.publish()
    assert not board.latest.paused
    clock.seconds += A_WHILE
    assert nonzero(board, "configuration_refused") == {}


async def test_it_publishes_for_ever_so_that_nobody_takes_it_to_be_stuck(
    publisher: Publisher, board: Board, clock: HandClock
) -> None:
    class Enough(Exception):
        pass

    async def sleep(seconds: float) -> None:
        clock.seconds += seconds
        if clock.seconds > 200:
            raise Enough

    clock.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(Enough):
        await publisher.keep_publishing()
    assert board.liveness().is_good


def test_without_a_board_it_tells_nobody(clock: HandClock, settings: Settings) -> None:
    publisher = Publisher(clock, settings)
    publisher.stands_by()
    publisher.moves.wrote({"metadata": {"uid": "r"}, "spec": {}, "status": {"step": "Check"}})
