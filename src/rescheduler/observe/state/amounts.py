"""Tables of amounts: a row for each node or each distinct request, a column for each resource.

Which resources there are, the nodes tell as they come: a device plugin may bring a new one. What
pods ask for makes no column, or a single pod with thousands of invented resources would widen
every table for ever.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.model import resources
from rescheduler.model.columns import UNAVAILABLE, Amounts
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
            resources.EPHEMERAL_STORAGE: 3,
            UNAVAILABLE: 4,
        }

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        """Of a resource that a node has."""
        return self._numbers.setdefault(name, len(self._numbers))

    def find(self, name: str) -> int | None:
        return self._numbers.get(name)

    def all(self) -> tuple[str, ...]:
        return tuple(self._numbers)


class AmountTable:
    """What nodes have."""

    def __init__(self, names: ResourceNames) -> None:
        self._names = names
        self._amounts: CopyOnWrite[Amounts] = CopyOnWrite(
            np.zeros((_FIRST_ROWS, len(names)), np.int64)
        )

    def write(self, row: int, amounts: Resources) -> None:
        columns = {self._names.number(name): amount for name, amount in amounts.items()}
        self._put(row, columns)

    def _put(self, row: int, columns: Mapping[int, int]) -> None:
        self._make_room(row + 1)
        table = self._amounts.own()
        table[row] = 0
        table[row, list(columns)] = list(columns.values())

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


class RequestTable(AmountTable):
    """What pods ask for. Of what no node has, only that there is some: it fits nowhere."""

    def __init__(self, names: ResourceNames) -> None:
        super().__init__(names)
        self._resources_known = len(names)

    def write(self, row: int, amounts: Resources) -> None:
        columns: dict[int, int] = {}
        for name, amount in amounts.items():
            column = self._names.find(name)
            if column is not None:
                columns[column] = amount
            elif amount:
                unavailable = self._names.number(UNAVAILABLE)
                columns[unavailable] = columns.get(unavailable, 0) + 1
        self._put(row, columns)

    def keep_up(self, requests: Sequence[Resources | None]) -> None:
        """A node may have brought a resource that pods have asked for in vain till now."""
        if len(self._names) == self._resources_known:
            return
        self._resources_known = len(self._names)
        for row, amounts in enumerate(requests):
            if amounts is not None:
                self.write(row, amounts)
