"""What sources say, as samples; and which of them is chosen."""

import asyncio
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.config import PrometheusSettings, UsageSettings
from rescheduler.kube import errors
from rescheduler.observe.usage.choosing import best_of
from rescheduler.observe.usage.history import History
from rescheduler.observe.usage.samples import Measured, Sample, identities
from rescheduler.observe.usage.sources.lists import Splitter
from rescheduler.observe.usage.sources.metrics_server import Columns, NoFigures
from rescheduler.observe.usage.sources.prometheus import PrometheusSource, averaged_seconds
from rescheduler.observe.usage.sources.requests import Requests
from rescheduler.prometheus import PrometheusError, Vector
from tests.unit.observe.usage.scenes import START, Pod, measured, placement


def by_name(figures: Measured, *names: str) -> list[tuple[float, ...]]:
    """Time, span, CPU and memory of each."""
    rows = dict(zip(figures.who.tolist(), range(len(figures)), strict=True))
    columns = (figures.at, figures.span, figures.cpu, figures.memory)
    return [
        tuple(float(column[rows[who]]) for column in columns) for who in identities(names).tolist()
    ]


# ---------------------------------------------------------------------- metrics-server


def node_metrics(name: str, **fields: Any) -> bytes:  # noqa: ANN401 - any JSON
    whole = {
        "metadata": {"name": name, "creationTimestamp": None},
        "timestamp": "2023-11-14T22:13:20Z",
        "window": "15.25s",
        "usage": {"cpu": "250000000n", "memory": "2048Ki"},
    }
    return json.dumps(whole | fields).encode()


def pod_metrics(name: str, *usages: Mapping[str, str]) -> bytes:
    return json.dumps(
        {
            "metadata": {"namespace": "ns", "name": name, "labels": {"a": "b"}},
            "timestamp": "2023-11-14T22:13:20Z",
            "window": "30s",
            "containers": [{"name": "c", "usage": usage} for usage in usages],
        },
    ).encode()


def test_metrics_of_a_node() -> None:
    columns = Columns()
    columns.add(node_metrics("a"))
    (found,) = by_name(columns.measured(), "a")
    assert found == pytest.approx((START, 15.25, 250, 2048 * 1024))


def test_metrics_of_a_pod_are_the_sum_of_its_containers() -> None:
    columns = Columns()
    columns.add(pod_metrics("web", {"cpu": "1500u", "memory": "1Mi"}, {"cpu": "2", "memory": "1k"}))
    (found,) = by_name(columns.measured(), "ns/web")
    assert found == pytest.approx((START, 30, 2001.5, 2**20 + 1000))


