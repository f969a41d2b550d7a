"""Kubernetes quantities, exactly: `100m`, `1.5`, `2Gi`, `1e3`."""

import math
import re
from decimal import Decimal
from fractions import Fraction

_FORM = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:([eE][+-]?0*[0-9]{1,9})|([numkMGTPE]|[KMGTPE]i))?"
)
_FACTORS = (
    {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": Fraction(1000)}
    | {unit: Fraction(1000**power) for power, unit in enumerate("MGTPE", start=2)}
    | {unit + "i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", start=1)}
)
# A pod may ask for 1e999999999: what is out of all proportion is cut before it is computed with.
_TINY = Decimal("1e-30")
_HUGE = Decimal("1e30")
_LARGEST = Fraction(2**63 - 1)
"""The largest amount that Kubernetes documents; larger ones are capped."""


def parse(text: str | int) -> Fraction:
    """The exact value. Raises ValueError for what the API server would not send."""
    found = _FORM.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    number, exponent, unit = found.groups()
    value = Decimal(number + (exponent or ""))
    if value:
        value = max(_TINY, min(_HUGE, value.copy_abs())).copy_sign(value)
    return min(Fraction(value) * _FACTORS.get(unit, 1), _LARGEST)


def millis(text: str | int) -> int:
    """Thousandths, rounded up as Kubernetes does."""
    return math.ceil(parse(text) * 1000)


def units(text: str | int) -> int:
    """Whole units (bytes, pods, devices), rounded up as Kubernetes does."""
    return math.ceil(parse(text))
