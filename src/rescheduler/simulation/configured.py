"""The configuration of a product that works on an embedded cluster."""

from dataclasses import replace

from rescheduler.config import Configuration, LeaderElection, UsageSettings
from rescheduler.model.usage_sources import AUTO, PROMETHEUS


def on_embedded(configuration: Configuration) -> Configuration:
    """The same without what needs a real cluster around it: there is nobody else who could lead,
    and no Prometheus.
    """
    usage = replace(configuration.usage, prometheus=UsageSettings().prometheus)
    if usage.source == PROMETHEUS:
        usage = replace(usage, source=AUTO)
    return replace(
        configuration,
        leader_election=replace(LeaderElection(), leader_elect=False),
        usage=usage,
    )
