"""Values of labels."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import names

LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
node_names = st.from_regex(
    r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,5}", fullmatch=True
).filter(lambda name: len(name) <= 253)
full_of_separators = st.text("a.-", max_size=251).map(lambda text: f"a{text}a")


@given(node_names | full_of_separators)
def test_a_name_of_a_node_always_gives_a_valid_label_value(name: str) -> None:
    value = names.label_value(name)
    assert len(value) <= 63
    assert LABEL_VALUE.fullmatch(value)
    if len(name) <= 63:
        assert value == name


@pytest.mark.parametrize("length", [62, 63])
def test_what_fits_stays_as_it_is(length: int) -> None:
    assert names.label_value("n" * length) == "n" * length


def test_what_is_cut_stays_distinct_and_stable() -> None:
    first, second = names.label_value("n" * 64), names.label_value("n" * 65)
    assert first != second
    assert first == names.label_value("n" * 64)
    assert len(first) == 63
