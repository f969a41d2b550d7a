"""The effective configuration, written out, reads back as the same one."""

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler import config
from rescheduler.model import selectors
from tests.unit.config import samples

NANOSECONDS = 10**9
DAY = 86400 * NANOSECONDS
namespaces = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
# Names that a YAML writer or reader may take for something else than a string.
tricky_namespaces = st.sampled_from(["8e1", "1e5", "on", "null", "true", "017", "12", "0x1", "y"])
namespace_lists = st.lists(namespaces | tricky_namespaces, unique=True, max_size=4).map(tuple)
label_selectors = st.sampled_from(
    ["a=b", "a!=", "a in (,x)", "x/y notin (z)", "a,!b", "a>5", "z=1,a"]
).map(selectors.parse)
percentages = st.floats(0, 100, exclude_min=True)


def seconds(lowest: int) -> st.SearchStrategy[float]:
    return st.integers(lowest, DAY).map(lambda nanoseconds: nanoseconds / NANOSECONDS)


texts = st.text(st.characters(codec="utf-8"), max_size=20)
queries = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@st.composite
def usage_settings(draw: st.DrawFn) -> config.UsageSettings:
    """Such as do not contradict themselves."""
    interval = draw(st.integers(1, 300))
    debounce = draw(st.integers(1, 120))
    url = draw(st.sampled_from(["", "http://a", "https://[::1]:9090/x", "https://b.c:1"]))
    credentials: dict[str, Any] = draw(
        st.just({})
        | st.fixed_dictionaries({"token_file": queries})
        | st.builds(config.BasicAuth, username=queries, password_file=queries).map(
            lambda basic_auth: {"basic_auth": basic_auth}
        )
    )
    prometheus = config.PrometheusSettings()
    if url:
        prometheus = config.PrometheusSettings(
            url=url,
            node_cpu_query=draw(queries),
            node_memory_query=draw(queries),
            node_timestamp_query=draw(texts),
            pod_cpu_query=draw(queries),
            pod_memory_query=draw(queries),
            ca_file=draw(texts) if url.startswith("https") else "",
            timeout_seconds=draw(seconds(10**8)),
            **credentials,
        )
    sources = ["auto", "requests", "metrics-server"] + (["prometheus"] if url else [])
    return config.UsageSettings(
        source=draw(st.sampled_from(sources)),
        interval_seconds=float(interval),
        window_seconds=float(draw(st.integers(interval * debounce, interval * 120))),
        percentile=draw(percentages),
        max_age_seconds=draw(seconds(interval * NANOSECONDS)),
        debounce=debounce,
        prometheus=prometheus,
    )


configurations = st.builds(
    config.Configuration,
    rescheduling_interval_seconds=seconds(NANOSECONDS),
    enabled_strategies=st.lists(st.sampled_from(config.STRATEGIES), unique=True).map(tuple),
    cpu_threshold_percent=percentages,
    memory_threshold_percent=percentages,
    imbalance_threshold_percent=st.floats(0, 100),
    max_reschedule_pods=st.integers(0, 2**31 - 1),
    excluded_namespaces=namespace_lists,
    excluded_pod_selector=st.just(selectors.NOTHING) | label_selectors,
    leader_election=st.builds(config.LeaderElection, leader_elect=st.booleans()),
    client_connection=st.builds(config.ClientConnection, kubeconfig=texts),
    scope=st.builds(
        config.Scope,
        namespaces=st.none() | namespace_lists.filter(bool),
        node_selector=st.just(selectors.EVERYTHING) | label_selectors,
    ),
    migration=st.builds(
        config.Migration,
        ready_timeout_seconds=seconds(10**6),
        settle_seconds=seconds(0),
        eviction_grace_period_seconds=st.integers(1, 86400),
        budget_timeout_seconds=seconds(0),
    ),
    usage=usage_settings(),
    verbs=st.just(config.Verbs()),
    scheduler_names=st.just(()),
)


@given(configurations)
@settings(max_examples=150, deadline=None)
def test_written_as_yaml_it_reads_back(configuration: config.Configuration) -> None:
    text = yaml.safe_dump(config.to_document(configuration), sort_keys=False)
    assert config.parse(text) == configuration


def test_the_document_has_every_field_and_is_plain_data() -> None:
    document = config.to_document(samples.parsed(samples.COMPLETE_OWN))
    assert json.loads(json.dumps(document)) == document
    assert set(document) == set(samples.COMPLETE_OWN)
    assert document["excludedPodSelector"] == "app in (cache,db),!movable"
    assert document["migration"] == samples.ARGS["migration"]
    assert document["usage"] == samples.ARGS["usage"]


def test_what_means_everything_is_left_out_or_empty() -> None:
    document = config.to_document(config.Configuration())
    assert document["scope"] == {"nodeSelector": ""}
    assert document["excludedPodSelector"] == ""
