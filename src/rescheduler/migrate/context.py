"""What all migrations of a process share."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from rescheduler.clock import Clock
from rescheduler.config import Migration
from rescheduler.kube import KubeApi
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.namespaces import Namespaces
from rescheduler.migrate.rehearsals import Rehearsals
from rescheduler.model.objects import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    kube: KubeApi
    clock: Clock
    namespaces: Namespaces
    rehearsals: Rehearsals
    settings: Migration
    holder: str
    fence: int
    why_not: Callable[[Intent], str]
    """Why the planner would not make this move any more."""
    records_of: Callable[[str], tuple[Object, ...]]
    """All records of a namespace."""
    learn: Callable[[Object], None]
    """A record was written: others look at it before the watch tells."""
    trouble: Callable[[], None]
    """The API server is slow, or asks us to slow down."""
    jitter: random.Random = field(default_factory=random.Random)
