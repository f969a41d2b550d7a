"""What is counted of a scheduler's questions. Safe to call from any thread."""

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from rescheduler.config.scheduling import VERBS
from rescheduler.serve.metrics import catalogue


class Result(StrEnum):
    OK = "ok"
    LENIENT = "lenient"
    """Every node was refused for its load alone, and so none is."""
    OPEN = "open"
    """Nothing is known, or what is known is old: every node passes."""
    BAD_REQUEST = "bad_request"
    ERROR = "error"


_REFUSED: Final = ("load", "maintenance")
_STEERED: Final = ("steered", "not_steered")


class ExtenderRecorder:
    def __init__(self, registry: CollectorRegistry) -> None:
        family = catalogue.EXTENDER_REQUESTS
        self._requests = Counter(family.name, family.help, family.labels, registry=registry)
        family = catalogue.EXTENDER_SECONDS
        self._seconds = Histogram(
            family.name, family.help, family.labels, buckets=family.buckets, registry=registry
        )
        family = catalogue.EXTENDER_REFUSED
        self._refused = Counter(family.name, family.help, family.labels, registry=registry)
        family = catalogue.EXTENDER_STEERED
        self._steered = Counter(family.name, family.help, family.labels, registry=registry)
        for verb in VERBS:
            self._seconds.labels(verb)
            for result in Result:
                self._requests.labels(verb, result.value)
        for why in _REFUSED:
            self._refused.labels(why)
        for how in _STEERED:
            self._steered.labels(how)

    def answered(self, verb: str, result: Result, seconds: float) -> None:
        self._requests.labels(verb, result.value).inc()
        self._seconds.labels(verb).observe(seconds)

    def refused(self, for_load: int, for_maintenance: int) -> None:
        for why, number in zip(_REFUSED, (for_load, for_maintenance), strict=True):
            if number:
                self._refused.labels(why).inc(number)

    def steered(self, *, is_steered: bool) -> None:
        self._steered.labels(_STEERED[0] if is_steered else _STEERED[1]).inc()
