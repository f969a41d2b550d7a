"""A clock that is turned by hand, and metrics by name."""

from datetime import UTC, datetime, timedelta
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from rescheduler.serve import Board

START: Final = datetime(2026, 1, 2, tzinfo=UTC)
A_WHILE: Final = 10.0
"""After which metrics are read anew: whoever asks twice at once gets the same answer."""


class HandClock:
    is_virtual = False

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def nonzero(board: Board, name: str) -> dict[tuple[str, ...], float]:
    """Of this metric what is not 0, by the values of its labels in the order of their names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(board.metrics().decode())
        for sample in family.samples
        if sample.name == f"rescheduler_{name}" and sample.value
    }
