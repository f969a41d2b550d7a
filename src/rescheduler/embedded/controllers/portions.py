"""Numbers that may be given as a share of another, such as "25%" (IntOrString)."""

import re
from typing import Final

_PERCENT: Final = re.compile(r"([0-9]+)%")


class NoPortion(ValueError):
    """Neither a number nor a share."""


def rounded_up(value: int | str, total: int) -> int:
    if isinstance(value, int):
        return value
    return -(-_percent(value) * total // 100)


def rounded_down(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else _percent(value) * total // 100


def _percent(text: str) -> int:
    found = _PERCENT.fullmatch(text)
    if not found:
        raise NoPortion("invalid value for IntOrString: invalid type: string is not a percentage")
    return int(found[1])
