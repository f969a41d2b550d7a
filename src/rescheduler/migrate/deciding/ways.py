"""All ways of moving, found by their names: `Surge` is in `surge/way.py`. Pure."""

from importlib import import_module
from typing import Final

from rescheduler.migrate.deciding.way import Way
from rescheduler.model.podmigration import Method


def _way(method: Method) -> Way:
    found: Way = import_module(f"{__package__}.{method.lower()}.way").WAY
    return found


IN_ORDER: Final = tuple(map(_way, Method))
"""Of those that a pod can move by, it moves by the first."""

_BY_METHOD: Final = {way.method: way for way in IN_ORDER}


def of(method: Method) -> Way:
    return _BY_METHOD[method]
