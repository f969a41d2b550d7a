"""The section `usage`: single values, and settings that contradict each other."""

from typing import Any

import pytest

from rescheduler import config
from tests.unit.config import samples

SECRET = "hunter2"  # noqa: S105 - that is the point
SOURCES = "auto, requests, metrics-server, prometheus"
HTTP = {"url": "http://prometheus:9090"}
HTTPS = {"url": "https://prometheus:9090"}

REFUSED = [
    ({"source": "prometeus"}, "usage.source", 'did you mean "prometheus"?'),
    ({"source": "x"}, "usage.source", f"known: {SOURCES}"),
    ({"source": True}, "usage.source", f"expected one of {SOURCES}, found true"),
    ({"window": "5"}, "usage.window", "a unit is missing"),
    ({"window": 300}, "usage.window", 'expected a duration such as "30s"'),
    ({"interval": "0s"}, "usage.interval", "must be between 1s and 24h"),
    ({"percentile": 0}, "usage.percentile", "must be more than 0 and at most 100"),
    ({"percentile": 101}, "usage.percentile", "must be more than 0 and at most 100"),
    ({"percentile": "p90"}, "usage.percentile", "expected a number"),
    ({"maxAge": "-1s"}, "usage.maxAge", "must be between 1s and 24h"),
    ({"debounce": 0}, "usage.debounce", "must be at least 1 and at most 120, found 0"),
    ({"debounce": 121}, "usage.debounce", "must be at least 1 and at most 120, found 121"),
    ({"learnedPatience": True}, "usage.learnedPatience", "expected a mapping"),
    ({"learnedPatience": {"enabled": "on"}}, "usage.learnedPatience.enabled", "true or false"),
    ({"learnedPatience": {"days": 1}}, "usage.learnedPatience.days", "at least 2 and at most 28"),
    ({"prometheus": "http://x"}, "usage.prometheus", "expected a mapping"),
    ({"prometheus": {"url": 9090}}, "usage.prometheus.url", "expected an address such as"),
    ({"prometheus": {**HTTP, "podCpuQuery": ""}}, "usage.prometheus.podCpuQuery", "not be empty"),
    ({"prometheus": {**HTTP, "timeout": "1ms"}}, "usage.prometheus.timeout", "between 100ms and"),
]


def section(usage: dict[str, Any]) -> samples.Document:
    return samples.own(usage=usage)


@pytest.mark.parametrize(("usage", "path", "part"), REFUSED)
def test_refused_value(usage: dict[str, Any], path: str, part: str) -> None:
    ((found_path, message),) = samples.problems(section(usage))
    assert found_path == path
    assert part in message


@pytest.mark.parametrize(
    "url",
    [
        "prometheus:9090",
        "//prometheus:9090",
        "ftp://prometheus",
        "http://",
        "http:///path",
        "http://a b",
        "http://a:b",
        "http://a:65536",
        "http://a:123456",
        "http://a/\u00e4",
        "http://a\n",
        " http://a",
    ],
)
def test_refused_address(url: str) -> None:
    ((path, message),) = samples.problems(section({"prometheus": {"url": url}}))
    assert path == "usage.prometheus.url"
    assert "http:// or https:// in front" in message


@pytest.mark.parametrize(
    ("url", "way_out"),
    [
        (f"http://me:{SECRET}@prometheus", "basicAuth.passwordFile"),
        (f"{SECRET}@prometheus", "basicAuth.passwordFile"),
        (f"http://prometheus/?token={SECRET}", "'?'"),
        (f"http://prometheus/#{SECRET}", "'#'"),
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_and_not_repeated(
    url: str, way_out: str
) -> None:
    document = section({"source": "prometheus", "prometheus": {"url": url}})
    ((path, message),) = samples.problems(document)
    assert path == "usage.prometheus.url"
    assert way_out in message
    assert SECRET not in message


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://prometheus.monitoring:9090", "http://prometheus.monitoring:9090"),
        ("https://prometheus/", "https://prometheus"),
        ("https://prometheus/path/", "https://prometheus/path"),
        ("http://[fd00::1]:65535", "http://[fd00::1]:65535"),
        ("", ""),
    ],
)
def test_accepted_address(given: str, read: str) -> None:
    configuration = samples.parsed(section({"prometheus": {"url": given}}))
    assert configuration.usage.prometheus.url == read


