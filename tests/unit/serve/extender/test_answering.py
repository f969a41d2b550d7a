"""A scheduler's questions, over real sockets."""

import http.client
import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rescheduler.config import Extender, Tls
from rescheduler.errors import ReschedulerError
from rescheduler.schedule import NodeTable, Offer, Steering
from rescheduler.serve import Binding, Board, SchedulerDoor
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import extender_door
from tests.unit.schedule.tables import RULES, table

OWNER = {"kind": "StatefulSet", "name": "db", "uid": "owner", "controller": True}
POD: dict[str, Any] = {
    "metadata": {"name": "db-0", "namespace": "shop", "uid": "u", "ownerReferences": [OWNER]},
    "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "200m"}}}]},
}
STEERING = Steering(pod="db-0", keeps_name=True, source="a", target="b")


@dataclass
class Scheduler:
    """Which keeps its connection, as kube-scheduler does."""

    connection: http.client.HTTPConnection
    board: Board

    def post(
        self, path: str, sent: bytes | dict[str, Any], method: str = "POST"
    ) -> tuple[int, Any]:
        content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        self.connection.request(method, path, content)
        answer = self.connection.getresponse()
        text = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode()

    def filter(self, *names: str, pod: dict[str, Any] = POD) -> Any:  # noqa: ANN401
        status, found = self.post("/filter", {"Pod": pod, "Nodes": None, "NodeNames": names})
        assert status == 200, found
        return found

    def scores(self, *names: str) -> dict[str, int]:
        status, found = self.post("/prioritize", {"Pod": POD, "NodeNames": names})
        assert status == 200, found
        return {each["Host"]: each["Score"] for each in found}


class Bound:
    def __init__(self) -> None:
        self.asked: list[Binding] = []
        self.problem = ""

    async def bind(self, wanted: Binding) -> None:
        self.asked.append(wanted)
        if self.problem:
            raise ReschedulerError(self.problem)


@contextmanager
def scheduler(
    known: NodeTable | None = None,
    *,
    verbs: tuple[str, ...] = ("filter", "score"),
    bound: Bound | None = None,
) -> Iterator[Scheduler]:
    board = Board(["pods"])
    if known is not None:
        board.publish_offer(Offer(known, RULES))
    settings = SchedulerDoor(
        settings=Extender(port=8082, tls=Tls()), verbs=verbs, bind=bound.bind if bound else None
    )
    door = replace(extender_door(board, settings), port=0)
    with listening([door]) as [(host, port)]:
        connection = http.client.HTTPConnection(host, port, timeout=10)
        try:
            yield Scheduler(connection, board)
        finally:
            connection.close()


def fresh(**more: Any) -> NodeTable:  # noqa: ANN401
    """As of now, for a server whose clock is the machine's."""
    from rescheduler.clock import SystemClock

    usage = {"a": (900, 0), "b": (100, 0), "c": (0, 0)}
    return table(usage, taken_at=SystemClock().monotonic(), **more)


def metric(board: Board, series: str) -> float:
    lines = [
        each for each in board.metrics().decode().splitlines() if each.startswith(f"{series} ")
    ]
    return float(lines[0].split()[-1])


def test_filter_and_scores_over_one_connection() -> None:
    with scheduler(fresh()) as asking:
        found = asking.filter("a", "b", "c")
        assert found["NodeNames"] == ["b", "c"]
        assert found["FailedNodes"]["a"].startswith("cpu requests 110.0 % with this pod")
        sock = asking.connection.sock
        scores = asking.scores("b", "c")
        assert scores["c"] >= scores["b"]
        assert asking.connection.sock is sock
        assert (
            metric(asking.board, 'rescheduler_extender_requests_total{result="ok",verb="filter"}')
            == 1
        )
        assert metric(asking.board, 'rescheduler_extender_refused_nodes_total{reason="load"}') == 1


def test_steering_is_counted() -> None:
    with scheduler(fresh(steering={"owner": [STEERING]})) as asking:
        assert asking.scores("a", "b", "c") == {"a": 0, "b": 10, "c": 0}
        asking.scores("a", "c")
        assert steered(asking) == (1, 1)


@pytest.mark.parametrize(
    ("left", "expected"), [(["b"], (1, 0)), (["a"], (0, 1)), (["b", "c"], (0, 0))]
)
def test_steering_is_counted_where_one_node_is_left_and_nobody_asks_for_scores(
    left: list[str], expected: tuple[float, ...]
) -> None:
    with scheduler(fresh(steering={"owner": [STEERING]})) as asking:
        assert asking.filter(*left)["NodeNames"] == left
        assert steered(asking) == expected


