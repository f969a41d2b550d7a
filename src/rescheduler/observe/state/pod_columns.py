"""The arrays behind the rows of pods. They are shared together, and copied together."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rescheduler.model.columns import NONE, Numbers, Seconds, Small

_NUMBERS: Final = ("node", "pod_class", "request_set", "owner", "own_labels")
_TYPES: Final[Mapping[str, Any]] = (
    dict.fromkeys(_NUMBERS, np.int32)
    | dict.fromkeys(("phase", "flags"), np.uint8)
    | dict.fromkeys(("created", "started"), np.int64)
)


class Arrays:
    __slots__ = tuple(_TYPES)

    node: Numbers
    pod_class: Numbers
    request_set: Numbers
    owner: Numbers
    own_labels: Numbers
    phase: Small
    flags: Small
    created: Seconds
    started: Seconds

    def __init__(self, rows: int) -> None:
        for name, kind in _TYPES.items():
            setattr(self, name, np.full(rows, NONE if name in _NUMBERS else 0, kind))

    def __len__(self) -> int:
        return len(self.node)

    def copy(self) -> "Arrays":
        return self.larger(len(self))

    def larger(self, rows: int) -> "Arrays":
        made = Arrays(rows)
        for name in _TYPES:
            getattr(made, name)[: len(self)] = getattr(self, name)
        return made

    def clear(self, row: int) -> None:
        for name in _TYPES:
            getattr(self, name)[row] = NONE if name in _NUMBERS else 0

    def read_only(self, rows: int) -> dict[str, Any]:
        """Views on the first rows, by name."""
        views = {name: getattr(self, name)[:rows] for name in _TYPES}
        for view in views.values():
            view.flags.writeable = False
        return views
