"""What is counted when it happens. Safe to call from any thread, and costs a microsecond."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from rescheduler.model import strategies
from rescheduler.model.podmigration import Reason, Step, Way, reasons
from rescheduler.serve.metrics import catalogue
from rescheduler.serve.metrics.catalogue import Family

COMPLETED: Final = "completed"
FAILED: Final = "failed"
GAVE_WAY: Final = "gave_way"
RESULTS: Final = (COMPLETED, FAILED, GAVE_WAY)
BY_HAND: Final = "ByHand"
"""The strategy of what people ask for."""
NOT_CHOSEN: Final = "NotChosen"
"""The way of what ended before one was."""
OTHER: Final = "other"
_WAYS: Final = (*(each.value for each in Way), NOT_CHOSEN)
_MOVED: Final = frozenset({Reason.COMPLETED, Reason.LANDED_ELSEWHERE})
_FALLBACKS: Final = ("NotSteered", "SteeringRefused")
_OF_COPIES: Final = frozenset(
    {
        Reason.NOT_READY_IN_TIME,
        Reason.COPY_FAILED,
        Reason.COPY_LOST,
        Reason.COPY_CHANGED,
        Reason.COPY_REFUSED,
        Reason.COPY_DIFFERS,
        Reason.SIBLING_REMOVED,
    }
)
_OF_SUCCESSORS: Final = frozenset(
    {
        Reason.LANDED_ELSEWHERE,
        Reason.NOT_STEERED,
        Reason.BACK_ON_SOURCE,
        Reason.REPLACEMENT_NOT_READY,
    }
)
_OF_THE_QUEUE: Final = (
    Reason.NOT_NOW,
    Reason.NOT_MOVABLE,
    Reason.NO_TARGET,
    Reason.INVALID,
    Reason.CANCELLED,
    Reason.GROUP_FAILED,
    Reason.REFUSED,
)
"""Before a way was chosen."""
_STRATEGIES: Final = (*strategies.ALL, BY_HAND)
PLAN_EVENTS: Final = (
    "proposed",
    "approved",
    "rejected",
    "expired",
    "superseded",
    "completed",
    "incomplete",
)
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete")
_NO_ANSWER: Final = "<error>"
_LAST_CODE: Final = 599


def result_of(reason: Reason) -> str:
    if reason in _MOVED:
        return COMPLETED
    return GAVE_WAY if reason in reasons.GAVE_WAY else FAILED


def endings() -> Iterable[tuple[str, Reason]]:
    """By way: how migrations may end."""
    for way in Way:
        elsewhere = _OF_SUCCESSORS if way.makes_a_copy else _OF_COPIES
        yield from (
            (way.value, reason)
            for reason in Reason
            if reason is not Reason.NOT_FINISHED and reason not in elsewhere
        )
    yield from ((NOT_CHOSEN, reason) for reason in _OF_THE_QUEUE)


class Recorder:
    def __init__(self, registry: CollectorRegistry, resources: Iterable[str]) -> None:
        """`resources`: those that are asked of the API server; all others are counted as one."""
        self._resources = frozenset(resources)
        self._transitions = _counter(catalogue.LEADER_TRANSITIONS, registry)
        self._passes = _counter(catalogue.PASSES, registry)
        self._pass_seconds = _histogram(catalogue.PASS_SECONDS, registry)
        self._plan_seconds = _histogram(catalogue.PLAN_SECONDS, registry)
        self._moves = _counter(catalogue.MOVES, registry)
        self._move_seconds = _histogram(catalogue.MOVE_SECONDS, registry)
        self._step_seconds = _histogram(catalogue.STEP_SECONDS, registry)
        self._retries = _counter(catalogue.RETRIES, registry)
        self._fallbacks = _counter(catalogue.FALLBACKS, registry)
        self._gaps = _counter(catalogue.WATCH_GAPS, registry)
        self._requests = _counter(catalogue.API_REQUESTS, registry)
        self._request_seconds = _histogram(catalogue.API_SECONDS, registry)
        self._plans = _counter(catalogue.PLANS, registry)
        self._errors = _histogram(catalogue.PREDICTION_ERROR, registry)
        self._bounced = _counter(catalogue.BOUNCED, registry)
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """What is not there yet has no rate, and its first increase goes unseen."""
        for strategy in _STRATEGIES:
            for way, reason in endings():
                self._moves.labels(strategy, way, result_of(reason), reason.value)
        _each(self._passes, ("success", "error"))
        _each(self._move_seconds, RESULTS)
        _each(self._step_seconds, (each.value for each in Step if each is not Step.DONE))
        _each(self._plan_seconds, strategies.ALL)
        _each(self._errors, strategies.ALL)
        _each(self._plans, PLAN_EVENTS)
        _each(self._fallbacks, _FALLBACKS)
        _each(self._request_seconds, VERBS)

    # ------------------------------------------------------------------ this replica and its passes

    def began_to_lead(self) -> None:
        self._transitions.inc()

    def passed(self, seconds: float, *, well: bool) -> None:
        self._passes.labels("success" if well else "error").inc()
        self._pass_seconds.observe(seconds)

    def decided(self, strategy: str, seconds: float) -> None:
        self._plan_seconds.labels(_known(strategy, _STRATEGIES, BY_HAND)).observe(seconds)

    # ------------------------------------------------------------------ plans

    def plan_became(self, event: str) -> None:
        self._plans.labels(_known(event, PLAN_EVENTS, OTHER)).inc()

    def predicted(self, strategy: str, error: float) -> None:
        """`error`: as a share of allocatable."""
        self._errors.labels(_known(strategy, _STRATEGIES, BY_HAND)).observe(error)

    def bounced(self, pods: int) -> None:
        self._bounced.inc(pods)

    # ------------------------------------------------------------------ moves

    def stepped(self, step: str, seconds: float) -> None:
        if step in list(Step):
            self._step_seconds.labels(step).observe(seconds)

    def tried_again(self) -> None:
        self._retries.inc()

    def moved(self, strategy: str, way: str, reason: str, seconds: float) -> None:
        known = reasons.known(reason)
        result = result_of(known)
        labels = (_known(strategy, _STRATEGIES, BY_HAND), _known(way, _WAYS, NOT_CHOSEN))
        self._moves.labels(*labels, result, known.value).inc()
        self._move_seconds.labels(result).observe(seconds)

    def fell_back(self, cause: str) -> None:
        self._fallbacks.labels(_known(cause, _FALLBACKS, OTHER)).inc()

    # ------------------------------------------------------------------ what is seen and asked

    def watches(self, resource: str) -> None:
        """From now on it is counted."""
        self._gaps.labels(resource)

    def went_blind(self, resource: str) -> None:
        self._gaps.labels(resource).inc()

    def asked(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """`code` 0: nobody answered."""
        verb, resource = _known(verb, VERBS, OTHER), _known(resource, self._resources, OTHER)
        told = str(code) if 0 < code <= _LAST_CODE else _NO_ANSWER
        self._requests.labels(verb, resource, told).inc()
        self._request_seconds.labels(verb).observe(seconds)


def _each(metric: Counter | Histogram, values: Iterable[str]) -> None:
    for value in values:
        metric.labels(value)


def _known(word: str, known: Iterable[str], otherwise: str) -> str:
    return word if word in known else otherwise


def _counter(family: Family, registry: CollectorRegistry) -> Counter:
    return Counter(family.name, family.help, family.labels, registry=registry)


def _histogram(family: Family, registry: CollectorRegistry) -> Histogram:
    return Histogram(
        family.name, family.help, family.labels, buckets=family.buckets, registry=registry
    )
