"""One answer after the other: what was answered counts in the next. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rescheduler.schedule import filtering, scoring
from rescheduler.schedule.filtering import Filtered
from rescheduler.schedule.newcomers import Newcomer
from rescheduler.schedule.placed import PlacedSince
from rescheduler.schedule.scoring import Scored
from rescheduler.schedule.table import UNKNOWN, NodeTable, Numbers, Rules

_STALE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Offer:
    """What a scheduler is answered by."""

    table: NodeTable
    rules: Rules

    def is_stale(self, now: float) -> bool:
        """What is so old is no ground to refuse a node."""
        return now - self.table.taken_at > _STALE_SECONDS


class Answers:
    def __init__(self) -> None:
        self._placed = PlacedSince()
        self._rows: tuple[NodeTable, Sequence[str], Numbers] | None = None

    def filtered(
        self,
        offer: Offer,
        pod: Newcomer,
        names: Sequence[str],
        now: float,
        rows: Numbers | None = None,
    ) -> Filtered:
        """`rows`: of the names in the table, if they are known."""
        placed = self._placed.on(offer.table, besides=pod)
        rows = self._rows_of(offer.table, names) if rows is None else rows
        found = filtering.filtered(offer.table, offer.rules, pod, names, placed, rows)
        if len(found.passed) != 1:
            return found
        # The scheduler has no choice, and does not ask for scores.
        [chosen] = found.passed
        self._placed.note(pod, chosen, offer.table, now)
        if (steering := pod.steering(offer.table)) is None:
            return found
        return replace(found, is_steered=steering.target == chosen)

    def scored(
        self,
        offer: Offer,
        pod: Newcomer,
        names: Sequence[str],
        now: float,
        rows: Numbers | None = None,
    ) -> Scored:
        """`rows`: of the names in the table, if they are known."""
        placed = self._placed.on(offer.table, besides=pod)
        rows = self._rows_of(offer.table, names) if rows is None else rows
        found = scoring.scored(offer.table, offer.rules, pod, names, placed, rows)
        if found.best is not None:
            row = int(rows[found.best])
            best = names[found.best] if row == UNKNOWN else offer.table.names[row]
            self._placed.note(pod, best, offer.table, now)
        return found

    def why_overloaded(self, offer: Offer, node: str) -> str:
        """With what was sent there; empty: it is not."""
        sum_of = self._placed.sum_on(node, offer.table)
        return filtering.why_overloaded(offer.table, offer.rules, node, sum_of)

    def _rows_of(self, table: NodeTable, names: Sequence[str]) -> Numbers:
        """The very same names of the very same table are looked up once."""
        if self._rows is not None and self._rows[0] is table and self._rows[1] is names:
            return self._rows[2]
        found = table.rows(names)
        self._rows = table, names, found
        return found
