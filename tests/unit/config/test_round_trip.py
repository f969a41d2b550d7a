"""The effective configuration, written out, reads back as the same one."""

import dataclasses
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
permissions = st.sampled_from([config.NEVER, config.WHEN_ASKED, config.ALLOWED])
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
    source = draw(st.sampled_from(sources))
    return config.UsageSettings(
        source=source,
        learned_patience=config.LearnedPatience(
            enabled=source != "requests" and draw(st.booleans()), days=draw(st.integers(2, 28))
        ),
        interval_seconds=float(interval),
        window_seconds=float(draw(st.integers(interval * debounce, interval * 120))),
        percentile=draw(percentages),
        max_age_seconds=draw(seconds(interval * NANOSECONDS)),
        debounce=debounce,
        prometheus=prometheus,
    )


prices = st.builds(
    config.Price,
    node_selector=st.just(selectors.EVERYTHING) | label_selectors,
    price=st.floats(0, 1e9),
)
targets = st.none() | st.floats(0, 100, exclude_min=True)


@st.composite
def thresholds_and_targets(draw: st.DrawFn) -> dict[str, Any]:
    """Such as do not contradict each other."""
    given: dict[str, Any] = {}
    chosen: dict[str, float | None] = {}
    for resource in ("cpu", "memory"):
        target = draw(targets)
        given[f"{resource}_threshold_percent"] = draw(
            st.floats(target or 0, 100, exclude_min=target is None)
        )
        chosen[f"{resource}_target_percent"] = target
    return {**given, "resource_optimization": config.ResourceOptimizationSettings(**chosen)}


others = st.builds(
    config.Configuration,
    rescheduling_interval_seconds=seconds(NANOSECONDS),
    enabled_strategies=st.lists(st.sampled_from(config.STRATEGIES), unique=True).map(tuple),
    imbalance_threshold_percent=st.floats(0, 100),
    max_reschedule_pods=st.one_of(st.integers(0, 2**31 - 1), st.integers(1, 100).map("{}%".format)),
    excluded_namespaces=namespace_lists,
    excluded_pod_selector=st.just(selectors.NOTHING) | label_selectors,
    leader_election=st.builds(config.LeaderElection, leader_elect=st.booleans()),
    client_connection=st.builds(config.ClientConnection, kubeconfig=texts),
    serving=st.builds(
        config.Serving,
        bind_address=st.just("") | st.ip_addresses().map(str),
        port=st.integers(0, 9999),
        debug_port=st.just(0) | st.integers(10000, 65529),
    ),
    extender=st.builds(
        config.Extender,
        verbs=st.lists(st.sampled_from(("filter", "score", "preBind")), unique=True).map(tuple),
        port=st.integers(65530, 65535),
    ),
    filter=st.builds(config.Filter, strict=st.booleans()),
    guard=st.builds(
        config.Guard,
        port=st.integers(1, 65535),
        patience_seconds=st.integers(1, 86400).map(float),
    ),
    dashboard=st.builds(
        config.Dashboard,
        port=st.integers(1, 65535),
        authentication=st.sampled_from(("ByAddress", "Token", "None")),
        base_path=st.sampled_from(("", "/rescheduler", "/a/b-c")),
    ),
    score=st.builds(config.Score, cpu_weight=st.floats(0.5, 100), balance_bonus=st.floats(0, 10)),
    scope=st.builds(
        config.Scope,
        namespaces=st.none() | namespace_lists.filter(bool),
        node_selector=st.just(selectors.EVERYTHING) | label_selectors,
    ),
    migration=st.builds(
        config.Migration,
        ready_timeout_seconds=seconds(10**6),
        settle_seconds=seconds(0),
        linger_seconds=seconds(0),
        eviction_grace_period_seconds=st.integers(1, 86400),
        budget_timeout_seconds=seconds(0),
    ),
    pods=st.builds(
        config.PodRules,
        priority_threshold=st.none() | st.integers(-(2**31), 2**31 - 1),
        min_pod_age_seconds=st.integers(0, 7 * DAY).map(lambda each: each / NANOSECONDS),
        min_replicas=st.integers(1, 2**31 - 1),
        empty_dir=permissions,
        local_storage=permissions,
        jobs=permissions,
        bare_pods=permissions,
        recreate=permissions,
        other_controllers=permissions,
        group_label=st.sampled_from(["", "group", "example.com/y"]),
    ),
    stability=st.builds(
        config.Stability,
        margin_points=st.floats(0, 100),
        move_cost_percent=st.floats(0, 100),
        cooldown=st.builds(
            config.Cooldown,
            pod_seconds=seconds(0),
            workload_seconds=seconds(0),
            node_seconds=seconds(0),
        ),
    ),
    in_flight=st.builds(
        config.InFlight,
        per_node=st.integers(0, 2**31 - 1),
        per_namespace=st.integers(0, 2**31 - 1),
        per_workload=st.integers(0, 2**31 - 1),
    ),
    node_maintenance=st.builds(
        config.NodeMaintenanceSettings,
        cordoned_nodes=st.booleans(),
        removed_nodes=st.booleans(),
        excluded_namespaces=st.sampled_from([config.STAY, config.MOVE]),
    ),
    node_autoscaler=st.builds(
        config.NodeAutoscaler,
        node_selector=st.just(selectors.EVERYTHING) | label_selectors,
        scale_down_utilization_percent=st.floats(0, 100),
        packed_nodes=st.just(selectors.NOTHING) | label_selectors,
    ),
    cost_optimization=st.builds(
        config.CostOptimizationSettings,
        prices=st.lists(prices, max_size=3, unique_by=lambda each: each.node_selector).map(tuple),
        move_cost_percent=st.floats(0, 100),
    ),
    usage=usage_settings(),
    verbs=st.just(()),
    scheduler_names=st.just(()),
)


configurations = st.tuples(others, thresholds_and_targets()).map(
    lambda drawn: dataclasses.replace(drawn[0], **drawn[1])
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
    for section in samples.SECTIONS:
        assert document[section] == samples.ARGS[section]


def test_what_means_everything_is_left_out_or_empty() -> None:
    document = config.to_document(config.Configuration())
    assert document["scope"] == {"nodeSelector": ""}
    assert document["excludedPodSelector"] == ""
