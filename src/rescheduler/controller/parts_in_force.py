"""Who acts by which part of the configuration: what has to begin anew when one changes."""

from rescheduler import plan
from rescheduler.config import Configuration


def whole(configuration: Configuration) -> object:
    return configuration


def observed(configuration: Configuration) -> object:
    """What an observer is made for."""
    return plan.needs(configuration.enabled_strategies), configuration.usage


def migrated(configuration: Configuration) -> object:
    """What a migrator goes by."""
    return (
        configuration.migration,
        configuration.in_flight,
        configuration.pods,
        configuration.scope,
    )
