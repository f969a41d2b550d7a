"""What the scheduler reserves for a pod, one rule at a time. All of them together meet the real
scheduler in tests/cluster/test_exact_requests.py.
"""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import resources


def _container(restart: str | None = None, **requests: str | None) -> dict[str, Any]:
    container: dict[str, Any] = {"resources": {"requests": requests}}
    return container | ({"restartPolicy": restart} if restart else {})


def _sidecar(**requests: str) -> dict[str, Any]:
    return _container("Always", **requests)


PODS = [
    pytest.param({"containers": []}, {}, id="nothing"),
    pytest.param({"containers": [{}, {"resources": None}]}, {}, id="no-requests"),
    pytest.param(
        {"containers": [_container(cpu="100m", memory="1Mi"), _container(cpu="1")]},
        {"cpu": 1100, "memory": 2**20},
        id="sum-of-containers",
    ),
    pytest.param(
        {"containers": [_container(cpu="1")], "initContainers": [_container(cpu="3", memory="5")]},
        {"cpu": 3000, "memory": 5},
        id="a-larger-init-step",
    ),
    pytest.param(
        {
            "containers": [_container(cpu="1")],
            "initContainers": [_container(cpu="2"), _container(cpu="2")],
        },
        {"cpu": 2000},
        id="init-steps-follow-one-another",
    ),
    pytest.param(
        {"containers": [_container(cpu="2")], "initContainers": [_sidecar(cpu="1")]},
        {"cpu": 3000},
        id="a-sidecar-runs-beside",
    ),
    pytest.param(
        {
            "containers": [_container(cpu="1")],
            "initContainers": [_sidecar(cpu="1"), _container(cpu="4")],
        },
        {"cpu": 5000},
        id="a-sidecar-before-an-init-step",
    ),
    pytest.param(
        {
            "containers": [_container(cpu="1")],
            "initContainers": [_container(cpu="4"), _sidecar(cpu="1")],
        },
        {"cpu": 4000},
        id="a-sidecar-after-an-init-step",
    ),
    pytest.param(
        {
            "containers": [_container(cpu="1", memory="10", **{"example.com/gpu": "1"})],
            "resources": {"requests": {"cpu": "500m", "hugepages-2Mi": "4Mi"}},
        },
        {"cpu": 500, "memory": 10, "example.com/gpu": 1, "hugepages-2Mi": 2**22},
        id="pod-level-in-place-of-what-they-name",
    ),
    pytest.param(
        {
            "containers": [_container(**{"example.com/gpu": "1"})],
            "resources": {"requests": {"example.com/gpu": "9", "ephemeral-storage": "9"}},
        },
        {"example.com/gpu": 1},
        id="pod-level-of-cpu-memory-and-hugepages-only",
    ),
    pytest.param(
        {
            "containers": [_container(cpu="1")],
            "resources": {"requests": {"cpu": "2"}},
            "overhead": {"cpu": "250m", "memory": "64"},
        },
        {"cpu": 2250, "memory": 64},
        id="overhead-on-top",
    ),
    pytest.param(
        {"containers": [_container(memory="0.3Gi"), _container(memory="0.3Gi")]},
        {"memory": 644245095},
        id="rounded-up-once",
    ),
    pytest.param(
        {"containers": [_container(cpu="1")], "initContainers": None, "overhead": None},
        {"cpu": 1000},
        id="nulls",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), PODS)
