"""What Prometheus is told: counted as it happens (`Recorder`), or read from what is published."""

from rescheduler.serve.metrics.catalogue import CATALOGUE, Family
from rescheduler.serve.metrics.exposing import Metrics
from rescheduler.serve.metrics.recording import Recorder

__all__ = ["CATALOGUE", "Family", "Metrics", "Recorder"]
