"""Tables of amounts: a row for each node or each distinct request, a column for each resource.

Which resources there are, the cluster tells as it goes: a device plugin may bring a new one.
"""

import numpy as np

from rescheduler.model import resources
from rescheduler.model.columns import Amounts
from rescheduler.model.resources import Resources
from rescheduler.observe.state.sharing import CopyOnWrite

_FIRST_ROWS = 256


class ResourceNames:
    """The columns, in the order in which they were first heard of; none is ever taken away."""

    def __init__(self) -> None:
        self._numbers = {
            resources.CPU: 0,
            resources.MEMORY: 1,
            resources.PODS: 2,
            "ephemeral-storage": 3,
        }

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def all(self) -> tuple[str, ...]:
        return tuple(self._numbers)


class AmountTable:
    def __init__(self, names: ResourceNames) -> None:
        self._names = names
        self._amounts: CopyOnWrite[Amounts] = CopyOnWrite(
            np.zeros((_FIRST_ROWS, len(names)), np.int64)
        )

    def write(self, row: int, amounts: Resources) -> None:
        columns = [self._names.number(name) for name in amounts]
        self._make_room(row + 1)
        table = self._amounts.own()
        table[row] = 0
        table[row, columns] = list(amounts.values())

    def share(self, rows: int) -> Amounts:
        self._make_room(rows)
        shared = self._amounts.share()[:rows]
        shared.flags.writeable = False
        return shared

    def _make_room(self, rows: int) -> None:
        table = self._amounts.value
        if rows <= table.shape[0] and len(self._names) == table.shape[1]:
            return
        height = table.shape[0] if rows <= table.shape[0] else max(rows, 2 * table.shape[0])
        larger = np.zeros((height, len(self._names)), np.int64)
        larger[: table.shape[0], : table.shape[1]] = table
        self._amounts.replace(larger)
