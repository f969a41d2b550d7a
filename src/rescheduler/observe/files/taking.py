"""Everything that can be seen of a live cluster, once: what is saved, and what is shown."""

from dataclasses import replace

from rescheduler.clock import Clock
from rescheduler.config import UsageSettings
from rescheduler.kube import KubeApi
from rescheduler.observe import sources
from rescheduler.observe.files.exporting import time_text
from rescheduler.observe.files.loading import Loaded
from rescheduler.observe.observer import observing
from rescheduler.observe.seeing import insist_on_nodes_and_pods


async def take(kube: KubeApi, clock: Clock, usage: UsageSettings | None = None) -> Loaded:
    """Raises Unseen."""
    # One sample has to do, for nobody waits for a row of them.
    settings = replace(usage or UsageSettings(), debounce=1)
    async with observing(kube, clock, sources.BY_NAME, settings) as observer:
        await observer.settled()
        await observer.measure()
        snapshot = observer.with_usage(observer.snapshot())
        now = time_text(int(clock.now().timestamp()))
    insist_on_nodes_and_pods(snapshot)
    return Loaded(snapshot=snapshot, taken_at=now)
