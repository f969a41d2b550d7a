"""What the stream of server-sent events says: an event is named as its field here. Pure."""

from datetime import datetime

from rescheduler.serve.dashboard.documents import Document
from rescheduler.serve.dashboard.documents.cluster import ClusterPatch
from rescheduler.serve.dashboard.documents.history import HistoryPoint
from rescheduler.serve.dashboard.documents.migrations import Migration
from rescheduler.serve.dashboard.documents.overview import Overview
from rescheduler.serve.dashboard.documents.plans import PlanRow


class Hello(Document):
    version: str
    """Of the state of `cluster` that the first patch is against: load it when yours is another."""
    server_version: str


class MigrationChanges(Document):
    changed: list[Migration]
    removed: list[str]
    """namespace/name."""


class PlanChanges(Document):
    changed: list[PlanRow]
    removed: list[str]


class PlanNews(Document):
    """A pass has decided: load `plan` anew, if it is looked at."""

    decided_at: datetime
    moves: int
    refusals: int


class Goodbye(Document):
    reason: str
    """`slow`, `access`, `stopping` or `other`: connect again, after a while."""


class Events(Document):
    """The field names the event, its type is what its data is. A comment comes every ten seconds
    when nothing else does.
    """

    hello: Hello | None
    overview: Overview | None
    cluster: ClusterPatch | None
    migrations: MigrationChanges | None
    plans: PlanChanges | None
    plan: PlanNews | None
    history: HistoryPoint | None
    goodbye: Goodbye | None
