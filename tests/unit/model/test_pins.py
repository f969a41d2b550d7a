"""The pin that holds a copy on its target."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import pins

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PIN = {"key": "metadata.name", "operator": "In", "values": ["node-b"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
NOT_A = {"key": "metadata.name", "operator": "NotIn", "values": ["node-a"]}


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def _terms(spec: dict[str, Any]) -> Any:  # noqa: ANN401 - raw
    return spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"affinity": None},
        {"affinity": {}},
        {"affinity": {"nodeAffinity": None}},
        {"affinity": {"nodeAffinity": {}}},
        {"affinity": {"nodeAffinity": {REQUIRED: None}}},
        {"affinity": {"podAntiAffinity": {}}},
        {"affinity": {"nodeAffinity": {PREFERRED: []}}},
    ],
    ids=str,
)
def test_a_pod_that_may_run_anywhere_may_run_on_the_target_only(spec: dict[str, Any]) -> None:
    assert _terms(pins.add(spec, "node-b")) == [{"matchFields": [PIN]}]


def test_the_pin_goes_into_every_term() -> None:
    pinned = pins.add(_required({"matchExpressions": [ZONE]}, {"matchFields": [NOT_A]}), "node-b")
    assert _terms(pinned) == [
        {"matchExpressions": [ZONE], "matchFields": [PIN]},
        {"matchFields": [NOT_A, PIN]},
    ]


@pytest.mark.parametrize("empty", [{}, {"matchExpressions": []}, {"matchFields": None}], ids=str)
def test_a_term_that_matches_no_node_matches_none_afterwards(empty: dict[str, Any]) -> None:
    spec = _required(empty, {"matchExpressions": [ZONE]})
    pinned = pins.add(spec, "node-b")
    assert _terms(pinned)[0] == empty
    assert pins.target(pinned) == "node-b"
    assert pins.remove(pinned) == spec


def test_the_specification_that_was_given_stays_as_it_was() -> None:
    spec = _required({"matchExpressions": [ZONE]})
    before = copy.deepcopy(spec)
    pins.remove(pins.add(spec, "node-b"))
    assert spec == before


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"affinity": None},
        {"affinity": {}},
        _required({"matchExpressions": [ZONE]}),
        _required(),
    ],
    ids=str,
)
def test_without_a_pin_there_is_no_target_and_nothing_to_remove(spec: dict[str, Any]) -> None:
    assert pins.target(spec) is None
    assert pins.remove(spec) == spec


expressions = st.lists(st.sampled_from([ZONE, {"key": "ssd", "operator": "Exists"}]), max_size=2)
fields = st.lists(st.sampled_from([NOT_A, PIN]), max_size=2)
terms = st.fixed_dictionaries({}, optional={"matchExpressions": expressions, "matchFields": fields})
required = st.lists(terms, min_size=1, max_size=3).map(lambda each: {"nodeSelectorTerms": each})
node_affinities: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={REQUIRED: st.none() | required, PREFERRED: st.just([{"weight": 1}])}
)
affinities: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.none() | node_affinities,
        "podAffinity": st.just({PREFERRED: []}),
    },
)
specs: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"containers": st.just([])}, optional={"affinity": st.none() | affinities}
)


def _without_nothing(spec: Any) -> Any:  # noqa: ANN401 - raw
    """Less what is null or empty, which means the same as absent, but for terms of a list."""
    if isinstance(spec, list):
        return [_without_nothing(each) for each in spec]
    if not isinstance(spec, dict):
        return spec
    cleaned = {key: _without_nothing(value) for key, value in spec.items()}
    return {key: value for key, value in cleaned.items() if value not in (None, {}, [])}


@given(specs, st.sampled_from(["node-b", "x"]))
def test_removing_undoes_adding(spec: dict[str, Any], node: str) -> None:
    assert _without_nothing(pins.remove(pins.add(spec, node))) == _without_nothing(spec)


@given(specs)
def test_no_term_of_a_pinned_specification_allows_another_node(spec: dict[str, Any]) -> None:
    pinned = pins.add(spec, "node-b")
    for term in _terms(pinned):
        assert PIN in (term.get("matchFields") or []) or not any(term.values())


@pytest.mark.parametrize(
    ("pod", "owner", "ours"),
    [
        ("web-7c9f4-0a1b2c3d4e", "web-7c9f4", True),
        ("web-7c9f4-x7k2p", "web-7c9f4", False),
        ("web-7c9f4-0a1b2c3d4e", "db-7c9f4", False),
        ("a" * 52 + "-0a1b2c3d4e", "a" * 60, True),
        ("rescheduled-cache-20261115t103045z", "", True),
        ("rescheduled-cache", "", False),
        ("web-0a1b2c3d4e", "", False),
    ],
)
def test_a_copy_is_known_by_its_name_when_its_history_was_taken_off(
    pod: str, owner: str, *, ours: bool
) -> None:
    assert pins.is_name_of_copy(pod, owner) is ours