def test_requests_of_a_pod(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert resources.of_pod(spec) == {**expected, "pods": 1}


# ---------------------------------------------------------------------- in the middle of a resize


def _named(name: str, **requests: str | None) -> dict[str, Any]:
    return {"name": name, **_container(**requests)}


def _seen(name: str, actual: Any, allocated: Any = None) -> dict[str, Any]:  # noqa: ANN401
    return {"name": name, "resources": actual, "allocatedResources": allocated}


ASKED = {"containers": [_named("app", cpu="2", memory="10")]}
GRANTED = _seen("app", {"requests": {"cpu": "1", "memory": "20"}}, {"cpu": "3"})
INFEASIBLE = [{"type": "Ready"}, {"type": "PodResizePending", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "reason": "Deferred"}]
OF_THE_WHOLE = {"resources": {"requests": {"cpu": "2", "memory": "10"}}, "containers": []}
ACTUAL = {"requests": {"cpu": "1"}}

RESIZED = [
    pytest.param(ASKED, {}, {"cpu": 2000, "memory": 10}, id="nothing-reported"),
    pytest.param(
        ASKED,
        {"containerStatuses": [GRANTED]},
        {"cpu": 3000, "memory": 20},
        id="the-most-of-all",
    ),
    pytest.param(
        ASKED,
        {"containerStatuses": [GRANTED], "conditions": DEFERRED},
        {"cpu": 3000, "memory": 20},
        id="deferred-may-come-at-any-time",
    ),
    pytest.param(
        ASKED,
        {"containerStatuses": [_seen("app", ACTUAL)], "conditions": INFEASIBLE},
        {"cpu": 1000},
        id="infeasible-never-comes",
    ),
    pytest.param(
        ASKED,
        {"containerStatuses": [_seen("app", None, {"cpu": "9"})], "conditions": INFEASIBLE},
        {"cpu": 2000, "memory": 10},
        id="a-kubelet-that-reports-no-resources-knows-no-resize",
    ),
    pytest.param(
        ASKED,
        {"containerStatuses": [_seen("app", {}, {"cpu": "9"})]},
        {"cpu": 9000, "memory": 10},
        id="resources-that-are-empty",
    ),
    pytest.param(
        ASKED,
        {"containerStatuses": [_seen("other", {"requests": {"cpu": "9"}})]},
        {"cpu": 2000, "memory": 10},
        id="of-a-container-that-is-not-there",
    ),
    pytest.param(
        {"containers": [], "initContainers": [_named("s", cpu="1") | {"restartPolicy": "Always"}]},
        {"initContainerStatuses": [_seen("s", {"requests": {"cpu": "2"}})]},
        {"cpu": 2000},
        id="a-sidecar",
    ),
    pytest.param(
        {"containers": [], "initContainers": [_named("once", cpu="1")]},
        {"initContainerStatuses": [_seen("once", {"requests": {"cpu": "2"}})]},
        {"cpu": 1000},
        id="not-a-container-that-ends",
    ),
    pytest.param(
        OF_THE_WHOLE,
        {"resources": ACTUAL, "allocatedResources": {"cpu": "5"}},
        {"cpu": 5000, "memory": 10},
        id="of-the-whole-pod",
    ),
    pytest.param(
        OF_THE_WHOLE,
        {"resources": ACTUAL, "conditions": INFEASIBLE},
        {"cpu": 1000, "memory": 0},
        id="of-the-whole-pod-infeasible",
    ),
    pytest.param(
        OF_THE_WHOLE,
        {"allocatedResources": {"cpu": "5"}},
        {"cpu": 2000, "memory": 10},
        id="of-the-whole-pod-not-reported",
    ),
    pytest.param(
        {"containers": [_named("app", cpu="1")]},
        {"resources": {"requests": {"cpu": "5"}}},
        {"cpu": 1000},
        id="of-a-whole-pod-that-asked-for-nothing",
    ),
]


@pytest.mark.parametrize(("spec", "status", "expected"), RESIZED)
def test_requests_of_a_resized_pod(
    spec: dict[str, Any], status: dict[str, Any], expected: dict[str, int]
) -> None:
    assert resources.of_pod(spec, status) == {**expected, "pods": 1}


# ---------------------------------------------------------------------- what is made of a template


def _limited(limits: dict[str, str], **requests: str) -> dict[str, Any]:
    return {"resources": {"limits": limits, "requests": requests}}


TEMPLATES = [
    pytest.param(
        {
            "containers": [_limited({"cpu": "2", "memory": "9"}, cpu="1")],
            "initContainers": [_limited({"memory": "99"})],
        },
        None,
        {"cpu": 1000, "memory": 99},
        id="a-limit-without-a-request",
    ),
    pytest.param(
        {"containers": [_container(cpu="1")], **_limited({"cpu": "5", "memory": "7"})},
        None,
        {"cpu": 1000, "memory": 7},
        id="a-limit-of-the-whole-pod-where-no-container-asks",
    ),
    pytest.param(
        {"containers": [_container(cpu="1")], **_limited({"cpu": "5"}, cpu="3")},
        None,
        {"cpu": 3000},
        id="a-request-of-the-whole-pod",
    ),
    pytest.param(
        {
            "containers": [_limited({"hugepages-2Mi": "2Mi"})],
            **_limited({"hugepages-2Mi": "4Mi"}),
        },
        None,
        {"hugepages-2Mi": 2**22},
        id="huge-pages-are-not-shared-out",
    ),
    pytest.param(
        {"containers": [], **_limited({"example.com/gpu": "1"})},
        None,
        {},
        id="no-limit-of-the-whole-pod-on-devices",
    ),
    pytest.param(
        {"containers": [_container(cpu="1")]},
        {"cpu": "0.0001"},
        {"cpu": 1001},
        id="the-overhead-of-its-runtime-class",
    ),
]


@pytest.mark.parametrize(("spec", "overhead", "expected"), TEMPLATES)
def test_requests_of_a_template(
    spec: dict[str, Any], overhead: dict[str, str] | None, expected: dict[str, int]
) -> None:
    before = str(spec)
    assert resources.of_template(spec, overhead) == {**expected, "pods": 1}
    assert str(spec) == before


# ---------------------------------------------------------------------- malformed and absurd


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        (
            {"containers": [_named("app", cpu="much")]},
            {},
            "containers[app]: requests.cpu: 'much' is not a Kubernetes quantity",
        ),
        (
            {"containers": [_named("app", memory="-1")]},
            {},
            "containers[app]: requests.memory: -1 is negative",
        ),
        (
            {"containers": [], "initContainers": [_named("first", cpu="")]},
            {},
            "initContainers[first]: requests.cpu: '' is not",
        ),
        ({"containers": [], "resources": {"requests": {"cpu": "x"}}}, {}, "the pod: requests.cpu"),
        ({"containers": [], "overhead": {"memory": "-1Mi"}}, {}, "overhead.memory: -1Mi is neg"),
        (
            ASKED,
            {"containerStatuses": [_seen("app", {"requests": {"cpu": "x"}})]},
            "status of containers[app].resources.requests.cpu: 'x'",
        ),
        (
            ASKED,
            {"containerStatuses": [_seen("app", {}, {"cpu": "-1"})]},
            "status of containers[app].allocatedResources.cpu: -1 is negative",
        ),
        ({"containers": [_named("app", cpu=None)]}, {}, "containers[app]: requests.cpu: None"),
    ],
)
def test_what_is_wrong_is_named(spec: dict[str, Any], status: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        resources.of_pod(spec, status)


@pytest.mark.parametrize("amount", ["1E", "99Ei", "1e999999999", str(2**55)])
@pytest.mark.parametrize("name", ["cpu", "memory", "example.com/gpu"])
def test_an_absurd_amount_is_capped_and_fits_nowhere(name: str, amount: str) -> None:
    spec = {"containers": [_container(**{name: amount})] * 3}
    assert resources.of_pod(spec)[name] == resources.LARGEST
    assert resources.read({name: amount})[name] < resources.LARGEST
    assert 255 * resources.LARGEST < 2**63


@pytest.mark.parametrize("amount", ["-1", "-1m", "many"])
def test_a_node_cannot_have(amount: str) -> None:
    with pytest.raises(ValueError, match="memory: "):
        resources.read({"cpu": "1", "memory": amount})


COUNTED = {
    "cpu": True,
    "memory": True,
    "ephemeral-storage": True,
    "hugepages-1Gi": True,
    "attachable-volumes-csi-x": True,
    "example.com/gpu": True,
    "kubernetes.io/batch-cpu": True,
    "deviceclass.resource.kubernetes.io/gpu": True,
    "storage": False,
    "gpu": False,
    "requests.example.com/gpu": False,
    "example.com/-": False,
    "Example.com/gpu": False,
    "example.com/a/b": False,
    "a" * 245 + "/gpu": False,
    "a" * 244 + "/gpu": True,
}


@pytest.mark.parametrize(("name", "counted"), COUNTED.items())
def test_names_that_the_scheduler_counts(name: str, *, counted: bool) -> None:
    expected = {name: 1} if counted else {}
    amount = "1m" if name == "cpu" else "1"
    assert resources.read({name: amount}) == expected
    spec = {"containers": [_container(**{name: amount})]}
    assert resources.of_pod(spec) == {**expected, "pods": 1}


def test_a_pod_is_one_pod_whatever_it_asks_for() -> None:
    assert resources.of_pod({"containers": [_container(pods="7")]}) == {"pods": 1}


def test_amounts_are_read_with_cpu_in_thousandths() -> None:
    amounts = {"cpu": "1.5", "memory": "1023.1", "pods": "110", "example.com/gpu": 2}
    expected = {"cpu": 1500, "memory": 1024, "pods": 110, "example.com/gpu": 2}
    assert resources.read(amounts) == expected


@pytest.mark.parametrize(
    ("name", "amount", "words"),
    [
        ("cpu", 0, "0"),
        ("cpu", 2000, "2"),
        ("cpu", 1500, "1500m"),
        ("memory", 512, "512"),
        ("memory", 2**30, "1Gi"),
        ("memory", 3 * 2**29, "1.5Gi"),
        ("ephemeral-storage", 5 * 2**20, "5Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("pods", 110, "110"),
        ("example.com/gpu", 8, "8"),
    ],
)
def test_amounts_are_written_as_people_do(name: str, amount: int, words: str) -> None:
    assert resources.in_words(name, amount) == words


def test_no_amounts_are_none() -> None:
    assert resources.read(None) == {}


amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), st.integers(0, 99))


@given(st.lists(amounts, max_size=4))
def test_sums_and_maxima(several: list[dict[str, int]]) -> None:
    total, most = resources.add(*several), resources.largest(several)
    for name in ("cpu", "memory", "pods"):
        of_each = [each.get(name, 0) for each in several]
        assert total.get(name, 0) == sum(of_each)
        assert most.get(name, 0) == max(of_each, default=0)