@pytest.mark.parametrize(
    ("usage", "cpu", "memory"),
    [
        ({"cpu": "0", "memory": "0"}, 0, 0),
        ({"cpu": "3m", "memory": "5"}, 3, 5),
        ({"cpu": "1.5", "memory": "1e3"}, 1500, 1000),
        ({"cpu": "-5n", "memory": "1Ki"}, -5e-6, 1024),
        ({"cpu": "1"}, 1000, math.nan),
        ({}, math.nan, math.nan),
    ],
)
def test_quantities(usage: Mapping[str, str], cpu: float, memory: float) -> None:
    columns = Columns()
    columns.add(pod_metrics("web", usage))
    (found,) = by_name(columns.measured(), "ns/web")
    assert found[2:] == pytest.approx((cpu, memory), nan_ok=True)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"window": "long"}, "a number is missing"),
        ({"window": ""}, "empty"),
        ({"timestamp": None}, "Invalid isoformat"),
        ({"timestamp": "yesterday"}, "Invalid isoformat"),
        ({"usage": {"cpu": "much", "memory": "1Ki"}}, "'much' is not a Kubernetes quantity"),
        ({"usage": {"cpu": 5}}, "Expected `str`, got `int`"),
        ({"metadata": {}}, "missing required field `name`"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_shown(fields: dict[str, Any], part: str) -> None:
    columns = Columns()
    columns.add_all([node_metrics("a", **fields), node_metrics("b"), b"{"])
    assert len(columns.measured()) == 1
    assert columns.refused == 2
    assert columns.first_refused.startswith('{"metadata": {')
    assert part in columns.first_refused


def test_of_a_node_that_comes_twice_the_last_counts() -> None:
    columns = Columns()
    for cpu in ("1", "2"):
        columns.add(node_metrics("a", usage={"cpu": cpu, "memory": "1Ki"}))
        columns.add(node_metrics(f"other-{cpu}"))
    figures = columns.measured()
    assert len(figures) == 3
    assert by_name(figures, "a")[0][2] == 2000


# ---------------------------------------------------------------------- lists in pieces

# Texts in which something looks like the border between two objects.
texts = st.text(max_size=8) | st.sampled_from(['},{"metadata":', '"items":[{"metadata":', "}]}"])
rest = st.fixed_dictionaries(
    {}, optional={"window": texts, "containers": st.lists(st.fixed_dictionaries({"name": texts}))}
)
objects = st.tuples(texts, rest).map(lambda parts: {"metadata": {"name": parts[0]}, **parts[1]})


def in_pieces(document: bytes, sizes: Iterable[int]) -> list[Any]:
    splitter = Splitter()
    found: list[bytes] = []
    for size in sizes:
        found += splitter.feed(document[:size])
        document = document[size:]
    found += splitter.feed(document)
    found += splitter.finish()
    return [json.loads(each) for each in found]


@given(
    st.lists(objects, max_size=5),
    st.lists(st.integers(0, 60)),
    st.sampled_from([(",", ":"), (", ", ": ")]),
    st.booleans(),
)
def test_a_list_cut_into_any_pieces_gives_its_objects(
    items: list[dict[str, Any]],
    sizes: list[int],
    separators: tuple[str, str],
    metadata_last: bool,  # noqa: FBT001 - hypothesis hands it in by place
) -> None:
    document: dict[str, Any] = {"kind": "PodMetricsList", "metadata": {}, "items": items}
    if metadata_last:
        document["metadata"] = document.pop("metadata")
        separators = (", ", ": ")
    encoded = json.dumps(document, separators=separators).encode() + b"\n"
    assert in_pieces(encoded, sizes) == items


def test_no_more_than_a_piece_is_held() -> None:
    splitter, count = Splitter(), 0
    one = node_metrics("a").replace(b" ", b"")
    head = b'{"kind":"NodeMetricsList","metadata":{},"items":['
    for _ in splitter.feed(head + one):
        count += 1
    for _ in range(1000):
        count += len(list(splitter.feed(b"," + one)))
        assert len(splitter) < 3 * len(one)
    count += len(list(splitter.feed(b"]}")))
    assert count + len(list(splitter.finish())) == 1001


@pytest.mark.parametrize("items", ["[]", "null"])
def test_an_empty_list(items: str) -> None:
    assert in_pieces(b'{"metadata":{},"items":' + items.encode() + b"}", []) == []


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"no JSON",
        b'{"items":5}',
        b'{"items":[{"metadata":{"name":"a"}}',
        b'{"items":[{"metadata":{"name":"a"}},{"metadata":{"na',
        b'{"items":[',
    ],
)
def test_what_is_no_list_or_is_cut_off_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match="list"):
        in_pieces(document, [])


# ---------------------------------------------------------------------- Prometheus


class Door:
    """Answers queries with vectors, given by the query."""

    def __init__(self, **answers: Mapping[str, float] | Exception) -> None:
        self.answers = answers
        self.asked: list[tuple[str, tuple[str, ...], float]] = []

    async def query(
        self,
        query: str,
        labels: Sequence[str],
        *,
        identify: Callable[[str], int],
        oldest_seconds: float,
    ) -> Vector:
        self.asked.append((query, tuple(labels), oldest_seconds))
        answer = self.answers.get(query.split("[", maxsplit=1)[0], {})
        if isinstance(answer, Exception):
            raise answer
        return Vector(
            who=np.array([identify(name) for name in answer], np.int64),
            values=np.array(list(answer.values()), np.float64),
            at=START,
            findings={"warning": f"warning: 1, such as {query}"} if query == "odd" else {},
        )


