"""What to move and why: one file a strategy, found by its name in the list of their names."""

import re
from importlib import import_module
from typing import Final

from rescheduler import config
from rescheduler.plan.strategies.strategy import Strategy


def _strategy(name: str) -> Strategy:
    """`LoadBalancing` is in `load_balancing`."""
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    found: Strategy = import_module(f"{__name__}.{module}").STRATEGY
    return found


IN_ORDER: Final = tuple(map(_strategy, config.STRATEGIES))
"""Each finds the cluster as those before it leave it."""

BY_NAME: Final = {strategy.name: strategy for strategy in IN_ORDER}

__all__ = ["BY_NAME", "IN_ORDER", "Strategy"]
