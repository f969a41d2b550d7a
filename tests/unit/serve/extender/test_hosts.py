"""What is put together from pieces is what would be written one by one."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.schedule import MOST, UNKNOWN
from rescheduler.serve.extender import formats
from rescheduler.serve.extender.hosts import Hosts

NAMES = st.lists(st.text(max_size=8), unique=True, max_size=6).map(tuple)


@given(st.lists(NAMES, min_size=1, max_size=3), st.data())
def test_the_same_as_one_by_one(tables: list[tuple[str, ...]], data: st.DataObject) -> None:
    hosts = Hosts()
    for names in [*tables, tables[0]]:
        places = st.integers(0, len(names) - 1) if names else st.nothing()
        rows = data.draw(st.lists(places, max_size=9 if names else 0))
        size = len(rows)
        points = data.draw(st.lists(st.integers(0, MOST), min_size=size, max_size=size))
        written = hosts.priorities(names, np.array(rows, np.int64), np.array(points, np.int64))
        plain = formats.priorities([names[row] for row in rows], points)
        assert json.loads(written or b"") == json.loads(plain)


def test_a_node_that_is_in_no_table_is_left_to_others() -> None:
    rows = np.array([0, UNKNOWN], np.int64)
    assert Hosts().priorities(("a",), rows, np.zeros(2, np.int64)) is None