QUERIES = PrometheusSettings(
    url="http://prometheus",
    node_cpu_query="node_cpu[2m]",
    node_memory_query="node_memory",
    node_timestamp_query="node_time",
    pod_cpu_query="pod_cpu[1m30s]",
    pod_memory_query="pod_memory",
)
COMPLETE: dict[str, Mapping[str, float]] = {
    "node_cpu": {"a": 1.5, "b": 2.0},
    "node_memory": {"b": 200.0, "a": 100.0},
    "node_time": {"a": START - 20, "b": START - 500},
    "pod_cpu": {"ns/web": 0.25, "ns/cpu-only": 1},
    "pod_memory": {"ns/memory-only": 1, "ns/web": 50},
}


async def read_from(door: Door, settings: PrometheusSettings = QUERIES) -> Sample:
    source = PrometheusSource(door, UsageSettings(prometheus=settings))
    return await source.read()


async def test_a_sample_from_prometheus() -> None:
    door = Door(**COMPLETE)
    sample = await read_from(door)
    assert by_name(sample.nodes, "a", "b") == [
        (START - 20, 120, 1500, 100),
        (START - 500, 120, 2000, 200),
    ]
    assert by_name(sample.pods, "ns/web") == [(START, 90, 250, 50)]
    assert len(sample.pods) == 1
    assert sample.findings == {}
    assert {labels for query, labels, _ in door.asked if query.startswith("pod")} == {
        ("namespace", "pod")
    }
    assert {oldest for _, _, oldest in door.asked} == {180}


async def test_an_exporter_that_got_stuck_is_noticed_by_the_time_of_its_samples() -> None:
    sample = await read_from(Door(**COMPLETE))
    history = History(UsageSettings(debounce=1), "prometheus")
    history.add(sample, START)
    usage = history.usage(placement(["a", "b"], [Pod(name="web", node="a")]), START)
    assert usage.unknown_nodes == {1: "its newest figure is 8m20s old"}


async def test_a_node_without_a_time_is_measured_no_more() -> None:
    sample = await read_from(Door(**COMPLETE | {"node_time": {"a": START - 20}}))
    times = [found[0] for found in by_name(sample.nodes, "a", "b")]
    assert times == pytest.approx([START - 20, math.nan], nan_ok=True)
    assert sample.findings == {}


async def test_without_any_time_figures_count_as_of_the_answer_and_that_is_told() -> None:
    sample = await read_from(Door(**COMPLETE | {"node_time": {}}))
    assert [found[0] for found in by_name(sample.nodes, "a", "b")] == [START, START]
    assert "an exporter that is stuck is not noticed" in sample.findings["no timestamps"]


async def test_without_a_query_for_times_nothing_is_asked_and_nothing_told() -> None:
    queries = PrometheusSettings(
        url="http://prometheus",
        node_cpu_query="node_cpu",
        node_memory_query="node_memory",
        node_timestamp_query="",
        pod_cpu_query="pod_cpu",
        pod_memory_query="pod_memory",
    )
    door = Door(**COMPLETE)
    sample = await read_from(door, queries)
    assert by_name(sample.nodes, "a")[0][:2] == (START, 0)
    assert sample.findings == {}
    assert len(door.asked) == 4


async def test_half_a_figure_of_a_node_is_handed_on_as_unknown() -> None:
    sample = await read_from(Door(**COMPLETE | {"node_memory": {"a": 100.0}}))
    cpu, memory = by_name(sample.nodes, "b")[0][2:]
    assert cpu == 2000
    assert math.isnan(memory)


