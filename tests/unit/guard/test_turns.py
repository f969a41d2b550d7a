"""What cannot be moved first goes one pod of a workload at a time."""

from dataclasses import replace

from rescheduler.guard import Guard, GuardTable, Hold, Pass, Verdict, Why
from rescheduler.model.cluster import Pod
from tests.unit.guard.tables import DB, at, evict, of, record, table

DB_0, DB_1, DB_2 = (of(DB, f"db-{number}") for number in range(3))
ALL = (DB_0, DB_1, DB_2)
FAILED = tuple(
    record(each.name, "Failed", ended=2.0, created=1.0 + number, message="no node has room for it")
    for number, each in enumerate(ALL)
)


def known(*pods: Pod, taken_at: float = 3.0) -> GuardTable:
    return table(pods or ALL, *FAILED, taken_at=taken_at)


def turn(found: Verdict) -> str:
    assert isinstance(found, Hold), found
    assert found.why is Why.TURN
    return found.words


def test_the_one_with_the_oldest_record_goes_first() -> None:
    guard = Guard()
    words = turn(guard.judge(evict("db-1"), known(), at(3)))
    assert words == (
        "kube-rescheduler lets one pod of a workload go at a time: db-0 goes first; "
        "the eviction passes in 4m59s at the latest"
    )
    found = guard.judge(evict("db-0"), known(), at(3))
    assert isinstance(found, Pass)
    assert found.why is Why.FAILED
    assert found.words == "migration shop/mig-db-0-1 failed: no node has room for it"


def test_two_replicas_let_the_same_one_go() -> None:
    verdicts = [Guard().judge(evict(each.name), known(), at(3)) for each in ALL]
    assert [isinstance(each, Pass) for each in verdicts] == [True, False, False]


def test_the_next_waits_until_all_are_back() -> None:
    guard = Guard()
    assert isinstance(guard.judge(evict("db-0"), known(), at(3)), Pass)
    # Told to go; gone; made anew; Ready.
    ending = known(replace(DB_0, terminating=True), DB_1, DB_2, taken_at=4)
    assert "db-0 is terminating" in turn(guard.judge(evict("db-1"), ending, at(4)))
    gone = known(DB_1, DB_2, taken_at=5)
    assert "one of its 3 pods is missing" in turn(guard.judge(evict("db-1"), gone, at(5)))
    starting = replace(DB_0, uid="new", node="b", ready=False)
    made = known(starting, DB_1, DB_2, taken_at=6)
    assert "db-0 is not Ready" in turn(guard.judge(evict("db-1"), made, at(6)))
    back = known(replace(starting, ready=True), DB_1, DB_2, taken_at=7)
    assert isinstance(guard.judge(evict("db-1"), back, at(7)), Pass)


def test_who_was_let_go_a_moment_ago_counts_before_the_table_shows_it() -> None:
    guard = Guard()
    assert isinstance(guard.judge(evict("db-0"), known(), at(3)), Pass)
    only = table(ALL, *FAILED[1:], taken_at=4)
    assert "has just been let go" in turn(guard.judge(evict("db-1"), only, at(4)))
    # Its budget refused it, so it is still well: the next one has its turn.
    later = table(ALL, *FAILED[1:], taken_at=6.5)
    assert isinstance(guard.judge(evict("db-1"), later, at(6.5)), Pass)


def test_one_that_is_gone_is_missed_until_there_are_as_many() -> None:
    """Of kinds whose number nobody tells us."""
    guard = Guard()
    owner = replace(DB, kind="Cluster")
    pods = [replace(each, owner=owner) for each in ALL]
    assert isinstance(guard.judge(evict("db-0"), known(*pods), at(3)), Pass)
    missing = known(*pods[1:], taken_at=5)
    assert "successor of another" in turn(guard.judge(evict("db-1"), missing, at(5)))
    there = known(replace(pods[0], uid="new"), *pods[1:], taken_at=6)
    assert isinstance(guard.judge(evict("db-1"), there, at(6)), Pass)


def test_its_patience_ends_that_too() -> None:
    starting = known(replace(DB_0, ready=False), DB_1, DB_2, taken_at=301.9)
    assert isinstance(Guard().judge(evict("db-1"), starting, at(301.9)), Hold)
    over = known(replace(DB_0, ready=False), DB_1, DB_2, taken_at=302)
    assert Guard().judge(evict("db-1"), over, at(302)).why is Why.PATIENCE


def test_a_failure_counts_twice_as_long_as_an_eviction_is_held() -> None:
    passes = Guard().judge(evict("db-0"), known(taken_at=601), at(601))
    assert passes.why is Why.PATIENCE
    found = Guard().judge(evict("db-0"), known(taken_at=602), at(602))
    assert isinstance(found, Hold)
    assert found.wanted is not None
    assert found.wanted.attempt == 2


def test_where_no_move_can_be_asked_for_it_is_let_go() -> None:
    refused = table(ALL, taken_at=3, not_asked={"uid-db-0": "forbidden"})
    found = Guard().judge(evict("db-0"), refused, at(3))
    assert isinstance(found, Pass)
    assert found.words == "no migration can be asked for: forbidden"
    ending = (replace(DB_1, terminating=True), DB_0, DB_2)
    waits = table(ending, taken_at=3, not_asked={"uid-db-0": "forbidden"})
    assert "db-1 is terminating" in turn(Guard().judge(evict("db-0"), waits, at(3)))
