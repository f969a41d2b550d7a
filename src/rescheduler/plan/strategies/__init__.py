"""What to move and why: one file a strategy, and one line in this table."""

from typing import Final

from rescheduler.plan.strategies import (
    cost_optimization,
    load_balancing,
    node_maintenance,
    resource_optimization,
    topology_spread,
)
from rescheduler.plan.strategies.strategy import Strategy

IN_ORDER: Final[tuple[Strategy, ...]] = (
    node_maintenance.STRATEGY,
    topology_spread.STRATEGY,
    resource_optimization.STRATEGY,
    cost_optimization.STRATEGY,
    load_balancing.STRATEGY,
)
"""What a person asked for comes first, then what is broken, then what is dear or uneven: each
finds the cluster as those before it leave it.
"""

BY_NAME: Final = {strategy.name: strategy for strategy in IN_ORDER}

__all__ = ["BY_NAME", "IN_ORDER", "Strategy"]
