"""Everything that can be seen of a live cluster, once: what is saved, and what is shown."""

from dataclasses import replace
from typing import Final

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi
from rescheduler.observe import sources
from rescheduler.observe.files.exporting import time_text
from rescheduler.observe.files.loading import Loaded
from rescheduler.observe.observer import observing
from rescheduler.wire import NODES, PODS

_RIGHT: Final = "ask whoever administers the cluster for it, and check: kubectl auth can-i list"


class Unseen(ReschedulerError):
    """Without nodes and pods there is nothing to be told of a cluster."""


async def take(kube: KubeApi, clock: Clock, usage: UsageSettings | None = None) -> Loaded:
    # One sample has to do, for nobody waits for a row of them.
    settings = replace(usage or UsageSettings(), debounce=1)
    async with observing(kube, clock, sources.BY_NAME, settings) as observer:
        await observer.settled()
        await observer.measure()
        snapshot = observer.with_usage(observer.snapshot())
        now = time_text(int(clock.now().timestamp()))
    for gap in snapshot.gaps:
        if gap.source in (NODES.plural, PODS.plural):
            words = f"{gap.source} cannot be seen: {gap.reason}"
            raise Unseen(f"{words}; {_RIGHT} {gap.source}" if gap.forbidden else words)
    return Loaded(snapshot=snapshot, taken_at=now)
