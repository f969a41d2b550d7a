"""Kubernetes quantities. The tables were checked against k8s.io/apimachinery v0.36.4, and random
ones meet the real API server in tests/cluster/test_quantities.py.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import quantities

EXACT = [
    ("0", 0),
    ("-0", 0),
    ("+1", 1),
    ("-1", -1),
    ("007", 7),
    ("1.5", Fraction(3, 2)),
    ("1.", 1),
    (".5", Fraction(1, 2)),
    ("1n", Fraction(1, 10**9)),
    ("1u", Fraction(1, 10**6)),
    ("100m", Fraction(1, 10)),
    ("1k", 10**3),
    ("1M", 10**6),
    ("1G", 10**9),
    ("1T", 10**12),
    ("1P", 10**15),
    ("1E", 10**18),
    ("1Ki", 2**10),
    ("1Mi", 2**20),
    ("1.5Gi", 3 * 2**29),
    ("1Ti", 2**40),
    ("1Pi", 2**50),
    ("1Ei", 2**60),
    ("1e3", 1000),
    ("1E3", 1000),
    ("1e+3", 1000),
    ("1E-3", Fraction(1, 1000)),
    ("1.5e03", 1500),
    ("0e999999999", 0),
    ("1e-12", Fraction(1, 10**9)),
    ("1.0000000001", 1 + Fraction(1, 10**9)),
    ("-1e-12", Fraction(-1, 10**9)),
    ("0.0000000001Ki", Fraction(103, 10**9)),
    ("0." + "9" * 9000, 1),
    ("0" * 9000 + "1", 1),
    ("-9Ei", -(2**63 - 1)),
]


@pytest.mark.parametrize(("text", "value"), EXACT)
def test_exact_value(text: str, value: Fraction | int) -> None:
    assert quantities.parse(text) == value


REFUSED = ["", " ", "abc", "1KB", "1 Gi", " 1", "1 ", "0x1", "1_0", "1,5", "--1", "1..2", "1.2.3"]
REFUSED += [
    "1K",
    "1ki",
    "1mi",
    "1i",
    "1e",
    "1E+",
    "1e3Gi",
    "1Gi3",
    "1Ee3",
    "Infinity",
    "nan",
    "\n1",
]
REFUSED += ["\u0663", "1\u0663Gi", "1\n"]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        quantities.parse(text)


def test_a_number_is_taken_as_its_text() -> None:
    assert quantities.parse(4) == 4


@pytest.mark.parametrize(
    ("text", "millis", "units"),
    [
        ("1n", 1, 1),
        ("1u", 1, 1),
        ("1m", 1, 1),
        ("1.0001m", 2, 1),
        ("1500m", 1500, 2),
        ("0.3Gi", 322122547200, 322122548),
        ("1e-999999999", 1, 1),
        ("0", 0, 0),
        ("-1500m", -1500, -1),
        ("-1u", 0, 0),
    ],
)
def test_rounded_up(text: str, millis: int, units: int) -> None:
    assert quantities.millis(text) == millis
    assert quantities.units(text) == units


@pytest.mark.parametrize("text", ["8Ei", "9223372036854775808", "1e999999999", "9" * 9000, "99E"])
def test_what_is_too_large_is_capped_at_once(text: str) -> None:
    assert quantities.units(text) == 2**63 - 1


def test_the_largest_is_not_capped() -> None:
    assert quantities.units("9223372036854775807") == 2**63 - 1


@given(st.integers(0, 2**53), st.sampled_from(["", *"numkMG", "Ki", "Mi"]))
def test_a_suffix_is_a_factor(number: int, suffix: str) -> None:
    factor = quantities.parse(f"1{suffix}")
    assert quantities.parse(f"{number}{suffix}") == min(number * factor, 2**63 - 1)


@given(st.decimals(0, 10**15, allow_nan=False, allow_infinity=False, places=9))
def test_decimals_read_back(number: object) -> None:
    text = f"{number:f}"
    assert quantities.parse(text) == Fraction(text)
    assert quantities.millis(text) == math.ceil(Fraction(text) * 1000)


@given(st.integers(0, 10**9), st.integers(-9, 9), st.sampled_from("eE"))
def test_exponents_read_back(number: int, exponent: int, sign: str) -> None:
    assert quantities.parse(f"{number}{sign}{exponent}") == number * Fraction(10) ** exponent
