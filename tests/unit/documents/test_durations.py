"""Durations in Go's syntax."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.documents import durations

ACCEPTED = [
    ("0", 0),
    ("0s", 0),
    ("-0", 0),
    ("30s", 30 * 10**9),
    ("+1m30s", 90 * 10**9),
    ("1.5h", 5400 * 10**9),
    (".5s", 5 * 10**8),
    ("1.s", 10**9),
    ("500ms", 5 * 10**8),
    ("1us2\u00b5s3\u03bcs", 6000),
    ("1.9ns", 1),
    ("1m1m", 120 * 10**9),
    ("-30s", -30 * 10**9),
    ("9223372036854775807ns", 2**63 - 1),
]
REFUSED = ["", "-", "30", "s", ".s", "1 s", "1d", "1S", "1h30", "1.2.3s", "--1s", "\u0663s"]
REFUSED += ["9223372036854775808ns", "2562048h", "9" * 5000 + "s", "1e3s", "1s ", "1_0s"]


@pytest.mark.parametrize(("text", "nanoseconds"), ACCEPTED)
def test_accepted(text: str, nanoseconds: int) -> None:
    assert durations.parse_nanoseconds(text) == nanoseconds


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        durations.parse_nanoseconds(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (90 * 10**9, "1m30s"), (86400 * 10**9, "24h"), (1_002_000_003, "1s2ms3ns")],
)
def test_written(nanoseconds: int, text: str) -> None:
    assert durations.format_nanoseconds(nanoseconds) == text


@given(st.integers(0, 2**63 - 1))
def test_what_is_written_reads_back(nanoseconds: int) -> None:
    text = durations.format_nanoseconds(nanoseconds)
    assert durations.parse_nanoseconds(text) == nanoseconds
