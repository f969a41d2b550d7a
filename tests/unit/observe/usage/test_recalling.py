"""The days before, as Prometheus remembers them: piece by piece, and by the names of pods."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from structlog.testing import capture_logs

from rescheduler.config import PrometheusSettings
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.recalling import STEM, Recalling, of_workloads, workloads_by_stem
from rescheduler.observe.usage.rhythms import SLOT_SECONDS, Rhythms
from rescheduler.prometheus import Course, PrometheusError
from tests.unit.observe.usage.scenes import Pod, placement
from tests.unit.observe.usage.test_rhythms import MIDNIGHT, ahead, daily

NOW = MIDNIGHT + 3 * 86400.0
WEB = "shop/Deployment/web"


def cluster(*names: str, workloads: Sequence[str] = (WEB,)) -> Placement:
    """A workload for each pod."""
    pods = [Pod(name=name, node="a", owner=number) for number, name in enumerate(names)]
    return replace(placement(["a"], pods), workloads=lambda: dict(enumerate(workloads)))


ONE = cluster("web-7d9c5b6f4d-x2k4p")


class Remembering:
    """A Prometheus that remembers the load of every moment, and may be out of order."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float, float, float]] = []
        self.is_down = False

    async def query_range(
        self, query: str, labels: Sequence[str], *, begin: float, end: float, step_seconds: float
    ) -> list[Course]:
        assert tuple(labels) == ("namespace", "workload")
        self.asked.append((query, begin, end, step_seconds))
        if self.is_down:
            raise PrometheusError("no answer within 10 s (usage.prometheus.timeout)")
        at = np.arange(begin, end + 1, step_seconds)
        # As of its end, the mean of a slot; in cores.
        middle = (at - step_seconds / 2 - MIDNIGHT) / 3600
        values = np.array([daily(hours) / 1000 for hours in middle])
        return [
            Course(name="ns/web", at=at, values=values),
            Course(name="ns/strange", at=at, values=values),
        ]


def recalling(past: Remembering, rhythms: Rhythms, days: int = 3) -> Recalling:
    return Recalling(past, PrometheusSettings(url="http://p"), rhythms, days)


async def test_all_days_come_piece_by_piece_the_newest_first() -> None:
    past, rhythms = Remembering(), Rhythms(3)
    recall = recalling(past, rhythms)
    for number in range(20):
        await recall.recall(ONE, NOW + 30 * number)
    assert len(past.asked) == 3 * 2 * 2  # days, halves of them, cpu and memory
    ends = [end for _, _, end, _ in past.asked]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] == NOW
    assert {step for *_, step in past.asked} == {SLOT_SECONDS}
    assert past.asked[-1][1] == NOW - 3 * 86400 + SLOT_SECONDS
    found = ahead(rhythms, 72, daily(72))
    assert found is not None
    assert found.days == 3
    assert rhythms.workloads == [WEB]


async def test_a_question_without_an_answer_is_told_once_and_asked_again_after_an_hour() -> None:
    past, rhythms = Remembering(), Rhythms(2)
    recall = recalling(past, rhythms, days=2)
    past.is_down = True
    with capture_logs() as logs:
        for number in range(200):
            await recall.recall(ONE, NOW + 30 * number)
    assert len(past.asked) == 2
    (line,) = logs
    assert line["log_level"] == "warning"
    assert line["because"].endswith("(asked for usage.prometheus.podCpuQuery of the days before)")
    past.is_down = False
    with capture_logs() as logs:
        for number in range(400):
            await recall.recall(ONE, NOW + 6000 + 30 * number)
    assert len(past.asked) == 2 + 2 * 2 * 2
    (line,) = logs
    assert line["event"] == "loads of the days before are known"
    assert (line["workloads"], line["repeat"]) == (1, 1)


async def test_nothing_is_asked_while_pods_are_not_seen() -> None:
    past = Remembering()
    await recalling(past, Rhythms(2)).recall(replace(ONE, unseen="pods"), NOW)
    assert not past.asked


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("web-7d9c5b6f4d-x2k4p", "web"),
        ("my-db-7d9c5b6f4d-x2k4p", "my-db"),
        ("kube-proxy-x2k4p", "kube-proxy"),
        ("my-db-x2k4p", "my-db"),
        ("db-0", "db"),
        ("db-12", "db"),
        ("bare", None),
    ],
)
def test_the_name_of_a_workload_is_in_the_names_of_its_pods(name: str, stem: str | None) -> None:
    found = re.fullmatch(STEM, name)
    assert (found[1] if found else None) == stem


def test_a_name_that_two_workloads_share_stands_for_neither() -> None:
    shared = cluster("web-0", "web-x2k4p", "db-0", workloads=["ns/S/web", "ns/D/web", "ns/S/db"])
    assert workloads_by_stem(shared) == {"ns/db": "ns/S/db"}


def test_pods_of_no_workload_have_no_name() -> None:
    bare = replace(placement(["a"], [Pod(name="db-0", node="a"), None]), workloads=lambda: {0: "x"})
    assert workloads_by_stem(bare) == {}


def test_the_query_asks_for_a_mean_pod_over_a_slot() -> None:
    query = of_workloads("some_query")
    assert query.startswith("avg_over_time((avg by (namespace, workload) (label_replace(some_query")
    assert query.endswith("[1800s:600s])")
