"""Names that are found without being read: always those that reading them would find."""

import json
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.serve.bodies import BadRequest
from rescheduler.serve.extender import formats
from rescheduler.serve.extender.formats import Names
from rescheduler.serve.extender.lookup import Lookup

LETTERS = st.text(alphabet='ab-.ü"\\, []\n', max_size=6)
KNOWN = st.lists(LETTERS, unique=True, max_size=8).map(tuple)


@given(tables=st.lists(KNOWN, min_size=1, max_size=3), data=st.data())
def test_as_if_they_were_looked_up_one_by_one(
    tables: list[tuple[str, ...]], data: st.DataObject
) -> None:
    lookup = Lookup()
    for known in tables:
        names = data.draw(st.lists(LETTERS | st.sampled_from([*known, "x"]), max_size=12))
        for sent in (msgspec.json.encode(names), json.dumps(names).encode()):
            found = lookup.rows(known, sent)
            if found is not None:
                assert [known[row] for row in found] == names


def test_thousands_in_any_order() -> None:
    known = tuple(f"ip-10-0-{each // 256}-{each % 256}.internal" for each in range(5000))
    lookup = Lookup()
    for seed in range(4):
        rows = list(range(5000))
        random.Random(seed).shuffle(rows)  # noqa: S311 - repeatable
        sent = msgspec.json.encode([known[row] for row in rows])
        found = lookup.rows(known, sent)
        assert found is not None
        assert found.tolist() == rows


@pytest.mark.parametrize(
    "sent",
    [
        b"[]",
        b'["new"]',
        b'["a", "b"]',
        b'["a","b" ]',
        b'["a"5"b"]',
        b'["a",5,"b"]',
        b'["a","b',
        b'["\\u0061"]',
        b'["a","\xff"]',
        b'"a"',
        b"null",
        b"",
        b'["' + b"a" * 2**20 + b'"]',
    ],
)
def test_what_is_written_in_another_way_or_unknown_is_left_to_be_read(sent: bytes) -> None:
    assert Lookup().rows(("a", "b"), sent) is None


@pytest.mark.parametrize("known", [(), ("a", "a"), ('a"b', "c"), ("a\\", "c"), ("", "")])
def test_a_table_of_names_that_no_nodes_have(known: tuple[str, ...]) -> None:
    assert Lookup().rows(known, b'["c"]') is None


def test_a_question_about_known_names_is_not_read() -> None:
    reader, known = formats.Reader(), ("a", "b", "c")
    asked = reader.question(b'{"Pod":{},"NodeNames":["c","a"]}', known)
    assert isinstance(asked.names, Names)
    assert asked.rows is not None
    assert asked.rows.tolist() == [2, 0]
    assert (len(asked.names), list(asked.names), asked.names[1]) == (2, ["c", "a"], "a")
    assert json.loads(formats.filter_result(asked, asked.names, {}, {}))["NodeNames"] == ["c", "a"]
    assert reader.question(b'{"pod":{},"nodenames":["c","a"]}', known).names is asked.names
    # The same names in another table stand in other rows.
    other = reader.question(b'{"Pod":{},"NodeNames":["c","a"]}', ("c", "b", "a"))
    assert other.rows is not None
    assert other.rows.tolist() == [0, 2]
    unknown = reader.question(b'{"Pod":{},"NodeNames":["c","new"]}', known)
    assert (unknown.names, unknown.rows) == (["c", "new"], None)
    with pytest.raises(BadRequest):
        reader.question(b'{"Pod":{},"NodeNames":["c",1]}', known)