@pytest.mark.parametrize("query", ["node_cpu", "node_memory"])
async def test_no_figure_of_any_node_is_an_error_that_names_the_query(query: str) -> None:
    with pytest.raises(PrometheusError, match="gives no series with the label 'node'") as caught:
        await read_from(Door(**COMPLETE | {query: {}}))
    field = {"node_cpu": "nodeCpuQuery", "node_memory": "nodeMemoryQuery"}[query]
    assert field in str(caught.value)


async def test_no_figure_of_any_pod_is_told() -> None:
    sample = await read_from(Door(**COMPLETE | {"pod_memory": {}}))
    assert len(sample.pods) == 0
    assert "pods count by their requests" in sample.findings["no pods"]


async def test_a_refusal_names_the_query() -> None:
    door = Door(**COMPLETE | {"pod_cpu": PrometheusError("refuses: bad_data")})
    with pytest.raises(PrometheusError) as caught:
        await read_from(door)
    assert str(caught.value) == "refuses: bad_data (asked for usage.prometheus.podCpuQuery)"


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("up", 0),
        ("rate(x[5m])", 300),
        ("rate(x[ 1h30m ])", 5400),
        ("rate(x[90s]) or rate(y[1m])", 90),
        ("max_over_time(rate(x[1m])[10m:30s])", 600),
        ('x{a=~"[0-9]+"}', 0),
        ("rate(x[500ms])", 0.5),
        ("sum by (node) (irate(x[2m]))", 30),
        ("sum by (node) (irate(x[20s]))", 20),
        ("irate (x[2m]) or rate(y[1m])", 60),
        (PrometheusSettings().node_cpu_query, 30),
        (PrometheusSettings().pod_cpu_query, 30),
        (PrometheusSettings().node_memory_query, 0),
    ],
)
def test_over_how_long_a_query_averages(query: str, seconds: float) -> None:
    assert averaged_seconds(query, 30) == seconds


# ---------------------------------------------------------------------- the choice


class Says:
    def __init__(self, name: str, answer: Sample | Exception) -> None:
        self.name = name
        self.answer = answer

    async def read(self) -> Sample:
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


FIGURES = Sample(nodes=measured({"a": 100}, START))
ZEROS = Sample(nodes=measured({"a": 0}, START))
REFUSED = PrometheusError("connection refused")
NOT_SERVED = NoFigures("metrics.k8s.io is not served")
FORBIDDEN = errors.Forbidden("cannot list nodes", status=403)
NO_URL = "no usage.prometheus.url is configured"


@pytest.mark.parametrize(
    ("prometheus", "metrics_server", "chosen", "reason"),
    [
        (FIGURES, FIGURES, "prometheus", "prometheus answers with figures"),
        (
            REFUSED,
            FIGURES,
            "metrics-server",
            "metrics-server answers with figures; prometheus: connection refused",
        ),
        (None, FIGURES, "metrics-server", f"metrics-server answers with figures; {NO_URL}"),
        (
            None,
            NOT_SERVED,
            "requests",
            (
                f"nobody measures usage, so requests count; {NO_URL}; metrics-server: "
                "metrics.k8s.io is not served"
            ),
        ),
        (
            ZEROS,
            FORBIDDEN,
            "requests",
            (
                "nobody measures usage, so requests count; prometheus: it answers, but with no "
                "figure of a node that can be true; metrics-server: cannot list nodes"
            ),
        ),
    ],
)
async def test_auto_takes_the_first_that_answers_with_figures(
    prometheus: Sample | Exception | None,
    metrics_server: Sample | Exception,
    chosen: str,
    reason: str,
) -> None:
    candidates = {"metrics-server": Says("metrics-server", metrics_server)}
    if prometheus is not None:
        candidates = {"prometheus": Says("prometheus", prometheus), **candidates}
    choice = await best_of(candidates)
    assert choice.source.name == chosen
    assert choice.reason == reason


async def test_requests_have_nothing_to_say() -> None:
    sample = await Requests().read()
    assert len(sample.nodes) == len(sample.pods) == 0
