"""`rescheduler drain`: what it asks of a snapshot."""

import pytest

from rescheduler.config import Configuration
from rescheduler.controller.drain.progress import Progress, Voice
from rescheduler.controller.drain.questions import completed, under_way
from rescheduler.migrate import Outcome
from rescheduler.model.moves import Move
from rescheduler.model.podmigration.reasons import Reason
from tests.unit.plan.support.movable_scenes import Object, pod, snapshot


@pytest.mark.parametrize(
    ("node", "phase", "is_awaited"),
    [
        ("a", "Pending", True),
        ("a", "InProgress", True),
        ("a", "Completed", False),
        # To the node: what has not begun never will, as the node is cordoned.
        ("b", "Pending", False),
        ("b", "InProgress", True),
        ("b", "Failed", False),
        ("c", "InProgress", False),
    ],
)
def test_moves_off_the_node_and_to_it_are_awaited(
    node: str,
    phase: str,
    is_awaited: bool,  # noqa: FBT001
) -> None:
    record: Object = {
        "metadata": {"namespace": "shop", "name": "r-1", "uid": "uid-r-1"},
        "spec": {"pod": {"name": "web-1", "uid": "uid-web-1"}, "source": "a", "target": "b"},
        "status": {"phase": phase},
    }
    cluster = snapshot(pod(), podmigrations=[record])
    assert bool(under_way(cluster, node, Configuration().scope, ended=())) == is_awaited


def record(uid: str, phase: str, source: str = "a") -> Object:
    return {
        "metadata": {"namespace": "shop", "name": f"r-{uid}", "uid": f"uid-r-{uid}"},
        "spec": {"pod": {"name": uid, "uid": uid}, "source": source, "target": "b"},
        "status": {"phase": phase},
    }


def move(uid: str) -> Move:
    return Move(
        namespace="shop",
        pod=uid,
        uid=uid,
        source="a",
        target="b",
        strategy="X",
        reason="",
        asked=True,
    )


def test_what_the_leader_ended_while_nobody_looked_is_counted_once() -> None:
    progress = Progress()
    progress.begin([move("one"), move("two"), move("three")])
    progress.hear(move("one"), Outcome(moved=True, reason=Reason.COMPLETED, message=""))
    progress.leave_to_others()
    assert (progress.moved, progress.planned) == (1, 1)
    # By now the second has ended; so did one that nobody expected, and one on another node.
    ended = [record("one", "Completed"), record("two", "Completed"), record("old", "Completed")]
    records = [*ended, record("three", "InProgress"), record("far", "Completed", source="c")]
    progress.count_completed(completed(snapshot(pod(), podmigrations=records), "a"))
    assert (progress.moved, progress.planned) == (2, 2)
    records[-2] = record("three", "Completed")
    for _ in range(2):
        progress.count_completed(completed(snapshot(pod(), podmigrations=records), "a"))
    assert (progress.moved, progress.planned) == (3, 3)


def test_what_is_tried_again_and_left_to_others_is_awaited() -> None:
    progress = Progress()
    progress.begin([move("one")])
    progress.hear(move("one"), Outcome(moved=False, reason=Reason.REFUSED, message=""))
    progress.begin([move("one")])
    progress.leave_to_others()
    cluster = snapshot(pod(), podmigrations=[record("one", "InProgress")])
    assert under_way(cluster, "a", Configuration().scope, progress.ended) == {"one"}


def test_a_leader_whose_name_nobody_could_read_is_called_somehow() -> None:
    said: list[str] = []
    voice = Voice(said.append)
    voice.leads("")
    voice.leads_no_longer("")
    assert [line.split(" is ")[0] for line in said] == ["another rescheduler"] * 2
