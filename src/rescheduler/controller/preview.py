"""What would be moved: one look at the whole cluster, and a plan. Nothing is changed."""

from dataclasses import dataclass

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.kube import KubeApi
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files import take


@dataclass(frozen=True, slots=True)
class Preview:
    snapshot: Snapshot
    plan: Plan


async def preview(
    kube: KubeApi, clock: Clock, configuration: Configuration, *, steps: int
) -> Preview:
    """`steps`: of a search, whatever time it takes."""
    seen = await take(kube, clock, configuration.usage)
    search = plan.Search(steps=steps)
    return Preview(seen.snapshot, plan.plan(seen.snapshot, configuration, search=search))
