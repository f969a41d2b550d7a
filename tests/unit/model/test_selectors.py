"""Label selectors. The tables were checked against k8s.io/apimachinery v0.36.4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import selectors
from rescheduler.model.selectors import Operator, Requirement, Selector

CANONICAL = [
    ("", ""),
    ("  \t\r\n", ""),
    ("a=b", "a=b"),
    ("a==b", "a=b"),
    (" a = b , c != d ", "a=b,c!=d"),
    ("a=b,c!=d,e in (x,y),f notin (z),g,!h", "a=b,c!=d,e in (x,y),f notin (z),g,!h"),
    ("z,y,x", "x,y,z"),
    ("e in (y, x ,y)", "e in (x,y)"),
    ("a=", "a="),
    ("a=,b", "a=,b"),
    ("a!=", "a!="),
    ("a in ()", "a in ()"),
    ("a in (,)", "a in ()"),
    ("a in (b,,c)", "a in (,b,c)"),
    ("a notin (b,)", "a notin (,b)"),
    ("in in (in,notin)", "in in (in,notin)"),
    ("notin", "notin"),
    ("! a", "!a"),
    ("example.com/a_B.c=D-e", "example.com/a_B.c=D-e"),
    ("a>5,b<07", "a>5,b<07"),
    ("a" * 63 + "=" + "b" * 63, "a" * 63 + "=" + "b" * 63),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_parsed_and_printed(text: str, canonical: str) -> None:
    assert str(selectors.parse(text)) == canonical
    assert selectors.parse(canonical) == selectors.parse(text)


REFUSED = [
    (",", "expected a label key or '!' at character 1, found ','"),
    ("a,", "expected a label key or '!' at character 3, found the end"),
    ("a,,b", "expected a label key or '!' at character 3, found ','"),
    ("=b", "expected a label key or '!' at character 1, found '='"),
    ("!", "expected a label key at character 2, found the end"),
    ("!!a", "expected a label key at character 2, found '!'"),
    ("!a=b", "expected ',' or the end at character 3, found '='"),
    ("a b", "expected one of in, notin, =, ==, !=, >, < at character 3, found 'b'"),
    ("a=b c", "expected ',' or the end at character 5, found 'c'"),
    ("a===b", "expected a label value at character 4, found '='"),
    ("a=(b)", "expected a label value at character 3, found '('"),
    ("a in", r"expected '(' at character 5, found the end"),
    ("a in b", r"expected '(' at character 6, found 'b'"),
    ("a in (b", r"expected ',' or ')' at character 8, found the end"),
    ("a in (b c)", r"expected ',' or ')' at character 9, found 'c'"),
    ("a in (b))", r"expected ',' or the end at character 9, found ')'"),
    ("-a", "label key '-a': the name must be letters"),
    ("a-", "label key 'a-'"),
    ("a" * 64, "label key 'aaa"),
    ("\u00e9", r"label key '\xe9'"),
    ("/a", "the part before '/' must be a DNS subdomain"),
    ("a/", "label key 'a/': the name must be"),
    ("a/b/c", "the part before '/' must be a DNS subdomain"),
    ("A.com/a", "the part before '/' must be a DNS subdomain"),
    ("a" * 254 + "/a", "the part before '/' must be a DNS subdomain"),
    ("a=b/c", "value 'b/c' of label a: must be empty or letters"),
    ("a=" + "b" * 64, "of label a: must be empty or letters"),
    ("a in (b,-c)", "value '-c' of label a"),
    ("a=b\0c", r"value 'b\x00c' of label a"),
    ("a>b", "label a: '>' and '<' compare with one integer"),
    ("a<", "label a: '>' and '<' compare with one integer"),
    ("a>9223372036854775808", "label a: '>' and '<' compare with one integer"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(selectors.InvalidSelectorError) as caught:
        selectors.parse(text)
    assert message in str(caught.value)


MATCHES = [
    ("", {}, True),
    ("a=b", {"a": "b"}, True),
    ("a=b", {"a": "c"}, False),
    ("a=b", {}, False),
    ("a=", {"a": ""}, True),
    ("a=", {}, False),
    ("a!=b", {"a": "c"}, True),
    ("a!=b", {"a": "b"}, False),
    ("a!=b", {}, True),
    ("a in (b,c)", {"a": "c"}, True),
    ("a in (b,c)", {"a": "d"}, False),
    ("a in (b,c)", {}, False),
    ("a notin (b,c)", {"a": "d"}, True),
    ("a notin (b,c)", {"a": "b"}, False),
    ("a notin (b,c)", {}, True),
    ("a", {"a": ""}, True),
    ("a", {}, False),
    ("!a", {}, True),
    ("!a", {"a": ""}, False),
    ("a>5", {"a": "6"}, True),
    ("a>5", {"a": "5"}, False),
    ("a<5", {"a": "4"}, True),
    ("a<5", {"a": "x"}, False),
    ("a<5", {"a": "1_0"}, False),
    ("a<5", {"a": "-9223372036854775809"}, False),
    ("a<5", {}, False),
    ("a=b,c=d", {"a": "b"}, False),
    ("a=b,c=d", {"a": "b", "c": "d", "e": "f"}, True),
]


@pytest.mark.parametrize(("text", "labels", "matches"), MATCHES)
def test_matches(text: str, labels: dict[str, str], matches: bool) -> None:  # noqa: FBT001 - a table
    assert selectors.parse(text).matches(labels) is matches


OBJECTS = [
    ({}, ""),
    ({"matchLabels": None, "matchExpressions": None}, ""),
    ({"matchLabels": {"b": "", "a": "x"}}, "a=x,b="),
    (
        {
            "matchLabels": {"a": "x"},
            "matchExpressions": [
                {"key": "b", "operator": "In", "values": ["y", "x", "y"]},
                {"key": "c", "operator": "NotIn", "values": [""]},
                {"key": "d", "operator": "Exists"},
                {"key": "e", "operator": "DoesNotExist", "values": []},
            ],
        },
        "a=x,b in (x,y),c notin (),d,!e",
    ),
]


@pytest.mark.parametrize(("selector", "text"), OBJECTS)
def test_from_object(selector: dict[str, object], text: str) -> None:
    assert selectors.from_object(selector) == selectors.parse(text)


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert selectors.from_object(None) == selectors.NOTHING
    assert selectors.from_object({}) == selectors.EVERYTHING


def test_nothing_stays_nothing_when_it_is_sent_as_a_query() -> None:
    sent = selectors.parse(str(selectors.NOTHING))
    assert sent == selectors.NOTHING
    assert not any(sent.matches(labels) for labels in ({}, {"nothing": ""}, {"a": "b"}))


REFUSED_OBJECTS: list[tuple[dict[str, object], str]] = [
    ({"matchLabels": ["a"]}, "matchLabels must be a mapping"),
    ({"matchLabels": {"a": 1}}, "expected a string, found '1'"),
    ({"matchLabels": {"-": "a"}}, "label key '-'"),
    ({"matchExpressions": {"a": 1}}, "matchExpressions a list"),
    ({"matchExpressions": ["a"]}, "each of matchExpressions must be a mapping"),
    ({"matchExpressions": [{"key": "a"}]}, "expected a string, found 'None'"),
    ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, "unknown operator"),
    ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "need at least one value"),
    ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}, "need at least one"),
    ({"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}, "must be a list"),
    ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, "take no values"),
]


@pytest.mark.parametrize(("selector", "message"), REFUSED_OBJECTS)
def test_refused_objects(selector: dict[str, object], message: str) -> None:
    with pytest.raises(selectors.InvalidSelectorError) as caught:
        selectors.from_object(selector)
    assert message in str(caught.value)


def test_equality_takes_one_value() -> None:
    with pytest.raises(selectors.InvalidSelectorError, match="exactly one value"):
        Requirement("a", Operator.EQUALS, frozenset({"b", "c"}))


names = st.from_regex(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,3})?[A-Za-z0-9]", fullmatch=True)
keys = names | st.sampled_from(["in", "notin", "example.com/a", "a.b/in"])
values = names | st.sampled_from(["", "in", "notin", "5"])
requirements = st.one_of(
    st.builds(
        Requirement,
        keys,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.frozensets(values, min_size=1, max_size=3),
    ),
    st.builds(
        Requirement,
        keys,
        st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]),
        values.map(lambda value: frozenset({value})),
    ),
    st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement,
        keys,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.integers(0, 2**63 - 1).map(lambda number: frozenset({str(number)})),
    ),
)


@given(st.lists(requirements, max_size=4).map(Selector.of))
def test_what_is_printed_parses_as_the_same(selector: Selector) -> None:
    assert selectors.parse(str(selector)) == selector


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=4))
def test_labels_match_a_selector_made_of_them(
    labels: dict[str, str], others: dict[str, str]
) -> None:
    selector = selectors.from_object({"matchLabels": labels})
    assert selector.matches({**others, **labels})
    assert selector.matches(others) == (labels.items() <= others.items())


@given(st.text(max_size=20) | st.text("ab=!(), <>in/-.5", max_size=20))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        selector = selectors.parse(text)
    except selectors.InvalidSelectorError:
        return
    assert selectors.parse(str(selector)) == selector
