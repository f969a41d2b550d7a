"""What is read from what is published, at the moment of a scrape."""

import platform
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rescheduler import __version__
from rescheduler.model.published import LastPass, MovesUnderWay, Now, Role, WatchState
from rescheduler.serve.metrics import catalogue
from rescheduler.serve.metrics.catalogue import Family

Labels = tuple[str, ...]


class Current(Collector):
    def __init__(
        self, latest: Callable[[], Now], blind: Callable[[str], float], is_ready: Callable[[], bool]
    ) -> None:
        """`blind`: for how many seconds a resource has not been seen."""
        self._latest = latest
        self._blind = blind
        self._is_ready = is_ready

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing: so registering it asks for nothing."""
        return ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        now = self._latest()
        for family, value in self._alone(now):
            yield _gauge(family, {(): value})
        yield _gauge(catalogue.BUILD_INFO, {(__version__, platform.python_version()): 1.0})
        for family, values in _by_label(now, self._blind):
            yield _gauge(family, values)

    def _alone(self, now: Now) -> Iterable[tuple[Family, float]]:
        yield catalogue.READY, self._is_ready()
        yield catalogue.LEADER, now.role is Role.LEADING
        yield catalogue.DRY_RUN, now.role is Role.LOOKING
        yield catalogue.PAUSED, now.paused
        yield catalogue.CONFIGURATION_REFUSED, bool(now.configuration_error)
        yield catalogue.SYNCED, now.is_synced
        yield catalogue.INTERVAL, now.interval_seconds
        yield catalogue.PLANS_WAITING, now.plans.waiting
        yield from _of_moves(now.moves)
        yield from _of_pass(now.last_pass)


def _of_moves(moves: MovesUnderWay) -> Iterable[tuple[Family, float]]:
    yield catalogue.IN_PROGRESS, moves.in_progress
    yield catalogue.ENDING, moves.ending
    yield catalogue.WAITING, moves.waiting
    yield catalogue.ALLOWED, moves.allowed
    yield catalogue.BREAKER, moves.breaker_seconds > 0


def _of_pass(last: LastPass | None) -> Iterable[tuple[Family, float]]:
    yield catalogue.LAST_SUCCESS, last.ended_at if last else 0.0
    yield catalogue.PLANNED_MOVES, last.planned if last else 0
    yield catalogue.NODES, last.nodes if last else 0
    yield catalogue.PODS, last.pods if last else 0
    yield catalogue.CLASSES, last.classes if last else 0
    yield catalogue.UNREADABLE, last.unreadable if last else 0


def _by_label(
    now: Now, blind: Callable[[str], float]
) -> Iterable[tuple[Family, Mapping[Labels, float]]]:
    last = now.last_pass
    yield catalogue.IMBALANCE, dict(last.imbalance.items()) if last else {}
    yield (
        catalogue.OVERLOADED,
        {(when,): n for when, n in (last.overloaded if last else {}).items()},
    )
    yield catalogue.REFUSED, {(kind,): n for kind, n in (last.refused if last else {}).items()}
    yield catalogue.PREDICTIONS_FAILING, {(name,): n for name, n in now.plans.failing.items()}
    watches: Mapping[str, WatchState] = now.watches
    yield catalogue.WATCH_LAG, {(name,): each.lag_seconds for name, each in watches.items()}
    yield catalogue.BLIND_SECONDS, {(name,): blind(name) for name in watches}


def _gauge(family: Family, values: Mapping[Labels, float]) -> GaugeMetricFamily:
    made = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in values.items():
        made.add_metric(labels, float(value))
    return made
