"""The section `usage`: where figures of usage come from, and when they are believed."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.durations import MILLISECOND, SECOND
from rescheduler.documents.kinds import Count, Duration, Flag, HttpAddress, Percentage, Text
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.settings import setting, subsection
from rescheduler.model.usage_sources import AUTO, SOURCES

MOST_SAMPLES: Final = 120
"""In one window: so many are kept of every node, so this bounds the memory."""

# The kubelet's own resource metrics where they are scraped, else those of its cAdvisor. Both have
# the label `node` when the Prometheus Operator scrapes them, or when a relabelling adds it.
# `irate`, as `rate` would show too little for as long as its range after a node joined or scrapes
# failed, and what jumps is smoothed by the window here. `and`, as either goes on about pods that
# have ended, and one of the same name may have begun.
_NODE_CPU: Final = (
    "sum by (node) (irate(node_cpu_usage_seconds_total[2m]))"
    ' or sum by (node) (irate(container_cpu_usage_seconds_total{id="/"}[2m]))'
)
_NODE_MEMORY: Final = (
    "sum by (node) (node_memory_working_set_bytes)"
    ' or sum by (node) (container_memory_working_set_bytes{id="/"})'
)
_NODE_TIME: Final = (
    "max by (node) (timestamp(node_cpu_usage_seconds_total))"
    ' or max by (node) (timestamp(container_cpu_usage_seconds_total{id="/"}))'
)
_CONTAINERS: Final = '{container!="",container!="POD",pod!=""}'
_POD_CPU: Final = (
    "sum by (namespace, pod)"
    " (irate(pod_cpu_usage_seconds_total[2m]) and pod_cpu_usage_seconds_total)"
    " or sum by (namespace, pod)"
    f" (irate(container_cpu_usage_seconds_total{_CONTAINERS}[2m])"
    f" and container_cpu_usage_seconds_total{_CONTAINERS})"
)
_POD_MEMORY: Final = (
    "sum by (namespace, pod) (pod_memory_working_set_bytes)"
    f" or sum by (namespace, pod) (container_memory_working_set_bytes{_CONTAINERS})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    username: str = setting("username", Text(), default="")
    """Default empty: no basic authentication."""

    password_file: str = setting("passwordFile", Text(), default="")
    """Path of a file with the password, read anew for every request; a line break at its end is
    not part of it. The password itself never stands in a configuration.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSettings:
    """A Prometheus, or whatever answers as one: Thanos, Mimir, VictoriaMetrics."""

    url: str = setting("url", HttpAddress(), default="")
    """Its address, with the path under which it is served, if any. Default empty: there is none."""

    node_cpu_query: str = setting("nodeCpuQuery", Text(may_be_empty=False), default=_NODE_CPU)
    """PromQL for the CPU that nodes use, in cores: one series a node, with the name of the Node in
    its label `node`. Where another label has it: `label_replace(..., "node", "$1", "instance",
    "(.*)")`. Default: the kubelet's resource metrics, else cAdvisor.
    """

    node_memory_query: str = setting(
        "nodeMemoryQuery", Text(may_be_empty=False), default=_NODE_MEMORY
    )
    """PromQL for the memory that nodes use, in bytes; labels as above. Default: the working set."""

    node_timestamp_query: str = setting("nodeTimestampQuery", Text(), default=_NODE_TIME)
    """PromQL for when the figures of a node were measured, in Unix seconds; labels as above. So an
    exporter is noticed that has got stuck, while Prometheus goes on answering. Default: the time of
    the sample that the default queries rest on. Empty, or when it gives no node at all: the time of
    the answer.
    """

    pod_cpu_query: str = setting("podCpuQuery", Text(may_be_empty=False), default=_POD_CPU)
    """PromQL for the CPU that pods use, in cores: one series a pod, with the labels `namespace` and
    `pod`. Default: the kubelet's resource metrics, else cAdvisor.
    """

    pod_memory_query: str = setting("podMemoryQuery", Text(may_be_empty=False), default=_POD_MEMORY)
    """PromQL for the memory that pods use, in bytes; labels as above. Default: the working set."""

    token_file: str = setting("tokenFile", Text(), default="")
    """Path of a file with a bearer token, read anew for every request. Default: no token."""

    ca_file: str = setting("caFile", Text(), default="")
    """Path of the certificates (PEM) of the authorities to trust. Default: those of the system."""

    basic_auth: BasicAuth = subsection("basicAuth", default=BasicAuth())

    timeout_seconds: float = setting("timeout", Duration(lowest=100 * MILLISECOND), default=10.0)
    """How long one query may take. Default 10 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPatience:
    """Loads that rise and fall each day, known from the days before."""

    enabled: bool = setting("enabled", Flag(), default=False)
    """Whether what each workload uses in the course of a day is learnt, and LoadBalancing goes by
    the whole day: a move that tonight's fall would make needless is not made, and one that
    tomorrow's rise will need is. It takes most of two days until something is known; with a
    Prometheus, which is asked for the days before, nothing. Workloads whose load does not repeat
    count as they are now. Default false.
    """

    days: int = setting("days", Count(lowest=2, highest=28), default=7)
    """How many days are remembered: of each workload, a figure for every half hour of them. Default
    7, so that a weekend does not change what is known of the days of the week.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSettings:
    """What nodes and pods really use, as far as somebody measures it."""

    source: str = setting("source", Choice(SOURCES), default=AUTO)
    """Who is asked. Default `auto`: the first that answers of Prometheus (if it has a url),
    metrics-server and, as nobody measures, the requests of the pods. Those that were passed over at
    the start are asked again, at first after an `interval` and then less and less often, up to
    every 5 min; who answers takes over, which is logged, with samples of its own only. A source
    that fails later makes usage unknown; it is never replaced by a lesser one.
    """

    interval_seconds: float = setting("interval", Duration(lowest=SECOND), default=30.0)
    """From one question to the next. Default 30 s; best about as often as it is measured."""

    window_seconds: float = setting("window", Duration(lowest=SECOND), default=300.0)
    """How far back samples count. Default 5 min: longer than a spike, shorter than a shift."""

    percentile: float = setting("percentile", Percentage(zero_allowed=False), default=90.0)
    """Of a node's samples in the window: what it needs for all but short moments. It is always one
    of the samples, never one above, so below 100 a single spike does not count. Default 90.
    """

    max_age_seconds: float = setting("maxAge", Duration(lowest=SECOND), default=180.0)
    """A node whose newest sample is older is unknown, and so neither gives nor takes pods. Default
    3 min: a few failed scrapes are nothing.
    """

    debounce: int = setting("debounce", Count(lowest=1, highest=MOST_SAMPLES), default=3)
    """So many samples of a node must be in the window before its usage is believed. Default 3: with
    one or two, a spike could not be told from load.
    """

    learned_patience: LearnedPatience = subsection("learnedPatience", default=LearnedPatience())
    prometheus: PrometheusSettings = subsection("prometheus", default=PrometheusSettings())
