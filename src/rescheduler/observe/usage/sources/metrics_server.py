"""metrics-server, or whatever else serves metrics.k8s.io, through the API server."""

import math
from array import array
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Final

import msgspec
import numpy as np

from rescheduler.documents import durations
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.model import quantities
from rescheduler.model.usage_sources import METRICS_SERVER
from rescheduler.observe.usage.samples import Measured, Sample, identity
from rescheduler.observe.usage.sources.lists import Splitter
from rescheduler.wire import NODE_METRICS, POD_METRICS, Resource

_MOST_REMEMBERED: Final = 1000
_USUAL_UNITS: Final = (("n", 1e-9), ("Ki", 1024.0), ("u", 1e-6), ("m", 1e-3))


class NoFigures(ReschedulerError):
    """The API is there, and tells nothing that can be used."""


class MetricsServer:
    name = METRICS_SERVER

    def __init__(self, kube: KubeApi) -> None:
        self._kube = kube

    async def read(self) -> Sample:
        findings: dict[str, str] = {}
        nodes = await self._measured(NODE_METRICS, findings)
        if not len(nodes):
            raise NoFigures("metrics.k8s.io is served, and has no figure of any node")
        pods = await self._measured(POD_METRICS, findings)
        return Sample(nodes=nodes, pods=pods, findings=findings)

    async def _measured(self, resource: Resource, findings: dict[str, str]) -> Measured:
        # It sends everything at once: for 150,000 pods, many times what we keep of it.
        splitter, columns = Splitter(), Columns()
        try:
            async with aclosing(self._kube.pieces(resource)) as pieces:
                async for piece in pieces:
                    columns.add_all(splitter.feed(piece))
            columns.add_all(splitter.finish())
        except errors.NotFound as problem:
            raise NoFigures(
                "metrics.k8s.io is not served: install metrics-server, or set usage.source to "
                "prometheus or requests"
            ) from problem
        except ValueError as problem:
            raise NoFigures(f"metrics.k8s.io, {resource.plural}: {problem}") from problem
        if columns.refused:
            findings[f"unreadable metrics of {resource.plural}"] = (
                f"{columns.refused} metrics of {resource.plural} cannot be read, such as "
                f"{columns.first_refused}"
            )
        return columns.measured()


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""


class _Container(msgspec.Struct, gc=False):
    usage: dict[str, str]


class _Metrics(msgspec.Struct, gc=False):
    metadata: _Metadata
    timestamp: str | None = None
    window: str = ""
    usage: dict[str, str] | None = None
    containers: list[_Container] | None = None


_METRICS: Final = msgspec.json.Decoder(_Metrics)


class Columns:
    """Filled object by object, each of which is dropped at once."""

    def __init__(self) -> None:
        self._who = array("q")
        self._at, self._span, self._cpu, self._memory = (array("d") for _ in range(4))
        # Most pods of a node share these.
        self._times: dict[str, float] = {}
        self._spans: dict[str, float] = {}
        self.refused = 0
        self.first_refused = ""

    def add_all(self, objects: Iterable[bytes]) -> None:
        for each in objects:
            self.add(each)

    def add(self, encoded: bytes) -> None:
        try:
            metrics = _METRICS.decode(encoded)
            at, span = self._time(metrics.timestamp or ""), self._span_of(metrics.window)
            cpu, memory = _total(metrics)
        except (msgspec.MsgspecError, ValueError) as problem:
            self.refused += 1
            shown = encoded[:80].decode(errors="replace")
            self.first_refused = self.first_refused or f"{shown}...: {problem}"
            return
        metadata = metrics.metadata
        name = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        self._who.append(identity(name))
        self._at.append(at)
        self._span.append(span)
        self._cpu.append(cpu)
        self._memory.append(memory)

    def measured(self) -> Measured:
        # Each comes once; should one come twice, the last is how it is.
        who = np.array(self._who, np.int64)
        _, from_behind = np.unique(who[::-1], return_index=True)
        kept = len(who) - 1 - from_behind
        at, span, cpu, memory = (
            np.array(column, np.float64)[kept]
            for column in (self._at, self._span, self._cpu, self._memory)
        )
        return Measured(who=who[kept], at=at, span=span, cpu=cpu, memory=memory)

    def _time(self, text: str) -> float:
        if text not in self._times:
            if len(self._times) > _MOST_REMEMBERED:
                self._times.clear()
            self._times[text] = datetime.fromisoformat(text).timestamp()
        return self._times[text]

    def _span_of(self, text: str) -> float:
        if text not in self._spans:
            if len(self._spans) > _MOST_REMEMBERED:
                self._spans.clear()
            self._spans[text] = durations.parse_nanoseconds(text) / durations.SECOND
        return self._spans[text]


def _total(metrics: _Metrics) -> tuple[float, float]:
    """Of a node, or of the containers of a pod: thousandths of a core, and bytes."""
    usages = [metrics.usage or {}]
    if metrics.containers is not None:
        usages = [container.usage for container in metrics.containers]
    cpu = memory = 0.0
    for usage in usages:
        cpu += 1000 * _amount(usage, "cpu")
        memory += _amount(usage, "memory")
    return cpu, memory


def _amount(usage: Mapping[str, str], resource: str) -> float:
    text = usage.get(resource)
    if text is None:
        return math.nan
    # Many thousands of them, and nearly all are a whole number and one of these units.
    for unit, factor in _USUAL_UNITS:
        if text.endswith(unit) and (number := text[: -len(unit)]).isdecimal():
            return int(number) * factor
    return float(quantities.parse(text))
