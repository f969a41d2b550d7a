"""What a strategy is: a name, what it has to see, and a decision."""

from collections.abc import Callable
from dataclasses import dataclass

from rescheduler.model.moves import Report
from rescheduler.plan.desk import Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    name: str
    decide: Callable[[Desk], Report]
    """Moves pods on the desk, and says why, or why not."""
    needs: frozenset[str] = frozenset()
    """Resources without which it cannot judge, beside those that every strategy needs."""
    is_asked: bool = False
    """It does what a person asked for, so it waits for no cooldown."""
    by_load: bool = False
    """It goes by how loaded nodes are, so it is skipped while that is unknown."""
