"""The names of who may measure usage, as a configuration and plans say them."""

from typing import Final

AUTO: Final = "auto"
"""Whichever of the others is there."""
REQUESTS: Final = "requests"
"""Nobody measures: pods count as what they ask for."""
METRICS_SERVER: Final = "metrics-server"
PROMETHEUS: Final = "prometheus"

SOURCES: Final = (AUTO, REQUESTS, METRICS_SERVER, PROMETHEUS)
