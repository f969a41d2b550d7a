"""A pass: each stage has its turn, in order, and a purpose says what it is made for."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rescheduler.clock import SystemClock
from rescheduler.config import Configuration
from rescheduler.controller.passes import Passes
from rescheduler.migrate import Outcome
from rescheduler.migrate.queue.plan_run import Handle, PlanRun
from rescheduler.model.moves import Denial, Move, Plan, Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.state import ClusterState

MOVE = Move(
    namespace="shop",
    pod="web-1",
    uid="u-1",
    source="a",
    target="b",
    strategy="NodeMaintenance",
    reason="it is labelled",
    way=Way.SURGE,
)


class Observer:
    def __init__(self) -> None:
        self.assumed: list[Move] = []

    def snapshot(self) -> Snapshot:
        return ClusterState().snapshot()

    def with_usage(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def assume(self, move: Move) -> bool:
        self.assumed.append(move)
        return True

    def forget(self, move: Move) -> None:
        self.assumed.remove(move)


class Migrator:
    async def submit(self, moves: Sequence[Move]) -> Sequence[Handle]:
        raise NotImplementedError(moves)

    async def deny(self, denials: Sequence[Denial]) -> None:
        raise NotImplementedError(denials)


@dataclass
class Purpose:
    """Of a pass that is to make one move, whatever is planned."""

    moves: tuple[Move, ...] = (MOVE,)
    configuration: Configuration = field(default_factory=Configuration)
    done: list[str] = field(default_factory=list)
    while_planning: Callable[[], None] = lambda: None

    def observe(self) -> Snapshot:
        self.done.append("observe")
        return ClusterState().snapshot()

    async def put_in_order(self, _: Snapshot) -> None:
        self.done.append("put in order")

    def narrowed(self, decided: Plan) -> Plan:
        beside = threading.current_thread() is not threading.main_thread()
        self.done.append("plan beside the event loop" if beside else "plan")
        self.while_planning()
        return replace(decided, moves=self.moves)

    def report(self, _: Snapshot, __: Plan) -> None:
        self.done.append("report")

    async def report_on_nodes(self, _: Snapshot, __: Plan) -> None:
        self.done.append("report on nodes")

    def hear(self, move: Move, outcome: Outcome) -> None:
        raise NotImplementedError(move, outcome)


async def test_each_stage_has_its_turn() -> None:
    purpose, observer = Purpose(), Observer()
    seen = await Passes(SystemClock(), observer, Migrator(), purpose).one()
    assert purpose.done == [
        "observe",
        "put in order",
        "plan beside the event loop",
        "report",
        "report on nodes",
    ]
    assert seen.plan.moves == (MOVE,)
    assert seen.run is not None
    # Whoever plans meanwhile counts it as done.
    [assumed] = observer.assumed
    assert replace(assumed, planned_at="") == MOVE


async def test_moves_of_one_pass_say_so_and_those_of_the_next_say_otherwise() -> None:
    """However soon it follows."""
    other = replace(MOVE, pod="web-2", uid="u-2")
    purpose, observer = Purpose(moves=(MOVE, other)), Observer()
    passes = Passes(SystemClock(), observer, Migrator(), purpose)
    await passes.one()
    await passes.one()
    first, second, third, fourth = (move.planned_at for move in observer.assumed)
    assert first == second < third == fourth


async def test_without_a_migrator_nothing_is_written_and_nothing_begun() -> None:
    purpose, observer = Purpose(), Observer()
    seen = await Passes(SystemClock(), observer, None, purpose).one()
    assert purpose.done == ["observe", "plan beside the event loop", "report"]
    assert seen.plan.moves == (MOVE,)
    assert seen.run is None
    assert observer.assumed == []


async def test_told_to_stop_while_it_plans_it_begins_nothing() -> None:
    purpose, observer = Purpose(), Observer()
    passes = Passes(SystemClock(), observer, Migrator(), purpose)
    purpose.while_planning = passes.stop
    assert (await passes.one()).run is None
    assert observer.assumed == []


@dataclass
class Proposing:
    while_writing: Callable[[], None] = lambda: None
    told: list[PlanRun | None] = field(default_factory=list)

    def seen(self, snapshot: Snapshot, decided: Plan) -> None: ...

    async def propose(self, _: Plan, moves: Sequence[Move]) -> Sequence[Move]:
        self.while_writing()
        return moves

    def begun(self, run: PlanRun | None) -> None:
        self.told.append(run)


async def test_stopped_while_it_writes_its_plan_it_says_that_nothing_was_begun() -> None:
    """Else the plan would be taken for one that is about to begin, for ever."""
    proposing = Proposing()
    passes = Passes(SystemClock(), Observer(), Migrator(), Purpose(), proposing=proposing)
    proposing.while_writing = passes.stop
    assert (await passes.one()).run is None
    assert proposing.told == [None]
