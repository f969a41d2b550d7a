"""Whose turn it is, and who gets another one when something happens."""

from rescheduler.embedded.scheduler.pods import Pod, read
from rescheduler.embedded.scheduler.rules import RULES, room, spreading
from rescheduler.embedded.scheduler.rules.ruling import News
from rescheduler.embedded.scheduler.state import Node
from rescheduler.embedded.scheduler.waiting import WaitingPods
from tests.unit.embedded.support import node_cluster

ROOM = frozenset({room.NAME})


def pod(name: str, *, priority: int = 0, cpu: str = "1") -> Pod:
    made = node_cluster.pod(name, cpu=cpu, priority=priority)
    made["metadata"] |= {"namespace": "shop", "uid": f"uid-of-{name}"}
    return read(made)


def node(name: str, cpu: str) -> Node:
    made = Node(name)
    has = {"cpu": cpu, "memory": "16Gi", "pods": "10"}
    made.learn({"metadata": {"name": name}, "status": {"allocatable": has}})
    return made


def names(waiting: WaitingPods, now: float) -> list[str]:
    found = []
    while (taken := waiting.next(now)) is not None:
        found.append(taken.key[1])
    return found


def test_by_priority_and_then_by_age() -> None:
    waiting = WaitingPods()
    for moment, (name, priority) in enumerate((("a", 0), ("b", 5), ("c", 0), ("d", 5))):
        waiting.add(pod(name, priority=priority), float(moment))
    assert waiting.has_turns
    assert names(waiting, 10.0) == ["b", "d", "a", "c"]
    assert not waiting.has_turns


def test_who_failed_lately_rests_while_others_have_their_turn() -> None:
    waiting = WaitingPods()
    tired = pod("tired", priority=9)
    waiting.add(tired, 0.0)
    assert waiting.next(0.0) is tired
    waiting.failed(tired, ROOM, None, 0.0)
    assert waiting.next(0.1) is None
    waiting.hear(News.NODE, node("n", "4"), 0.2)
    waiting.add(pod("fresh"), 0.3)
    assert names(waiting, 0.4) == ["fresh", "tired"]


def test_one_that_has_rested_is_first_again() -> None:
    waiting = WaitingPods()
    tired = pod("tired", priority=9)
    waiting.add(tired, 0.0)
    waiting.next(0.0)
    waiting.failed(tired, ROOM, None, 0.0)
    waiting.hear(News.NODE, node("n", "4"), 0.2)
    waiting.add(pod("fresh"), 0.3)
    assert names(waiting, 1.1) == ["tired", "fresh"]


def test_only_what_may_help_counts() -> None:
    def is_helped(news: News, where: Node | None, rules: frozenset[str]) -> bool:
        waiting = WaitingPods()
        stuck = pod("stuck", cpu="2")
        waiting.add(stuck, 0.0)
        waiting.next(0.0)
        waiting.failed(stuck, rules, frozenset({"here", "small"}), 0.0)
        waiting.hear(news, where, 5.0)
        return waiting.has_turns

    here, small, elsewhere = node("here", "4"), node("small", "1"), node("elsewhere", "4")
    assert is_helped(News.POD_LEFT, here, ROOM)
    assert not is_helped(News.POD_LEFT, small, ROOM)
    assert not is_helped(News.POD_LEFT, elsewhere, ROOM)
    assert not is_helped(News.POD_CAME, here, ROOM)
    assert not is_helped(News.STORAGE, None, ROOM)
    assert is_helped(News.POD_CAME, elsewhere, frozenset({spreading.NAME}))
    # One that failed for no rule at all is told of everything.
    assert is_helped(News.STORAGE, None, frozenset())


def test_a_node_where_others_could_go_counts() -> None:
    crowded = node("here", "1")
    crowded.add(pod("lower", priority=-1))
    waiting = WaitingPods()
    stuck = pod("stuck")
    waiting.add(stuck, 0.0)
    waiting.next(0.0)
    waiting.failed(stuck, ROOM, None, 0.0)
    waiting.hear(News.POD_LEFT, crowded, 5.0)
    assert waiting.has_turns


def test_one_that_is_removed_has_no_turn() -> None:
    waiting = WaitingPods()
    waiting.add(pod("a"), 0.0)
    waiting.remove(("shop", "a"))
    assert not waiting.has_turns
    assert waiting.next(0.0) is None


def test_thousands_of_attempts_do_no_harm() -> None:
    waiting = WaitingPods()
    stuck = pod("stuck")
    waiting.add(stuck, 0.0)
    for attempt in range(3000):
        assert waiting.next(20.0 * attempt) is stuck
        waiting.failed(stuck, ROOM, None, 20.0 * attempt)
        waiting.retry(stuck.key, 20.0 * attempt + 15)
    assert waiting.has_turns


def test_every_rule_says_what_helps() -> None:
    assert all(rule.news for rule in RULES)
