"""How the rescheduler stands, and who looks. Pure."""

from datetime import datetime

from rescheduler.serve.dashboard.documents import Document


class Viewer(Document):
    name: str | None
    """As the API server knows whoever looks; null: nobody asked who that is."""
    sees_everything: bool
    """Else pods of some namespaces are not in what is sent, but in the totals of their nodes."""
    may_act: bool
    """By what is known now; each act is asked about again."""
    may_sign_in: bool
    """A token would be taken."""
    why_not: str
    """It may not act, in words."""


class PauseNote(Document):
    by: str
    reason: str
    since: datetime | None
    words: str
    """All of it, as the command `status` says it."""


class BeforeAfter(Document):
    now: float | None
    planned: float | None
    """When the latest plan is done; null: nothing is left to be done."""


class LastPassNote(Document):
    ended_at: datetime
    seconds: float | None
    nodes: int
    pods: int
    moves: int
    """That it decided."""
    refused: dict[str, int]
    """Pods that stay, by kind of reason."""


class MovesNote(Document):
    in_progress: int
    ending: int
    """Their copies serve, and the originals are told to end."""
    waiting: int
    allowed: int
    breaker_seconds: float
    """For which none begins, as too many failed in a row."""


class Blind(Document):
    resource: str
    reason: str
    seconds: float
    """Since nothing is heard of it."""


class Story(Document):
    """What the demo tells, sentence by sentence."""

    chapter: int
    sentence: str
    ending: str
    """The last sentence: what came of it. Empty: it goes on."""


class Overview(Document):
    cluster: str
    """The name of the cluster where it has one, else what tells it from others."""
    kubernetes_version: str
    version: str
    role: str
    leader: str
    """Who holds the Lease; empty: nobody, or nobody knows."""
    mode: str
    actions: bool
    """Acting is switched on at all (`dashboard.actions`)."""
    paused: PauseNote | None
    interval_seconds: float
    last_pass: LastPassNote | None
    loads: str
    """What loads are of: `requests` or `usage`."""
    nodes: int
    pods: int
    imbalance: dict[str, BeforeAfter]
    """By resource, in points: the most loaded node minus the least."""
    overloaded: BeforeAfter
    """Nodes above a threshold."""
    thresholds: dict[str, float]
    moves: MovesNote
    blind: list[Blind]
    window: str
    """When the next one opens; empty: one is open, or there is none."""
    configuration_error: str
    viewer: Viewer | None
    """Null in the stream, which many share."""
    story: Story | None
    now: datetime
    """By the clock of the cluster, which may be virtual."""
