"""Every strategy that a configuration may name is there, and no other."""

from rescheduler.config import STRATEGIES
from rescheduler.model import strategies
from rescheduler.plan.strategies import BY_NAME


def test_what_can_be_enabled_is_what_can_be_planned() -> None:
    assert BY_NAME.keys() == set(STRATEGIES) == set(strategies.ALL)
    assert set(strategies.BY_DEFAULT) < set(strategies.ALL)
