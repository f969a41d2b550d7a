"""What is counted of evictions by others. Safe to call from any thread."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from rescheduler.guard import Hold, Verdict, Why
from rescheduler.serve.metrics import catalogue

_HELD: Final = "held"
_GRANTED: Final = "granted"
_PASSED: Final = "passed"
_UNREADABLE: Final = "unreadable"
_ERROR: Final = "error"
_MOST_EVICTORS: Final = 20
_OTHER: Final = "other"
_HOLDING: Final = frozenset({Why.ASKED, Why.MOVING, Why.AGAIN, Why.ENDING, Why.TURN})
_AFTER_HOLDING: Final = frozenset({Why.AWAY, Why.MOVED, Why.FAILED, Why.PATIENCE})


class GuardRecorder:
    def __init__(self, registry: CollectorRegistry) -> None:
        family = catalogue.GUARD_EVICTIONS
        self._evictions = Counter(family.name, family.help, family.labels, registry=registry)
        family = catalogue.GUARD_EVICTORS
        self._evictors = Counter(family.name, family.help, family.labels, registry=registry)
        family = catalogue.GUARD_SECONDS
        self._seconds = Histogram(
            family.name, family.help, family.labels, buckets=family.buckets, registry=registry
        )
        family = catalogue.GUARD_HELD_SECONDS
        self._held_seconds = Histogram(
            family.name, family.help, family.labels, buckets=family.buckets, registry=registry
        )
        self._known: set[str] = set()
        for why in Why:
            self._evictions.labels(_verdict(why), why.value)
        for problem in (_UNREADABLE, _ERROR):
            self._evictions.labels(_PASSED, problem)

    def judged(self, user: str, verdict: Verdict) -> None:
        word = _verdict(verdict.why)
        self._evictions.labels(word, verdict.why.value).inc()
        if isinstance(verdict, Hold) or verdict.why in _AFTER_HOLDING:
            self._evictors.labels(self._evictor(user), word).inc()
        if not isinstance(verdict, Hold) and verdict.held_seconds is not None:
            self._held_seconds.observe(verdict.held_seconds)

    def answered(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def unreadable(self) -> None:
        self._evictions.labels(_PASSED, _UNREADABLE).inc()

    def failed(self) -> None:
        self._evictions.labels(_PASSED, _ERROR).inc()

    def _evictor(self, user: str) -> str:
        """Those that came first have a series each: there may be any number of users."""
        if user not in self._known:
            if len(self._known) >= _MOST_EVICTORS:
                return _OTHER
            self._known.add(user)
        return user


def _verdict(why: Why) -> str:
    if why in _HOLDING:
        return _HELD
    return _GRANTED if why in _AFTER_HOLDING else _PASSED
