"""Who is asked for usage: chosen at the start, and told with the reason. For `auto`, those that
were passed over are asked again while we run: who measures may come later, or start with us.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import structlog

from rescheduler import prometheus
from rescheduler.config import UsageSettings
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi
from rescheduler.model.usage_sources import AUTO, METRICS_SERVER, PROMETHEUS
from rescheduler.observe.usage.recalling import Past
from rescheduler.observe.usage.samples import Sample, usable
from rescheduler.observe.usage.sources import UsageSource
from rescheduler.observe.usage.sources.metrics_server import MetricsServer
from rescheduler.observe.usage.sources.prometheus import PrometheusSource
from rescheduler.observe.usage.sources.requests import Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    source: UsageSource
    reason: str
    """In words, for the log."""
    sample: Sample | None = None
    """What it has said already, if it was asked: the first sample, which need not be read again."""
    rather: Mapping[str, UsageSource] = field(default_factory=dict)
    """By name, the best first: who would be asked instead, once it answers."""
    door: Past | None = None
    """To Prometheus, if there is one."""

    @property
    def past(self) -> Past | None:
        """Who remembers the days before; None: nobody does."""
        return self.door if self.source.name == PROMETHEUS else None


@asynccontextmanager
async def choose(settings: UsageSettings, kube: KubeApi) -> AsyncIterator[Choice]:
    """The source of the configuration; for `auto`, the best that answers now."""
    async with AsyncExitStack() as open_until_the_end:
        candidates: dict[str, UsageSource] = {METRICS_SERVER: MetricsServer(kube)}
        door = None
        if settings.prometheus.url:
            door = await open_until_the_end.enter_async_context(
                prometheus.connect(settings.prometheus)
            )
            source = PrometheusSource(door, settings)
            candidates = {PROMETHEUS: source, **candidates}
        if settings.source == AUTO:
            choice = await best_of(candidates)
        else:
            chosen = candidates.get(settings.source, Requests())
            choice = Choice(source=chosen, reason=f"usage.source is {settings.source}")
        yield replace(choice, door=door)


async def best_of(candidates: Mapping[str, UsageSource]) -> Choice:
    """The first, by name, that answers with figures; else requests, which need nobody."""
    passed_over = [] if PROMETHEUS in candidates else ["no usage.prometheus.url is configured"]
    rather: dict[str, UsageSource] = {}
    for name, source in candidates.items():
        answer = await _try(source)
        if isinstance(answer, Sample):
            reason = "; ".join([f"{name} answers with figures", *passed_over])
            return Choice(source=source, reason=reason, sample=answer, rather=rather)
        passed_over.append(f"{name}: {answer}")
        rather[name] = source
    reason = "; ".join(["nobody measures usage, so requests count", *passed_over])
    return Choice(source=Requests(), reason=reason, rather=rather)


async def better_than(choice: Choice) -> Choice | None:
    """The first that would rather be asked, and answers by now. Never one that is less wanted, so
    there is no way back.
    """
    rather: dict[str, UsageSource] = {}
    for name, source in choice.rather.items():
        answer = await _try(source)
        if isinstance(answer, Sample):
            reason = f"{name} answers with figures by now; before, {choice.source.name} counted"
            return replace(choice, source=source, reason=reason, sample=answer, rather=rather)
        rather[name] = source
    return None


def tell(choice: Choice, settings: UsageSettings) -> None:
    log, name = structlog.get_logger(), choice.source.name
    # Who names a Prometheus wants it to be asked.
    is_other = bool(settings.prometheus.url) and name != PROMETHEUS
    say = log.warning if settings.source == AUTO and is_other else log.info
    say("usage is measured by", source=name, because=choice.reason)


async def _try(source: UsageSource) -> Sample | str:
    """What it says, or why that is of no use."""
    try:
        sample = await source.read()
    except ReschedulerError as problem:
        return str(problem)
    if not np.any(usable(sample.nodes, zero_is_fine=False)):
        return "it answers, but with no figure of a node that can be true"
    return sample
