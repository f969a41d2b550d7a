"""Kubernetes quantities, exactly: `100m`, `1.5`, `2Gi`, `1e3`."""

import math
import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?")
_FACTORS = (
    {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": Fraction(1000)}
    | {unit: Fraction(1000**power) for power, unit in enumerate("MGTPE", start=2)}
    | {unit + "i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", start=1)}
)


def parse(text: str | int) -> Fraction:
    """The exact value. Raises ValueError for what the API server would not accept either."""
    found = _FORM.fullmatch(str(text))
    if not found:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    number, exponent, unit = found.groups()
    value = Fraction(number)
    if exponent:
        value *= Fraction(10) ** int(exponent[1:])
    return value * _FACTORS.get(unit, Fraction(1))


def millis(text: str | int) -> int:
    """Thousandths, rounded up as Kubernetes does."""
    return math.ceil(parse(text) * 1000)


def units(text: str | int) -> int:
    """Whole units (bytes, pods, devices), rounded up as Kubernetes does."""
    return math.ceil(parse(text))
