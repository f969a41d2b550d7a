"""All ways of moving, found by their names: `Surge` is in `surge/way.py`. Pure."""

from importlib import import_module
from typing import Final

from rescheduler.migrate.deciding.way import Decider
from rescheduler.model.podmigration import Way


def _decider(way: Way) -> Decider:
    found: Decider = import_module(f"{__package__}.{way.lower()}.way").WAY
    return found


IN_ORDER: Final = tuple(map(_decider, Way))
"""Of those that a pod can move by, it moves by the first."""

_BY_WAY: Final = {each.way: each for each in IN_ORDER}


def of(way: Way) -> Decider:
    return _BY_WAY[way]
