"""All metrics of a process, in the text that Prometheus reads."""

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rescheduler.serve.metrics.extending import ExtenderRecorder
from rescheduler.serve.metrics.guarding import GuardRecorder
from rescheduler.serve.metrics.recording import Recorder

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_FRESH_SECONDS: Final = 0.5
"""For which a text is handed out again: whoever asks all the time costs no more than that."""


class _WithoutBirthdays(Collector):
    """prometheus_client tells of each series when it began, in a series of its own, and has only a
    switch for the whole process against it.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [each for each in metric.samples if not each.name.endswith("_created")]
            yield metric


class Metrics:
    def __init__(
        self, current: Collector, resources: Iterable[str], monotonic: Callable[[], float]
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(current)
        ProcessCollector(registry=self._registry)
        self.recorder = Recorder(self._registry, resources)
        self.extender = ExtenderRecorder(self._registry)
        self.guard = GuardRecorder(self._registry)
        self._monotonic = monotonic
        self._text = b""
        self._made_at = float("-inf")

    def text(self) -> bytes:
        """Asked by one thread only."""
        now = self._monotonic()
        if now - self._made_at >= _FRESH_SECONDS:
            self._text = generate_latest(_WithoutBirthdays(self._registry))
            self._made_at = self._monotonic()
        return self._text
