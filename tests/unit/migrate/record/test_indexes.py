"""In which order those that wait may begin."""

from rescheduler.migrate.record.indexes import Lines
from rescheduler.migrate.record.store import key_of
from tests.unit.migrate.documents import record


def lines(*found: dict[str, object]) -> Lines:
    made = Lines()
    for each in found:
        made.put(key_of(each), each)
    return made


def order(made: Lines, *, only: str = "") -> list[str]:
    return [name[:2] for _, name in made.in_turn(lambda namespace: only in ("", namespace))]


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def test_the_oldest_first() -> None:
    made = lines(*(record(f"p{n}", created=at(9 - n)) for n in range(4)))
    assert order(made) == ["p3", "p2", "p1", "p0"]


def test_a_flood_holds_up_neither_what_is_planned_nor_other_namespaces() -> None:
    flood = [record(f"f{n}", created=at(n), asked=True) for n in range(4)]
    planned = [record(f"p{n}", created=at(20 + n), asked=False) for n in range(2)]
    other = record("o0", created=at(30), asked=True, namespace="other")
    made = lines(*flood, *planned, other)
    assert order(made) == ["f0", "p0", "o0", "f1", "p1", "f2", "f3"]
    assert order(made, only="other") == ["o0"]


def test_where_only_one_begins_at_a_time_the_lines_take_turns() -> None:
    flood = [record(f"f{n}", created=at(n), asked=True) for n in range(4)]
    planned = [record(f"p{n}", created=at(20 + n), asked=False) for n in range(4)]
    made, begun = lines(*flood, *planned), []
    for _ in range(6):
        key = next(made.in_turn(lambda _: True))
        made.begun(key)
        made.remove(key)
        begun.append(key[1][:2])
    assert begun == ["f0", "p0", "f1", "p1", "f2", "p2"]


def test_who_is_gone_or_told_again_waits_no_more_than_once() -> None:
    first, second = record("a0", created=at(1)), record("b0", created=at(2))
    made = lines(first, second, first)
    assert order(made) == ["a0", "b0"]
    made.put(key_of(first), record("a0", created=at(3)))
    assert order(made) == ["b0", "a0"]
    made.remove(key_of(second))
    made.remove(key_of(second))
    assert order(made) == ["a0"]
