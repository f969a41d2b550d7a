"""Kubernetes quantities, exactly: `100m`, `1.5`, `2Gi`, `1e3` (k8s.io/apimachinery resource).

Two deliberate differences: Go reads a sign, a point or a suffix alone as zero, which here is an
error (an API server sends no such text); and Go computes with amounts beyond 64 bits until they
overflow, which here are capped.
"""

import re
from decimal import Decimal
from fractions import Fraction

_FORM = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:([eE][+-]?0*[0-9]{1,9})|([numkMGTPE]|[KMGTPE]i))?"
)
_NANOS = 10**9
_NANOS_OF = (
    {None: _NANOS, "n": 1, "u": 10**3, "m": 10**6, "k": _NANOS * 1000}
    | {unit: _NANOS * 1000**power for power, unit in enumerate("MGTPE", start=2)}
    | {unit + "i": _NANOS * 1024**power for power, unit in enumerate("KMGTPE", start=1)}
)
# A pod may ask for 1e999999999: what is out of all proportion is cut before it is computed with.
_TINY = Decimal("1e-30")
_HUGE = Decimal("1e30")
_LARGEST = 2**63 - 1
"""The largest amount that Kubernetes documents; larger ones are capped."""


def nanos(text: str | int) -> int:
    """Billionths, the finest that Kubernetes keeps: what is finer is rounded away from zero.

    Raises:
        ValueError: an API server would not send this.
    """
    found = _FORM.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    number, exponent, unit = found.groups()
    value = Decimal(number + (exponent or ""))
    if not value:
        return 0
    size = max(_TINY, min(_HUGE, value.copy_abs()))
    numerator, denominator = size.as_integer_ratio()
    rounded = _divided(numerator * _NANOS_OF[unit], denominator)
    return min(rounded, _LARGEST * _NANOS) * (-1 if value < 0 else 1)


def parse(text: str | int) -> Fraction:
    """The value in whole units."""
    return Fraction(nanos(text), _NANOS)


def millis(text: str | int) -> int:
    """Thousandths, rounded up as Kubernetes does."""
    return _divided(nanos(text), _NANOS // 1000)


def units(text: str | int) -> int:
    """Whole units (bytes, pods, devices), rounded up as Kubernetes does."""
    return _divided(nanos(text), _NANOS)


def _divided(amount: int, by: int) -> int:
    return -(-amount // by)
