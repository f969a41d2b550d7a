"""nodeSelector and required node affinity. The tables follow k8s.io/component-helpers v0.36.4."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import node_affinity

LABELS = {"zone": "x", "cores": "16", "odd": "1_0", "empty": ""}
NAME = "b"


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _labels(*given: str) -> dict[str, Any]:
    return {"matchExpressions": [_requirement(*given)]}


def _fields(*given: str) -> dict[str, Any]:
    return {"matchFields": [_requirement(*given)]}


def allows(spec: dict[str, Any]) -> bool:
    return node_affinity.required(spec).allows(LABELS, NAME)


TERMS = [
    (_labels("zone", "In", "x", "y"), True),
    (_labels("zone", "In", "y"), False),
    (_labels("none", "In", "x"), False),
    (_labels("zone", "In"), False),
    (_labels("zone", "NotIn", "y"), True),
    (_labels("zone", "NotIn", "x"), False),
    (_labels("none", "NotIn", "x"), True),
    (_labels("none", "NotIn"), False),
    (_labels("zone", "Exists"), True),
    (_labels("empty", "Exists"), True),
    (_labels("none", "Exists"), False),
    (_labels("zone", "Exists", "x"), False),
    (_labels("none", "DoesNotExist"), True),
    (_labels("empty", "DoesNotExist"), False),
    (_labels("cores", "Gt", "15"), True),
    (_labels("cores", "Gt", "16"), False),
    (_labels("cores", "Lt", "17"), True),
    (_labels("cores", "Lt", "16"), False),
    (_labels("zone", "Gt", "1"), False),
    (_labels("none", "Lt", "1"), False),
    (_labels("odd", "Gt", "5"), False),
    (_labels("cores", "Gt", "abc"), False),
    (_labels("cores", "Gt"), False),
    (_labels("zone", "Like", "x"), False),
    (_labels("zone", "NotIn", "no label value"), False),
    (_labels("-", "DoesNotExist"), False),
    (_fields("metadata.name", "In", "b"), True),
    (_fields("metadata.name", "In", "c"), False),
    (_fields("metadata.name", "In", "b", "c"), False),
    (_fields("metadata.name", "In"), False),
    (_fields("metadata.name", "NotIn", "b"), False),
    (_fields("metadata.name", "NotIn", "c"), True),
    (_fields("metadata.name", "Exists"), False),
    (_fields("spec.other", "In", "b"), False),
    (_fields("spec.other", "NotIn", "b"), True),
    ({}, False),
    ({"matchExpressions": [], "matchFields": None}, False),
    (_labels("zone", "Exists") | _fields("metadata.name", "In", "b"), True),
    (_labels("zone", "Exists") | _fields("metadata.name", "In", "c"), False),
    (_labels("none", "Exists") | _fields("metadata.name", "In", "b"), False),
]


@pytest.mark.parametrize(("term", "matches"), TERMS, ids=str)
def test_a_term(term: dict[str, Any], *, matches: bool) -> None:
    assert allows(_affinity(term)) is matches


YES, NO, WRONG = _labels("zone", "Exists"), _labels("none", "Exists"), _labels("zone", "Like")


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({}, True),
        ({"affinity": None, "nodeSelector": None}, True),
        ({"affinity": {"nodeAffinity": None}}, True),
        (_affinity(NO, YES), True),
        (_affinity(NO, NO), False),
        (_affinity({}, NO), False),
        (_affinity({}, YES), True),
        (_affinity(WRONG, YES), True),
        (_affinity(), False),
        ({"nodeSelector": {"zone": "x", "empty": ""}}, True),
        ({"nodeSelector": {"zone": "x", "none": ""}}, False),
        ({"nodeSelector": {"zone": "y"}}, False),
        ({"nodeSelector": {"zone": "x"}, **_affinity(NO)}, False),
        ({"nodeSelector": {"zone": "y"}, **_affinity(YES)}, False),
    ],
    ids=str,
)
def test_terms_are_alternatives_and_all_else_is_needed(
    spec: dict[str, Any], *, allowed: bool
) -> None:
    assert allows(spec) is allowed


def test_why_not() -> None:
    selector = node_affinity.required({"nodeSelector": {"zone": "y"}})
    assert selector.why_not(LABELS, NAME) == "its nodeSelector asks for zone=y"
    affinity = node_affinity.required(_affinity(NO))
    assert affinity.why_not(LABELS, NAME) == "its required node affinity does not match"


operators = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
requirements = st.builds(
    lambda key, operator, values: _requirement(key, operator, *values),
    st.sampled_from("abc"),
    operators,
    st.lists(st.sampled_from(["1", "2"]), max_size=2),
)
terms = st.lists(st.builds(lambda given: {"matchExpressions": given}, st.lists(requirements)))
labels = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["1", "2", "3"]))


@given(st.dictionaries(st.sampled_from("ab"), st.just("1")), terms, labels)
def test_labels_that_it_does_not_look_at_change_nothing(
    selector: dict[str, str], given_terms: list[dict[str, Any]], given_labels: dict[str, str]
) -> None:
    required = node_affinity.required({"nodeSelector": selector, **_affinity(*given_terms)})
    seen = {key: value for key, value in given_labels.items() if key in required.keys}
    assert required.allows(given_labels, NAME) is required.allows(seen, "another")
    assert not required.asks_for_names


def test_who_asks_for_names() -> None:
    assert node_affinity.required(_affinity(_fields("metadata.name", "In", "b"))).asks_for_names
