"""Settings that are fine one by one, and make no sense together.

Looked for in the complete configuration, because one half of a contradiction may be a default, or
stand in another profile of a scheduler configuration.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rescheduler.config.configuration import Configuration
from rescheduler.config.dashboard import NOBODY
from rescheduler.config.leading import LeaderElection
from rescheduler.config.migration import TemporaryBudget
from rescheduler.config.scheduling import PRE_BIND, Extender
from rescheduler.config.serving import Serving
from rescheduler.config.tls import Tls
from rescheduler.config.usage import (
    MOST_SAMPLES,
    BasicAuth,
    PrometheusSettings,
    UsageSettings,
)
from rescheduler.documents import durations
from rescheduler.documents.places import Path, Place, rendered
from rescheduler.model.usage_sources import PROMETHEUS, REQUESTS

_USAGE: Final = ("usage",)
_PROMETHEUS: Final = ("usage", "prometheus")
_URL: Final = (*_PROMETHEUS, "url")
_TOKEN_FILE: Final = (*_PROMETHEUS, "tokenFile")
_CA_FILE: Final = (*_PROMETHEUS, "caFile")
_BASIC_AUTH: Final = (*_PROMETHEUS, "basicAuth")
_RESOURCE_OPTIMIZATION: Final = ("resourceOptimization",)
_TEMPORARY_BUDGET: Final = ("migration", "temporaryBudget")
_LEADER_ELECTION: Final = ("leaderElection",)
_DEBUG_PORT: Final = ("serving", "debugPort")
_PORT: Final = ("serving", "port")
_EXTENDER: Final = ("extender",)
_TLS: Final = ("extender", "tls")
_GUARD: Final = ("guard",)
_DASHBOARD: Final = ("dashboard",)
_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._~-]*)+")
_JITTER: Final = 1.2


@dataclass(frozen=True, slots=True)
class Contradiction:
    field: Path
    """Where to mend it, from the root of a ReschedulerConfiguration."""
    against: tuple[Path, ...]
    """The other settings that it rests on."""
    message: str


def refuse_contradictions(
    configuration: Configuration,
    roots: Sequence[Place],
    elsewhere: Mapping[Path, Place] | None = None,
) -> None:
    """Leave a problem for each, in the first of the places that gives the field. What is given
    `elsewhere`, by path, takes precedence over what stands below the roots.

    Not for settings that were refused already: those are defaults by now, and nobody gave them.
    """
    known = elsewhere or {}
    for found in _contradictions(configuration):
        fields = (found.field, *found.against)
        places = [known.get(field) or _place(field, roots) for field in fields]
        if not any(_has_problem(place) for place in places):
            places[0].refuse(found.message)


def _contradictions(configuration: Configuration) -> Iterator[Contradiction]:
    yield from _about_samples(configuration.usage)
    yield from _about_learned_patience(configuration.usage)
    yield from _about_the_url(configuration.usage)
    yield from _about_logging_in(configuration.usage.prometheus)
    yield from _about_relieving(configuration)
    yield from _about_the_temporary_budget(configuration.migration.temporary_budget)
    yield from _about_leading(configuration.leader_election)
    yield from _about_ports(configuration.serving, configuration.extender)
    yield from _about_scores(configuration)
    yield from _about_the_extender(configuration)
    yield from _about_the_guard(configuration)
    yield from _about_the_dashboard(configuration)


def _about_samples(usage: UsageSettings) -> Iterator[Contradiction]:
    window, interval = (*_USAGE, "window"), (*_USAGE, "interval")
    needed = usage.debounce * usage.interval_seconds
    if usage.window_seconds < needed:
        yield Contradiction(
            window,
            (interval, (*_USAGE, "debounce")),
            f"too short for {usage.debounce} samples (usage.debounce), one every "
            f"{_text(usage.interval_seconds)} (usage.interval): make it at least {_text(needed)}",
        )
    samples = usage.window_seconds / usage.interval_seconds
    if samples > MOST_SAMPLES:
        shortest = _text(usage.window_seconds / MOST_SAMPLES)
        yield Contradiction(
            window,
            (interval,),
            f"holds {samples:.0f} samples, one every {_text(usage.interval_seconds)} "
            f"(usage.interval), and may hold {MOST_SAMPLES}: make it shorter, or the interval at "
            f"least {shortest}",
        )
    if usage.max_age_seconds < usage.interval_seconds:
        yield Contradiction(
            (*_USAGE, "maxAge"),
            (interval,),
            "shorter than usage.interval, so every node would be unknown between two samples: "
            f"make it at least {_text(usage.interval_seconds)}",
        )


def _about_learned_patience(usage: UsageSettings) -> Iterator[Contradiction]:
    if usage.learned_patience.enabled and usage.source == REQUESTS:
        yield Contradiction(
            (*_USAGE, "learnedPatience", "enabled"),
            ((*_USAGE, "source"),),
            'has no effect, as usage.source is "requests", which are the same all day: take '
            "another source, or leave this out",
        )


def _about_the_url(usage: UsageSettings) -> Iterator[Contradiction]:
    prometheus = usage.prometheus
    if not prometheus.url and usage.source == PROMETHEUS:
        yield Contradiction(
            _URL,
            ((*_USAGE, "source"),),
            'required, as usage.source is "prometheus": give its address, such as '
            '"http://prometheus.monitoring:9090", or take another source',
        )
    elif not prometheus.url and prometheus != PrometheusSettings():
        yield Contradiction(
            _URL,
            (),
            "required, as the other settings of usage.prometheus have no effect without it: give "
            "the address, or leave the section out",
        )
    if prometheus.ca_file and prometheus.url.startswith("http:"):
        yield Contradiction(
            _CA_FILE,
            (_URL,),
            "has no effect, as usage.prometheus.url begins with http: make it https, or leave this "
            "out",
        )


def _about_logging_in(prometheus: PrometheusSettings) -> Iterator[Contradiction]:
    basic_auth = prometheus.basic_auth
    if prometheus.token_file and basic_auth != BasicAuth():
        yield Contradiction(
            _BASIC_AUTH,
            (_TOKEN_FILE,),
            f"contradicts {rendered(_TOKEN_FILE)}: a request carries one of them; leave one out",
        )
    if bool(basic_auth.username) != bool(basic_auth.password_file):
        missing = "passwordFile" if basic_auth.username else "username"
        given = "username" if basic_auth.username else "passwordFile"
        yield Contradiction(
            (*_BASIC_AUTH, missing),
            ((*_BASIC_AUTH, given),),
            f"required, as {rendered((*_BASIC_AUTH, given))} is given",
        )


def _about_relieving(configuration: Configuration) -> Iterator[Contradiction]:
    """A node that is relieved would be overloaded still, and relieved again for ever."""
    targets = configuration.resource_optimization
    for resource, target, threshold in (
        ("cpu", targets.cpu_target_percent, configuration.cpu_threshold_percent),
        ("memory", targets.memory_target_percent, configuration.memory_threshold_percent),
    ):
        if target is not None and target > threshold:
            yield Contradiction(
                (*_RESOURCE_OPTIMIZATION, f"{resource}Target"),
                ((f"{resource}Threshold",),),
                f"{target:g} is above {resource}Threshold, {threshold:g}, so a relieved node would "
                f"be overloaded still: make it at most {threshold:g}, or leave it out",
            )


def _place(field: Path, roots: Sequence[Place]) -> Place:
    places = [_below(root, field) for root in roots]
    return next((place for place in places if place.value is not None), places[0])


def _below(place: Place, field: Path) -> Place:
    for step in field:
        place = place.at(str(step))
    return place


def _has_problem(place: Place) -> bool:
    """At the place, or at one that it is a part of."""
    return any(place.path[: len(path)] == path for path, _ in place.findings)


def _text(seconds: float) -> str:
    return durations.format_nanoseconds(round(seconds * durations.SECOND))


def _about_the_temporary_budget(budget: TemporaryBudget) -> Iterator[Contradiction]:
    if budget.min_available is not None and budget.max_unavailable is not None:
        yield Contradiction(
            (*_TEMPORARY_BUDGET, "maxUnavailable"),
            ((*_TEMPORARY_BUDGET, "minAvailable"),),
            "a budget has this or minAvailable: leave one of them out",
        )


def _about_leading(leading: LeaderElection) -> Iterator[Contradiction]:
    lease, renew = (*_LEADER_ELECTION, "leaseDuration"), (*_LEADER_ELECTION, "renewDeadline")
    retry = (*_LEADER_ELECTION, "retryPeriod")
    if leading.renew_deadline_seconds >= leading.lease_duration_seconds:
        yield Contradiction(
            renew,
            (lease,),
            f"must be shorter than leaseDuration ({_text(leading.lease_duration_seconds)}): a "
            "leader has to stop before another may begin",
        )
    if leading.retry_period_seconds * _JITTER >= leading.renew_deadline_seconds:
        yield Contradiction(
            retry,
            (renew,),
            f"must be shorter than renewDeadline ({_text(leading.renew_deadline_seconds)}) by a "
            "fifth at least: it is spread by that much",
        )


def _about_ports(serving: Serving, extender: Extender) -> Iterator[Contradiction]:
    if serving.debug_port and serving.debug_port == serving.port:
        yield Contradiction(
            _DEBUG_PORT, (_PORT,), "is serving.port, too: profiles have a port of their own"
        )
    for field, port in ((_PORT, serving.port), (_DEBUG_PORT, serving.debug_port)):
        if port == extender.port:
            yield Contradiction(
                (*_EXTENDER, "port"),
                (field,),
                f"is {rendered(field)}, too: a scheduler has a port of its own",
            )


def _about_scores(configuration: Configuration) -> Iterator[Contradiction]:
    score = configuration.score
    if not score.cpu_weight and not score.memory_weight:
        yield Contradiction(
            ("score", "cpuWeight"),
            (("score", "memoryWeight"),),
            "is 0, as score.memoryWeight is: nothing would count; make one of them 1",
        )


def _about_the_extender(configuration: Configuration) -> Iterator[Contradiction]:
    extender, tls = configuration.extender, configuration.extender.tls
    yield from _about_tls(tls, _TLS)
    if not configuration.answered or extender.is_local:
        return
    address, clients = (*_EXTENDER, "bindAddress"), (*_TLS, "clientCaFile")
    if not tls.is_on:
        yield Contradiction(
            address,
            ((*_TLS, "secret"), (*_TLS, "certFile")),
            "reaches beyond this machine: give extender.tls.secret, or certFile and keyFile, or "
            "listen on 127.0.0.1",
        )
    elif PRE_BIND in configuration.answered and not tls.client_ca_file:
        yield Contradiction(
            clients,
            (address,),
            "required, as preBind is on and extender.bindAddress reaches beyond this machine: "
            "whoever reaches the port could bind pods; give it, or listen on 127.0.0.1",
        )


def _about_tls(tls: Tls, section: Path) -> Iterator[Contradiction]:
    secret, certificate, key, clients = (
        (*section, each) for each in ("secret", "certFile", "keyFile", "clientCaFile")
    )
    if bool(tls.cert_file) != bool(tls.key_file):
        missing, given = (key, certificate) if tls.cert_file else (certificate, key)
        yield Contradiction(missing, (given,), f"required, as {rendered(given)} is given")
    if tls.secret and tls.cert_file:
        yield Contradiction(
            secret,
            (certificate,),
            "is given beside certFile: one of them; in the Secret we keep a certificate of our own",
        )
    if tls.client_ca_file and not tls.is_on:
        yield Contradiction(
            clients, (certificate, secret), "has no effect without TLS: give secret, or certFile"
        )


def _about_the_guard(configuration: Configuration) -> Iterator[Contradiction]:
    guard = configuration.guard
    yield from _about_tls(guard.tls, (*_GUARD, "tls"))
    if guard.url.startswith("http:"):
        yield Contradiction(
            (*_GUARD, "url"), (), "must begin with https://: an API server asks over TLS only"
        )
    if not guard.enabled:
        return
    yield from _about_its_port((*_GUARD, "port"), guard.port, _taken(configuration))


def _taken(configuration: Configuration) -> dict[Path, int]:
    taken: dict[Path, int] = {
        _PORT: configuration.serving.port,
        _DEBUG_PORT: configuration.serving.debug_port,
    }
    if configuration.answered:
        taken[*_EXTENDER, "port"] = configuration.extender.port
    return taken


def _about_its_port(own: Path, port: int, taken: Mapping[Path, int]) -> Iterator[Contradiction]:
    for field, other in taken.items():
        if port == other:
            yield Contradiction(own, (field,), f"is {rendered(field)}, too: it has to be its own")


def _about_the_dashboard(configuration: Configuration) -> Iterator[Contradiction]:
    dashboard = configuration.dashboard
    yield from _about_tls(dashboard.tls, (*_DASHBOARD, "tls"))
    if dashboard.base_path and not _PLAIN_PATH.fullmatch(dashboard.base_path):
        yield Contradiction(
            (*_DASHBOARD, "basePath"),
            (),
            'must be a path such as "/rescheduler": it begins with a slash and does not end with '
            "one",
        )
    if dashboard.authentication == NOBODY and not dashboard.is_local:
        yield Contradiction(
            (*_DASHBOARD, "authentication"),
            ((*_DASHBOARD, "bindAddress"),),
            "is None, and dashboard.bindAddress reaches beyond this machine: whoever reaches the "
            "port would see every pod; make it Token, or listen on 127.0.0.1",
        )
    if not dashboard.enabled:
        return
    taken = _taken(configuration)
    if configuration.guard.enabled:
        taken[*_GUARD, "port"] = configuration.guard.port
    yield from _about_its_port((*_DASHBOARD, "port"), dashboard.port, taken)