def steered(asking: Scheduler) -> tuple[float, ...]:
    name = "rescheduler_extender_steered_pods_total"
    results = ("steered", "not_steered")
    return tuple(metric(asking.board, f'{name}{{result="{each}"}}') for each in results)


def test_it_fails_open_until_something_is_known_and_when_that_is_old() -> None:
    for known in (None, replace(fresh(), taken_at=fresh().taken_at - 31)):
        with scheduler(known) as asking:
            assert asking.filter("a", "b")["NodeNames"] == ["a", "b"]
            assert asking.scores("a", "b") == {"a": 0, "b": 0}
            assert (
                metric(
                    asking.board, 'rescheduler_extender_requests_total{result="open",verb="filter"}'
                )
                == 1
            )


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"metadata": {}, "spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}},
        {"metadata": 1, "spec": 2},
        {"metadata": {"ownerReferences": 7}, "spec": {}},
        {"metadata": {}, "spec": {"containers": 7}},
    ],
)
def test_a_pod_that_makes_no_sense_passes_everywhere(pod: dict[str, Any]) -> None:
    with scheduler(fresh()) as asking:
        assert asking.filter("a", "b", pod=pod)["NodeNames"] == ["a", "b"]


def test_what_is_not_asked_for_in_the_right_way_is_told() -> None:
    with scheduler(fresh(), verbs=("filter",)) as asking:
        assert asking.post("/filter", b"{")[0] == 400
        assert asking.post("/prioritize", {})[0] == 404
        assert asking.post("/filter", b"", method="GET")[0] == 405
        assert asking.filter("b")["NodeNames"] == ["b"]


def test_bodies_are_bounded() -> None:
    with scheduler(fresh()) as asking:
        with pytest.raises(ConnectionError):
            asking.post("/filter", b"x" * (2**25 + 2**20))
        asking.connection.close()
        assert asking.filter("b")["NodeNames"] == ["b"]


# ---------------------------------------------------------------------- binding

BINDING = {"PodName": "db-0", "PodNamespace": "shop", "PodUID": "u", "Node": "b"}
ON_B = {"Pod": {**POD, "spec": {"containers": [{"resources": {"requests": {"cpu": "750m"}}}]}}}


def test_bound_and_an_overload_is_foreseen_once_for_a_burst() -> None:
    bound = Bound()
    called: list[str] = []
    with scheduler(fresh(), verbs=("filter", "preBind"), bound=bound) as asking:
        asking.board.call_for_a_pass = called.append
        assert asking.post("/bind", BINDING) == (200, {"Error": ""})
        assert called == []
        asking.post("/filter", {**ON_B, "NodeNames": ["b"]})
        asking.post("/bind", BINDING)
        asking.post("/bind", BINDING)
    assert bound.asked == [Binding("shop", "db-0", "u", "b")] * 3
    # Told in the same words, which whoever makes passes takes for one reason.
    assert set(called) == {"b will be above its threshold"}


def test_an_overload_is_foreseen_of_pods_that_we_were_not_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With preBind alone, a scheduler tells nothing of what they need."""
    monkeypatch.setattr("rescheduler.serve.extender.answering._HEARD_SECONDS", 0.3)
    called: queue.Queue[str] = queue.Queue()
    with scheduler(fresh(), verbs=("preBind",), bound=Bound()) as asking:
        asking.board.call_for_a_pass = called.put
        for _ in range(3):
            asking.post("/bind", BINDING)
        asking.post("/bind", {**BINDING, "Node": "unheard-of"})
        asking.post("/bind", {**BINDING, "Node": "c"})
        assert called.empty()
        full = table({"a": (0, 0), "b": (900, 0), "c": (0, 0)}, taken_at=fresh().taken_at)
        asking.board.publish_offer(Offer(full, RULES))
        assert called.get(timeout=30) == "b will be above its threshold"
    assert called.empty()


def test_why_it_is_not_bound_is_told() -> None:
    bound = Bound()
    bound.problem = "it is on c already"
    with scheduler(fresh(), verbs=("preBind",), bound=bound) as asking:
        assert asking.post("/bind", BINDING) == (200, {"Error": "it is on c already"})
        assert asking.post("/bind", {"PodName": "x"})[0] == 400