CONTRADICTIONS = [
    ({"source": "prometheus"}, "usage.prometheus.url", 'required, as usage.source is "prometheus"'),
    (
        {"source": "prometheus", "prometheus": {"url": ""}},
        "usage.prometheus.url",
        "give its address",
    ),
    ({"prometheus": {"tokenFile": "/t"}}, "usage.prometheus.url", "leave the section out"),
    ({"prometheus": {"nodeCpuQuery": "x"}}, "usage.prometheus.url", "no effect without it"),
    (
        {"prometheus": {**HTTPS, "tokenFile": "/t", "basicAuth": {"username": "me"}}},
        "usage.prometheus.basicAuth",
        "contradicts usage.prometheus.tokenFile",
    ),
    (
        {"prometheus": {**HTTPS, "basicAuth": {"username": "me"}}},
        "usage.prometheus.basicAuth.passwordFile",
        "required, as usage.prometheus.basicAuth.username is given",
    ),
    (
        {"prometheus": {**HTTPS, "basicAuth": {"passwordFile": "/p"}}},
        "usage.prometheus.basicAuth.username",
        "required, as usage.prometheus.basicAuth.passwordFile is given",
    ),
    (
        {"prometheus": {**HTTP, "caFile": "/ca"}},
        "usage.prometheus.caFile",
        "make it https, or leave this out",
    ),
    (
        {"window": "1m"},
        "usage.window",
        "3 samples (usage.debounce), one every 30s (usage.interval): make it at least 1m30s",
    ),
    ({"debounce": 20}, "usage.window", "make it at least 10m"),
    ({"interval": "2m"}, "usage.window", "make it at least 6m"),
    (
        {"interval": "1s", "window": "2m1s"},
        "usage.window",
        "holds 121 samples, one every 1s (usage.interval), and may hold 120",
    ),
    (
        {"source": "requests", "learnedPatience": {"enabled": True}},
        "usage.learnedPatience.enabled",
        'has no effect, as usage.source is "requests"',
    ),
    ({"maxAge": "29s"}, "usage.maxAge", "make it at least 30s"),
]


@pytest.mark.parametrize(("usage", "path", "part"), CONTRADICTIONS)
def test_contradiction(usage: dict[str, Any], path: str, part: str) -> None:
    ((found_path, message),) = samples.problems(section(usage))
    assert found_path == path
    assert part in message


@pytest.mark.parametrize(("usage", "path", "part"), CONTRADICTIONS)
def test_contradiction_in_a_scheduler_file(usage: dict[str, Any], path: str, part: str) -> None:
    document = samples.stock({"schedulerName": "other"}, samples.profile(usage=usage))
    ((found_path, message),) = samples.problems(document)
    assert found_path == f"profiles[1].pluginConfig[0].args.{path}"
    assert part in message


def test_profiles_may_complete_each_other() -> None:
    halves = (
        samples.profile("a", usage={"source": "prometheus"}),
        samples.profile("b", usage={"prometheus": HTTPS}),
    )
    assert samples.parsed(samples.stock(*halves)).usage.prometheus.url == HTTPS["url"]
    contradicting = samples.profile("c", usage={"prometheus": {"url": "http://other"}})
    ((path, message),) = samples.problems(samples.stock(*halves, contradicting))
    assert path == "profiles[2].pluginConfig[0].args.usage.prometheus.url"
    assert message.startswith("contradicts profiles[1]")


def test_a_contradiction_between_profiles_is_told_where_it_can_be_mended() -> None:
    document = samples.stock(
        samples.profile("a", usage={"prometheus": HTTP}),
        samples.profile("b", usage={"prometheus": {"caFile": "/ca"}}),
    )
    ((path, _),) = samples.problems(document)
    assert path == "profiles[1].pluginConfig[0].args.usage.prometheus.caFile"


def test_a_setting_that_was_refused_contradicts_nothing() -> None:
    document = section({"source": "prometheus", "prometheus": {"url": "x"}, "window": "1x"})
    assert [path for path, _ in samples.problems(document)] == [
        "usage.prometheus.url",
        "usage.window",
    ]


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"source": "requests", "prometheus": HTTP},
        {"interval": "1s", "window": "2m"},
        {"debounce": 10},
        {"maxAge": "30s"},
        {"percentile": 100, "debounce": 1, "window": "30s"},
    ],
)
def test_accepted_at_the_bounds(usage: dict[str, Any]) -> None:
    samples.parsed(section(usage))


def test_of_secrets_only_the_names_of_files_are_in_the_effective_document() -> None:
    document = config.to_document(samples.parsed(samples.COMPLETE_OWN))
    prometheus: Any = document["usage"]
    assert prometheus["prometheus"]["basicAuth"] == {
        "username": "reader",
        "passwordFile": "/etc/prometheus/password",
    }
