"""Prometheus, by the queries of the configuration."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from rescheduler.config import UsageSettings
from rescheduler.model.usage_sources import PROMETHEUS
from rescheduler.observe.usage.samples import Identities, Measured, Numbers, Sample, identity
from rescheduler.prometheus import PrometheusError, Vector

_NODE: Final = ("node",)
_POD: Final = ("namespace", "pod")

_RANGE: Final = re.compile(r"\[\s*((?:[0-9]+(?:ms|[smhdwy]))+)\s*[\]:]")
_FUNCTION: Final = re.compile(r"([a-z_]+)\s*\(")
_PART: Final = re.compile(r"([0-9]+)(ms|[smhdwy])")
_UNITS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 7 * 86400.0,
    "y": 365 * 86400.0,
}


class Door(Protocol):
    """What we ask of `rescheduler.prometheus.Prometheus`."""

    async def query(
        self,
        query: str,
        labels: Sequence[str],
        *,
        identify: Callable[[str], int],
        oldest_seconds: float,
    ) -> Vector: ...


class PrometheusSource:
    name = PROMETHEUS

    def __init__(self, prometheus: Door, settings: UsageSettings) -> None:
        self._prometheus = prometheus
        self._settings = settings.prometheus
        self._max_age_seconds = settings.max_age_seconds
        # Nobody tells how often it scrapes; we are told to ask about as often.
        self._between_scrapes_seconds = settings.interval_seconds

    async def read(self) -> Sample:
        # One after the other: answers about many pods are large, and two of them twice as large.
        findings: dict[str, str] = {}
        nodes = await self._nodes(findings)
        pods = await self._pods(findings)
        return Sample(nodes=nodes, pods=pods, findings=findings)

    async def _nodes(self, findings: dict[str, str]) -> Measured:
        settings = self._settings
        cpu = await self._vector("nodeCpuQuery", settings.node_cpu_query, _NODE, findings)
        memory = await self._vector("nodeMemoryQuery", settings.node_memory_query, _NODE, findings)
        if not len(cpu.who) or not len(memory.who):
            empty = "nodeMemoryQuery" if len(cpu.who) else "nodeCpuQuery"
            raise PrometheusError(
                f"usage.prometheus.{empty} gives no series with the label 'node': is the kubelet "
                "scraped, and does a relabelling add the label?"
            )
        who = np.union1d(cpu.who, memory.who)
        return Measured(
            who=who,
            at=await self._times(who, cpu.at, findings),
            span=np.full(len(who), self._span(settings.node_cpu_query)),
            cpu=1000 * _looked_up(cpu, who),
            memory=_looked_up(memory, who),
        )

    async def _times(self, who: Identities, evaluated: float, findings: dict[str, str]) -> Numbers:
        query = self._settings.node_timestamp_query
        if not query:
            return np.full(len(who), evaluated)
        times = await self._vector("nodeTimestampQuery", query, _NODE, findings)
        if not len(times.who):
            findings["no timestamps"] = (
                "usage.prometheus.nodeTimestampQuery gives no series with the label 'node': all "
                "counts as of the time of the answer, so an exporter that is stuck is not noticed"
            )
            return np.full(len(who), evaluated)
        # Where it knows of some nodes, those that it does not know of are measured no more.
        return _looked_up(times, who)

    async def _pods(self, findings: dict[str, str]) -> Measured:
        settings = self._settings
        cpu = await self._vector("podCpuQuery", settings.pod_cpu_query, _POD, findings)
        memory = await self._vector("podMemoryQuery", settings.pod_memory_query, _POD, findings)
        who = np.intersect1d(cpu.who, memory.who, assume_unique=True)
        if not len(who):
            findings["no pods"] = (
                "usage.prometheus.podCpuQuery and podMemoryQuery give no series of the same pods: "
                "pods count by their requests"
            )
        return Measured(
            who=who,
            at=np.full(len(who), cpu.at),
            span=np.full(len(who), self._span(settings.pod_cpu_query)),
            cpu=1000 * _looked_up(cpu, who),
            memory=_looked_up(memory, who),
        )

    def _span(self, query: str) -> float:
        return averaged_seconds(query, self._between_scrapes_seconds)

    async def _vector(
        self, field: str, query: str, labels: tuple[str, ...], findings: dict[str, str]
    ) -> Vector:
        try:
            vector = await self._prometheus.query(
                query, labels, identify=identity, oldest_seconds=self._max_age_seconds
            )
        except PrometheusError as problem:
            raise PrometheusError(f"{problem} (asked for usage.prometheus.{field})") from problem
        findings.update(_with_field(field, vector.findings))
        return vector


def averaged_seconds(query: str, between_scrapes_seconds: float) -> float:
    """Over how long a query averages: the longest range in it; 0 when there is none."""
    longest = 0.0
    for found in _RANGE.finditer(query):
        seconds = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(found[1]))
        functions = _FUNCTION.findall(query[: found.start()])
        # These take the last two samples in the range, however long it is.
        if functions and functions[-1] in ("irate", "idelta"):
            seconds = min(seconds, between_scrapes_seconds)
        longest = max(longest, seconds)
    return longest


def _looked_up(vector: Vector, who: Identities) -> Numbers:
    """The values of these, NaN where there is none."""
    if not len(vector.who):
        return np.full(len(who), math.nan)
    order = np.argsort(vector.who)
    places = np.minimum(np.searchsorted(vector.who, who, sorter=order), len(order) - 1)
    places = order[places]
    return np.where(vector.who[places] == who, vector.values[places], math.nan)


def _with_field(field: str, findings: Mapping[str, str]) -> dict[str, str]:
    return {
        f"{field}: {kind}": f"usage.prometheus.{field}: {text}" for kind, text in findings.items()
    }
